package httpsse_test

import (
	"bufio"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
	"github.com/tenon-mcp/tenon/transport/httpsse"
)

// A conversation of the oldest revision, as it goes over the wire.
func TestConversation(t *testing.T) {
	k := run(t, nil).open(t, nil)
	for name, want := range map[string]string{"Content-Type": "text/event-stream", "Cache-Control": "no-cache", "X-Accel-Buffering": "no", "Access-Control-Allow-Origin": ""} {
		if got := k.resp.Header.Get(name); got != want {
			t.Errorf("H46, H16: %s is %q, want %q", name, got, want)
		}
	}
	if _, id, ok := strings.Cut(k.post, "/sse?sessionId="); !ok || len(id) < 22 {
		t.Errorf("the endpoint %q carries no session id of 128 bits", k.post)
	}
	contains(t, k.initialize("2024-11-05"), `"protocolVersion":"2024-11-05"`, `"id":0`)
	contains(t, k.hears(call(1, "echo", `{"text":"a\nb"}`)), `"id":1`, `a\nb`)
	contains(t, k.hears(`this is not json`), `-32700`)
	contains(t, k.hears(call(2, "echo", `{"text":"one"}`)+call(3, "echo", `{"text":"two"}`)), `-32700`)
	contains(t, k.hears(call(4, "who", `{}`)), `"|2024-11-05"`)
}

// Every session has its own id, and answers go to whom they are for.
func TestSessionsAreApart(t *testing.T) {
	s := run(t, nil)
	a, b := s.open(t, nil), s.open(t, nil)
	if a.post == b.post {
		t.Fatal("two sessions have one id")
	}
	a.initialize("2024-11-05")
	b.initialize("2025-06-18")
	contains(t, a.hears(call(1, "who", `{}`)), `2024-11-05`)
	contains(t, b.hears(call(1, "who", `{}`)), `2025-06-18`)
}

// H02 to H16 and H32, on both endpoints.
func TestHostileRequests(t *testing.T) {
	s := run(t, &httpsse.Options{Origins: []string{"https://app.example"}})
	good := s.open(t, nil)
	for _, test := range []struct {
		name, method string
		header       http.Header
		want         int
	}{
		{"H02 null", "GET", http.Header{"Origin": {"null"}}, 403},
		{"H02 null", "POST", http.Header{"Origin": {"null"}}, 403},
		{"H04 localhost", "POST", http.Header{"Origin": {"http://localhost:1"}}, 202},
		{"H04 IPv6", "POST", http.Header{"Origin": {"http://[::1]:1"}}, 202},
		{"H04 listed", "POST", http.Header{"Origin": {"https://app.example"}}, 202},
		{"foreign page", "GET", http.Header{"Origin": {"https://evil.example"}}, 403},
		{"foreign page", "POST", http.Header{"Origin": {"https://evil.example"}}, 403},
		{"foreign picture", "GET", http.Header{"Sec-Fetch-Site": {"cross-site"}}, 403},
		{"H06 foreign host", "GET", http.Header{"Host": {"evil.example"}}, 403},
		{"H06 foreign host", "POST", http.Header{"Host": {"evil.example"}}, 403},
		{"H06 rebinding", "POST", http.Header{"Host": {"evil.example:80"}, "Origin": {"http://evil.example:80"}}, 403},
		{"H10 two hosts", "POST", http.Header{"Host": {"localhost", "localhost"}}, 400},
		{"H10 user", "POST", http.Header{"Host": {"localhost@evil"}}, 400},
		{"H12 text", "POST", http.Header{"Content-Type": {"text/plain"}}, 415},
		{"H12 form", "POST", http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}, 415},
		{"H12 multipart", "POST", http.Header{"Content-Type": {"multipart/form-data; boundary=x"}}, 415},
		{"H12 missing", "POST", http.Header{"Content-Type": {}}, 415},
		{"H14 other JSON", "POST", http.Header{"Content-Type": {"application/json-patch+json"}}, 415},
		{"with a charset", "POST", http.Header{"Content-Type": {"application/json; charset=utf-8"}}, 202},
		{"H32", "PUT", nil, 405},
		{"H32", "DELETE", nil, 405},
		{"H32", "HEAD", nil, 405},
		{"asked beforehand by a foreign page", "OPTIONS", http.Header{"Origin": {"https://evil.example"}, "Access-Control-Request-Method": {"POST"}}, 403},
		{"asked beforehand by a listed page", "OPTIONS", http.Header{"Origin": {"https://app.example"}, "Access-Control-Request-Method": {"POST"}}, 204},
	} {
		t.Run(test.name+" "+test.method, func(t *testing.T) {
			path, body := good.post, ""
			switch test.method {
			case "GET":
				path = "/sse"
			case "POST":
				body = `{"jsonrpc":"2.0","method":"notifications/x"}`
			}
			resp := s.do(t, test.method, path, body, test.header)
			defer resp.Body.Close()
			if resp.StatusCode != test.want {
				t.Errorf("status %d, want %d", resp.StatusCode, test.want)
			}
			if allow := resp.Header.Get("Access-Control-Allow-Origin"); allow == "*" || strings.Contains(allow, "evil") {
				t.Errorf("H16: %q may read the answer", allow)
			}
			if test.want == 405 && resp.Header.Get("Allow") != "GET, POST" {
				t.Errorf("Allow: %q", resp.Header.Get("Allow"))
			}
			if test.want == 202 && text(t, resp) != "" {
				t.Error("H36: a body")
			}
		})
	}
	good.initialize("2024-11-05")
	contains(t, good.hears(call(1, "echo", `{"text":"alive"}`)), "alive")
}

func TestBodyLimits(t *testing.T) {
	s := run(t, &httpsse.Options{MaxBody: 300, BodyIdle: 50 * time.Millisecond})
	k := s.open(t, nil)
	k.initialize("2024-11-05")
	if status := k.say(call(1, "echo", `{"text":"`+strings.Repeat("x", 300)+`"}`)); status != 413 {
		t.Errorf("a large body: status %d", status)
	}
	slow := "POST " + k.post + " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"
	if resp := s.send(t, slow); resp.StatusCode != 408 {
		t.Errorf("H40: status %d", resp.StatusCode)
	}
	contains(t, k.hears(call(2, "echo", `{"text":"alive"}`)), "alive")
}

// byHeader takes a header's word for who sends a request.
func byHeader(r *http.Request) *mcp.Principal {
	if id := r.Header.Get("X-User"); id != "" {
		return &mcp.Principal{Issuer: "test", ID: id}
	}
	return nil
}

// L04 and L06: a session of somebody else is not there.
func TestPrincipal(t *testing.T) {
	s := run(t, &httpsse.Options{Principal: byHeader})
	k := s.open(t, http.Header{"X-User": {"ann"}})
	k.initialize("2024-11-05")
	contains(t, k.hears(call(1, "who", `{}`)), `test\u0000ann|`)

	unknown := s.do(t, "POST", "/sse?sessionId=ABCDEFGHIJKLMNOPQRSTUVWXYZ", "{}", nil)
	if unknown.StatusCode != 404 {
		t.Fatalf("L06: status %d", unknown.StatusCode)
	}
	want := text(t, unknown)
	for name, header := range map[string]http.Header{"another": {"X-User": {"bob"}}, "nobody": nil} {
		resp := s.do(t, "POST", k.post, call(2, "echo", `{"text":"stolen"}`), header)
		if got := text(t, resp); resp.StatusCode != 404 || got != want {
			t.Errorf("L04 %s: status %d, %q", name, resp.StatusCode, got)
		}
	}
	for _, path := range []string{"/sse", "/sse?sessionId=", k.post + "&sessionId=x", "/sse?sessionid=" + k.post[len("/sse?sessionId="):]} {
		if resp := s.do(t, "POST", path, "{}", k.header); resp.StatusCode != 404 {
			t.Errorf("%s: status %d", path, resp.StatusCode)
		}
	}
	contains(t, k.hears(call(3, "echo", `{"text":"alive"}`)), "alive")
}

func TestSessionCap(t *testing.T) {
	s := run(t, &httpsse.Options{MaxSessions: 2})
	a := s.open(t, nil)
	s.open(t, nil)
	if resp := s.do(t, "GET", "/sse", "", nil); resp.StatusCode != 503 || resp.Header.Get("Retry-After") == "" {
		t.Errorf("status %d, headers %v", resp.StatusCode, resp.Header)
	}
	a.resp.Body.Close()
	eventually(t, "a session that ended makes room", func() bool {
		resp := s.do(t, "GET", "/sse", "", nil)
		if resp.StatusCode != 200 {
			resp.Body.Close()
		}
		return resp.StatusCode == 200
	})
}

// The end of the stream is the end of the session and of its calls.
func TestDroppedStream(t *testing.T) {
	s := run(t, nil)
	k := s.open(t, nil)
	k.initialize("2024-11-05")
	if status := k.say(call(1, "wait", `{}`)); status != 202 {
		t.Fatalf("status %d", status)
	}
	<-s.waits
	k.resp.Body.Close()
	select {
	case <-s.cancelled:
	case <-time.After(patience):
		t.Fatal("the call goes on")
	}
	eventually(t, "the session is gone", func() bool { return k.say(`{}`) == 404 })
}

// H48: who does not read loses the session, and holds up nobody else.
func TestSlowReader(t *testing.T) {
	s := run(t, &httpsse.Options{WriteIdle: 5 * time.Second}) // which those who read must be able to keep on a busy machine
	slow := s.open(t, nil)
	slow.initialize("2024-11-05")
	if status := slow.say(call(1, "big", `{"n":50000000}`)); status != 202 {
		t.Fatalf("status %d", status)
	}
	other := s.open(t, nil)
	other.initialize("2024-11-05")
	contains(t, other.hears(call(1, "echo", `{"text":"quick"}`)), "quick")
	eventually(t, "the slow session is gone", func() bool { return slow.say(`{}`) == 404 })
	contains(t, other.hears(call(2, "big", `{"n":3000000}`)), "xxx")
}

func TestKeepAlive(t *testing.T) {
	s := run(t, &httpsse.Options{KeepAlive: 10 * time.Millisecond})
	resp := s.do(t, "GET", "/sse", "", nil)
	comments := 0
	for in := bufio.NewScanner(resp.Body); comments < 3 && in.Scan(); {
		if strings.HasPrefix(in.Text(), ":") {
			comments++
		}
	}
	if comments < 3 {
		t.Errorf("%d signs of life", comments)
	}
}

func TestShutdown(t *testing.T) {
	s := run(t, nil)
	s.stay = make(chan struct{}) // so that there is something to wait for
	k := s.open(t, nil)
	k.initialize("2024-11-05")
	if status := k.say(call(1, "wait", `{}`)); status != 202 {
		t.Fatalf("status %d", status)
	}
	<-s.waits
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.handler.Shutdown(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("Shutdown does not wait: %v", err)
	}
	close(s.stay)
	if err := s.handler.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	<-s.cancelled
	// The call may be answered with an error; then the stream ends in order.
	if rest := text(t, k.resp); strings.Contains(rest, "result") {
		t.Errorf("after the shutdown: %s", rest)
	}
	if resp := s.do(t, "GET", "/sse", "", nil); resp.StatusCode != 503 {
		t.Errorf("H50: status %d", resp.StatusCode)
	}
	if status := k.say(`{}`); status != 404 {
		t.Errorf("status %d", status)
	}
}

// The endpoint is where the client can reach it, wherever the handler stands.
func TestMounted(t *testing.T) {
	s := run(t, nil)
	mux := http.NewServeMux()
	mux.Handle("/some/place/", http.StripPrefix("/some/place", s.handler))
	s.Config.Handler = mux
	for path, want := range map[string]string{
		"/some/place/sse":                  "/some/place/sse?",
		"/some/place/a%20b?token=x":        "/some/place/a%20b?",
		"http://localhost/some/place/full": "/some/place/full?",
	} {
		resp := s.do(t, "GET", path, "", http.Header{"Host": {"localhost"}})
		in := bufio.NewReader(resp.Body)
		_, _ = in.ReadString('\n')
		if line, err := in.ReadString('\n'); err != nil || !strings.HasPrefix(line, "data: "+want) {
			t.Errorf("%s: %q (%v)", path, line, err)
		}
		resp.Body.Close()
	}
	s.Config.Handler = s.handler
	k := s.do(t, "GET", "//evil.example/sse", "", nil)
	in := bufio.NewReader(k.Body)
	_, _ = in.ReadString('\n')
	if line, _ := in.ReadString('\n'); !strings.HasPrefix(line, "data: /evil.example/sse?") {
		t.Errorf("the endpoint is on another host: %q", line)
	}
}

func TestPostPath(t *testing.T) {
	k := run(t, &httpsse.Options{PostPath: "/messages"}).open(t, nil)
	if !strings.HasPrefix(k.post, "/messages?") {
		t.Fatalf("endpoint %q", k.post)
	}
	contains(t, k.initialize("2024-11-05"), "2024-11-05")
}

func TestNoStreamingHere(t *testing.T) {
	s := run(t, nil)
	w := httptest.NewRecorder()
	r := httptest.NewRequest("GET", "http://localhost/sse", nil)
	s.handler.ServeHTTP(struct{ http.ResponseWriter }{w}, r)
	if w.Code != 500 || !strings.Contains(w.Body.String(), "Flush") {
		t.Errorf("status %d: %s", w.Code, w.Body)
	}
}

func TestBadOptions(t *testing.T) {
	h := server.New(mcp.Implementation{Name: "x", Version: "1"}, nil)
	for _, o := range []httpsse.Options{{Hosts: []string{"http://x"}}, {Origins: []string{"x"}}, {PostPath: "messages"}} {
		if _, err := httpsse.NewHandler(h, &o); err == nil {
			t.Errorf("%+v is fine", o)
		}
	}
}
