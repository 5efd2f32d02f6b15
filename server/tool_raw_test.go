package server_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"

	_ "github.com/tenon-mcp/tenon/schema/validate" // raw tools need a validator
)

// A raw tool is held to the schemas that it came with.
func TestRawTool(t *testing.T) {
	s := server.New(mcp.Implementation{Name: "raw", Version: "1.0"}, nil)
	err := s.AddRawTool(mcp.Tool{
		Name:         "echo",
		InputSchema:  json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`),
		OutputSchema: json.RawMessage(`{"type":"object","properties":{"n":{"maximum":9}}}`),
	}, func(_ context.Context, _ *mcp.Call, args json.RawMessage) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{StructuredContent: args}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	rows := []struct{ args, want string }{
		{`{"n":1}`, `"structuredContent":{"n":1}`},
		{`{"n":"1"}`, `n: expected integer, got string`},
		{`{}`, `n: is required but missing`},
		{`{"n":10}`, `the output of tool "echo" does not fit its own schema`},
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
