package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

// A raw tool is held to the schemas that it came with.
func TestRawTool(t *testing.T) {
	s, log := newServer(server.Options{})
	err := s.AddRawTool(mcp.Tool{
		Name:         "echo",
		InputSchema:  json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`),
		OutputSchema: json.RawMessage(`{"type":"object","properties":{"n":{"maximum":9}}}`),
	}, func(_ context.Context, _ *mcp.Call, args json.RawMessage) (*mcp.CallToolResult, error) {
		switch string(args) {
		case `{"n":2}`:
			return nil, nil
		case `{"n":3}`:
			return nil, errors.New("not three")
		case `{"n":4}`:
			return nil, mcp.Errorf(42, "not four")
		case `{"n":5}`:
			return mcp.ToolError("not five"), nil // which need not fit
		}
		return &mcp.CallToolResult{StructuredContent: args}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.AddRawTool(mcp.Tool{Name: "none", InputSchema: json.RawMessage("{\"type\":\n\"object\"}")}, func(_ context.Context, _ *mcp.Call, args json.RawMessage) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: mcp.Contents{mcp.Text(string(args))}}, nil
	}); err != nil {
		t.Fatal(err)
	}
	for _, args := range []string{"", "null", "{}"} {
		expect(t, "no arguments", callTool(t, s, "none", args), `{"content":[{"type":"text","text":"{}"}]}`)
	}
	if list := ask(t, s, mcp.MethodToolsList, ""); strings.Contains(list, "\n") {
		t.Errorf("a list on several lines: %s", list)
	}
	rows := []struct{ args, want string }{
		{`{"n":1}`, `"structuredContent":{"n":1}`},
		{`{"n":"1"}`, `n: expected integer, got string`},
		{`{}`, `n: is required but missing`},
		{`{"n":2}`, `encode the output of tool "echo": the result is nil`},
		{`{"n":3}`, `{"content":[{"type":"text","text":"not three"}],"isError":true}`},
		{`{"n":4}`, `not four`},
		{`{"n":5}`, `{"content":[{"type":"text","text":"not five"}],"isError":true}`},
		{`{"n":10}`, "output of tool \"echo\" violates its output schema:\nn: must be at most 9"},
	}
	for _, row := range rows {
		res, err := s.Serve(t.Context(), &mcp.Call{Method: mcp.MethodToolsCall, Params: json.RawMessage(`{"name":"echo","arguments":` + row.args + `}`)})
		got := string(res.Body)
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, row.want) {
			t.Errorf("%s: %s, want …%s…", row.args, got, row.want)
		}
	}
	if !strings.Contains(log.String(), "violates its output schema") {
		t.Errorf("the operator reads %s", log)
	}
}

func TestRawToolNeedsUsableSchemas(t *testing.T) {
	s := server.New(mcp.Implementation{Name: "raw", Version: "1.0"}, nil)
	object := json.RawMessage(`{"type":"object"}`)
	away := json.RawMessage(`{"type":"object","properties":{"a":{"$ref":"https://example.com/a"}}}`)
	for _, row := range []struct {
		spec mcp.Tool
		want string
	}{
		{mcp.Tool{Name: "in", InputSchema: away}, `tool "in": input schema: `},
		{mcp.Tool{Name: "out", InputSchema: object, OutputSchema: away}, `tool "out": output schema: `},
	} {
		if err := s.AddRawTool(row.spec, nil); err == nil || !strings.HasPrefix(err.Error(), row.want) || !strings.Contains(err.Error(), "never fetched") {
			t.Errorf("%v, want %s…", err, row.want)
		}
	}
}

// Names that others chose are taken, with a word to the operator, once.
func TestRawToolNamesOutsideTheRecommendation(t *testing.T) {
	s, log := newServer(server.Options{})
	for _, name := range []string{"files/read", "Wetter für heute", "🐚", strings.Repeat("x", 129)} {
		for range 2 {
			err := s.AddRawTool(mcp.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)}, func(context.Context, *mcp.Call, json.RawMessage) (*mcp.CallToolResult, error) {
				return &mcp.CallToolResult{Content: mcp.Contents{mcp.Text(name)}}, nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		expect(t, name, callTool(t, s, name, ""), `{"content":[{"type":"text","text":"`+name+`"}]}`)
	}
	warned := strings.Count(log.String(), "some clients may reject the name of this tool")
	if warned != 4 {
		t.Errorf("the operator is warned %d times of 4 names: %s", warned, log)
	}
	if err := s.AddRawTool(mcp.Tool{Name: "plain.name-1", InputSchema: json.RawMessage(`{"type":"object"}`)}, nil); err == nil {
		t.Error("a tool without a func was added")
	}
	if err := s.AddRawTool(mcp.Tool{Name: "plain.name-1", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(context.Context, *mcp.Call, json.RawMessage) (*mcp.CallToolResult, error) { return nil, nil }); err != nil {
		t.Error(err)
	}
	if strings.Contains(log.String(), "plain.name-1") {
		t.Errorf("a good name is warned of: %s", log)
	}
}

// The middleware of a raw tool wraps its calls and no others.
func TestRawToolMiddleware(t *testing.T) {
	s, _ := newServer(server.Options{})
	ran := 0
	wrap := func(next mcp.Handler) mcp.Handler {
		return mcp.HandlerFunc(func(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
			ran++
			return next.Serve(ctx, c)
		})
	}
	run := func(context.Context, *mcp.Call, json.RawMessage) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{}, nil
	}
	object := json.RawMessage(`{"type":"object"}`)
	if err := errors.Join(s.AddRawTool(mcp.Tool{Name: "a", InputSchema: object}, run, wrap), s.AddRawTool(mcp.Tool{Name: "b", InputSchema: object}, run)); err != nil {
		t.Fatal(err)
	}
	callTool(t, s, "a", "{}")
	callTool(t, s, "b", "{}")
	if ran != 1 {
		t.Errorf("the middleware ran %d times", ran)
	}
}
