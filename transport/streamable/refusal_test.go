package streamable_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/transport/streamable"
)

// TestRefusalHasItsStatus sends an error with an HTTP status as that status and
// Retry-After, in both eras, and as an event if the stream has begun.
func TestRefusalHasItsStatus(t *testing.T) {
	h, err := streamable.NewHandler(mcp.HandlerFunc(func(_ context.Context, c *mcp.Call) (mcp.Result, error) {
		switch {
		case c.Method == mcp.MethodDiscover:
			return mcp.Result{Body: []byte(`{"capabilities":{"tools":{}}}`)}, nil
		case strings.Contains(string(c.Params), `"late"`):
			c.Notify(mcp.Notification{Method: mcp.NotificationProgress, Params: []byte(`{"progress":1}`)})
		}
		return mcp.Result{}, mcp.Refusal(http.StatusTooManyRequests, 1500*time.Millisecond, "too many calls")
	}), nil)
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(h)
	defer web.Close()
	send := func(body string, headers ...string) (*http.Response, string) {
		t.Helper()
		r, _ := http.NewRequest(http.MethodPost, web.URL, strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		for i := 0; i < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp, string(text)
	}
	opened, _ := send(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}`)
	legacy := []string{"Mcp-Session-Id", opened.Header.Get("Mcp-Session-Id"), "MCP-Protocol-Version", "2025-11-25"}
	send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`, legacy...)
	for era, meta := range map[string]string{
		"modern": `"_meta":{"progressToken":1,"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"raw","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`,
		"legacy": `"_meta":{"progressToken":1}`,
	} {
		for _, call := range []struct {
			method, name string
			status       int
		}{{"tools/call", "early", 429}, {"tools/call", "late", 200}, {"tools/list", "", 429}} {
			headers := legacy
			if era == "modern" {
				headers = []string{"MCP-Protocol-Version", "2026-07-28", "Mcp-Method", call.method, "Mcp-Name", call.name}
			}
			resp, body := send(fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":%q,"params":{"name":%q,%s}}`, call.method, call.name, meta), headers...)
			retry := resp.Header.Get("Retry-After")
			if resp.StatusCode != call.status || (retry == "2") != (call.status == 429) || !strings.Contains(body, `"code":429,"message":"too many calls","data":{"retryAfter":2}`) || !strings.Contains(body, `"id":7`) {
				t.Errorf("%s %s %s: %d, Retry-After %q, %s", era, call.method, call.name, resp.StatusCode, retry, body)
			}
		}
	}
}
