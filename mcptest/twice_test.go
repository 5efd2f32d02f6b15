package mcptest

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

func named(q mcp.InputRequest) string {
	if strings.Contains(string(q.Params), "first") {
		return `{"action":"accept","content":{"name":"Ada"}}`
	}
	return `{"action":"accept","content":{"name":"Lovelace"}}`
}

func TestTwice(t *testing.T) {
	checked(t)
	Twice(t, fixture(t), &mcp.Call{Method: mcp.MethodToolsCall, Params: json.RawMessage(`{"name":"greet"}`)}, named, nil)
	Twice(t, fixture(t), &mcp.Call{Method: mcp.MethodToolsCall, Params: json.RawMessage(`{"name":"add","arguments":{"a":1,"b":2}}`)}, named, nil)
	Twice(t, fixture(t), &mcp.Call{Method: mcp.MethodToolsCall, Params: json.RawMessage(`{"name":"none"}`)}, named, nil)
}

// Several questions in one round are asked one by one in the older eras.
func TestTwiceWithSeveralQuestionsInARound(t *testing.T) {
	s := server.New(mcp.Implementation{Name: "s", Version: "1"}, nil)
	server.AddTool(s, "greet", "", func(_ context.Context, c *mcp.Call, _ struct{}) (string, error) {
		ask := func(m string) mcp.InputRequest {
			return mcp.InputRequest{Method: mcp.MethodElicit, Params: json.RawMessage(`{"message":"` + m + `","requestedSchema":{"type":"object","properties":{}}}`)}
		}
		answers, err := c.AskAll(map[string]mcp.InputRequest{"a": ask("first"), "b": ask("last"), "c": ask("else")})
		if err != nil {
			return "", err
		}
		return string(answers["a"]) + string(answers["b"]), nil
	}, nil)
	Twice(t, s, &mcp.Call{Method: mcp.MethodToolsCall, Params: json.RawMessage(`{"name":"greet"}`)}, named, nil)
}

func TestTwiceFindsWhatCannotBeRepeated(t *testing.T) {
	ask := func(c *mcp.Call, key, message string) error {
		_, err := server.Elicit[name](c, key, message)
		return err
	}
	for _, tc := range []struct {
		name string
		tool func(entered int, c *mcp.Call) (string, error)
		want string
	}{
		{"a question that changes", func(n int, c *mcp.Call) (string, error) {
			return "", ask(c, "k", fmt.Sprint("first, for the time ", n))
		}, "round 1 of tools/call cannot be repeated"},
		{"a key that changes", func(n int, c *mcp.Call) (string, error) {
			return "", ask(c, fmt.Sprint("k", n), "first")
		}, "round 1 of tools/call cannot be repeated"},
		{"a result that changes", func(n int, c *mcp.Call) (string, error) {
			return fmt.Sprint(n), ask(c, "k", "first")
		}, "round 2 of tools/call cannot be repeated"},
		{"asks only once", func(n int, c *mcp.Call) (string, error) {
			if n > 1 {
				return "done", nil
			}
			return "", ask(c, "k", "first")
		}, "then  returned result"},
		{"asks for ever", func(n int, c *mcp.Call) (string, error) {
			return "", ask(c, fmt.Sprint("k", len(c.InputResponses)), "first")
		}, "still requires input in round 10"},
		{"depends on the wire", func(n int, c *mcp.Call) (string, error) {
			return "revision " + string(c.Caller.Revision), ask(c, "k", "first")
		}, "and in a direct call"},
		{"asks more on the wire", func(n int, c *mcp.Call) (string, error) {
			if c.Caller.Revision != "" {
				if err := ask(c, "more", "last"); err != nil {
					return "", err
				}
			}
			return "done", ask(c, "k", "first")
		}, "depend on more than the call and the responses"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			entered := 0
			s := server.New(mcp.Implementation{Name: "s", Version: "1"}, nil)
			server.AddTool(s, "x", "", func(_ context.Context, c *mcp.Call, _ struct{}) (string, error) {
				entered++
				return tc.tool(entered, c)
			}, nil)
			err := twice(t.Context(), s, &mcp.Call{Method: mcp.MethodToolsCall, Params: json.RawMessage(`{"name":"x"}`)}, named, nil)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want something with %q", err, tc.want)
			}
		})
	}
}

// L35: a tool that acts before it asks asks the same and returns the same each
// time. Only what it did tells.
func TestTwiceFindsWhatActsBeforeItAsks(t *testing.T) {
	for _, tc := range []struct {
		name string
		tool func(entered int, c *mcp.Call, do func(string)) error
		want string
	}{
		{"asks first", func(_ int, c *mcp.Call, do func(string)) error {
			if _, err := server.Elicit[name](c, "k", "first"); err != nil {
				return err
			}
			do("charge")
			do("charge") // twice on purpose, in one round
			return nil
		}, ""},
		{"acts first", func(_ int, c *mcp.Call, do func(string)) error {
			do("charge")
			_, err := server.Elicit[name](c, "k", "first")
			return err
		}, `tools/call does "charge" in round 1 and again in round 2`},
		{"acts between two questions", func(_ int, c *mcp.Call, do func(string)) error {
			if _, err := server.Elicit[name](c, "k", "first"); err != nil {
				return err
			}
			do("charge")
			_, err := server.Elicit[name](c, "l", "last")
			return err
		}, `tools/call does "charge" in round 2 and again in round 3`},
		{"counts what it does", func(n int, c *mcp.Call, do func(string)) error {
			do(fmt.Sprint("charge number ", n))
			_, err := server.Elicit[name](c, "k", "first")
			return err
		}, "round 1 of tools/call acts before it requests input, and not in the same way each time"},
		{"remembers that it acted", func(_ int, c *mcp.Call, do func(string)) error {
			if c.InputResponses == nil {
				do("charge")
			}
			_, err := server.Elicit[name](c, "k", "first")
			return err
		}, ""},
		{"does more over the wire", func(_ int, c *mcp.Call, do func(string)) error {
			if _, err := server.Elicit[name](c, "k", "first"); err != nil {
				return err
			}
			if c.Caller.Revision != "" {
				do("charge")
			}
			return nil
		}, "and in a direct call\n\tnothing"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var record Effects
			record.Record("charge") // before the call: it does not count
			entered := 0
			s := server.New(mcp.Implementation{Name: "s", Version: "1"}, nil)
			server.AddTool(s, "x", "", func(_ context.Context, c *mcp.Call, _ struct{}) (string, error) {
				entered++
				return "done", tc.tool(entered, c, record.Record)
			}, nil)
			call := &mcp.Call{Method: mcp.MethodToolsCall, Params: json.RawMessage(`{"name":"x"}`)}
			err := twice(t.Context(), s, call, named, &record)
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("got %v, want something with %q", err, tc.want)
			}
		})
	}
}
