package httpguard

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

// Strict returns a listener whose connections hand net/http no HTTP/1 request
// about whose end, or about whose headers, two readers could differ: one with
// lines that end in a bare LF or have a CR in them, with a header line that
// goes on in the next, with a space before a colon, or with more than one
// statement of how long its body is. Such a request is answered 400, after the
// answers to those before it, and the connection ends.
//
// HTTP/2 and TLS pass as they are. The server is the one that will serve the
// listener: its ConnState is told here of connections that a handler takes
// over, on which other things than requests may come.
func Strict(s *http.Server, l net.Listener) net.Listener {
	told := s.ConnState
	s.ConnState = func(c net.Conn, state http.ConnState) {
		if mine, ok := c.(*strictConn); ok && state == http.StateHijacked {
			mine.frames = framing{at: elsewhere}
		}
		if told != nil {
			told(c, state)
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

// strictKey is where the context of a request has its strictConn.
type strictKey struct{}

// hasCome reports whether all of a request is known to have come, and to be
// under no deadline, so that reading its body waits for nobody.
func hasCome(r *http.Request) bool {
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
		return c, nil // TLS, which net/http has to see for itself
	}
	return &strictConn{
		Conn: c, server: l.server,
		reads: deadline{move: net.Conn.SetReadDeadline}, writes: deadline{move: net.Conn.SetWriteDeadline},
	}, nil
}

// A strictConn ends what its client sends before the first bytes that are not
// good. In their place come some that net/http refuses, wherever in a head or
// between two chunks they stand; so the answer is given by the one who knows
// when it is due.
type strictConn struct {
	net.Conn
	server *http.Server
	frames framing
	reads  deadline
	writes deadline
	whole  atomic.Bool // what has come so far ends with a request
	bad    bool        // nothing more is read from the client
	told   uint8       // how much of refused was read instead
}

const refused = "\x00\r\n\r\n"

// Read is called by one goroutine at a time.
func (c *strictConn) Read(p []byte) (int, error) {
	if c.bad {
		return c.readRefused(p)
	}
	n, err := c.read(p)
	if n > 0 && c.frames.at != elsewhere {
		if good := c.frames.take(p[:n]); good < n {
			c.bad = true
			if n, err = good, nil; n == 0 {
				c.whole.Store(false)
				return c.readRefused(p)
			}
		}
		c.whole.Store(!c.bad && c.frames.between())
	}
	return n, err
}

// read reads with the deadline that was wished. Bytes that arrived before it
// passed are read also after it has.
func (c *strictConn) read(p []byte) (n int, err error) {
	for {
		c.reads.begin(c.Conn, false)
		n, err = c.Conn.Read(p)
		why := c.reads.end(err)
		if why == atDeadline {
			c.reads.beginLastLook(c.Conn)
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

func (c *strictConn) SetReadDeadline(t time.Time) error  { return c.reads.wish(c.Conn, t) }
func (c *strictConn) SetWriteDeadline(t time.Time) error { return c.writes.wish(c.Conn, t) }

func (c *strictConn) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

func (c *strictConn) readRefused(p []byte) (int, error) {
	n := copy(p, refused[c.told:])
	if c.told += uint8(n); n == 0 && len(p) > 0 {
		return 0, io.EOF
	}
	return n, nil
}

// ReadFrom keeps files on the short way that net/http has for them.
func (c *strictConn) ReadFrom(r io.Reader) (int64, error) {
	c.writes.begin(c.Conn, true) // what was taken from r would be lost
	n, err := io.Copy(c.Conn, r)
	c.writes.end(err)
	return n, err
}

// CloseWrite lets net/http end a connection without losing the last answer.
func (c *strictConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}
