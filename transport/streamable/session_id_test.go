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
