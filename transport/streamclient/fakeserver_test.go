package streamclient

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
)

// A far is a server written by hand, reached through memory so that time can be
// faked. It keeps what it was sent.
type far struct {
	t     *testing.T
	serve func(w http.ResponseWriter, r *http.Request, m *jsonrpc.Message)

	mu   sync.Mutex
	seen []seen
}

// seen is a request that came in.
type seen struct {
	verb   string // the HTTP method
	header http.Header
	body   string
	m      jsonrpc.Message // empty if the body was none
}

func (f *far) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	s := seen{verb: r.Method, header: r.Header.Clone(), body: string(body)}
	if len(body) > 0 {
		if s.m, err = jsonrpc.Decode(body); err != nil {
			f.t.Errorf("the client sent %s: %v", body, err)
		}
	}
	f.mu.Lock()
	f.seen = append(f.seen, s)
	f.mu.Unlock()
	f.serve(w, r, &s.m)
}

// of lists the requests with a method: one of the protocol, or GET and DELETE.
func (f *far) of(method string) []seen {
	f.mu.Lock()
	defer f.mu.Unlock()
	var found []seen
	for _, s := range f.seen {
		if s.m.Method == method || s.verb == method && s.body == "" {
			found = append(found, s)
		}
	}
	return found
}

// endpoint serves f in memory and returns how it is reached. Its Close is that
// of the test.
func (f *far) endpoint() *Endpoint {
	conns := make(chan net.Conn)
	ctx, stop := context.WithCancel(context.Background())
	server := &http.Server{Handler: f}
	listening := make(chan struct{})
	go func() {
		defer close(listening)
		server.Serve(&memory{conns, ctx, stop})
	}()
	transport := NewTransport()
	transport.Proxy = nil
	transport.DialContext = func(dialling context.Context, _, _ string) (net.Conn, error) {
		near, there := net.Pipe()
		select {
		case conns <- there:
			return near, nil
		case <-ctx.Done():
		case <-dialling.Done():
		}
		return nil, net.ErrClosed
	}
	f.t.Cleanup(func() {
		transport.CloseIdleConnections()
		server.Close()
		<-listening
	})
	return &Endpoint{URL: "http://far.example/mcp", HTTP: &http.Client{Transport: transport}, Warn: func(text string) { f.t.Log("warning:", text) }}
}

// memory is a listener without a network.
type memory struct {
	conns chan net.Conn
	ctx   context.Context
	stop  context.CancelFunc
}

func (m *memory) Accept() (net.Conn, error) {
	select {
	case c := <-m.conns:
		return c, nil
	case <-m.ctx.Done():
		return nil, net.ErrClosed
	}
}

func (m *memory) Close() error   { m.stop(); return nil }
func (m *memory) Addr() net.Addr { return &net.UnixAddr{Name: "memory"} }

// connect dials and closes with the test.
func connect(t *testing.T, e *Endpoint) *Connection {
	t.Helper()
	c, err := e.Connect(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("closing: %v", err)
		}
	})
	return c
}

// bubble runs a test with a far and faked time.
func bubble(t *testing.T, test func(t *testing.T, f *far)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(t, &far{t: t}) })
}

// answers answers a request with JSON.
func answers(w http.ResponseWriter, m *jsonrpc.Message, result string) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Write(jsonrpc.AppendResult(nil, m.ID, []byte(result)))
}

// fails answers a request with an error and a status.
func fails(w http.ResponseWriter, m *jsonrpc.Message, status, code int, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(jsonrpc.AppendError(nil, m.ID, &jsonrpc.Error{Code: code, Message: message}))
}

// tells writes raw events.
func tells(w http.ResponseWriter, text string) {
	if w.Header().Get("Content-Type") == "" {
		w.Header().Set("Content-Type", "text/event-stream")
	}
	io.WriteString(w, text)
	w.(http.Flusher).Flush()
}

// event is a message as an event.
func event(message []byte) string { return "data: " + string(message) + "\n\n" }

func result(m *jsonrpc.Message, body string) string {
	return event(jsonrpc.AppendResult(nil, m.ID, []byte(body)))
}

type serving = func(w http.ResponseWriter, r *http.Request, m *jsonrpc.Message)

// modern is a server of the newest era; what it does not know goes to rest.
func modern(rest serving) serving {
	return func(w http.ResponseWriter, r *http.Request, m *jsonrpc.Message) {
		if m.Method == mcp.MethodDiscover {
			answers(w, m, `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private"}`)
			return
		}
		rest(w, r, m)
	}
}

// legacy is a server of an older revision, with a session and without a stream
// of its own; what it does not know goes to rest.
func legacy(rest serving) serving {
	sessions := 0
	var mu sync.Mutex
	return func(w http.ResponseWriter, r *http.Request, m *jsonrpc.Message) {
		switch {
		case m.Method == mcp.MethodDiscover:
			fails(w, m, 400, -32000, "Bad Request: Server not initialized")
		case m.Method == "initialize":
			mu.Lock()
			sessions++
			w.Header().Set("Mcp-Session-Id", fmt.Sprint("session-", sessions))
			mu.Unlock()
			answers(w, m, `{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"old","version":"1"}}`)
		case m.Method == "notifications/initialized":
			w.WriteHeader(http.StatusAccepted)
		default:
			rest(w, r, m)
		}
	}
}

// noStream answers what a server without a stream of its own has to.
func noStream(rest serving) serving {
	return func(w http.ResponseWriter, r *http.Request, m *jsonrpc.Message) {
		switch r.Method {
		case http.MethodGet:
			w.WriteHeader(http.StatusMethodNotAllowed)
		case http.MethodDelete:
			w.WriteHeader(http.StatusOK)
		default:
			rest(w, r, m)
		}
	}
}

// text is a result of a tool.
const textResult = `{"content":[{"type":"text","text":"ok"}]}`

func callTool(name, args string) *mcp.Call {
	return &mcp.Call{Method: mcp.MethodToolsCall, Params: json.RawMessage(fmt.Sprintf(`{"name":%q,"arguments":%s}`, name, args))}
}

func methods(all []seen) []string {
	var names []string
	for _, s := range all {
		name := s.m.Method
		if name == "" {
			name = s.verb
		}
		names = append(names, name)
	}
	return names
}

func wantMethods(t *testing.T, f *far, want ...string) {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	if got := methods(f.seen); !slices.Equal(got, want) {
		t.Errorf("the client sent\n  %s\nwant\n  %s", strings.Join(got, ", "), strings.Join(want, ", "))
	}
}
