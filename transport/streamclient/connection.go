package streamclient

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tenon-mcp/tenon/era"
	"github.com/tenon-mcp/tenon/internal/eraconn"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
)

// A Connection is a connection to a server over HTTP. It is an [mcp.Conn].
//
// With a modern server it has no state. With a legacy server it is a session.
// When the server has lost the session, the Connection opens a new one and sends
// the failed request again. Calls that wait for an input response fail with
// their session, and subscriptions end, so that the caller can subscribe again.
//
// When the stream of a legacy call breaks, the Connection resumes it if the
// server has given its events ids: after the retry time of the server (between
// 0.1 s and 60 s), or by default after 1 s, doubling with each attempt.
type Connection struct {
	endpoint *Endpoint
	profile  *mcp.ClientProfile
	to       *target
	opts     era.DialOptions
	ids      atomic.Int64
	tools    toolHeaders

	turn chan struct{} // holds a token while a goroutine reconnects
	life context.Context
	end  context.CancelFunc // of life

	mu      sync.Mutex
	now     *activeLink
	retired map[*activeLink]struct{} // replaced, with calls still in flight
	waiting sync.WaitGroup           // for the retired ones
	close   func() error
}

// An activeLink is one link and the connection over it.
type activeLink struct {
	conn *eraconn.Conn
	link *link
}

// Revision returns the protocol revision in use.
func (c *Connection) Revision() mcp.Revision {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now.conn.Revision()
}

// Done returns a channel that is closed by Close.
func (c *Connection) Done() <-chan struct{} { return c.life.Done() }

// Serve sends a call to the server and waits for its result. Serve sends the call
// a second time if that is safe: after the session was lost, after the stream
// ended without a response, after a tool changed its headers, and after the era
// of the server changed.
func (c *Connection) Serve(ctx context.Context, call *mcp.Call) (mcp.Result, error) {
	for first := true; ; first = false {
		a, err := c.current(ctx)
		if err != nil {
			return mcp.Result{}, c.final(err)
		}
		res, err := a.conn.Serve(ctx, call)
		if err == nil {
			if call.Method == mcp.MethodToolsList && a.conn.Modern() {
				res.Body = c.tools.read(res.Body, c.warn)
			}
			return res, nil
		}
		if !first || ctx.Err() != nil || isLaterRound(a, call) || !c.shouldRetry(ctx, a, call, err) {
			return mcp.Result{}, c.final(err)
		}
	}
}

// final returns an [*mcp.ClosedError] if the connection was closed, and err
// otherwise. Nothing else ends a connection over HTTP for good.
func (c *Connection) final(err error) error {
	if c.life.Err() == nil {
		return err
	}
	return &mcp.ClosedError{Cause: err}
}

// current returns the link for calls. It replaces one whose session is lost.
func (c *Connection) current(ctx context.Context) (*activeLink, error) {
	c.mu.Lock()
	a := c.now
	c.mu.Unlock()
	if !a.link.lost.Load() {
		return a, nil
	}
	err := c.replace(ctx, a, func(ctx context.Context) (*activeLink, error) { return c.connect(ctx, a.conn.Revision()) })
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now, nil
}

// redetect detects the era of the server again and reports whether it has changed.
func (c *Connection) redetect(ctx context.Context, a *activeLink) bool {
	err := c.replace(ctx, a, func(ctx context.Context) (*activeLink, error) {
		b, err := c.connect(ctx, "")
		if err == nil && b.conn.Modern() == a.conn.Modern() {
			c.drop(b)
			return nil, errors.New("the era has not changed")
		}
		return b, err
	})
	return err == nil
}

// replace connects again in place of old, unless another goroutine has done so
// meanwhile. Only one goroutine reconnects at a time.
func (c *Connection) replace(ctx context.Context, old *activeLink, connect func(context.Context) (*activeLink, error)) error {
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-ctx.Done():
		return ctx.Err()
	case <-c.life.Done():
		return &jsonrpc.ClosedError{}
	}
	c.mu.Lock()
	changed := c.now != old
	c.mu.Unlock()
	if changed {
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.life, cancel)()
	fresh, err := connect(ctx)
	if err != nil {
		return err
	}
	if !c.adopt(fresh, old) {
		c.drop(fresh)
		c.to.close()
		return &jsonrpc.ClosedError{}
	}
	return nil
}

// adopt uses fresh for further calls and retires old. It reports false if the
// connection was closed.
func (c *Connection) adopt(fresh, old *activeLink) bool {
	c.mu.Lock()
	if c.life.Err() != nil {
		c.mu.Unlock()
		return false
	}
	c.now = fresh
	c.retireLocked(old)
	c.mu.Unlock()
	old.link.retire()
	old.conn.Close()
	return true
}

// retireLocked keeps a replaced link until its calls have ended.
func (c *Connection) retireLocked(a *activeLink) {
	if c.retired == nil {
		c.retired = map[*activeLink]struct{}{}
	}
	c.retired[a] = struct{}{}
	c.waiting.Go(func() {
		<-a.link.idle
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.retired, a)
	})
}

// connect connects to the server. It assumes the given revision first and
// detects the era if the server refuses that; empty assumes nothing.
func (c *Connection) connect(ctx context.Context, assumed mcp.Revision) (*activeLink, error) {
	o := c.opts
	o.Known = assumed
	var l *link
	met, err := eraconn.Connect(ctx, c.profile, eraconn.DialOptions(o), func(in *eraconn.Receiver) eraconn.Link {
		l = newLink(c, in)
		return l
	})
	if err != nil {
		if l == nil {
			return nil, err
		}
		l.shut()
		refused := l.refusedOpening(err)
		_, answered := errors.AsType[*mcp.Error](err)
		switch {
		case assumed != "" && ctx.Err() == nil && (refused || answered && !l.unavailable()):
			return c.connect(ctx, "")
		case refused:
			err = &refusedBoth{err}
		}
		return nil, err
	}
	c.endpoint.remember(met.Revision())
	if !met.Modern() {
		l.openPushStream()
		l.awaitPushStream(ctx)
	}
	return &activeLink{met, l}, nil
}

// refusedOpening reports whether the server rejected initialize with a status
// that neither era uses for it.
func (l *link) refusedOpening(err error) bool {
	l.mu.Lock()
	status := l.status
	l.mu.Unlock()
	if e, ok := errors.AsType[*mcp.Error](err); ok && e.Code == mcp.CodeUnsupportedVersion {
		return false
	}
	switch status {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusMethodNotAllowed:
		return true
	}
	return false
}

// unavailable reports whether the server responded to initialize with a status that
// says nothing about the revision: it refuses all requests for now.
func (l *link) unavailable() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch l.status {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// closeTimeout bounds Close.
const closeTimeout = 4 * time.Second

// shut closes an unused link.
func (l *link) shut() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	return l.close(ctx)
}

// drop closes a link and the connection over it.
func (c *Connection) drop(a *activeLink) error {
	a.conn.Close()
	return a.link.shut()
}

// Close ends the connection: open calls fail, and the session of a legacy server
// is deleted. Close waits until all goroutines have ended, at most 5 s.
func (c *Connection) Close() error { return c.close() }

func (c *Connection) shut() error {
	c.mu.Lock()
	c.end()
	all := []*activeLink{}
	if c.now != nil {
		all = append(all, c.now)
	}
	for a := range c.retired {
		all = append(all, a)
	}
	c.mu.Unlock()
	errs := make([]error, len(all))
	var closing sync.WaitGroup
	for i, a := range all {
		closing.Go(func() { errs[i] = c.drop(a) })
	}
	closing.Wait()
	if errors.Join(errs...) == nil {
		c.waiting.Wait()
	}
	c.to.close()
	return errors.Join(errs...)
}
