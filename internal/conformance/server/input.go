package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

// addInputTools adds the tools with one input request.
func addInputTools(s *server.Server) {
	server.AddTool(s, "test_sampling", "Has the client's model write something.", func(_ context.Context, c *mcp.Call, in struct {
		Prompt string `json:"prompt" doc:"what to write about"`
	}) (string, error) {
		text, err := sample(c, "answer", in.Prompt, 100)
		return "LLM response: " + text, err
	}, nil)
	server.AddTool(s, "test_missing_capability", "Needs a client that has declared sampling.", func(_ context.Context, c *mcp.Call, _ nothing) (string, error) {
		return sample(c, "answer", "Say something.", 100)
	}, nil)
	server.AddTool(s, "test_elicitation", "Asks the user for a name and an address.", func(_ context.Context, c *mcp.Call, in struct {
		Message string `json:"message" doc:"the message for the user"`
	}) (string, error) {
		return elicit(c, "User response", in.Message, mcp.Form{Fields: []mcp.FormField{
			{Name: "username", Type: mcp.FieldString, Description: "User's response", Required: true},
			{Name: "email", Type: mcp.FieldString, Description: "User's email address", Required: true},
		}})
	}, nil)
	server.AddTool(s, "test_streaming_elicitation", "Reports progress and asks the user.", func(_ context.Context, c *mcp.Call, _ nothing) (string, error) {
		server.Progress(c, 1, 2, "about to ask")
		return elicit(c, "User response", "Go on?", mcp.Form{Fields: []mcp.FormField{{Name: "ok", Type: mcp.FieldBoolean, Required: true}}})
	}, nil)
	server.AddTool(s, "test_elicitation_sep1034_defaults", "Asks with a form that has defaults.", func(_ context.Context, c *mcp.Call, _ nothing) (string, error) {
		return elicit(c, "Elicitation completed", "Please review these values.", defaultsForm)
	}, nil)
	server.AddTool(s, "test_elicitation_sep1330_enums", "Asks with a form that has choices of all kinds.", func(_ context.Context, c *mcp.Call, _ nothing) (string, error) {
		return elicit(c, "Elicitation completed", "Please choose.", choicesForm)
	}, nil)
}

var defaultsForm = mcp.Form{Fields: []mcp.FormField{
	{Name: "name", Type: mcp.FieldString, Description: "User name", Default: "John Doe"},
	{Name: "age", Type: mcp.FieldInteger, Description: "User age", Default: 30},
	{Name: "score", Type: mcp.FieldNumber, Description: "User score", Default: 95.5},
	{Name: "status", Type: mcp.FieldString, Description: "User status", Default: "active",
		Options: []mcp.Option{{Value: "active"}, {Value: "inactive"}, {Value: "pending"}}},
	{Name: "verified", Type: mcp.FieldBoolean, Description: "Verification status", Default: true},
}}

var choicesForm = mcp.Form{Fields: []mcp.FormField{
	{Name: "untitledSingle", Type: mcp.FieldString, Options: options("option", 3, "")},
	{Name: "titledSingle", Type: mcp.FieldString, Options: options("value", 3, "Option ")},
	{Name: "legacyEnum", Type: mcp.FieldString, Options: options("opt", 3, "Option "), EnumNames: true},
	{Name: "untitledMulti", Type: mcp.FieldChoices, Options: options("option", 3, "")},
	{Name: "titledMulti", Type: mcp.FieldChoices, Options: options("value", 3, "Choice ")},
}}

// options makes value1, value2 and so on, with titles unless title is empty.
func options(value string, n int, title string) []mcp.Option {
	made := make([]mcp.Option, n)
	for i := range made {
		made[i].Value = fmt.Sprint(value, i+1)
		if title != "" {
			made[i].Title = fmt.Sprint(title, i+1)
		}
	}
	return made
}

// elicit requests a form and returns the user's action and values as text.
func elicit(c *mcp.Call, what, message string, f mcp.Form) (string, error) {
	q, err := formRequest(message, f)
	if err != nil {
		return "", err
	}
	raw, err := c.Ask("answer", q)
	if err != nil {
		return "", err
	}
	var r mcp.ElicitResult
	if err := json.Unmarshal(raw, &r); err != nil {
		return "", mcp.InvalidParams("invalid input response: %v", err)
	}
	return fmt.Sprintf("%s: action=%s, content=%s", what, r.Action, r.Content), nil
}

func formRequest(message string, f mcp.Form) (mcp.InputRequest, error) {
	asked, err := f.Schema()
	if err != nil {
		return mcp.InputRequest{}, err
	}
	return mcp.ElicitRequest(&mcp.ElicitParams{Message: message, RequestedSchema: asked})
}

// sample requests a completion from the client's model.
func sample(c *mcp.Call, key, prompt string, maxTokens int64) (string, error) {
	r, err := server.Sample(c, key, samplingParams(prompt, maxTokens))
	if err != nil {
		return "", err
	}
	for _, block := range r.Content.Blocks {
		if text, ok := block.(*mcp.TextContent); ok {
			return text.Text, nil
		}
	}
	return "", fmt.Errorf("the model wrote no text")
}

func samplingParams(prompt string, maxTokens int64) *mcp.CreateMessageParams {
	return &mcp.CreateMessageParams{
		Messages:  []mcp.SamplingMessage{{Role: mcp.RoleUser, Content: mcp.NewSamplingContent(mcp.Text(prompt))}},
		MaxTokens: maxTokens,
	}
}

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
	add("elicitation", "Asks the user for a name.", func(c *mcp.Call) (string, error) {
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
	add("request_state", "Asks the user and keeps state for the next round.", confirm)
	add("tampered_state", "Asks the user and rejects a state that it did not create.", confirm)
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
