package httpguard

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"
)

// H12 and H14.
func TestIsJSON(t *testing.T) {
	for _, test := range []struct {
		types []string
		want  bool
	}{
		{[]string{"application/json"}, true},
		{[]string{"application/json; charset=utf-8"}, true},
		{[]string{"Application/JSON;charset=UTF-8"}, true},
		{[]string{"text/plain"}, false},
		{[]string{"application/x-www-form-urlencoded"}, false},
		{[]string{"multipart/form-data; boundary=x"}, false},
		{[]string{"application/json-patch+json"}, false},
		{[]string{"application/jsonx"}, false},
		{[]string{"text/plain; a=application/json"}, false},
		{[]string{"application/json, text/plain"}, false},
		{[]string{"application/json", "text/plain"}, false},
		{[]string{""}, false},
		{nil, false},
	} {
		f := guard(t, Options{}).IsJSON(arrived(nil, "x", http.Header{"Content-Type": test.types}))
		if (f == nil) != test.want {
			t.Errorf("%q: %v", test.types, f)
		}
		if f != nil && f.Status != 415 {
			t.Errorf("%q: status %d", test.types, f.Status)
		}
	}
	zipped := http.Header{"Content-Type": {"application/json"}, "Content-Encoding": {"gzip"}}
	if f := guard(t, Options{}).IsJSON(arrived(nil, "x", zipped)); f == nil || f.Status != 415 {
		t.Errorf("a compressed body comes in: %v", f)
	}
}

func TestBody(t *testing.T) {
	broken := errors.New("broken")
	for _, test := range []struct {
		name   string
		body   io.Reader
		length int64
		limit  int
		want   int // a length, or a status below zero
	}{
		{"empty", strings.NewReader(""), 0, 100, 0},
		{"of a length", strings.NewReader(strings.Repeat("x", 100)), 100, 100, 100},
		{"byte by byte", iotest.OneByteReader(strings.NewReader(strings.Repeat("x", 100))), 100, 100, 100},
		{"too long by its own account", strings.NewReader(strings.Repeat("x", 101)), 101, 100, -413},
		{"of no length", strings.NewReader(strings.Repeat("x", 100)), -1, 100, 100},
		{"of no length, too long", strings.NewReader(strings.Repeat("x", 101)), -1, 100, -413},
		{"of no length, endless", endless{}, -1, 1 << 20, -413},
		{"large", strings.NewReader(strings.Repeat("x", 3<<20)), 3 << 20, 0, 3 << 20},
		{"large of no length", strings.NewReader(strings.Repeat("x", 4<<20)), -1, 0, 4 << 20},
		{"default limit", strings.NewReader(strings.Repeat("x", 4<<20+1)), -1, 0, -413},
		{"broken", io.MultiReader(strings.NewReader("x"), iotest.ErrReader(broken)), 10, 100, -400},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodPost, "/", test.body)
			r.ContentLength = test.length
			body, f := guard(t, Options{MaxBody: test.limit}).Body(httptest.NewRecorder(), r)
			got := len(body)
			if f != nil {
				got = -f.Status
			}
			if got != test.want {
				t.Errorf("got %d, want %d", got, test.want)
			}
			if f == nil && bytes.Count(body, []byte("x")) != len(body) {
				t.Error("the body was changed")
			}
		})
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

// A large promise must not cost large memory.
func TestBodyIsNotTakenAtItsWord(t *testing.T) {
	if room := guard(t, Options{}).initialSize(4 << 20); room > firstRead+1 {
		t.Errorf("%d bytes are made ready for a body that may never come", room)
	}
}

// serve runs a server that reads bodies, and returns its address.
func serve(t *testing.T, g *Guard, readTimeout time.Duration, after http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if f := g.Admit(r); f != nil {
			g.Refuse(w, r, f)
			return
		}
		body, f := g.Body(w, r)
		if f != nil {
			g.Refuse(w, r, f)
			return
		}
		if after != nil {
			after(w, r)
		}
		_, _ = w.Write([]byte(strconv.Itoa(len(body))))
	}))
	s.Config.ReadTimeout = readTimeout
	s.Start()
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

// raw sends bytes and returns the answer; closed says that the server then
// closed the connection.
func raw(t *testing.T, addr, request string) (resp *http.Response, body string, closed bool) {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(c, request); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(c)
	resp, err = http.ReadResponse(r, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if resp.Close {
		_, err = r.ReadByte()
		closed = err != nil
	}
	return resp, string(text), closed
}

// H38 and H40, with short limits.
func TestBodyOnASocket(t *testing.T) {
	const head = "POST / HTTP/1.1\r\nHost: localhost\r\n"
	quick := 50 * time.Millisecond
	for _, test := range []struct {
		name, request string
		readTimeout   time.Duration
		o             Options
		want          int
	}{
		{"whole", head + "Content-Length: 2\r\n\r\nhi", 0, Options{}, 200},
		{"H40 pause", head + "Content-Length: 1000\r\n\r\nh", 0, Options{BodyIdle: quick}, 408},
		{"pause in a chunk", head + "Transfer-Encoding: chunked\r\n\r\n5\r\nhe", 0, Options{BodyIdle: quick}, 408},
		{"the server's own limit", head + "Content-Length: 1000\r\n\r\nh", 5 * time.Second, Options{}, 408}, // enough for the head on a busy machine
		{"H38 too long", head + "Transfer-Encoding: chunked\r\n\r\n6\r\nheight\r\n6\r\nheight", 0, Options{MaxBody: 10}, 413},
		{"too long by its own account", head + "Content-Length: 11\r\n\r\n", 0, Options{MaxBody: 10}, 413},
		{"broken chunk", head + "Transfer-Encoding: chunked\r\n\r\nzz\r\n", 0, Options{}, 400},
		{"refused before it was read", "POST / HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 1000\r\n\r\nh", 0, Options{}, 403},
		{"H10 two hosts", "POST / HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n", 0, Options{}, 400},
		{"H10 empty host", "POST / HTTP/1.1\r\nHost:\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", 0, Options{}, 400},
		{"H10 host with a user", "POST / HTTP/1.1\r\nHost: localhost@evil\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", 0, Options{}, 400},
		{"target in full overrides Host", "POST http://evil.example/ HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n", 0, Options{}, 403},
		{"old HTTP without Host", "POST / HTTP/1.0\r\nContent-Length: 0\r\n\r\n", 0, Options{}, 400},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			resp, body, closed := raw(t, serve(t, guard(t, test.o), test.readTimeout, nil), test.request)
			if resp.StatusCode != test.want {
				t.Errorf("status %d (%s), want %d", resp.StatusCode, body, test.want)
			}
			if resp.Header.Get("Access-Control-Allow-Origin") != "" {
				t.Error("H16: anybody may read the answer")
			}
			if unread := test.want != 200 && !strings.Contains(test.request, "Content-Length: 0"); unread && !closed {
				t.Error("the connection stays open with an unread body in it")
			}
		})
	}
}

// When the body was read, its deadline must not end the call.
func TestBodyDeadlineIsLifted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const idle = 20 * time.Millisecond
		near, far := net.Pipe()
		g := guard(t, Options{BodyIdle: idle})
		s := &http.Server{ReadTimeout: idle, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if body, f := g.Body(w, r); f != nil || string(body) != "hi" {
				t.Errorf("the body is %q, %v", body, f)
			}
			select {
			case <-r.Context().Done():
				t.Error("the call was cancelled")
			case <-time.After(10 * idle):
			}
		})}
		served := make(chan error, 1)
		go func() { served <- s.Serve(&onceListener{c: near, closed: make(chan struct{})}) }()
		if _, err := io.WriteString(far, "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\nhi"); err != nil {
			t.Fatal(err)
		}
		resp, err := http.ReadResponse(bufio.NewReader(far), nil)
		if err != nil || resp.StatusCode != 200 {
			t.Errorf("%v, %v", resp, err)
		}
		far.Close()
		s.Close()
		<-served
	})
}
