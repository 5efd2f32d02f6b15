package era_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/tenon-mcp/tenon/era"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
)

// BenchmarkDoor measures what a call costs on its way through the door, over a
// stream in memory and back, with a handler that does nothing.
func BenchmarkDoor(b *testing.B) {
	for _, name := range []string{"modern", "legacy"} {
		b.Run(name, func(b *testing.B) {
			s, err := era.NewServer(discoverable(func(context.Context, *mcp.Call) (mcp.Result, error) { return text("3"), nil }), speaks[name])
			if err != nil {
				b.Fatal(err)
			}
			near, far := jsonrpc.Pipe()
			done := make(chan error, 1)
			go func() { done <- s.ServeStream(context.Background(), far) }()
			p, err := era.Dial(b.Context(), near, able, nil)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := p.Serve(b.Context(), &mcp.Call{Method: mcp.MethodToolsCall, Params: json.RawMessage(`{"name":"add","arguments":{"a":1,"b":2}}`)}); err != nil {
					b.Fatal(err)
				}
			}
			b.StopTimer()
			p.Close()
			<-done
		})
	}
}
