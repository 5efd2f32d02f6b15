package main

import (
	"context"
	"fmt"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

type nameForm struct {
	Name string `json:"name"`
}

type colorForm struct {
	Color string `json:"color"`
}

type okForm struct {
	OK bool `json:"ok"`
}

// addRoundTools adds the tools that end with input_required.
func addRoundTools(s *server.Server) {
	add := func(name, description string, run func(c *mcp.Call) (string, error)) {
		server.AddTool(s, "test_input_required_result_"+name, description, func(_ context.Context, c *mcp.Call, _ nothing) (string, error) {
			return run(c)
		}, nil)
	}
	add("elicitation", "Asks the person for a name.", func(c *mcp.Call) (string, error) {
		f, err := server.Elicit[nameForm](c, "user_name", "What is your name?")
		return fmt.Sprintf("Hello, %s!", f.Name), err
	})
	add("sampling", "Asks the client's model for a capital.", func(c *mcp.Call) (string, error) {
		return sample(c, "capital_question", "What is the capital of France?", 100)
	})
	add("list_roots", "Asks the client for its roots.", func(c *mcp.Call) (string, error) {
		roots, err := server.Roots(c, "client_roots")
		return fmt.Sprint("roots: ", roots), err
	})
	add("request_state", "Asks the person, and tells itself something for the next round.", confirm)
	add("tampered_state", "Asks the person, and refuses a state that is not its own.", confirm)
	add("multiple_inputs", "Asks three things at once.", askThree)
	add("multi_round", "Asks twice, one after the other.", func(c *mcp.Call) (string, error) {
		name, err := server.Elicit[nameForm](c, "step1", "Step 1: What is your name?")
		if err != nil {
			return "", withState(err, "one")
		}
		color, err := server.Elicit[colorForm](c, "step2", "Step 2: What is your favorite color?")
		return fmt.Sprintf("%s likes %s.", name.Name, color.Color), withState(err, "two")
	})
	add("capabilities", "Asks whatever the client has declared that it can answer.", askWhatIsDeclared)
}

// confirm requests a confirmation and checks the state of the earlier round.
func confirm(c *mcp.Call) (string, error) {
	const state = "waiting for a confirmation"
	f, err := server.Elicit[okForm](c, "confirm", "Please confirm")
	if err != nil {
		return "", withState(err, state)
	}
	if c.State != state {
		return "", mcp.InvalidParams("the request state is missing")
	}
	return fmt.Sprintf("state-ok, confirmed: %v", f.OK), nil
}

// withState adds state for the next round to an InputRequired error.
func withState(err error, state string) error {
	if need, ok := err.(*mcp.InputRequired); ok {
		need.State = state
	}
	return err
}

func askThree(c *mcp.Call) (string, error) {
	qs, err := inputRequests()
	if err != nil {
		return "", err
	}
	answers, err := c.AskAll(qs)
	if err != nil {
		return "", withState(err, "three")
	}
	return fmt.Sprintf("%d answers", len(answers)), nil
}

func askWhatIsDeclared(c *mcp.Call) (string, error) {
	qs, err := inputRequests()
	if err != nil {
		return "", err
	}
	for key, q := range qs {
		if c.Caller.CanHandle(q) != nil {
			delete(qs, key)
		}
	}
	answers, err := c.AskAll(qs)
	return fmt.Sprintf("%d answers", len(answers)), err
}

// inputRequests are one of each kind.
func inputRequests() (map[string]mcp.InputRequest, error) {
	name, err := formRequest("What is your name?", mcp.Form{Fields: []mcp.FormField{{Name: "name", Type: mcp.FieldString, Required: true}}})
	if err != nil {
		return nil, err
	}
	greeting, err := mcp.SamplingRequest(samplingParams("Generate a greeting", 50))
	if err != nil {
		return nil, err
	}
	return map[string]mcp.InputRequest{"user_name": name, "greeting": greeting, "client_roots": mcp.RootsRequest()}, nil
}
