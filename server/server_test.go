package server_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

type pair struct {
	A int `json:"a" doc:"the first number"`
	B int `json:"b" doc:"the second number"`
}
type sum struct {
	Sum int `json:"sum"`
}

func calculator() *server.Server {
	s := server.New(mcp.Implementation{Name: "calc", Version: "1.0"}, nil)
	server.AddTool(s, "add", "Add two numbers", func(_ context.Context, _ *mcp.Call, in pair) (sum, error) {
		return sum{in.A + in.B}, nil
	})
	return s
}

func TestTypedTool(t *testing.T) {
	s := calculator()
	res, err := s.Serve(t.Context(), &mcp.Call{Method: mcp.MethodToolsCall, Params: json.RawMessage(`{"name":"add","arguments":{"a":1,"b":2}}`)})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(res.Body), `{"structuredContent":{"sum":3},"content":[{"type":"text","text":"{\"sum\":3}"}]}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	res, err = s.Serve(t.Context(), &mcp.Call{Method: mcp.MethodToolsCall, Params: json.RawMessage(`{"name":"add","arguments":{"a":"x","c":2}}`)})
	if err != nil {
		t.Fatal(err)
	}
	t.Log(string(res.Body))
	res, _ = s.Serve(t.Context(), &mcp.Call{Method: mcp.MethodToolsList})
	t.Log(string(res.Body))
}

func BenchmarkTypedTool(b *testing.B) {
	s := calculator()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Serve(b.Context(), &mcp.Call{Method: mcp.MethodToolsCall, Params: json.RawMessage(`{"name":"add","arguments":{"a":1,"b":2}}`)}); err != nil {
			b.Fatal(err)
		}
	}
}
