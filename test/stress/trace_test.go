package stress

import (
	"context"
	"fmt"
	"net"
	"net/http/httptrace"
	"strings"
	"sync"
	"time"
)

// A trace remembers what happened on the connections of the HTTP servers, so that
// a request that fails against all expectation can show the history of its
// connection: what the server read, what it wrote, and when it closed.
type trace struct {
	begun time.Time

	mu     sync.Mutex
	conns  map[string]*tracedConn // by the address of the client
	closed []string               // the last keptClosed that were closed, the oldest first
}

const (
	keptClosed = 1000 // connections
	keptEvents = 40   // of one connection
	keptBytes  = 80   // of one event
)

// listen returns a listener whose connections are traced.
func (tr *trace) listen(l net.Listener) net.Listener { return tracedListener{l, tr} }

type tracedListener struct {
	net.Listener
	trace *trace
}

func (l tracedListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &tracedConn{Conn: conn, trace: l.trace}
	c.note("accept", nil, nil)
	l.trace.mu.Lock()
	defer l.trace.mu.Unlock()
	l.trace.conns[conn.RemoteAddr().String()] = c
	return c, nil
}

// A tracedConn is the server's side of a connection.
type tracedConn struct {
	net.Conn
	trace *trace

	mu     sync.Mutex
	events []traced // the last keptEvents
}

type traced struct {
	at    time.Duration
	what  string
	size  int
	bytes []byte // the first of them
	err   error
}

func (c *tracedConn) note(what string, data []byte, err error) {
	e := traced{time.Since(c.trace.begun), what, len(data), append([]byte(nil), data[:min(len(data), keptBytes)]...), err}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.events) == keptEvents {
		c.events = append(c.events[:0], c.events[1:]...)
	}
	c.events = append(c.events, e)
}

func (c *tracedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.note("read", p[:n], err)
	return n, err
}

func (c *tracedConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.note("write", p[:n], err)
	return n, err
}

func (c *tracedConn) CloseWrite() error {
	c.note("close for writing", nil, nil)
	return c.Conn.(*net.TCPConn).CloseWrite()
}

func (c *tracedConn) Close() error {
	c.note("close", nil, nil)
	addr := c.RemoteAddr().String()
	c.trace.mu.Lock()
	c.trace.closed = append(c.trace.closed, addr)
	if len(c.trace.closed) > keptClosed {
		delete(c.trace.conns, c.trace.closed[0])
		c.trace.closed = c.trace.closed[1:]
	}
	c.trace.mu.Unlock()
	return c.Conn.Close()
}

// A path is the connections that the requests of one ctx went over.
type path struct {
	trace *trace

	mu    sync.Mutex
	addrs []string
}

// follow returns a context whose requests are followed.
func (tr *trace) follow(ctx context.Context) (context.Context, *path) {
	p := &path{trace: tr}
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(i httptrace.GotConnInfo) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.addrs = append(p.addrs, i.Conn.LocalAddr().String())
	}}), p
}

// String is the history of the connections.
func (p *path) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var b strings.Builder
	for _, addr := range p.addrs {
		p.trace.mu.Lock()
		c := p.trace.conns[addr]
		p.trace.mu.Unlock()
		if c == nil {
			fmt.Fprintf(&b, "\n  %s: not known", addr)
			continue
		}
		fmt.Fprintf(&b, "\n  %s, as the server saw it:", addr)
		c.mu.Lock()
		for _, e := range c.events {
			fmt.Fprintf(&b, "\n    %v %s %d bytes %q, error %v", e.at, e.what, e.size, e.bytes, e.err)
		}
		c.mu.Unlock()
	}
	return b.String()
}
