package wirelog

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/tenon-mcp/tenon/jsonrpc"
)

// TestOutcomesOverHTTP: a request that HTTP refuses, whose stream ends or that the
// client gives up has ended, and an event says so (P3).
func TestOutcomesOverHTTP(t *testing.T) {
	for name, c := range map[string]struct {
		answer answering
		read   bool // the client reads the body before it closes it
		want   string
	}{
		"a result":                   {respond(200, modernAnswer), true, "ok 0"},
		"refused":                    {respond(400, ""), true, "http 400"},
		"refused with a reason":      {respond(400, `{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"no"}}`), true, "error -32602"},
		"a stream without an answer": {respond(200, ""), true, "lost 0"},
		"given up":                   {respond(200, "", "Content-Type", "text/event-stream"), false, "cancelled 0"},
	} {
		synctest.Test(t, func(t *testing.T) {
			l := NewLog(nil)
			w := l.Wire("far")
			rt := w.RoundTripper(c.answer)
			w.Frame(jsonrpc.Out, []byte(modernCall))
			req, err := http.NewRequest("POST", "https://example.org/mcp", strings.NewReader(modernCall))
			if err != nil {
				t.Fatal(err)
			}
			resp, err := rt.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			var body []byte
			if c.read {
				body, _ = io.ReadAll(resp.Body)
			}
			resp.Body.Close()
			if len(body) > 0 {
				w.Frame(jsonrpc.In, body) // after the body was closed, as clients do
			}
			synctest.Wait()
			events, stop := l.Watch()
			defer stop()
			if strings.HasPrefix(c.want, "lost") || strings.HasPrefix(c.want, "cancelled") {
				<-events
			}
			m, _ := l.Get(1)
			if got := fmt.Sprint(m.Outcome, " ", m.Code); got != c.want {
				t.Errorf("%s: the request ended with %q, want %q", name, got, c.want)
			}
			all, _ := l.Since(0, 0)
			if last := all[len(all)-1]; last.Joins != 1 || last.Outcome != m.Outcome {
				t.Errorf("%s: the last message is %s %q, which does not say so", name, last.Kind, last.Frame)
			}
		})
	}
}
