package gateway_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/app/audit"
	"github.com/tenon-mcp/tenon/app/gateway"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
	"github.com/tenon-mcp/tenon/transport/streamable"
	"github.com/tenon-mcp/tenon/transport/streamclient"
)

// BenchmarkHop makes calls over HTTP through a gateway to a server behind HTTP,
// without links and with those that decide who may what.
func BenchmarkHop(b *testing.B) {
	s := server.New(mcp.Implementation{Name: "notes", Version: "1"}, nil)
	server.AddTool(s, "read", "reads", func(context.Context, *mcp.Call, struct{ Path string }) (string, error) { return "text", nil }, nil)
	behind := serveHTTP(b, s, nil)
	up, err := (&streamclient.Endpoint{URL: behind}).Dial(b.Context(), nil)
	if err != nil {
		b.Fatal(err)
	}
	defer up.Close()
	r, err := gateway.NewRouter([]gateway.Upstream{{Name: "notes", Handler: up}}, nil)
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	for name, links := range map[string]func(b *testing.B) []mcp.Middleware{
		"bare": func(*testing.B) []mcp.Middleware { return nil },
		"links": func(b *testing.B) []mcp.Middleware {
			log, err := audit.Open(filepath.Join(b.TempDir(), "audit.jsonl"), nil)
			if err != nil {
				b.Fatal(err)
			}
			w := audit.NewWriter(log, nil)
			b.Cleanup(func() { w.Close(); log.Close() })
			return []mcp.Middleware{
				gateway.Limits([]gateway.Limit{{Name: "l", Match: gateway.Match{Group: "dev", Tool: "*"}, Rate: 1e9, Period: time.Second, Concurrency: 100}}, r, nil),
				gateway.Audit(w, r, nil),
				gateway.Policy([]gateway.Rule{{Match: gateway.Match{Group: "dev", Server: "notes"}}, {Match: gateway.Match{Tool: "delete_*"}, Deny: true}}, r, nil),
				gateway.Owners(nil),
			}
		},
	} {
		b.Run(name, func(b *testing.B) {
			dev := &mcp.Principal{ID: "ada", Issuer: "https://id.example", Claims: map[string]json.RawMessage{"groups": json.RawMessage(`["dev"]`)}}
			url := serveHTTP(b, mcp.Chain(r, links(b)...), func(*http.Request) *mcp.Principal { return dev })
			b.ReportAllocs()
			for b.Loop() {
				post(b, url)
			}
		})
	}
}

func serveHTTP(b *testing.B, h mcp.Handler, who func(*http.Request) *mcp.Principal) string {
	b.Helper()
	s, err := streamable.NewHandler(h, &streamable.Options{Principal: who})
	if err != nil {
		b.Fatal(err)
	}
	web := httptest.NewServer(s)
	b.Cleanup(func() { web.CloseClientConnections(); web.Close() })
	return web.URL
}

func post(b *testing.B, url string) {
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"notes__read","arguments":{"Path":"/a"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"raw","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`
	req, err := http.NewRequest(http.MethodPost, url, bytes.NewReader([]byte(body)))
	if err != nil {
		b.Fatal(err)
	}
	req.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}, "Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {"tools/call"}, "Mcp-Name": {"notes__read"}}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		b.Fatal(err)
	}
	defer resp.Body.Close()
	if text, _ := io.ReadAll(resp.Body); resp.StatusCode != http.StatusOK {
		b.Fatalf("%d %s", resp.StatusCode, text)
	}
}
