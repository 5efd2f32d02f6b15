package streamclient

import (
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
)

// What a server speaks is found out once.
func TestClientRemembersTheEra(t *testing.T) {
	ok := func(w http.ResponseWriter, r *http.Request, m *jsonrpc.Message) { answers(w, m, textResult) }
	for name, test := range map[string]struct {
		serve serving
		want  []string
	}{
		"newest": {modern(ok), []string{"server/discover", "tools/call", "tools/call"}},
		"older": {legacy(noStream(ok)), []string{"server/discover", "initialize", "notifications/initialized", "GET", "tools/call", "DELETE",
			"initialize", "notifications/initialized", "GET", "tools/call", "DELETE"}},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, f *far) {
				f.serve = test.serve
				e := f.endpoint()
				for range 2 {
					c := connect(t, e)
					if _, err := c.Serve(t.Context(), callTool("x", `{}`)); err != nil {
						t.Error(err)
					}
					c.Close()
				}
				wantMethods(t, f, test.want...)
			})
		})
	}
}

// A server that was replaced by one of another era is met anew, during a
// connection and between two.
func TestClientFindsAnotherEra(t *testing.T) {
	ok := func(w http.ResponseWriter, r *http.Request, m *jsonrpc.Message) { answers(w, m, textResult) }
	refuse := func(with func(w http.ResponseWriter, m *jsonrpc.Message)) serving {
		old := legacy(noStream(ok))
		return func(w http.ResponseWriter, r *http.Request, m *jsonrpc.Message) {
			if r.Method == http.MethodPost && m.Method != "initialize" && r.Header.Get("Mcp-Session-Id") == "" {
				with(w, m)
				return
			}
			old(w, r, m)
		}
	}
	olders := map[string]serving{
		"older, with an error": refuse(func(w http.ResponseWriter, m *jsonrpc.Message) {
			fails(w, &jsonrpc.Message{}, 400, -32000, "Bad Request: No valid session ID provided")
		}),
		"older, without a word": refuse(func(w http.ResponseWriter, m *jsonrpc.Message) { w.WriteHeader(400) }),
		"older, not found":      refuse(func(w http.ResponseWriter, m *jsonrpc.Message) { w.WriteHeader(404) }),
	}
	newest := func(w http.ResponseWriter, r *http.Request, m *jsonrpc.Message) {
		if m.Method == "initialize" || m.Method == "" {
			fails(w, m, 400, mcp.CodeUnsupportedVersion, "Unsupported protocol version")
			return
		}
		if r.Header.Get("Mcp-Session-Id") != "" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		modern(ok)(w, r, m)
	}
	run := func(t *testing.T, before, after serving, want mcp.Revision, again bool) {
		bubble(t, func(t *testing.T, f *far) {
			var replaced atomic.Bool
			f.serve = func(w http.ResponseWriter, r *http.Request, m *jsonrpc.Message) {
				if replaced.Load() {
					after(w, r, m)
					return
				}
				before(w, r, m)
			}
			e := f.endpoint()
			c := connect(t, e)
			if _, err := c.Serve(t.Context(), callTool("x", `{}`)); err != nil {
				t.Fatal(err)
			}
			replaced.Store(true)
			if again {
				c = connect(t, e)
			}
			if _, err := c.Serve(t.Context(), callTool("x", `{}`)); err != nil {
				t.Fatal(err)
			}
			if c.Revision() != want {
				t.Errorf("revision %s, want %s", c.Revision(), want)
			}
		})
	}
	for _, again := range []bool{false, true} {
		when := map[bool]string{false: " meanwhile", true: " between"}[again]
		for name, older := range olders {
			t.Run(name+when, func(t *testing.T) { run(t, modern(ok), older, mcp.Rev20251125, again) })
		}
		t.Run("newest"+when, func(t *testing.T) { run(t, legacy(noStream(ok)), newest, mcp.Rev20260728, again) })
	}
}

// An error that only looks like one of another era costs a question, and is
// told as it is: the call is not made twice.
func TestClientDoubtsInVain(t *testing.T) {
	bubble(t, func(t *testing.T, f *far) {
		f.serve = modern(func(w http.ResponseWriter, r *http.Request, m *jsonrpc.Message) { fails(w, m, 400, -32000, "no") })
		if _, err := connect(t, f.endpoint()).Serve(t.Context(), callTool("x", `{}`)); err == nil {
			t.Error("no error")
		}
		wantMethods(t, f, "server/discover", "tools/call", "server/discover")
	})
}
