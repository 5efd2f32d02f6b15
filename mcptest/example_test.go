package mcptest_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/mcptest"
	"github.com/tenon-mcp/tenon/server"
)

type pair struct {
	A int `json:"a"`
	B int `json:"b"`
}

type sum struct {
	Sum int `json:"sum"`
}

// calculator is the server under test.
func calculator() mcp.Handler {
	s := server.New(mcp.Implementation{Name: "calculator", Version: "1.0"}, nil)
	server.AddTool(s, "add", "Add two numbers", func(_ context.Context, _ *mcp.Call, in pair) (sum, error) {
		return sum{in.A + in.B}, nil
	}, nil)
	return s
}

// Conversations in files are the tests of a server that last longest: they say
// what a client sees, in every revision of the protocol.
func ExampleRun() {
	_ = func(t *testing.T) { // func TestConversations(t *testing.T)
		mcptest.Run(t, "testdata/*.txtar", func(t *testing.T) mcp.Handler { return calculator() })
	}
}

func ExampleScript() {
	_ = func(t *testing.T) { // func TestAdd(t *testing.T)
		mcptest.Script(t, calculator(), `
			call tools/call {"name":"add","arguments":{"a":1,"b":2}}
			[..2025-03-26] result {"content":[{"type":"text","text":"{\"sum\":3}"}]}
			result {"structuredContent":{"sum":3},…}
		`)
	}
}

func ExampleEveryEra() {
	_ = func(t *testing.T) { // func TestEveryClientFindsTheTool(t *testing.T)
		mcptest.EveryEra(t, calculator(), func(t *testing.T, h mcp.Handler) {
			res, err := h.Serve(t.Context(), &mcp.Call{Method: mcp.MethodToolsList})
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%s", res.Body)
		})
	}
}

func ExampleTwice() {
	_ = func(t *testing.T) { // func TestAddCanBeEnteredAgain(t *testing.T)
		call := &mcp.Call{Method: mcp.MethodToolsCall, Params: json.RawMessage(`{"name":"add","arguments":{"a":1,"b":2}}`)}
		mcptest.Twice(t, calculator(), call, func(q mcp.InputRequest) string { return `{"action":"decline"}` }, nil)
	}
}

// shop is a server that charges through what it is given.
func shop(charge func(item string)) mcp.Handler {
	s := server.New(mcp.Implementation{Name: "shop", Version: "1.0"}, nil)
	server.AddTool(s, "buy", "Buy something", func(_ context.Context, c *mcp.Call, in struct {
		Item string `json:"item"`
	}) (string, error) {
		_, err := server.Elicit[struct {
			Sure bool `json:"sure"`
		}](c, "sure", "Buy a "+in.Item+"?")
		if err != nil {
			return "", err
		}
		charge(in.Item) // after the question: before it, Twice would fail
		return "Bought.", nil
	}, nil)
	return s
}

func buyTwice(t *testing.T) {
	var done mcptest.Effects
	s := shop(func(item string) { done.Record("charge for " + item) })
	call := &mcp.Call{Method: mcp.MethodToolsCall, Params: json.RawMessage(`{"name":"buy","arguments":{"item":"chair"}}`)}
	mcptest.Twice(t, s, call, func(q mcp.InputRequest) string {
		return `{"action":"accept","content":{"sure":true}}`
	}, &done)
}

func ExampleEffects() {
	_ = buyTwice // func TestBuyChargesOnce(t *testing.T)
}

func TestExampleEffects(t *testing.T) { buyTwice(t) }

// The examples above only compile; this plays the one with a text in it.
func TestExampleScript(t *testing.T) {
	mcptest.Script(t, calculator(), `
			call tools/call {"name":"add","arguments":{"a":1,"b":2}}
			[..2025-03-26] result {"content":[{"type":"text","text":"{\"sum\":3}"}]}
			result {"structuredContent":{"sum":3},…}
	`)
}
