package httpguard

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

// Strict returns a listener that rejects HTTP/1 requests that two parsers could
// read differently: with lines that end with a bare LF or contain a CR, folded
// header lines, a space before a colon, or more than one length of the body. Such
// a request gets status 400, after the responses to earlier ones, and its
// connection is closed.
//
// A connection without a request yet is idle: it is closed after IdleTimeout, and
// ReadHeaderTimeout begins with its first bytes. net/http alone closes it after
// ReadHeaderTimeout, perhaps while the client sends its first request.
//
// HTTP/2 and TLS pass unchecked. s is the server of the listener: Strict uses its
// ConnState to stop checking hijacked connections.
func Strict(s *http.Server, l net.Listener) net.Listener {
	next := s.ConnState
	s.ConnState = func(c net.Conn, state http.ConnState) {
		if mine, ok := c.(*strictConn); ok && state == http.StateHijacked {
			mine.frames = framing{at: notHTTP1}
		}
		if next != nil {
			next(c, state)
		}
	}
	within := s.ConnContext
	s.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		if within != nil {
			ctx = within(ctx, c)
		}
		if mine, ok := c.(*strictConn); ok {
			ctx = context.WithValue(ctx, strictKey{}, mine)
		}
		return ctx
	}
	return strictListener{l, s}
}

// strictKey is the context key of a request's strictConn.
type strictKey struct{}

// hasArrived reports whether a request is known to have arrived completely and
// has no read timeout, so that reading its body does not block.
func hasArrived(r *http.Request) bool {
	if r.ProtoMajor != 1 {
		return false
	}
	c, ok := r.Context().Value(strictKey{}).(*strictConn)
	return ok && c.whole.Load() && c.server.ReadTimeout <= 0
}

type strictListener struct {
	net.Listener
	server *http.Server
}

func (l strictListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	if _, ok := c.(interface{ NetConn() net.Conn }); ok {
		return c, nil // net/http must see TLS connections
	}
	return &strictConn{
		Conn: c, server: l.server,
		reads: deadline{move: net.Conn.SetReadDeadline}, writes: deadline{move: net.Conn.SetWriteDeadline},
	}, nil
}

// A strictConn replaces the first ambiguous bytes of a client, and all after them,
// by bytes that net/http refuses in a head and between chunks. So net/http
// responds, in order.
type strictConn struct {
	net.Conn
	server *http.Server
	frames framing
	reads  deadline
	writes deadline
	whole  atomic.Bool // what was read ends with a complete request
	begun  bool        // the first bytes were read or waited for
	bad    bool        // an ambiguous request was read
	sent   uint8       // how much of invalidHead was read
}

const invalidHead = "\x00\r\n\r\n"

// Read is called by one goroutine at a time.
func (c *strictConn) Read(p []byte) (int, error) {
	if c.bad {
		return c.readInvalid(p)
	}
	n, err := c.read(p)
	if n > 0 && c.frames.at != notHTTP1 {
		if good := c.frames.check(p[:n]); good < n {
			c.bad = true
			if n, err = good, nil; n == 0 {
				c.whole.Store(false)
				return c.readInvalid(p)
			}
		}
		c.whole.Store(!c.bad && c.frames.between())
	}
	return n, err
}

// read reads with the deadline of net/http, except for the first bytes.
func (c *strictConn) read(p []byte) (int, error) {
	if c.begun {
		return c.readInTime(p)
	}
	c.begun = true
	return c.readFirst(p)
}

// readFirst reads the first bytes. Clients such as net/http keep connections that
// they opened and did not need, so the wait for the first request is as long as
// that for a later one. If IdleTimeout is not longer, or not set, the deadline of
// net/http remains.
func (c *strictConn) readFirst(p []byte) (int, error) {
	head := cmp.Or(c.server.ReadHeaderTimeout, c.server.ReadTimeout)
	idle := cmp.Or(c.server.IdleTimeout, c.server.ReadTimeout)
	if head <= 0 || idle <= head {
		return c.readInTime(p)
	}
	c.SetReadDeadline(time.Now().Add(idle))
	n, err := c.readInTime(p)
	if n > 0 {
		c.SetReadDeadline(time.Now().Add(head))
	}
	return n, err
}

// readInTime reads with the wanted deadline. Bytes that arrived before it are read even
// after it.
func (c *strictConn) readInTime(p []byte) (n int, err error) {
	for {
		c.reads.begin(c.Conn, false)
		n, err = c.Conn.Read(p)
		why := c.reads.end(err)
		if why == atDeadline {
			c.reads.beginLastRead(c.Conn)
			n, err = c.Conn.Read(p)
			why = c.reads.end(err)
		}
		if why != tooSoon {
			return n, err
		}
	}
}

func (c *strictConn) Write(p []byte) (n int, err error) {
	for again := true; again; {
		var some int
		c.writes.begin(c.Conn, false)
		some, err = c.Conn.Write(p[n:])
		n += some
		again = c.writes.end(err) == tooSoon
	}
	return n, err
}

func (c *strictConn) SetReadDeadline(t time.Time) error  { return c.reads.set(c.Conn, t) }
func (c *strictConn) SetWriteDeadline(t time.Time) error { return c.writes.set(c.Conn, t) }

func (c *strictConn) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

func (c *strictConn) readInvalid(p []byte) (int, error) {
	n := copy(p, invalidHead[c.sent:])
	if c.sent += uint8(n); n == 0 && len(p) > 0 {
		return 0, io.EOF
	}
	return n, nil
}

// ReadFrom lets net/http send files with sendfile.
func (c *strictConn) ReadFrom(r io.Reader) (int64, error) {
	c.writes.begin(c.Conn, true) // bytes read from r would be lost
	n, err := io.Copy(c.Conn, r)
	c.writes.end(err)
	return n, err
}

// CloseWrite lets net/http close a connection without losing the last response.
func (c *strictConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}
