package httpsse_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/internal/eraconn"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/transport/httpsse"
)

// meet connects a client that is closed at the end of the test.
func meet(t *testing.T, e *httpsse.Endpoint, o *client.Options) *client.Client {
	t.Helper()
	c, err := client.Dial(t.Context(), e, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return c
}

// Both ends together.
func TestBothEnds(t *testing.T) {
	s := run(t, &httpsse.Options{Principal: byHeader})
	e := s.endpoint()
	e.Header = http.Header{"X-User": {"ann"}}
	c := meet(t, e, &client.Options{Elicit: func(_ context.Context, e *client.Elicitation) (*mcp.ElicitResult, error) {
		return e.Accept(map[string]string{"text": "answered"})
	}})
	for tool, test := range map[string]struct {
		args any
		want string
	}{
		"echo": {map[string]string{"text": "a\r\nb"}, "a\r\nb"},
		"who":  {nil, "test\x00ann|" + string(eraconn.LatestWithHandshake())},
		"big":  {map[string]int{"n": 3 << 20}, strings.Repeat("x", 3<<20)},
		"ask":  {nil, "answered"},
	} {
		got, err := client.Call[string](t.Context(), c, tool, test.args, nil)
		if err != nil || got != test.want {
			t.Errorf("%s: %.100q, %v", tool, got, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	waiting := make(chan error, 1)
	go func() {
		_, err := client.Call[string](ctx, c, "wait", nil, nil)
		waiting <- err
	}()
	for i := range 20 {
		if got, err := client.Call[string](t.Context(), c, "echo", map[string]string{"text": fmt.Sprint(i)}, nil); err != nil || got != fmt.Sprint(i) {
			t.Errorf("%d: %q, %v", i, got, err)
		}
	}
	<-s.waits // or there may be nothing to cancel yet
	cancel()
	if err := <-waiting; err == nil {
		t.Error("a cancelled call came to something")
	}
	<-s.cancelled
}

// A message that the server does not take fails its call and no other.
func TestRefusedMessage(t *testing.T) {
	c := meet(t, run(t, &httpsse.Options{MaxBody: 2000}).endpoint(), nil)
	_, err := client.Call[string](t.Context(), c, "echo", map[string]string{"text": strings.Repeat("x", 2000)}, nil)
	if err == nil || !strings.Contains(err.Error(), "413") {
		t.Errorf("error %v", err)
	}
	if got, err := client.Call[string](t.Context(), c, "echo", map[string]string{"text": "alive"}, nil); err != nil || got != "alive" {
		t.Errorf("%q, %v", got, err)
	}
}

// When the server ends, calls fail soon and Done is closed.
func TestServerEnds(t *testing.T) {
	s := run(t, nil)
	c, err := s.endpoint().Connect(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := s.handler.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	select {
	case <-c.Done():
	case <-time.After(patience):
		t.Fatal("the connection does not notice")
	}
	if _, err := c.Serve(t.Context(), &mcp.Call{Method: mcp.MethodToolsList}); err == nil {
		t.Error("a call came to something")
	}
}

// stream answers a GET with events, then keeps the stream open.
func stream(events ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, strings.Join(events, ""))
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}
}

// Servers that misbehave: the error says what is wrong, in time, and nothing is
// sent to anybody else.
func TestHostileServers(t *testing.T) {
	trap := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("a request went to another origin")
	}))
	t.Cleanup(trap.Close)
	for _, test := range []struct {
		name   string
		server http.HandlerFunc
		want   string
	}{
		{"messages go elsewhere", stream("event: endpoint\ndata: " + trap.URL + "/x\n\n"), "another origin"},
		{"messages go elsewhere, without a scheme", stream("event: endpoint\ndata: //" + trap.Listener.Addr().String() + "/x\n\n"), "another origin"},
		{"messages go to a file", stream("event: endpoint\ndata: file:///etc/passwd\n\n"), "another origin"},
		{"messages go to no URL", stream("event: endpoint\ndata: http://[\n\n"), "no valid URL"},
		{"no endpoint", stream("event: message\ndata: {}\n\n"), "in time"},
		{"silence", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, "in time"},
		{"no answer to initialize", stream("event: endpoint\ndata: /x\n\n"), "in time"},
		{"the stream ends", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "event: endpoint\ndata: /x\n")
		}, "ended before"},
		{"not a stream", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "{}") }, "newer transport"},
		{"refused", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no token", http.StatusUnauthorized) }, `401 Unauthorized ("no token")`},
		{"redirect to another origin", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, trap.URL, http.StatusTemporaryRedirect)
		}, "redirects to another origin"},
		{"redirect without end", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/again", http.StatusFound) }, "more than 5 times"},
		{"an event without end", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			for r.Context().Err() == nil {
				if _, err := io.WriteString(w, "data: 0123456789\n"); err != nil {
					return
				}
			}
		}, "too large"},
		{"messages refused", func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost {
				http.Error(w, "go away", http.StatusForbidden)
				return
			}
			stream("event: endpoint\ndata: /x\n\n")(w, r)
		}, "403"},
		{"messages redirected", func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost {
				http.Redirect(w, r, trap.URL, http.StatusTemporaryRedirect)
				return
			}
			stream("event: endpoint\ndata: /x\n\n")(w, r)
		}, "redirects to another origin"},
		{"messages redirected here", func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost {
				http.Redirect(w, r, "/y", http.StatusSeeOther)
				return
			}
			stream("event: endpoint\ndata: /x\n\n")(w, r)
		}, "303"},
		{"messages not accepted in time", func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost {
				_, _ = io.Copy(io.Discard, r.Body) // or the end of the connection is not seen
				<-r.Context().Done()
				return
			}
			stream("event: endpoint\ndata: /x\n\n")(w, r)
		}, "in time"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := httptest.NewServer(test.server)
			defer s.Close()
			e := &httpsse.Endpoint{URL: s.URL + "/sse?token=secret", MaxEvent: 1 << 20}
			if test.want == "in time" {
				e.Options.ConnectTimeout = 300 * time.Millisecond
			}
			h, err := e.Dial(t.Context(), nil)
			if err == nil {
				t.Fatalf("met %v", h)
			}
			contains(t, err.Error(), test.want)
			if strings.Contains(err.Error(), "secret") {
				t.Errorf("the error gives a secret away: %v", err)
			}
		})
	}
}

// The newest revision is not spoken here, so no server is probed for it; noise
// between messages costs nothing.
func TestNoProbe(t *testing.T) {
	said := make(chan string, 100)
	answer := make(chan string, 1)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			body, _ := io.ReadAll(r.Body)
			said <- string(body)
			if strings.Contains(string(body), `"initialize"`) {
				answer <- string(body)
			}
			_, _ = io.WriteString(w, "Accepted")
			return
		}
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		_, _ = io.WriteString(w, ": hello\n\nevent: endpoint\ndata: ../post?a=b#c\n\nevent: ping\ndata: 1\n\nid: 7\n\ndata: noise\n\n")
		_ = http.NewResponseController(w).Flush()
		first := <-answer
		_, id, _ := strings.Cut(first, `"id":`)
		id = id[:strings.IndexAny(id, ",}")]
		fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\ndata: \"result\":{\"protocolVersion\":\"2024-11-05\",\"capabilities\":{},\"serverInfo\":{\"name\":\"s\",\"version\":\"1\"}}}\n\n", id)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}))
	defer s.Close()
	c, err := (&httpsse.Endpoint{URL: s.URL + "/a/sse", HTTP: s.Client()}).Connect(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := string(c.Revision()); got != "2024-11-05" {
		t.Errorf("revision %s", got)
	}
	if first := <-said; !strings.Contains(first, `"initialize"`) {
		t.Errorf("the first message is %s", first)
	}
	if second := <-said; !strings.Contains(second, "notifications/initialized") {
		t.Errorf("the second message is %s", second)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

func TestBadURL(t *testing.T) {
	for _, u := range []string{"", "localhost:8080", "/sse", "ftp://x/y", "http://", "http://[::1"} {
		if _, err := (&httpsse.Endpoint{URL: u}).Dial(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "must begin with http:// or https://") {
			t.Errorf("%q: %v", u, err)
		}
	}
}
