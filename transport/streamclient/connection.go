package streamclient

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tenon-mcp/tenon/era"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
)

// A Connection is a server that was met over HTTP, shaped as a Handler.
//
// A server of the newest era remembers nothing of it. With an older one it is a
// session: when the server has lost it a new one is opened, and the request
// that found out is made again; calls that wait for an answer to a question of
// the server are lost with their session, and subscriptions end, so that
// whoever listens listens again. The stream of a call that breaks is taken up
// where it broke, if the server has given its events ids: after the time that
// the server asks for, between 0.1 s and 60 s, or else after 1 s and then less
// and less often.
type Connection struct {
	endpoint *Endpoint
	profile  *mcp.ClientProfile
	to       *target
	opts     era.DialOptions
	ids      atomic.Int64
	tools    toolBook

	turn chan struct{} // has a token while the server is being met anew
	life context.Context
	end  context.CancelFunc // of life

	mu      sync.Mutex
	now     *connecting
	retired map[*connecting]struct{} // of which something is still in flight
	waiting sync.WaitGroup           // for those
	close   func() error
}

// A meeting is one link and what was found at its far end.
type connecting struct {
	conn *era.Conn
	link *link
}

// Revision is what is spoken with the server.
func (c *Connection) Revision() mcp.Revision {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now.conn.Revision()
}

// Done is closed when the connection was closed.
func (c *Connection) Done() <-chan struct{} { return c.life.Done() }

// Serve makes a call. Where the server cannot have served it, or serving it
// twice does no harm, it is made a second time by itself: after a session was
// lost, after a stream has ended without the answer, after a tool has changed
// its headers, and after the server turned out to be of another era.
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
		if !first || ctx.Err() != nil || goesOn(a, call) || !c.again(ctx, a, call, err) {
			return mcp.Result{}, c.final(err)
		}
	}
}

// final marks the error of a call that failed because the connection was
// closed. Nothing else ends a connection over HTTP for good.
func (c *Connection) final(err error) error {
	if c.life.Err() == nil {
		return err
	}
	return &mcp.ClosedError{Cause: err}
}

// current is where calls go. A session that is lost is opened anew.
func (c *Connection) current(ctx context.Context) (*connecting, error) {
	c.mu.Lock()
	a := c.now
	c.mu.Unlock()
	if !a.link.lost.Load() {
		return a, nil
	}
	err := c.replace(ctx, a, func(ctx context.Context) (*connecting, error) { return c.connect(ctx, a.conn.Revision()) })
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now, nil
}

// doubt finds out anew which era the server speaks, and reports whether that
// is another than before.
func (c *Connection) doubt(ctx context.Context, a *connecting) bool {
	err := c.replace(ctx, a, func(ctx context.Context) (*connecting, error) {
		b, err := c.connect(ctx, "")
		if err == nil && b.conn.Modern() == a.conn.Modern() {
			c.drop(b)
			return nil, errors.New("nothing has changed")
		}
		return b, err
	})
	return err == nil
}

// replace puts another meeting in the place of old, unless somebody has done so
// meanwhile. One at a time does.
func (c *Connection) replace(ctx context.Context, old *connecting, meet func(context.Context) (*connecting, error)) error {
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
	fresh, err := meet(ctx)
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

// adopt makes a meeting the one where calls go, if it is not too late.
func (c *Connection) adopt(fresh, old *connecting) bool {
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

// retireLocked remembers a meeting until what is in flight there has come to its
// end.
func (c *Connection) retireLocked(a *connecting) {
	if c.retired == nil {
		c.retired = map[*connecting]struct{}{}
	}
	c.retired[a] = struct{}{}
	c.waiting.Go(func() {
		<-a.link.idle
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.retired, a)
	})
}

// meet meets the server. What is assumed of it is given up where it does not
// hold; empty means nothing.
func (c *Connection) connect(ctx context.Context, assumed mcp.Revision) (*connecting, error) {
	o := c.opts
	o.Known = assumed
	var l *link
	met, err := era.Connect(ctx, c.profile, &o, func(in *era.Receiver) era.Link {
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
		case assumed != "" && ctx.Err() == nil && (refused || answered):
			return c.connect(ctx, "")
		case refused:
			err = &refusedBoth{err}
		}
		return nil, err
	}
	c.endpoint.remember(met.Revision())
	if !met.Modern() {
		l.hear()
		l.awaitHearing(ctx)
	}
	return &connecting{met, l}, nil
}

// refusedOpening reports whether the server does not know what initialize is,
// and has said nothing that tells it for one of the newest era.
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

// closeTimeout is how long closing may take.
const closeTimeout = 4 * time.Second

// shut closes a link that nobody uses.
func (l *link) shut() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	return l.close(ctx)
}

// drop closes a meeting that nobody uses.
func (c *Connection) drop(a *connecting) error {
	a.conn.Close()
	return a.link.shut()
}

// Close ends the connection: calls that are open fail, an older server is told
// that the session is over. It returns when nothing is left, in less than 5 s.
func (c *Connection) Close() error { return c.close() }

func (c *Connection) shut() error {
	c.mu.Lock()
	c.end()
	all := []*connecting{}
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
