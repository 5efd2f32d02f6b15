package wirelog

import (
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/app/speccheck"
	"github.com/tenon-mcp/tenon/internal/talktest"
	"github.com/tenon-mcp/tenon/jsonrpc"
)

type answering func(*http.Request) (*http.Response, error)

func (f answering) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// post sends a frame as a client would: it is tapped, then sent. The answer is
// tapped when it is JSON.
func post(t *testing.T, w *Wire, rt http.RoundTripper, frame string, head map[string]string) {
	t.Helper()
	w.Frame(jsonrpc.Out, []byte(frame))
	req, err := http.NewRequest("POST", "https://me:pw@example.org/mcp?token=abc&x=1", strings.NewReader(frame))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", "application/json, text/event-stream")
	for k, v := range head {
		if req.Header.Set(k, v); v == "" {
			req.Header.Del(k)
		}
	}
	resp, err := rt.RoundTrip(req)
	if err != nil {
		return
	}
	body, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	if len(body) > 0 {
		w.Frame(jsonrpc.In, body)
	}
}

func respond(status int, body string, head ...string) answering {
	return func(*http.Request) (*http.Response, error) {
		h := http.Header{"Content-Type": {"application/json"}}
		for i := 0; i+1 < len(head); i += 2 {
			h.Set(head[i], head[i+1])
		}
		return &http.Response{StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader(body))}, nil
	}
}

var (
	modernCall   = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a",` + talktest.Meta + `}}`
	modernAnswer = `{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[]}}`
)

func goodHeaders(change ...string) map[string]string {
	h := map[string]string{"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "a", "Authorization": "Bearer top-secret-token"}
	for i := 0; i+1 < len(change); i += 2 {
		h[change[i]] = change[i+1]
	}
	return h
}

func TestHTTPIsJoinedToMessages(t *testing.T) {
	l := NewLog(nil)
	w := l.Wire("far")
	rt := w.RoundTripper(respond(200, modernAnswer, "Set-Cookie", "s=secret", "X-Served-By", "b2"))
	post(t, w, rt, modernCall, goodHeaders())
	ms, _ := l.Since(0, 0)
	if len(ms) != 2 {
		t.Fatalf("there are %d messages: %+v", len(ms), ms)
	}
	for _, m := range ms {
		if len(m.Problems) != 0 || m.HTTP == nil || m.HTTP.Status != 200 || m.HTTP.Header("x-served-by") != "b2" {
			t.Errorf("%s has the exchange %+v and the problems %+v", m.Frame, m.HTTP, m.Problems)
		}
		all := strings.Join([]string{m.HTTP.URL, flat(m.HTTP.Request), flat(m.HTTP.Response)}, "\n")
		for _, secret := range []string{"top-secret", "s=secret", "pw", "abc"} {
			if strings.Contains(all, secret) {
				t.Errorf("the secret %q is kept: %s", secret, all)
			}
		}
		if !strings.Contains(all, "Authorization: Bearer [redacted]") {
			t.Errorf("the kind of authorization is lost: %s", all)
		}
	}
}

func flat(hs []speccheck.Header) (s string) {
	for _, h := range hs {
		s += h.Name + ": " + h.Value + "\n"
	}
	return s
}

func TestHTTPRules(t *testing.T) {
	for name, c := range map[string]struct {
		head map[string]string
		far  answering
		seq  uint64
		rule string
	}{
		"no version":      {goodHeaders("Mcp-Protocol-Version", ""), respond(200, modernAnswer), 1, "http.protocol-version"},
		"another version": {goodHeaders("Mcp-Protocol-Version", "2025-11-25"), respond(200, modernAnswer), 1, "http.protocol-version"},
		"another method":  {goodHeaders("Mcp-Method", "tools/list"), respond(200, modernAnswer), 1, "http.mirrored-headers"},
		"no name":         {goodHeaders("Mcp-Name", ""), respond(200, modernAnswer), 1, "http.mirrored-headers"},
		"accept":          {goodHeaders("Accept", "application/json"), respond(200, modernAnswer), 1, "http.accept"},
		"session":         {goodHeaders(), respond(200, modernAnswer, "Mcp-Session-Id", "abc"), 1, "http.no-session"},
		"content type":    {goodHeaders(), respond(200, "", "Content-Type", "text/html"), 1, "http.content-type"},
		"status":          {goodHeaders(), respond(200, `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}`), 2, "http.status"},
	} {
		l := NewLog(nil)
		w := l.Wire("far")
		post(t, w, w.RoundTripper(c.far), modernCall, c.head)
		if m, _ := l.Get(c.seq); !slices.Equal(rulesOf(m), []string{c.rule}) {
			t.Errorf("%s: the problems are %+v", name, m.Problems)
		}
	}
}

func TestHTTPSessions(t *testing.T) {
	l := NewLog(nil)
	w := l.Wire("far")
	initialize := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`
	far := respond(200, `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}`, "Mcp-Session-Id", "session-one-secret")
	rt := w.RoundTripper(answering(func(r *http.Request) (*http.Response, error) { return far(r) }))
	post(t, w, rt, initialize, nil)
	far = respond(202, "")
	note := `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	post(t, w, rt, note, map[string]string{"Mcp-Protocol-Version": "2025-11-25", "Mcp-Session-Id": "session-one-secret"})
	post(t, w, rt, `{"jsonrpc":"2.0","id":3,"method":"ping"}`, map[string]string{"Mcp-Protocol-Version": "2025-11-25"})
	far = respond(404, "")
	post(t, w, rt, `{"jsonrpc":"2.0","id":4,"method":"ping"}`, map[string]string{"Mcp-Protocol-Version": "2025-11-25", "Mcp-Session-Id": "session-one-secret"})
	far = respond(200, `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}`, "Mcp-Session-Id", "session-two")
	post(t, w, rt, initialize, nil) // a session that is over is followed by another
	ms, _ := l.Since(0, 0)
	for _, m := range ms[4:] {
		if len(m.Problems) > 0 {
			t.Errorf("%s has the problems %+v", m.Frame, m.Problems)
		}
	}
	ms = ms[:4]
	if len(ms) != 4 || len(ms[0].Problems)+len(ms[1].Problems)+len(ms[2].Problems) != 0 || !slices.Contains(rulesOf(ms[3]), "http.session") {
		t.Errorf("messages are %+v", ms)
	}
	if all := flat(ms[0].HTTP.Response); strings.Contains(all, "one-secret") {
		t.Errorf("the session id is kept: %s", all)
	}
}

func TestHTTPWithoutAMessage(t *testing.T) {
	l := NewLog(nil)
	w := l.Wire("far")
	rt := w.RoundTripper(respond(401, "", "Www-Authenticate", `Bearer resource_metadata="https://x"`))
	post(t, w, rt, modernCall, goodHeaders())
	ms, _ := l.Since(0, 0)
	if len(ms) != 2 || ms[1].Kind != speccheck.KindEvent || ms[1].Joins != 1 || ms[0].HTTP.Status != 401 || !strings.Contains(string(ms[1].Frame), "401 Unauthorized") {
		t.Errorf("a refusal gives %+v", ms)
	}
	rt = w.RoundTripper(answering(func(*http.Request) (*http.Response, error) { return nil, errors.New("connection refused") }))
	get, _ := http.NewRequest("GET", "https://example.org/mcp", nil)
	if _, err := rt.RoundTrip(get); err == nil {
		t.Error("the error is lost")
	}
	m, _ := l.Get(3)
	if m.Kind != speccheck.KindEvent || !strings.Contains(string(m.Frame), "GET https://example.org/mcp failed: connection refused") {
		t.Errorf("a failure gives %s", m.Frame)
	}
	rt = w.RoundTripper(respond(200, "", "Content-Type", "text/event-stream"))
	resp, _ := rt.RoundTrip(get)
	resp.Body.Close()
	w.Frame(jsonrpc.In, []byte(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`))
	if m, _ = l.Get(l.Last()); m.HTTP == nil || m.HTTP.Method != "GET" {
		t.Errorf("what came on the GET stream has the exchange %+v", m.HTTP)
	}
}
