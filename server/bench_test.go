package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

func add(_ context.Context, _ *mcp.Call, in pair) (sum, error) { return sum{in.A + in.B}, nil }

func BenchmarkTypedTool(b *testing.B) {
	s, _ := newServer(server.Options{})
	server.AddTool(s, "add", "Add two numbers", add, nil)
	c := &mcp.Call{Method: mcp.MethodToolsCall, Params: json.RawMessage(`{"name":"add","arguments":{"a":1,"b":2}}`)}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Serve(b.Context(), c); err != nil {
			b.Fatal(err)
		}
	}
}

// thousand adds a thousand tools of one type and reports what that takes.
func thousand(names []string, o server.Options) *server.Server {
	s, _ := newServer(o)
	for _, name := range names {
		server.AddTool(s, name, "Add two numbers", add, nil)
	}
	return s
}

func thousandNames() []string {
	names := make([]string, 1000)
	for i := range names {
		names[i] = fmt.Sprint("add", i)
	}
	return names
}

func BenchmarkListTools1000(b *testing.B) {
	c := &mcp.Call{Method: mcp.MethodToolsList}
	for name, allow := range map[string]func(*mcp.Caller, server.Feature) bool{
		"same for all": nil,
		"by caller":    func(*mcp.Caller, server.Feature) bool { return true },
	} {
		s := thousand(thousandNames(), server.Options{Allow: allow})
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := s.Serve(b.Context(), c); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkAdd1000Tools(b *testing.B) {
	names := thousandNames()
	b.ReportAllocs()
	for b.Loop() {
		thousand(names, server.Options{})
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/tool")
}

func BenchmarkAddRawTool(b *testing.B) {
	s, _ := newServer(server.Options{})
	spec := mcp.Tool{Name: "add", InputSchema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}},"required":["a","b"]}`)}
	run := func(context.Context, *mcp.Call, json.RawMessage) (*mcp.CallToolResult, error) { return nil, nil }
	b.ReportAllocs()
	for b.Loop() {
		if err := s.AddRawTool(spec, run); err != nil {
			b.Fatal(err)
		}
	}
}
