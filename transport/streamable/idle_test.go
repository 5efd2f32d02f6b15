package streamable_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenon-mcp/tenon/transport/streamable"
)

// A line is one connection to a server in a bubble.
type line struct {
	*fixture
	t    *testing.T
	near net.Conn
	r    *bufio.Reader // from near
	at   *fort
}

// newLine serves one connection, which is taken over for streams or not.
func newLine(t *testing.T, o *streamable.Options, takeOver bool) *line {
	near, far := net.Pipe()
	n := &line{t: t, fixture: newFixture(t), near: near, r: bufio.NewReader(near), at: &fort{t: t, port: "80", path: streamable.Path}}
	ctx, stop := context.WithCancel(context.Background())
	l := &oneConn{conn: far, ended: make(chan struct{})}
	served := make(chan error, 1)
	if takeOver {
		go func() { served <- streamable.Serve(ctx, l, n.Server, o, nil) }()
	} else {
		h, err := streamable.NewHandler(n.Server, o)
		if err != nil {
			t.Fatal(err)
		}
		s := streamable.NewHTTPServer(h)
		go func() { s.Serve(l); served <- nil }()
		context.AfterFunc(ctx, func() { h.Shutdown(); s.Close() })
	}
	t.Cleanup(func() {
		near.Close()
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return n
}

func (n *line) send(r *request) *http.Response {
	n.t.Helper()
	go io.WriteString(n.near, r.on(n.at))
	res, err := http.ReadResponse(n.r, nil)
	if err != nil {
		n.t.Fatal(err)
	}
	return res
}

// open opens a stream in one of the eras, after which the client is waited for.
func (n *line) open(era string) *ear {
	n.t.Helper()
	if era == "modern" {
		e := hear(n.t, n.send(ask("1", "subscriptions/listen", "", listenTools)).Body)
		e.expect("subscriptions/acknowledged")
		return e
	}
	in := newRequestIn(n)
	return hear(n.t, n.send(in("")).Body)
}

// newRequestIn initializes a session.
func newRequestIn(n *line) func(body string) *request {
	var id string
	in := func(body string) *request {
		if id == "" {
			return legacyRequest(body)
		}
		return legacyRequest(body, "Mcp-Session-Id: "+id, "Mcp-Protocol-Version: "+rev2025)
	}
	for _, body := range []string{
		`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"` + rev2025 + `","capabilities":{},"clientInfo":{"name":"line","version":"1"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
	} {
		res := n.send(in(body))
		io.Copy(io.Discard, res.Body)
		if s := res.Header.Get("Mcp-Session-Id"); s != "" {
			id = s
		}
	}
	return in
}

func forEachStream(t *testing.T, o *streamable.Options, f func(t *testing.T, n *line, e *ear)) {
	for _, era := range []string{"modern", "legacy"} {
		for _, takeOver := range []bool{true, false} {
			name := era
			if takeOver {
				name += " taken over"
			}
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					n := newLine(t, o, takeOver)
					f(t, n, n.open(era))
				})
			})
		}
	}
}

// L2: a stream whose client does not read is closed when one write has waited
// for WriteIdle.
func TestStreamThatIsNotReadIsClosed(t *testing.T) {
	forEachStream(t, nil, func(t *testing.T, n *line, e *ear) {
		addOne(n.fixture)
		time.Sleep(32 * time.Second)                        // WriteIdle is 30 s; nothing is read meanwhile
		n.near.SetReadDeadline(time.Now().Add(time.Minute)) // an error: it is closed
		if rest, err := io.ReadAll(n.r); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("the stream is still open, and brought %q", rest)
		}
	})
}

// L20: the first comment comes when nothing was sent for as long as KeepAlive
// says, and so does each that follows.
func TestFirstCommentIsOnTime(t *testing.T) {
	forEachStream(t, nil, func(t *testing.T, n *line, e *ear) {
		begun := time.Now()
		for i := range 3 {
			if event := e.next(); event != ":" {
				t.Fatalf("heard %q", event)
			}
			if after, want := time.Since(begun), time.Duration(i+1)*25*time.Second; after < want-time.Second || after > want+time.Second {
				t.Errorf("comment %d came after %s", i+1, after)
			}
		}
		time.Sleep(10 * time.Second)
		addOne(n.fixture)
		e.expect("tools/list_changed")
		begun = time.Now()
		if event := e.next(); event != ":" || time.Since(begun) != 25*time.Second {
			t.Errorf("%q came %s after an event", event, time.Since(begun))
		}
	})
}

// L20 for a call that has reported progress and then says nothing.
func TestFirstCommentOfACallIsOnTime(t *testing.T) {
	for _, era := range []string{"modern", "legacy"} {
		t.Run(era, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newLine(t, nil, true)
				var r *request
				if era == "modern" {
					r = modernGated("1", "a", 2)
				} else {
					r = newRequestIn(n)(oldGated("1", "a", 2))
				}
				go func() { <-n.began; n.gate <- true }()
				e := hear(t, n.send(r).Body)
				e.expect(`"progress":1`)
				begun := time.Now()
				if event := e.next(); event != ":" || time.Since(begun) != 25*time.Second {
					t.Errorf("%q came after %s", event, time.Since(begun))
				}
				n.gate <- true
				e.expect(`"progress":2`, `"id":1,"result"`)
			})
		})
	}
}
