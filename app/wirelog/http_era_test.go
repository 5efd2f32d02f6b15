package wirelog

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/tenon-mcp/tenon/app/speccheck"
	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/era"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
	"github.com/tenon-mcp/tenon/transport/streamable"
	"github.com/tenon-mcp/tenon/transport/streamclient"
)

// What our own client and server say over HTTP breaks no rule, and every message
// that has an exchange of its own shows it.
func TestOurOwnTrafficOverHTTP(t *testing.T) {
	for name, legacy := range map[string]bool{"modern": false, "legacy": true} {
		t.Run(name, func(t *testing.T) {
			h, err := streamable.NewHandler(greeter(), &streamable.Options{Era: era.ServerOptions{LegacyOnly: legacy, ModernOnly: !legacy}})
			if err != nil {
				t.Fatal(err)
			}
			srv := httptest.NewServer(h)
			defer srv.Close()
			defer h.Shutdown()
			l := NewLog(nil)
			w := l.Wire("shop")
			transport := &http.Transport{}
			defer transport.CloseIdleConnections()
			c, err := client.Dial(t.Context(), &streamclient.Endpoint{
				URL: srv.URL, HTTP: &http.Client{Transport: w.RoundTripper(transport)}, Era: era.DialOptions{Tap: w.Frame},
			}, nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, err := range c.Tools(t.Context()) {
				if err != nil {
					t.Error(err)
				}
			}
			if _, err := c.CallTool(t.Context(), "greet", map[string]string{"name": "Bob"}, &client.CallOptions{Progress: func(mcp.ProgressParams) {}}); err != nil {
				t.Error(err)
			}
			if _, err := c.CallTool(t.Context(), "no-such-tool", nil, nil); err == nil {
				t.Error("there is a tool that does not exist")
			}
			c.Close()
			ms, _ := l.Since(0, 0)
			carried := 0
			for _, m := range ms {
				for _, p := range m.Problems {
					// The probe of an older server is refused with what that server knows.
					if !(legacy && m.Method == mcp.MethodDiscover) {
						t.Errorf("our own message %s %s breaks %+v", m.Dir, m.Frame, p)
					}
				}
				if m.Kind.IsJSON() && (m.Dir == speccheck.ToServer || m.Joins != 0) {
					if m.HTTP == nil || m.HTTP.Status == 0 || len(m.HTTP.Request) == 0 {
						t.Errorf("%s %s has the exchange %+v", m.Dir, m.Frame, m.HTTP)
					}
					carried++
				}
			}
			if carried < 6 {
				t.Errorf("only %d messages were carried", carried)
			}
		})
	}
}

func greeter() *server.Server {
	type who struct {
		Name string `json:"name"`
	}
	s := server.New(mcp.Implementation{Name: "greeter", Version: "1"}, nil)
	server.AddTool(s, "greet", "Say hello", func(_ context.Context, c *mcp.Call, in who) (string, error) {
		server.Progress(c, 1, 2, "thinking")
		return "Hello " + in.Name, nil
	}, nil)
	return s
}
