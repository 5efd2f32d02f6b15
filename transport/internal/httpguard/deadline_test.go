package httpguard

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// A counted connection counts how often its deadlines are moved.
type counted struct {
	net.Conn
	moves atomic.Int32
}

func (c *counted) SetReadDeadline(t time.Time) error {
	c.moves.Add(1)
	return c.Conn.SetReadDeadline(t)
}

func (c *counted) SetWriteDeadline(t time.Time) error {
	c.moves.Add(1)
	return c.Conn.SetWriteDeadline(t)
}

func pipe(t *testing.T) (strict *strictConn, under *counted, far net.Conn) {
	t.Helper()
	near, far := net.Pipe()
	under = &counted{Conn: near}
	c, err := Strict(&http.Server{}, &onceListener{c: under}).Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { near.Close(); far.Close() })
	return c.(*strictConn), under, far
}

// Whenever a deadline is moved, before a wait or during it, to sooner or to
// later, the wait ends when it was last said to.
func TestDeadlines(t *testing.T) {
	const never = 0
	type move struct{ after, to time.Duration } // both from the beginning
	for _, side := range []string{"read", "write"} {
		for name, test := range map[string]struct {
			moves []move // those after 0 are made while somebody waits
			ends  time.Duration
		}{
			"set":                     {[]move{{0, time.Second}}, time.Second},
			"moved before":            {[]move{{0, time.Second}, {0, 3 * time.Second}, {0, 2 * time.Second}}, 2 * time.Second},
			"lifted before":           {[]move{{0, time.Second}, {0, never}, {0, 5 * time.Second}}, 5 * time.Second},
			"sooner":                  {[]move{{0, 9 * time.Second}, {time.Second, 2 * time.Second}}, 2 * time.Second},
			"later":                   {[]move{{0, 2 * time.Second}, {time.Second, 9 * time.Second}}, 9 * time.Second},
			"lifted, then set":        {[]move{{0, 2 * time.Second}, {time.Second, never}, {5 * time.Second, 6 * time.Second}}, 6 * time.Second},
			"at once":                 {[]move{{0, never}, {time.Second, -time.Hour}}, time.Second},
			"passed before":           {[]move{{0, -time.Hour}}, 0},
			"later, and sooner again": {[]move{{0, 2 * time.Second}, {time.Second, 9 * time.Second}, {3 * time.Second, 4 * time.Second}}, 4 * time.Second},
		} {
			t.Run(side+" "+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					c, _, _ := pipe(t)
					set, wait := c.SetReadDeadline, func() error { _, err := c.Read(make([]byte, 1)); return err }
					if side == "write" {
						set, wait = c.SetWriteDeadline, func() error { _, err := c.Write([]byte("x")); return err }
					}
					begun := time.Now()
					for round := range 2 { // what one wait leaves behind is no harm to the next
						for _, m := range test.moves {
							to := time.Now().Add(m.to - m.after)
							if m.to == never {
								to = time.Time{}
							}
							if m.after == 0 {
								set(to)
								continue
							}
							at := begun.Add(m.to)
							if m.to == never {
								at = time.Time{}
							}
							time.AfterFunc(m.after, func() { set(at) })
						}
						if err := wait(); !errors.Is(err, os.ErrDeadlineExceeded) {
							t.Errorf("round %d: %v", round, err)
						}
						if took := time.Since(begun); took != test.ends {
							t.Errorf("round %d: it took %s, not %s", round, took, test.ends)
						}
						begun = time.Now()
					}
				})
			})
		}
	}
}

// A write that is woken too soon goes on where it was.
func TestWriteGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _, far := pipe(t)
		c.SetWriteDeadline(time.Now().Add(time.Second))
		c.Write(nil) // so that the connection has this one
		c.SetWriteDeadline(time.Now().Add(time.Hour))
		var got strings.Builder
		done := make(chan struct{})
		go func() {
			defer close(done)
			for b := make([]byte, 3); ; {
				time.Sleep(700 * time.Millisecond)
				n, err := far.Read(b)
				if got.Write(b[:n]); err != nil {
					return
				}
			}
		}()
		const text = "all of this, and in this order"
		if n, err := io.WriteString(c, text); n != len(text) || err != nil {
			t.Errorf("%d bytes were written, %v", n, err)
		}
		c.Close()
		<-done
		if got.String() != text {
			t.Errorf("what came is %q", got.String())
		}
	})
}

// ReadFrom cannot go on after it was woken, so it is never woken too soon.
func TestReadFromIsExact(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _, far := pipe(t)
		c.SetWriteDeadline(time.Now().Add(time.Second))
		c.Write(nil)
		c.SetWriteDeadline(time.Now().Add(time.Hour))
		go func() {
			time.Sleep(2 * time.Second)
			c.SetWriteDeadline(time.Now().Add(2 * time.Hour))
			time.Sleep(90 * time.Minute)
			io.Copy(io.Discard, far)
		}()
		if n, err := c.ReadFrom(strings.NewReader("a file")); n != 6 || err != nil {
			t.Errorf("%d bytes, %v", n, err)
		}
	})
}

// Of all the deadlines of a request, those are set that somebody waits under.
func TestDeadlinesAreSaved(t *testing.T) {
	near, far := net.Pipe()
	defer far.Close()
	under := &counted{Conn: near}
	served := make(chan struct{}, 1)
	s := &http.Server{
		ReadHeaderTimeout: time.Minute, IdleTimeout: time.Hour,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			http.NewResponseController(w).SetWriteDeadline(time.Now().Add(time.Minute))
			served <- struct{}{}
		}),
	}
	l := &onceListener{c: under, closed: make(chan struct{})}
	go s.Serve(Strict(s, l))
	defer s.Close()
	const rounds = 20
	var before int32
	for i := range rounds + 1 {
		if i == 1 {
			before = under.moves.Load()
		}
		if _, err := io.WriteString(far, "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\nhi"); err != nil {
			t.Fatal(err)
		}
		<-served
		const answer = "HTTP/1.1 200 OK\r\n"
		got := make([]byte, 4096)
		if n, err := far.Read(got); err != nil || !strings.HasPrefix(string(got[:n]), answer) {
			t.Fatalf("%q, %v", got[:n], err)
		}
	}
	if moves := under.moves.Load() - before; moves > 3*rounds {
		t.Errorf("deadlines were moved %d times in %d requests", moves, rounds)
	}
}

// A onceListener has one connection.
type onceListener struct {
	c      net.Conn
	closed chan struct{}
	given  atomic.Bool
}

func (l *onceListener) Accept() (net.Conn, error) {
	if l.given.CompareAndSwap(false, true) {
		return l.c, nil
	}
	<-l.closed
	return nil, net.ErrClosed
}

func (l *onceListener) Close() error   { close(l.closed); return nil }
func (l *onceListener) Addr() net.Addr { return &net.TCPAddr{} }

// tcpPair returns a strict connection and the client at its other end, over TCP,
// where bytes wait in the kernel until they are read.
func tcpPair(t *testing.T) (strict, client net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if client, err = net.Dial("tcp", l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if strict, err = Strict(&http.Server{}, l).Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close(); strict.Close() })
	return strict, client
}

// passDeadline sets a read deadline and lets it pass.
func passDeadline(c net.Conn) {
	c.SetReadDeadline(time.Now().Add(time.Millisecond))
	time.Sleep(2 * time.Millisecond)
}

// What a client has sent is read although the deadline has passed meanwhile: a
// process that did not run for a while refuses nobody who was in time.
func TestBytesThatArrivedAreReadAfterTheDeadline(t *testing.T) {
	c, client := tcpPair(t)
	const sent = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"
	io.WriteString(client, sent)
	passDeadline(c)
	buf := make([]byte, 100)
	n, err := c.Read(buf[:14]) // net/http looks for the preface of HTTP/2 first
	m, again := c.Read(buf[n:])
	if got := string(buf[:n+m]); got != sent || err != nil || again != nil {
		t.Errorf("read %q, %v, %v", got, err, again)
	}
	if n, err := c.Read(buf); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("with nothing there: read %d bytes, %v", n, err)
	}
	io.WriteString(client, sent)
	if n, err := c.Read(buf); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("after it has failed: read %d bytes, %v", n, err)
	}
	c.SetReadDeadline(time.Time{})
	if n, err := c.Read(buf); n != len(sent) || err != nil {
		t.Errorf("without a deadline: read %d bytes, %v", n, err)
	}
}

// A deadline in the past interrupts a read at once, whatever has arrived: so
// net/http ends the read that watches for the client's end.
func TestInterruptedReadTakesNothing(t *testing.T) {
	c, client := tcpPair(t)
	io.WriteString(client, "GET / HTTP/1.1\r\n")
	c.SetReadDeadline(time.Unix(1, 0))
	if n, err := c.Read(make([]byte, 100)); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("read %d bytes, %v", n, err)
	}
}

// A request that came in time is served although the server did not run while
// its deadline passed.
func TestRequestIsServedAfterAPause(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{ReadHeaderTimeout: time.Millisecond, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(204) })}
	sent := make(chan struct{})
	go s.Serve(pausedListener{Strict(s, l), sent})
	defer s.Close()
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) { close(sent) }})
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+l.Addr().String(), nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != 204 {
		t.Errorf("status %s", res.Status)
	}
}

// A pausedListener has connections whose server does not run until the request
// was sent and the time for its headers has passed.
type pausedListener struct {
	net.Listener
	sent <-chan struct{}
}

func (l pausedListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return pausedConn{c, l.sent}, nil
}

type pausedConn struct {
	net.Conn
	sent <-chan struct{}
}

func (c pausedConn) Read(p []byte) (int, error) {
	<-c.sent
	time.Sleep(2 * time.Millisecond)
	return c.Conn.Read(p)
}
