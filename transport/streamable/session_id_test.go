package streamable_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/transport/streamable"
)

// CVE-2025-6515: a session id that can be guessed is everybody's session. Ours
// are random, at least 128 bits of it, and never the same.
func TestSessionIDsCannotBeGuessed(t *testing.T) {
	h, err := streamable.NewHandler(mcp.HandlerFunc(func(context.Context, *mcp.Call) (mcp.Result, error) {
		return mcp.Result{Body: []byte(`{"capabilities":{}}`)}, nil
	}), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Shutdown()
	seen := map[string]bool{}
	for range 200 {
		r := httptest.NewRequest("POST", "http://127.0.0.1/mcp", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		id := w.Header().Get("Mcp-Session-Id")
		if w.Code != http.StatusOK || seen[id] || len(id) < 26 { // 26 characters of 5 bits
			t.Fatalf("status %d, session %q", w.Code, id)
		}
		if strings.IndexFunc(id, func(r rune) bool { return r < 0x21 || r > 0x7e }) >= 0 {
			t.Errorf("%q cannot stand in a header", id)
		}
		for other := range seen {
			if other[:8] == id[:8] {
				t.Errorf("%q and %q begin alike", other, id)
			}
		}
		seen[id] = true
	}
}

// TestHandlersSeeSessions has two legacy sessions and a modern client: calls of a
// session have the same [mcp.Session], whose ID is not the secret one, also after
// the session is restored, and DELETE ends it.
func TestHandlersSeeSessions(t *testing.T) {
	var seen []*mcp.Session
	store := &streamable.Memory{}
	serve := mcp.HandlerFunc(func(_ context.Context, c *mcp.Call) (mcp.Result, error) {
		seen = append(seen, c.Caller.Session)
		return mcp.Result{Body: []byte(`{"capabilities":{}}`)}, nil
	})
	newHandler := func() *streamable.Handler {
		h, err := streamable.NewHandler(serve, &streamable.Options{Store: store})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(h.Shutdown)
		return h
	}
	send := func(h http.Handler, method, session, body string) *httptest.ResponseRecorder {
		t.Helper()
		r := httptest.NewRequest(method, "http://127.0.0.1/mcp", strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		if session != "" {
			r.Header.Set("Mcp-Session-Id", session)
			r.Header.Set("Mcp-Protocol-Version", "2025-11-25")
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code >= 300 {
			t.Fatalf("%s: %d %s", method, w.Code, w.Body)
		}
		return w
	}
	h := newHandler()
	ids := map[string]bool{}
	for range 2 {
		seen = nil
		id := send(h, "POST", "", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`).Header().Get("Mcp-Session-Id")
		send(h, "POST", id, `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`)
		send(newHandler(), "POST", id, `{"jsonrpc":"2.0","id":3,"method":"tools/list"}`) // which restores it
		first := seen[0]
		for _, s := range seen {
			if s == nil || s.ID() != first.ID() || strings.Contains(id, s.ID()) || ids[s.ID()] {
				t.Fatalf("sessions %v", seen)
			}
		}
		ids[first.ID()] = true
		ended := false
		first.AfterEnd(func() { ended = true })
		if send(h, "DELETE", id, ""); !ended {
			t.Error("DELETE does not end the session")
		}
	}
}
