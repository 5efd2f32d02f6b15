package api

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/tenon-mcp/tenon/auth/tokens"
	"github.com/tenon-mcp/tenon/internal/leaktest"
	"github.com/tenon-mcp/tenon/mcp"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// A world is an API on this machine and a server that wraps it.
type world struct {
	t     testing.TB
	api   *httptest.Server
	serve mcp.Handler
	mu    sync.Mutex
	seen  []string // METHOD /path?query body
	heads []http.Header
	asked []string
}

// newWorld wraps an API with a file. BASE in the file is the address of the API.
func newWorld(t testing.TB, file string, api http.HandlerFunc, change ...func(*Config)) *world {
	t.Helper()
	w := &world{t: t}
	w.api = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		w.mu.Lock()
		w.seen = append(w.seen, strings.TrimSpace(r.Method+" "+r.URL.RequestURI()+" "+string(body)))
		w.heads = append(w.heads, r.Header.Clone())
		w.mu.Unlock()
		api(rw, r)
	}))
	t.Cleanup(w.api.Close)
	c := Config{Data: []byte(w.fill(file)), Name: "test.yaml", Private: true, Tokens: &tokens.Memory{}}
	c.Resolver.Getenv = func(name string) (string, bool) { return "marker-" + name, true }
	for _, f := range change {
		f(&c)
	}
	s, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	w.serve = s
	return w
}

func (w *world) fill(s string) string {
	s = strings.ReplaceAll(s, "BASE", w.api.URL)
	if !strings.HasPrefix(s, "tenon:") {
		s = "tenon: api/1\nname: test\ntitle: Test\napi: {base: \"" + w.api.URL + "\"}\n" + s
	}
	return s
}

// requests returns what the API has received since the last time.
func (w *world) requests() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	seen := w.seen
	w.seen, w.heads = nil, nil
	return seen
}

// call calls a tool as a client whose user accepts everything.
func (w *world) call(tool, args string) *mcp.CallToolResult {
	return w.callAs(tool, args, mcp.ActionAccept, nil)
}

func (w *world) callAs(tool, args string, action mcp.Action, who *mcp.Principal) *mcp.CallToolResult {
	w.t.Helper()
	h := mcp.HandleInput(w.serve, func(_ context.Context, _ *mcp.Call, _ string, q mcp.InputRequest) (json.RawMessage, error) {
		var p mcp.ElicitParams
		if err := mcp.Unmarshal(q.Params, &p); err != nil {
			return nil, err
		}
		w.mu.Lock()
		w.asked = append(w.asked, p.Message+p.URL)
		w.mu.Unlock()
		return json.RawMessage(fmt.Sprintf(`{"action":%q,"content":{}}`, action)), nil
	}, 0)
	c := toolCall(tool, args, who)
	c.Caller.Capabilities = &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapability{Form: mcp.Settings{}, URL: mcp.Settings{}}}
	return decodeResult(w.t, h, c)
}

func toolCall(tool, args string, who *mcp.Principal) *mcp.Call {
	return &mcp.Call{Method: mcp.MethodToolsCall, Params: json.RawMessage(fmt.Sprintf(`{"name":%q,"arguments":%s}`, tool, args)), Caller: mcp.Caller{Principal: who}}
}

func decodeResult(t testing.TB, h mcp.Handler, c *mcp.Call) *mcp.CallToolResult {
	t.Helper()
	return decodeIn(t, context.WithoutCancel(t.Context()), h, c)
}

func decodeIn(t testing.TB, ctx context.Context, h mcp.Handler, c *mcp.Call) *mcp.CallToolResult {
	t.Helper()
	res, err := h.Serve(ctx, c)
	if err != nil {
		return mcp.ToolError("PROTOCOL %v", err)
	}
	out, err := mcp.DecodeCallToolResult(res.Body)
	if err != nil {
		t.Fatalf("%v: %s", err, res.Body)
	}
	return out
}

// says is the text of a call, with ERROR before it if it failed.
func (w *world) says(tool, args string) string {
	w.t.Helper()
	return said(w.call(tool, args))
}

func said(r *mcp.CallToolResult) string {
	if r.IsError {
		return "ERROR " + r.Content.Text()
	}
	return r.Content.Text()
}

// ask serves another method and returns its result or error as text.
func (w *world) ask(method, params string) string {
	w.t.Helper()
	res, err := w.serve.Serve(context.WithoutCancel(w.t.Context()), &mcp.Call{Method: method, Params: json.RawMessage(params)})
	if err != nil {
		return "ERROR " + err.Error()
	}
	return string(res.Body)
}

// expect compares exactly, or by a part if want begins with an ellipsis.
func expect(t testing.TB, what, got, want string) {
	t.Helper()
	part, some := strings.CutPrefix(want, "…")
	if some && strings.Contains(got, part) || got == want {
		return
	}
	t.Errorf("%s:\n got %s\nwant %s", what, got, want)
}

// reply answers with JSON.
func reply(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	io.WriteString(w, body)
}

// open returns the content of a cursor.
func (w *world) open(t *testing.T, cursor string) []byte {
	t.Helper()
	data, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil || len(data) < macSize {
		t.Fatalf("%q: %v", cursor, err)
	}
	return data[macSize:]
}
