package streamable_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/transport/streamable"
)

// A house is a Handler that is spoken to in plain HTTP.
type house struct {
	t   *testing.T
	url string
	h   *streamable.Handler
}

func newHouse(t *testing.T, h mcp.Handler, o *streamable.Options) *house {
	t.Helper()
	handler, err := streamable.NewHandler(h, o)
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(handler)
	t.Cleanup(func() {
		handler.Shutdown()
		http.DefaultClient.CloseIdleConnections()
		web.Close()
	})
	return &house{t, web.URL, handler}
}

// send sends a request; headers are names and values in turn.
func (h *house) send(method, body string, headers ...string) *http.Response {
	h.t.Helper()
	return h.sendUntil(h.t.Context(), method, body, headers...)
}

func (h *house) sendUntil(ctx context.Context, method, body string, headers ...string) *http.Response {
	h.t.Helper()
	r, err := http.NewRequestWithContext(ctx, method, h.url, strings.NewReader(body))
	if err != nil {
		h.t.Fatal(err)
	}
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { res.Body.Close() })
	return res
}

// text reads the rest of an answer.
func (h *house) text(res *http.Response) string {
	h.t.Helper()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		h.t.Fatal(err)
	}
	return string(raw)
}

// session opens one and returns the headers that name it.
func (h *house) session(rev mcp.Revision) []string {
	h.t.Helper()
	res := h.send("POST", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"`+string(rev)+`","capabilities":{"elicitation":{}},"clientInfo":{"name":"raw","version":"1"}}}`)
	h.text(res)
	id := res.Header.Get("Mcp-Session-Id")
	if res.StatusCode != 200 || id == "" {
		h.t.Fatalf("initialize: %s, session %q", res.Status, id)
	}
	named := []string{"Mcp-Session-Id", id, "Mcp-Protocol-Version", string(rev)}
	if res := h.send("POST", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, named...); res.StatusCode != 202 {
		h.t.Fatalf("initialized: %s", res.Status)
	}
	return named
}

// tool is a call of a tool of an older revision.
func tool(id, name string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"` + name + `"}}`
}

// newTool is a call of a tool of the newest revision, and its headers.
func newTool(id, name, args string) (body string, headers []string) {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"` + name + `","arguments":` + args + `,"_meta":{` +
			`"io.modelcontextprotocol/protocolVersion":"` + string(mcp.Rev20260728) + `","io.modelcontextprotocol/clientCapabilities":{}}}}`,
		[]string{"Mcp-Protocol-Version", string(mcp.Rev20260728), "Mcp-Method", "tools/call", "Mcp-Name", name}
}

// code is that of the error in an answer; 0 if it is a result.
func code(t *testing.T, answer string) (n int) {
	t.Helper()
	if raw := rawjson.Lookup(rawjson.Lookup([]byte(answer), "error"), "code"); raw != nil {
		if err := json.Unmarshal(raw, &n); err != nil {
			t.Fatal(err)
		}
	} else if rawjson.Lookup([]byte(answer), "result") == nil {
		t.Errorf("%q is no answer", answer)
	}
	return n
}

// tools is a Handler of tools that are funcs.
type tools map[string]func(ctx context.Context, c *mcp.Call) (string, error)

func (h tools) Serve(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
	switch c.Method {
	case mcp.MethodDiscover:
		return mcp.Result{Body: json.RawMessage(`{"capabilities":{"tools":{"listChanged":true},"logging":{}}}`)}, nil
	case mcp.MethodSubscriptionsListen:
		<-ctx.Done()
		return mcp.Result{}, nil
	case mcp.MethodToolsCall:
		name, _, err := mcp.DecodeCallToolParams(c.Params)
		if err != nil {
			return mcp.Result{}, err
		}
		text, err := h[name](ctx, c)
		return mcp.Result{Body: json.RawMessage(`{"content":[{"type":"text","text":"` + text + `"}]}`)}, err
	}
	return mcp.Result{}, mcp.MethodNotFound(c.Method)
}

func logs(c *mcp.Call) {
	c.Notify(mcp.Notification{Method: mcp.NotificationMessage, Params: json.RawMessage(`{"level":"error","data":"x"}`)})
}
