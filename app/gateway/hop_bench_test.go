package gateway_test

import (
	"context"
	"io"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/app/audit"
	"github.com/tenon-mcp/tenon/app/gateway"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

// BenchmarkLinks measures what each link adds to a call.
func BenchmarkLinks(b *testing.B) {
	s := server.New(mcp.Implementation{Name: "s", Version: "1"}, nil)
	server.AddTool(s, "add", "adds", func(_ context.Context, _ *mcp.Call, in struct{ A, B int }) (sum, error) { return sum{in.A + in.B}, nil }, nil)
	quiet := slog.New(slog.NewTextHandler(io.Discard, nil))
	log, err := audit.Open(filepath.Join(b.TempDir(), "audit.jsonl"), nil)
	if err != nil {
		b.Fatal(err)
	}
	writer := audit.NewWriter(log, nil)
	b.Cleanup(func() { writer.Close(); log.Close() })
	pins, err := gateway.OpenPins(&gateway.PinOptions{Log: quiet})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { pins.Close() })
	r, err := gateway.NewRouter([]gateway.Upstream{{Name: "up", Handler: s}}, &gateway.Options{Log: quiet})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { r.Close() })
	one := gateway.OneServer("up")
	rules := []gateway.Rule{{Match: gateway.Match{Server: "up"}}, {Match: gateway.Match{Tool: "delete_*"}, Deny: true}}
	limits := []gateway.Limit{{Name: "1", Match: gateway.Match{Tool: "*"}, Rate: 1_000_000, Period: time.Second, Concurrency: 1000, Per: gateway.PerTool}}
	for _, link := range []struct {
		name string
		tool string
		h    mcp.Handler
	}{
		{"none", "add", s},
		{"headers", "add", gateway.CheckHeaders()(s)},
		{"router", "up__add", r},
		{"policy", "add", gateway.Policy(rules, one, nil)(s)},
		{"limits", "add", gateway.Limits(limits, one, nil)(s)},
		{"audit", "add", gateway.Audit(writer, one, nil)(s)},
		{"pins", "add", pins.Guard("up")(s)},
		{"results", "add", gateway.GuardResults(&gateway.ResultOptions{Tokens: true})(s)},
	} {
		b.Run(link.name, func(b *testing.B) {
			c := &mcp.Call{Method: mcp.MethodToolsCall, Params: []byte(`{"name":"` + link.tool + `","arguments":{"A":20,"B":22}}`), Headers: map[string]string{},
				Caller: mcp.Caller{Revision: mcp.Rev20251125, Client: &mcp.Implementation{Name: "c", Version: "1"}}}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := link.h.Serve(b.Context(), c); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
