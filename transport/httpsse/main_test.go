package httpsse_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/internal/leaktest"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
	"github.com/tenon-mcp/tenon/sse"
	"github.com/tenon-mcp/tenon/transport/httpsse"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// patience bounds every wait in these tests.
const patience = time.Minute

// A site is a server that runs.
type site struct {
	*httptest.Server
	handler   *httpsse.Handler
	waits     chan struct{} // gets one for each wait that has begun
	cancelled chan struct{} // gets one for each wait that was cancelled
	stay      chan struct{} // if it is not nil, a wait that was cancelled goes on until it is closed
}

func (s *site) endpoint() *httpsse.Endpoint { return &httpsse.Endpoint{URL: s.URL + "/sse"} }

// run serves a few tools.
func run(t *testing.T, o *httpsse.Options) *site {
	t.Helper()
	s := &site{waits: make(chan struct{}, 100), cancelled: make(chan struct{}, 100)}
	h := server.New(mcp.Implementation{Name: "site", Version: "1"}, nil)
	type text struct {
		Text string `json:"text"`
	}
	server.AddTool(h, "echo", "says it again", func(_ context.Context, _ *mcp.Call, in text) (string, error) { return in.Text, nil }, nil)
	server.AddTool(h, "who", "says who asks", func(_ context.Context, c *mcp.Call, _ struct{}) (string, error) {
		return c.Caller.Principal.Key() + "|" + string(c.Caller.Revision), nil
	}, nil)
	server.AddTool(h, "big", "says much", func(_ context.Context, _ *mcp.Call, in struct {
		N int `json:"n"`
	}) (string, error) {
		return strings.Repeat("x", in.N), nil
	}, nil)
	server.AddTool(h, "ask", "asks back", func(_ context.Context, c *mcp.Call, _ struct{}) (string, error) {
		in, err := server.Elicit[text](c, "q", "say something")
		return in.Text, err
	}, nil)
	server.AddTool(h, "wait", "waits", func(ctx context.Context, _ *mcp.Call, _ struct{}) (string, error) {
		s.waits <- struct{}{}
		<-ctx.Done()
		s.cancelled <- struct{}{}
		if s.stay != nil {
			<-s.stay
		}
		return "", ctx.Err()
	}, nil)
	var err error
	if s.handler, err = httpsse.NewHandler(h, o); err != nil {
		t.Fatal(err)
	}
	s.Server = httptest.NewServer(s.handler)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := s.handler.Shutdown(ctx); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
		s.Close()
	})
	return s
}

// A talk is a session, seen from the socket.
type talk struct {
	t      *testing.T
	site   *site
	resp   *http.Response
	events *sse.Reader
	post   string // what the endpoint event said
	header http.Header
}

// open opens a session and reads its first event.
func (s *site) open(t *testing.T, header http.Header) *talk {
	t.Helper()
	resp := s.do(t, "GET", "/sse", "", header)
	if resp.StatusCode != 200 {
		t.Fatalf("GET: status %d", resp.StatusCode)
	}
	k := &talk{t: t, site: s, resp: resp, events: sse.NewReader(resp.Body, 0), header: header}
	name, data := k.next()
	if name != "endpoint" || !strings.HasPrefix(data, "/") {
		t.Fatalf("the first event is %q %q", name, data)
	}
	k.post = data
	return k
}

// do sends one request on a connection of its own.
func (s *site) do(t *testing.T, method, path, body string, header http.Header) *http.Response {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\n", method, path)
	if header.Get("Host") == "" {
		b.WriteString("Host: " + s.Listener.Addr().String() + "\r\n")
	}
	if method == "POST" {
		fmt.Fprintf(&b, "Content-Length: %d\r\n", len(body))
		if header["Content-Type"] == nil {
			b.WriteString("Content-Type: application/json\r\n")
		}
	}
	for name, values := range header {
		for _, v := range values {
			fmt.Fprintf(&b, "%s: %s\r\n", name, v)
		}
	}
	return s.send(t, b.String()+"\r\n"+body)
}

// send sends raw bytes on a connection that is closed at the end of the test.
func (s *site) send(t *testing.T, request string) *http.Response {
	t.Helper()
	c, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(c, request); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body = &closing{resp.Body, c}
	return resp
}

// closing closes the connection with the body.
type closing struct {
	io.ReadCloser
	c net.Conn
}

func (b *closing) Close() error { return b.c.Close() }

func text(t *testing.T, resp *http.Response) string {
	t.Helper()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func (k *talk) next() (name, data string) {
	k.t.Helper()
	e, err := k.events.Next()
	if err != nil {
		k.t.Fatalf("reading an event: %v", err)
	}
	return e.Name, string(e.Data)
}

// say posts a message and returns the status.
func (k *talk) say(message string) int {
	k.t.Helper()
	resp := k.site.do(k.t, "POST", k.post, message, k.header)
	defer resp.Body.Close()
	return resp.StatusCode
}

// hears posts a message and returns the next event.
func (k *talk) hears(message string) string {
	k.t.Helper()
	if status := k.say(message); status != 202 {
		k.t.Fatalf("POST of %s: status %d", message, status)
	}
	name, data := k.next()
	if name != "message" {
		k.t.Fatalf("event %q", name)
	}
	return data
}

func (k *talk) initialize(revision string) string {
	k.t.Helper()
	answer := k.hears(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"` + revision + `","capabilities":{},"clientInfo":{"name":"k","version":"1"}}}`)
	if status := k.say(`{"jsonrpc":"2.0","method":"notifications/initialized"}`); status != 202 {
		k.t.Fatalf("initialized: status %d", status)
	}
	return answer
}

func call(id int, tool, arguments string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, id, tool, arguments)
}

// eventually polls until ok, or fails the test.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not in time: %s", what)
		}
	}
}

func contains(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("%q is missing in: %s", p, text)
		}
	}
}
