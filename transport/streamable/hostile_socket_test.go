package streamable_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/transport/streamable"
)

// A fort is the fixture behind a Handler, attacked with bytes on sockets.
type fort struct {
	*fixture
	t    *testing.T
	h    *streamable.Handler
	addr string
	port string
	path string
	open atomic.Int32 // connections
}

// newFort builds one; modern leaves sessions out.
func newFort(t *testing.T, modernOnly bool, o *streamable.Options) *fort {
	t.Helper()
	var opts streamable.Options
	if o != nil {
		opts = *o
	}
	opts.TakeOver = true
	return newFortAs(t, modernOnly, opts)
}

// newFortAs builds one that takes connections over only if the options say so.
func newFortAs(t *testing.T, modernOnly bool, opts streamable.Options) *fort {
	t.Helper()
	opts.Era.ModernOnly = modernOnly
	f := &fort{t: t, fixture: newFixture(t), path: "/mcp"}
	var err error
	if f.h, err = streamable.NewHandler(f.fixture.Server, &opts); err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/mcp", f.h)
	web := httptest.NewUnstartedServer(nil)
	web.Config = streamable.NewHTTPServer(mux)
	web.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			f.open.Add(1)
		case http.StateClosed, http.StateHijacked:
			f.open.Add(-1)
		}
	}
	web.Listener = streamable.StrictListener(web.Config, web.Listener)
	web.Start()
	f.addr = web.Listener.Addr().String()
	_, f.port, _ = net.SplitHostPort(f.addr)
	t.Cleanup(func() {
		f.h.Shutdown()
		web.Close()
	})
	return f
}

// A socket is one connection.
type socket struct {
	t *testing.T
	c net.Conn
	r *bufio.Reader
}

func (f *fort) dial() *socket {
	f.t.Helper()
	c, err := net.Dial("tcp", f.addr)
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { c.Close() })
	s := &socket{f.t, c, bufio.NewReader(c)}
	s.live()
	return s
}

// live gives the connection another minute: a test that hangs should fail soon,
// and one that only has much to say on a busy machine should not.
func (s *socket) live() {
	if err := s.c.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		s.t.Error(err)
	}
}

func (s *socket) write(raw string) {
	s.t.Helper()
	s.live()
	if _, err := io.WriteString(s.c, raw); err != nil {
		s.t.Fatal(err)
	}
}

// An answer is what a server said to one request; Status is 0 if it hung up
// without a word.
type answer struct {
	*http.Response
	Status int
	Text   string
}

// head reads an answer up to its body.
func (s *socket) head() *answer {
	res, err := http.ReadResponse(s.r, nil)
	if err != nil {
		return &answer{Response: &http.Response{Header: http.Header{}, Body: http.NoBody}}
	}
	return &answer{res, res.StatusCode, ""}
}

// read reads a whole answer.
func (s *socket) read() *answer {
	a := s.head()
	raw, _ := io.ReadAll(a.Body) // what is cut off is looked at as it is
	a.Text = string(raw)
	return a
}

// closed reports whether the server has ended the connection.
func (s *socket) closed() bool {
	_, err := s.r.ReadByte()
	return err != nil
}

// raw sends bytes on a connection of their own and returns the answer.
func (f *fort) raw(request string) *answer {
	f.t.Helper()
	s := f.dial()
	defer s.c.Close()
	go io.WriteString(s.c, request) // a server may answer before it has read all
	return s.read()
}

// A request is one in parts, so that each can be spoilt.
type request struct {
	verb  string
	lines []string // the headers, without that of the length
	body  string
}

const modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"p","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`

// ask is a good request of the newest revision; params are members.
func ask(id, method, name, params string) *request {
	if params != "" {
		params += ","
	}
	r := &request{verb: "POST", body: `{"jsonrpc":"2.0","id":` + id + `,"method":"` + method + `","params":{` + params + modernMeta + `}}`}
	r.lines = []string{"Host: 127.0.0.1:PORT", "Content-Type: application/json", "Accept: application/json, text/event-stream",
		"MCP-Protocol-Version: 2026-07-28", "Mcp-Method: " + method}
	if name != "" {
		r.lines = append(r.lines, "Mcp-Name: "+name)
	}
	return r
}

func askTool(id, name, args string) *request {
	return ask(id, "tools/call", name, `"name":"`+name+`","arguments":{`+args+`}`)
}

func askEcho() *request { return askTool("1", "echo", `"msg":"hi"`) }

// header has the lines of one header be others: none, one or several.
func (r *request) header(name string, lines ...string) *request {
	var kept []string
	for _, line := range r.lines {
		if !strings.HasPrefix(strings.ToLower(line), strings.ToLower(name)+":") {
			kept = append(kept, line)
		}
	}
	r.lines = append(kept, lines...)
	return r
}

// swap has something else stand in the body.
func (r *request) swap(old, now string) *request {
	if strings.Count(r.body, old) != 1 {
		panic(fmt.Sprintf("%q does not stand once in %s", old, r.body))
	}
	r.body = strings.Replace(r.body, old, now, 1)
	return r
}

func (r *request) whole(body string) *request { r.body = body; return r }

func (r *request) method(verb string) *request { r.verb = verb; return r }

// on is the request as bytes for one server.
func (r *request) on(f *fort) string {
	lines := append([]string{r.verb + " " + f.path + " HTTP/1.1"}, r.lines...)
	if r.body != "" || r.verb == "POST" {
		lines = append(lines, fmt.Sprint("Content-Length: ", len(r.body)))
	}
	return strings.ReplaceAll(strings.Join(lines, "\r\n"), "PORT", f.port) + "\r\n\r\n" + r.body
}

// enter opens a session and returns how its requests are made; a body that is
// empty makes a GET.
func (f *fort) enter(rev, capabilities string, more ...string) func(body string) *request {
	f.t.Helper()
	plain := func(body string) *request { return legacyRequest(body, more...) }
	a := f.raw(plain(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"` + rev + `","capabilities":{` + capabilities + `},"clientInfo":{"name":"p","version":"1"}}}`).on(f))
	id := a.Header.Get("Mcp-Session-Id")
	if a.Status != 200 || id == "" {
		f.t.Fatalf("initialize: %d %s", a.Status, a.Text)
	}
	in := func(body string) *request {
		r := plain(body)
		r.lines = append(r.lines, "Mcp-Session-Id: "+id, "Mcp-Protocol-Version: "+rev)
		return r
	}
	if a := f.raw(in(`{"jsonrpc":"2.0","method":"notifications/initialized"}`).on(f)); a.Status != 202 {
		f.t.Fatalf("initialized: %d %s", a.Status, a.Text)
	}
	return in
}

// legacyRequest is a request of an older revision; without a body it is a GET.
func legacyRequest(body string, more ...string) *request {
	r := &request{verb: "POST", body: body}
	r.lines = append([]string{"Host: 127.0.0.1:PORT", "Content-Type: application/json", "Accept: application/json, text/event-stream"}, more...)
	if body == "" {
		r.verb = "GET"
		r.header("Content-Type").header("Accept", "Accept: text/event-stream")
	}
	return r
}

func oldTool(id, name, args string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"` + name + `","arguments":{` + args + `}}}`
}

// A heard is a message read loosely.
type heard struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Result *struct {
		Type    string `json:"resultType"`
		IsError bool   `json:"isError"`
	} `json:"result"`
	Error *struct {
		Code int `json:"code"`
	} `json:"error"`
}

// short is an answer in short: status, id and what it is, such as
// "400 1 -32602" or "200 - ok". The id is - where there is none.
func (a *answer) short() string {
	if a.Text == "" {
		return fmt.Sprint(a.Status)
	}
	text := a.Text
	if strings.HasPrefix(a.Header.Get("Content-Type"), "text/event-stream") {
		var events []string
		for line := range strings.Lines(text) {
			if data, ok := strings.CutPrefix(line, "data: "); ok && strings.TrimSpace(data) != "" {
				events = append(events, data)
			}
		}
		if len(events) == 0 {
			return fmt.Sprint(a.Status, " stream")
		}
		text = events[len(events)-1]
	}
	var m heard
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		return fmt.Sprint(a.Status, " text")
	}
	id, what := "-", "note"
	if m.ID != nil {
		id = string(m.ID)
	}
	switch {
	case m.Error != nil:
		what = fmt.Sprint(m.Error.Code)
	case m.Result != nil && m.Result.IsError:
		what = "failed"
	case m.Result != nil && m.Result.Type == "input_required":
		what = "asks"
	case m.Result != nil:
		what = "ok"
	}
	return fmt.Sprint(a.Status, " ", id, " ", what)
}

// hold checks what is true of every answer: it gives nothing away, lets no page
// read it, and its code is one that exists.
func (a *answer) hold(t *testing.T, modern bool) {
	t.Helper()
	for _, secret := range []string{canary, "goroutine ", ".go:", "runtime error"} {
		if strings.Contains(a.Text, secret) {
			t.Errorf("the answer gives %q away: %.300s", secret, a.Text)
		}
	}
	if v := a.Header.Get("Access-Control-Allow-Origin"); v != "" {
		t.Errorf("H16: pages of %q may read the answer", v)
	}
	var m heard
	if json.Unmarshal([]byte(a.Text), &m) != nil || m.Error == nil {
		return
	}
	switch code := m.Error.Code; {
	case code == -32700, code <= -32600 && code >= -32603:
	case modern && code <= -32020 && code >= -32022:
	case !modern && code == -32002:
	case code < -32768, code > -32000:
	default:
		t.Errorf("M26: the code %d does not exist: %s", code, a.Text)
	}
}

// waitFor waits until something is true; how long that takes does not matter.
func waitFor(t *testing.T, what string, is func() bool) {
	t.Helper()
	for range 3000 {
		if is() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("it does not come about that %s", what)
}
