package gateway_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/app/gateway"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
	"github.com/tenon-mcp/tenon/transport/streamable"
)

// withTools returns a server with n tools.
func withTools(n int) *server.Server {
	s := server.New(mcp.Implementation{Name: "many", Version: "1"}, nil)
	for i := range n {
		server.AddTool(s, fmt.Sprintf("tool_%d", i), "adds two integers", func(_ context.Context, _ *mcp.Call, in struct{ A, B int }) (sum, error) { return sum{in.A + in.B}, nil }, nil)
	}
	return s
}

// A writer is a ResponseWriter that allocates nothing once it has grown.
type writer struct {
	header http.Header
	status int
	body   []byte
}

func (w *writer) Header() http.Header         { return w.header }
func (w *writer) WriteHeader(status int)      { w.status = status }
func (w *writer) Write(b []byte) (int, error) { w.body = append(w.body, b...); return len(b), nil }
func (w *writer) Flush()                      {}

// lister returns a function that lists the tools of h over HTTP, without what
// net/http adds, and returns the response.
func lister(t testing.TB, h mcp.Handler, rev mcp.Revision) func() []byte {
	web, err := streamable.NewHandler(h, nil)
	if err != nil {
		t.Fatal(err)
	}
	session := ""
	w := &writer{header: http.Header{}}
	post := func(body, method string) *writer {
		w.status, w.body = http.StatusOK, w.body[:0]
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://127.0.0.1/mcp", strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		r.Header.Set("MCP-Protocol-Version", string(rev))
		r.Header.Set("Mcp-Method", method)
		if session != "" {
			r.Header.Set("Mcp-Session-Id", session)
		}
		web.ServeHTTP(w, r)
		return w
	}
	list := `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"` + string(rev) + `","io.modelcontextprotocol/clientInfo":{"name":"b","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`
	if rev != mcp.Rev20260728 {
		list = `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`
		session = post(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"`+string(rev)+`","capabilities":{},"clientInfo":{"name":"b","version":"1"}}}`, "initialize").Header().Get("Mcp-Session-Id")
		post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`, "notifications/initialized")
	}
	return func() []byte {
		post(list, mcp.MethodToolsList)
		if w.status != http.StatusOK {
			t.Fatalf("%d %s", w.status, w.body)
		}
		return w.body
	}
}

// BenchmarkList1000 compares the list of 1,000 tools of five servers behind a
// gateway with that of one server that has them all, in turns.
func BenchmarkList1000(b *testing.B) {
	var ups []gateway.Upstream
	for i := range 5 {
		ups = append(ups, gateway.Upstream{Name: fmt.Sprint("server", i), Handler: withTools(200)})
	}
	r, err := gateway.NewRouter(ups, nil)
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	one := withTools(1000)
	for _, rev := range []mcp.Revision{mcp.Rev20260728, mcp.Rev20251125} {
		b.Run(string(rev), func(b *testing.B) {
			set := mcp.Chain(r, gateway.Within(gateway.Set{Servers: []string{"server0", "server1", "server2", "server3", "server4"}}))
			rules := []gateway.Rule{{Match: gateway.Match{Server: "server*"}}, {Match: gateway.Match{Tool: "delete_*"}, Deny: true}}
			links := mcp.Chain(r, gateway.Policy(rules, r, nil), gateway.CheckHeaders(), gateway.GuardResults(&gateway.ResultOptions{Tokens: true}))
			lists := []func() []byte{lister(b, one, rev), lister(b, r, rev), lister(b, set, rev), lister(b, links, rev)}
			for _, list := range lists {
				if n := bytes.Count(list(), []byte(`"inputSchema"`)); n != 1000 {
					b.Fatalf("%d tools", n)
				}
			}
			const batch = 100
			took := make([][]time.Duration, len(lists))
			for b.Loop() {
				for i, list := range lists {
					began := time.Now()
					for range batch {
						list()
					}
					took[i] = append(took[i], time.Since(began)/batch)
				}
			}
			median := func(d []time.Duration) float64 { slices.Sort(d); return float64(d[len(d)/2]) }
			b.ReportMetric(median(took[0])/1000, "µs/single")
			b.ReportMetric(median(took[1])/median(took[0]), "gateway/single")
			b.ReportMetric(median(took[2])/median(took[0]), "set/single")
			b.ReportMetric(median(took[3])/median(took[0]), "links/single")
		})
	}
}
