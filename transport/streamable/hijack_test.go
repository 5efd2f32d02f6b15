package streamable_test

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/transport/streamable"
)

const listenTools = `"notifications":{"toolsListChanged":true}`

// Streams are the same to a client, whether their connections were taken over
// or not: heads, events, news, the end.
func TestTakeOver(t *testing.T) {
	for _, takeOver := range []bool{false, true} {
		f := newFixture(t)
		h, err := streamable.NewHandler(f.Server, &streamable.Options{TakeOver: takeOver})
		if err != nil {
			t.Fatal(err)
		}
		returned := make(chan string, 10)
		web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X-From", "outside")
			h.ServeHTTP(w, r)
			returned <- r.Method
		}))
		at := &fort{t: t, fixture: f, addr: web.Listener.Addr().String(), path: "/"}
		at.port = at.addr[strings.LastIndexByte(at.addr, ':')+1:]
		in := at.enter(rev2025, "")
		<-returned
		<-returned
		for name, r := range map[string]*request{"newest": ask("1", "subscriptions/listen", "", listenTools), "older": in("")} {
			s := at.dial()
			s.write(r.on(at))
			a := s.head()
			if a.Status != 200 || a.Header.Get("Content-Type") != "text/event-stream" || a.Header.Get("X-Accel-Buffering") != "no" ||
				a.Header.Get("X-From") != "outside" || a.Header.Get("Date") == "" || len(a.TransferEncoding) != 1 {
				t.Errorf("%s: %d %v %v", name, a.Status, a.Header, a.TransferEncoding)
			}
			e := hear(t, a.Body)
			if name == "newest" {
				e.expect("subscriptions/acknowledged")
			}
			if takeOver {
				<-returned // while the stream goes on
			}
			s.write("\n\x00 what nobody reads\r\n")
			addOne(f)
			e.expect("tools/list_changed")
			defer func() {
				last := ""
				for event := e.next(); event != ""; event = e.next() {
					last = event
				}
				if name == "newest" && !strings.Contains(last, `"id":1,"result"`) || e.lines.Err() != nil { // which is there when the last chunk is not
					t.Errorf("%s, taken over %v: ends with %q, %v", name, takeOver, last, e.lines.Err())
				}
			}()
		}
		if a := at.raw(ask("1", "subscriptions/listen", "", "").on(at)); a.short() != "400 1 -32602" {
			t.Errorf("a subscription to nothing: %s", a.short())
		}
		h.Shutdown()
		if a := at.raw(ask("1", "subscriptions/listen", "", listenTools).on(at)); a.Status != 503 {
			t.Errorf("after the end: %d", a.Status)
		}
		web.Close()
	}
}

// A takenWriter is a ResponseWriter whose connection can be taken over. It
// counts the deadlines that are set through it afterwards.
type takenWriter struct {
	http.ResponseWriter
	isTaken bool
	late    int
}

func (w *takenWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	w.isTaken = true
	return w.ResponseWriter.(http.Hijacker).Hijack()
}

func (w *takenWriter) SetWriteDeadline(at time.Time) error {
	if w.isTaken {
		w.late++
	}
	return http.NewResponseController(w.ResponseWriter).SetWriteDeadline(at)
}

// The deadlines of a connection that was taken over belong to its stream: the
// handler of the request sets none when it returns.
func TestTakenConnectionKeepsItsDeadline(t *testing.T) {
	f := newFixture(t)
	h, err := streamable.NewHandler(f.Server, &streamable.Options{TakeOver: true})
	if err != nil {
		t.Fatal(err)
	}
	late := make(chan int, 10)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		taken := &takenWriter{ResponseWriter: w}
		h.ServeHTTP(taken, r)
		if taken.isTaken {
			late <- taken.late
		}
	}))
	defer web.Close()
	defer h.Shutdown()
	at := &fort{t: t, fixture: f, addr: web.Listener.Addr().String(), path: "/"}
	at.port = at.addr[strings.LastIndexByte(at.addr, ':')+1:]
	in := at.enter(rev2025, "")
	for name, r := range map[string]*request{"newest": ask("1", "subscriptions/listen", "", listenTools), "older": in("")} {
		s := at.dial()
		s.write(r.on(at))
		s.head()
		if n := <-late; n > 0 {
			t.Errorf("%s: the handler set %d write deadlines after the connection was taken over", name, n)
		}
	}
}

// A client that takes nothing does not keep the server from its end.
func TestShutdownOfStuckStreams(t *testing.T) {
	f := newFort(t, false, nil)
	s := f.dial()
	s.write(ask("1", "subscriptions/listen", "", listenTools).on(f))
	hear(t, s.head().Body).expect("subscriptions/acknowledged")
	var all sync.WaitGroup
	all.Go(f.h.Shutdown)
	all.Go(f.h.Shutdown)
	all.Wait()
}

// A panic costs one stream, which ends without its last chunk.
func TestTakeOverPanics(t *testing.T) {
	var said lockedBuffer
	h, err := streamable.NewHandler(newFixture(t).Server, &streamable.Options{TakeOver: true, Store: &brokenStore{}})
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewUnstartedServer(h)
	web.Config.ErrorLog = log.New(&said, "", 0)
	web.Start()
	defer web.Close()
	defer h.Shutdown()
	at := &fort{t: t, addr: web.Listener.Addr().String(), path: "/"}
	at.port = at.addr[strings.LastIndexByte(at.addr, ':')+1:]
	in := at.enter(rev2025, "")
	s := at.dial()
	s.write(in("").on(at))
	a := s.head()
	if rest, err := io.ReadAll(a.Body); err == nil {
		t.Errorf("%d %q looks like the end", a.Status, rest)
	}
	waitFor(t, "the panic is reported", func() bool { return strings.Contains(said.String(), canary) })
	if a := at.raw(in(oldTool("1", "echo", "")).on(at)); a.short() != "200 1 ok" {
		t.Errorf("afterwards %s", a.short())
	}
}

type brokenStore struct{ streamable.Memory }

func (*brokenStore) AddEvent(_, stream string, _ []byte) string { panic(canary) }

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// served runs Serve until it is stopped, and tells how it ended.
func served(t *testing.T) (addr string, stop func(), ended <-chan error) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	end := make(chan error, 1)
	go func() { end <- streamable.Serve(ctx, l, newFixture(t).Server, nil, nil) }()
	return l.Addr().String(), stop, end
}

// Serve comes to its end although streams are open, and they to theirs.
func TestServeEndsStreams(t *testing.T) {
	addr, stop, ended := served(t)
	at := &fort{t: t, addr: addr, path: streamable.Path}
	at.port = at.addr[strings.LastIndexByte(at.addr, ':')+1:]
	s := at.dial()
	s.write(ask("1", "subscriptions/listen", "", listenTools).on(at))
	e := hear(t, s.head().Body)
	e.expect("subscriptions/acknowledged")
	stop()
	e.expect(`"id":1,"result"`)
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// Whoever asks elsewhere is told where to ask.
func TestServeElsewhere(t *testing.T) {
	addr, stop, ended := served(t)
	for path, want := range map[string]int{"": 404, "/": 404, "/mcp/": 404, "/mcp/x": 404, "//mcp": 404, "/mcp": 405} {
		res, err := http.Get("http://" + addr + path)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(res.Body)
		res.Body.Close()
		if res.StatusCode != want || want == 404 && !strings.Contains(string(text), "served at /mcp") {
			t.Errorf("%q: status %d, %s", path, res.StatusCode, text)
		}
	}
	http.DefaultClient.CloseIdleConnections()
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
