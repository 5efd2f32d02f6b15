package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/internal/redact"
	"github.com/tenon-mcp/tenon/mcp"
)

// BenchmarkGuard measures what the links add to a call without a transport.
func BenchmarkGuard(b *testing.B) {
	p, err := OpenPins(&PinOptions{Log: quiet})
	if err != nil {
		b.Fatal(err)
	}
	defer p.Close()
	var secrets []string
	for i := range 20 {
		secrets = append(secrets, fmt.Sprintf("secret-%d-abcdefghij", i))
	}
	server := &fake{tools: toolsOf(addTool), other: func(context.Context, *mcp.Call) (mcp.Result, error) {
		return mcp.Result{Body: json.RawMessage(`{"content":[{"type":"text","text":"` + strings.Repeat("A line of text. ", 12) + `"}]}`)}, nil
	}}
	results := GuardResults(&ResultOptions{Secrets: redact.New(secrets...)})
	observer := NewObserver(nil)
	for _, chain := range []struct {
		name  string
		links []mcp.Middleware
	}{
		{"bare", nil},
		{"pins", []mcp.Middleware{p.Guard("s")}},
		{"results", []mcp.Middleware{results}},
		{"observer", []mcp.Middleware{observer.Middleware()}},
		{"all", []mcp.Middleware{observer.Middleware(), results, p.Guard("s")}},
	} {
		h := mcp.Chain(server, chain.links...)
		c := &mcp.Call{Method: mcp.MethodToolsCall, Params: json.RawMessage(`{"name":"add","arguments":{"a":1,"b":2}}`), OnNotification: func(mcp.Notification) {}}
		b.Run(chain.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := h.Serve(b.Context(), c); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
