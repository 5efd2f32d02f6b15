package client_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/mcp"
)

type sumArgs struct {
	A int `json:"a"`
	B int `json:"b"`
}

type sumResult struct {
	Sum int `json:"sum"`
}

// adder is about the least that a server can do.
var adder = mcp.HandlerFunc(func(_ context.Context, c *mcp.Call) (mcp.Result, error) {
	if _, _, err := mcp.DecodeCallToolParams(c.Params); err != nil {
		return mcp.Result{}, err
	}
	return mcp.Result{Body: sumBody}, nil
})

var sumBody = json.RawMessage(`{"content":[{"type":"text","text":"{\"sum\":3}"}],"structuredContent":{"sum":3}}`)

func BenchmarkCall(b *testing.B) {
	c := client.New(adder, nil)
	ctx := b.Context()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := client.Call[sumResult](ctx, c, "add", sumArgs{1, 2}, nil); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCallTool(b *testing.B) {
	c := client.New(adder, nil)
	ctx := b.Context()
	args := json.RawMessage(`{"a":1,"b":2}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.CallTool(ctx, "add", args, nil); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCallChecked is a call of a tool whose output schema is known.
func BenchmarkCallChecked(b *testing.B) {
	schema := `{"type":"object","properties":{"sum":{"type":"integer"}},"required":["sum"]}`
	var calls int
	c := client.New(promising(&schema, string(sumBody), &calls), nil)
	ctx := b.Context()
	if err := drain(c.Tools(ctx)); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := client.Call[sumResult](ctx, c, "t", sumArgs{1, 2}, nil); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkHandler is the floor: the same call without a client.
func BenchmarkHandler(b *testing.B) {
	call := &mcp.Call{Method: mcp.MethodToolsCall, Params: json.RawMessage(`{"name":"add","arguments":{"a":1,"b":2}}`)}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := adder.Serve(b.Context(), call); err != nil {
			b.Fatal(err)
		}
	}
}
