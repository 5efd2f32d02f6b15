package cluster

import (
	"bufio"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Messages to other replicas use HTTP/1.1, of which a short exchange costs about
// half of one of HTTP/2. Streams use HTTP/2, whose pings find a replica that
// hangs. For messages, a link to each replica does so: while requests are in
// flight and nothing arrives, it tries whether the replica still accepts
// connections.

const (
	dialTimeout  = 2 * time.Second
	probeEvery   = time.Second
	probeTimeout = 3 * time.Second
	maxIdleConns = 64          // to each replica
	idleTimeout  = time.Minute // of a connection for messages; the server waits for longer
)

// keepAlive finds a connection that is broken though its replica is reachable, while
// nothing is sent on it.
var keepAlive = net.KeepAliveConfig{Enable: true, Idle: 5 * time.Second, Interval: 2 * time.Second, Count: 3}

// dialer opens connections to replicas. While sent data is not acknowledged, TCP
// sends no keep-alive probes, and would try for about 15 minutes:
// limitUnacknowledged shortens that, on Linux.
var dialer = &net.Dialer{KeepAliveConfig: keepAlive, Control: limitUnacknowledged}

// dial connects to a replica.
func (r *Replica) dial(ctx context.Context, m Member, timeout time.Duration, protocol string) (net.Conn, error) {
	conf, err := r.clientTLS(m.ID, protocol)
	if err != nil {
		return nil, err
	}
	d := &tls.Dialer{NetDialer: dialer, Config: conf}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	c, err := d.DialContext(ctx, "tcp", m.Addr)
	if err == nil {
		return c, nil
	}
	if _, isOther := errors.AsType[*tls.CertificateVerificationError](err); isOther || errors.Is(err, syscall.ECONNREFUSED) {
		return nil, fmt.Errorf("%w: %w", ErrGone, err)
	}
	return nil, unreachable{err}
}

// unreachable is the error of a replica to which no connection can be opened.
type unreachable struct{ error }

func (e unreachable) Unwrap() error { return e.error }

// doesNotAnswer reports whether a probe failed because nothing answers at the
// address of the replica. Other failures, such as a lack of file descriptors here,
// say nothing about the replica.
func doesNotAnswer(err error) bool {
	if _, unresolved := errors.AsType[*net.DNSError](err); unresolved {
		return false
	}
	late, ok := errors.AsType[net.Error](err)
	return ok && late.Timeout() || errors.Is(err, syscall.EHOSTUNREACH) || errors.Is(err, syscall.ENETUNREACH)
}

// links has the connections for messages to other replicas.
type links struct {
	// probe connects to a replica and disconnects.
	probe func(Member) error

	mu     sync.Mutex
	by     map[string]*link // by the id of the replica
	closed bool
}

// A link is the state of the connections to one replica. links.mu guards it.
type link struct {
	conns   map[*linkConn]struct{}
	idle    []*linkConn  // of conns, the last used last
	flying  int          // requests in flight
	watched bool         // a goroutine looks whether the replica answers
	reads   atomic.Int64 // that returned something
}

func (l *links) get(m Member) *link {
	k := l.by[m.ID]
	if k == nil {
		k = &link{conns: map[*linkConn]struct{}{}}
		l.by[m.ID] = k
	}
	return k
}

// dropLocked forgets a link that is not used.
func (l *links) dropLocked(id string) {
	if k := l.by[id]; k != nil && len(k.conns) == 0 && k.flying == 0 && !k.watched {
		delete(l.by, id)
	}
}

// begin begins a request to a replica. Until end, the replica is watched.
func (l *links) begin(m Member) {
	l.mu.Lock()
	defer l.mu.Unlock()
	k := l.get(m)
	k.flying++
	if !k.watched {
		k.watched = true
		go l.watch(m, k)
	}
}

func (l *links) end(m Member) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.get(m).flying--
	l.dropLocked(m.ID)
}

// watch cuts the connections to a replica that has stopped to answer. It returns
// when no request is in flight.
func (l *links) watch(m Member, k *link) {
	every := time.NewTicker(probeEvery)
	defer every.Stop()
	for seen := k.reads.Load(); ; {
		<-every.C
		l.mu.Lock()
		if k.flying == 0 {
			k.watched = false
			l.dropLocked(m.ID)
			l.mu.Unlock()
			return
		}
		l.mu.Unlock()
		if n := k.reads.Load(); n != seen {
			seen = n
			continue
		}
		err := l.probe(m)
		if doesNotAnswer(err) && k.reads.Load() == seen {
			l.cut(k, unreachable{fmt.Errorf("the replica does not answer: %w", err)})
		}
	}
}

// cut closes the connections to a replica.
func (l *links) cut(k *link, why error) {
	l.mu.Lock()
	k.idle = nil
	conns := make([]*linkConn, 0, len(k.conns))
	for c := range k.conns {
		conns = append(conns, c)
	}
	l.mu.Unlock()
	for _, c := range conns {
		c.why.Store(&why)
		c.Close()
	}
}

// A linkConn is a connection for messages.
type linkConn struct {
	net.Conn
	links *links
	id    string
	link  *link
	in    *bufio.Reader
	out   *bufio.Writer
	since time.Time             // it is idle
	why   atomic.Pointer[error] // it was cut; nil otherwise
}

// take returns an idle connection to a replica, nil if there is none.
func (l *links) take(m Member) *linkConn {
	var old []*linkConn
	defer func() {
		for _, c := range old {
			c.Close()
		}
	}()
	l.mu.Lock()
	defer l.mu.Unlock()
	k := l.get(m)
	for n := len(k.idle); n > 0; n = len(k.idle) {
		c := k.idle[n-1]
		k.idle = k.idle[:n-1]
		if time.Since(c.since) < idleTimeout && c.in.Buffered() == 0 && isOpen(c.Conn) {
			return c
		}
		old = append(old, c)
	}
	return nil
}

// put keeps a connection for the next message.
func (l *links) put(c *linkConn) {
	c.since = time.Now()
	l.mu.Lock()
	_, known := c.link.conns[c]
	keep := known && !l.closed && len(c.link.idle) < maxIdleConns
	if keep {
		c.link.idle = append(c.link.idle, c)
	}
	l.mu.Unlock()
	if !keep {
		c.Close()
	}
}

// closeIdle closes idle connections: those of a replica whose idle time is over,
// or all if the links are closed.
func (l *links) closeIdle(all bool) {
	l.mu.Lock()
	l.closed = l.closed || all
	var old []*linkConn
	for _, k := range l.by {
		n := 0
		for n < len(k.idle) && (all || time.Since(k.idle[n].since) >= idleTimeout) {
			n++
		}
		old = append(old, k.idle[:n]...)
		k.idle = slices.Delete(k.idle, 0, n)
	}
	l.mu.Unlock()
	for _, c := range old {
		c.Close()
	}
}

func (l *links) add(m Member, c net.Conn) *linkConn {
	l.mu.Lock()
	defer l.mu.Unlock()
	k := l.get(m)
	lc := &linkConn{Conn: c, links: l, id: m.ID, link: k}
	lc.in, lc.out = bufio.NewReader(lc), bufio.NewWriter(lc)
	k.conns[lc] = struct{}{}
	return lc
}

func (c *linkConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 {
		c.link.reads.Add(1)
	}
	return n, c.explain(err)
}

func (c *linkConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	return n, c.explain(err)
}

// explain returns why the connection was cut, if it was.
func (c *linkConn) explain(err error) error {
	if why := c.why.Load(); err != nil && why != nil {
		return *why
	}
	return err
}

// tcp returns the connection below TLS. It is closed without the alert of TLS, for
// which a replica that hangs would have to make room.
func (c *linkConn) tcp() net.Conn { return c.Conn.(*tls.Conn).NetConn() }

func (c *linkConn) Close() error {
	c.links.mu.Lock()
	delete(c.link.conns, c)
	c.links.dropLocked(c.id)
	c.links.mu.Unlock()
	return c.tcp().Close()
}

// exchange sends a message to a replica in the goroutine of the caller, which
// costs less than [http.Transport] with its own. It never sends one again. Errors
// after the connection is open are [ErrCut].
func (r *Replica) exchange(m Member, out *http.Request) (*http.Response, error) {
	ctx := out.Context()
	c := r.links.take(m)
	if c == nil {
		conn, err := r.dial(ctx, m, dialTimeout, "http/1.1")
		if err != nil {
			return nil, err
		}
		c = r.links.add(m, conn)
	}
	stop := context.AfterFunc(ctx, func() { c.tcp().Close() })
	res, err := c.roundTrip(out)
	if err != nil {
		stop()
		c.Close()
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, cut(err)
	}
	res.Body = &messageBody{ReadCloser: res.Body, c: c, stop: stop, last: res.Close}
	return res, nil
}

func (c *linkConn) roundTrip(out *http.Request) (res *http.Response, err error) {
	sent := out.Write(c.out)
	if sent == nil {
		sent = c.out.Flush()
	}
	if sent != nil { // perhaps because the replica has refused the request before its end
		c.SetReadDeadline(time.Now().Add(time.Second))
	}
	for res == nil || res.StatusCode < 200 {
		if res, err = http.ReadResponse(c.in, out); err != nil {
			return nil, cmp.Or(sent, err)
		}
	}
	res.Close = res.Close || sent != nil
	return res, nil
}

// A messageBody is the body of a response to a message. At its end, the connection
// is free for the next.
type messageBody struct {
	io.ReadCloser
	c     *linkConn
	stop  func() bool
	last  bool // the connection is closed with the response
	ended bool
}

func (b *messageBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && !b.ended {
		b.ended = true
		if b.stop() && err == io.EOF && !b.last {
			b.c.links.put(b.c)
		} else {
			b.c.Close()
		}
	}
	return n, err
}

func (b *messageBody) Close() error {
	if !b.ended {
		b.ended = true
		b.stop()
		b.c.Close()
	}
	return nil
}
