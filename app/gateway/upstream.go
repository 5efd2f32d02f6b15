package gateway

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/mcp"
)

// An upstream is a connection to a server behind the gateway and what the gateway
// knows about it. A server whose callers have connections of their own is an
// upstream with a pool of them, and has no connection itself.
type upstream struct {
	r         *Router
	name, key string
	prefix    string // see prefixOf
	handler   mcp.Handler
	spec      Upstream
	inUse     *inUse // of the server
	circuit   *breaker
	restart   func() // of a server that hangs; may be nil

	pool  *pool // of callers; nil if all callers share the connection
	in    *pool // that the connection belongs to; nil if all callers share it
	lease lease // for in

	ctx  context.Context // ends with the connection, or when the server is removed
	stop context.CancelFunc

	started time.Time
	settled chan struct{} // closed when the first attempt to connect has ended
	settle  sync.Once

	mu        sync.Mutex
	found     *mcp.Discovery // nil until the server was connected to
	status    status
	lost      context.CancelFunc     // tells watch that the server does not respond
	listening mcp.SubscriptionFilter // the changes that the server notifies of; empty while it does not
	lists     map[string]*upstreamList
	changes   changes
	warned    map[string]bool // see warnOnce
}

// A status says whether a server can be used.
type status int

const (
	connecting status = iota
	connected
	failed
)

// newUpstream returns the upstream of a server.
func newUpstream(r *Router, s Upstream) *upstream {
	u := &upstream{r: r, name: s.Name, key: keyOf(s.Name), prefix: prefixOf(s.Name), handler: s.Handler, spec: s, restart: s.Restart}
	u.inUse = &inUse{idle: make(chan struct{})}
	u.circuit = newBreaker(s.Name, s.IdleTimeout)
	u.circuit.onOpen = u.trip
	u.init(r.ctx)
	if s.Connections != nil {
		u.pool = newPool(u, *s.Connections)
		u.settle.Do(func() { close(u.settled) })
	}
	return u
}

// newConnection returns a further connection to the server of u.
func newConnection(u *upstream, h mcp.Handler) *upstream {
	one := &upstream{r: u.r, name: u.name, key: u.key, prefix: u.prefix, handler: h, spec: u.spec, inUse: u.inUse}
	one.circuit = newBreaker(u.name, u.spec.IdleTimeout)
	one.circuit.counts = u.circuit.counts
	one.circuit.onOpen = one.trip
	one.restart = func() { one.in.discard(one) }
	one.init(u.r.ctx) // calls may be open when the server is removed: its pool ends the connection
	return one
}

func (u *upstream) init(ctx context.Context) {
	u.ctx, u.stop = context.WithCancel(ctx)
	u.settled, u.lists, u.started = make(chan struct{}), map[string]*upstreamList{}, time.Now()
}

func (u *upstream) state() status {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.status
}

// discovered returns what the server said about itself; nil if it has not yet.
func (u *upstream) discovered() *mcp.Discovery {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.found
}

// serve makes a call. An error of the connection names the server.
func (u *upstream) serve(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
	return u.circuit.serve(ctx, u.handler, c)
}

// lastSubscribe is the longest wait before the gateway subscribes again at a
// server that ends subscriptions.
const lastSubscribe = 30 * time.Second

// watch keeps the gateway informed about a server until its context ends:
//
//	connect     asks what the server offers, again and again until it responds
//	subscribe   receives changes of lists, again when the subscription has ended
//	guard       pings the server while nobody calls it
//
// A server that does not respond to calls or pings has failed, until it does: its
// lists are left out and calls fail at once.
func (u *upstream) watch() {
	silent, again := 0, firstRetry
	for u.ctx.Err() == nil {
		err := u.connect(u.ctx)
		u.settle.Do(func() { close(u.settled) })
		if err == nil {
			silent = 0
			if lasted := u.whileConnected(again); lasted > again {
				again = firstRetry
			}
			again = min(2*again, lastSubscribe)
			continue
		}
		wait := u.circuit.trip(err)
		u.fail(err)
		if _, hangs := errors.AsType[*idleError](err); !hangs {
			silent = 0
		} else if silent++; silent == maxSilent && u.restart != nil && u.ctx.Err() == nil {
			u.r.opts.Log.Warn("gateway: restarting a server that does not respond", "server", u.name)
			u.restart()
			silent = 0
		}
		pause(u.ctx, wait)
	}
}

// maxSilent is how many attempts to reach a server that does not respond are made
// before it is restarted.
const maxSilent = 3

// whileConnected subscribes to changes and returns when the subscription has
// ended and wait has passed, or when the server does not respond any more. It
// returns how long the subscription was open.
func (u *upstream) whileConnected(wait time.Duration) (lasted time.Duration) {
	life, lost := context.WithCancel(u.ctx)
	u.mu.Lock()
	u.lost = lost
	u.mu.Unlock()
	var guard sync.WaitGroup
	guard.Go(func() { u.guard(life) })
	defer guard.Wait()
	defer lost()
	if u.circuit.open.Load() != nil {
		return 0 // it was lost before u.lost was set
	}
	began := time.Now()
	_ = u.subscribe(life) // it logs the error
	lasted = time.Since(began)
	pause(life, wait)
	return lasted
}

// guard pings the server while it is not used, and reports when there is no
// response.
func (u *upstream) guard(ctx context.Context) {
	for u.r.opts.ProbeInterval > 0 {
		pause(ctx, u.r.opts.ProbeInterval)
		since := time.Since(time.Unix(0, u.circuit.answered.Load()))
		switch {
		case ctx.Err() != nil:
			return
		case u.circuit.calls.Load() > 0 || since < u.r.opts.ProbeInterval/2:
			continue // it is in use, and calls have a limit of their own
		}
		if u.circuit.probe(ctx, u.handler) == nil {
			continue
		}
		if err := u.circuit.probe(ctx, u.handler); err != nil && ctx.Err() == nil {
			u.circuit.trip(err)
			u.trip(err)
			return
		}
	}
}

// trip records that the server does not respond.
func (u *upstream) trip(err error) {
	u.fail(err)
	u.mu.Lock()
	lost := u.lost
	u.mu.Unlock()
	if lost != nil {
		lost()
	}
}

// connectLimit is how long the first connection may take. Programs may be
// downloaded before they start.
const connectLimit = time.Minute

// connect asks the server what it offers. After a failure it pings the server
// first: what an older server offers is remembered, and says nothing about the
// server now.
func (u *upstream) connect(ctx context.Context) error {
	limit := connectLimit
	if u.state() != connecting {
		limit = probeTimeout
	}
	if u.state() == failed {
		if err := u.circuit.probe(ctx, u.handler); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, &idleError{limit})
	defer cancel()
	res, err := u.handler.Serve(ctx, &mcp.Call{Method: mcp.MethodDiscover})
	if err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return err
	}
	found := new(mcp.Discovery)
	if err := res.Decode(found); err != nil {
		return err
	}
	u.mu.Lock()
	u.found, u.status = found, connected
	u.mu.Unlock()
	u.circuit.works()
	u.changed(allLists)
	return nil
}

// allLists selects the changes of all lists.
var allLists = mcp.SubscriptionFilter{ToolsListChanged: true, PromptsListChanged: true, ResourcesListChanged: true}

// subscribe receives the changes of the server until the server or the
// connection ends the subscription. If the server has no subscriptions, it waits
// until ctx ends.
func (u *upstream) subscribe(ctx context.Context) error {
	params, err := mcp.Marshal(mcp.ListenParams{Notifications: allLists})
	if err != nil {
		return err
	}
	_, err = u.handler.Serve(ctx, &mcp.Call{Method: mcp.MethodSubscriptionsListen, Params: params, OnNotification: u.notified})
	u.mu.Lock()
	u.listening = mcp.SubscriptionFilter{}
	u.mu.Unlock()
	if e, ok := errors.AsType[*mcp.Error](err); ok && !e.Local && e.Code == mcp.CodeMethodNotFound {
		<-ctx.Done()
	}
	if err != nil && ctx.Err() == nil {
		u.r.opts.Log.Info("gateway: the subscription at a server has ended", "server", u.name, "error", err)
	}
	return err
}

func (u *upstream) notified(n mcp.Notification) {
	switch n.Method {
	case mcp.NotificationSubscriptionsAcknowledged:
		var ack mcp.SubscriptionsAcknowledgedParams
		if mcp.Unmarshal(n.Params, &ack) == nil {
			u.acknowledged(ack.Notifications)
		}
	case mcp.NotificationToolsListChanged:
		u.changed(mcp.SubscriptionFilter{ToolsListChanged: true})
	case mcp.NotificationPromptsListChanged:
		u.changed(mcp.SubscriptionFilter{PromptsListChanged: true})
	case mcp.NotificationResourcesListChanged:
		u.changed(mcp.SubscriptionFilter{ResourcesListChanged: true})
	}
}

// acknowledged records what the server notifies of. Lists that were read before
// may have changed without a notification.
func (u *upstream) acknowledged(f mcp.SubscriptionFilter) {
	u.mu.Lock()
	u.listening = f
	var missed mcp.SubscriptionFilter
	for method, l := range lists {
		if known := u.lists[method]; known != nil && (!known.stale || known.reading != nil) && l.selected(&f) {
			addLists(&missed, &l.changes)
		}
	}
	u.mu.Unlock()
	if missed.ToolsListChanged || missed.PromptsListChanged || missed.ResourcesListChanged {
		u.changed(missed)
	}
}

// fail records that the server cannot be used, and tells clients that what it
// offered is gone.
func (u *upstream) fail(err error) {
	u.mu.Lock()
	was := u.status
	u.status = failed
	u.mu.Unlock()
	if was == failed || u.ctx.Err() != nil {
		return
	}
	u.r.opts.Log.Warn("gateway: a server is not available", "server", u.name, "error", err)
	if was == connected {
		u.changed(allLists)
	}
}

// warnOnce logs a warning about a name of the server, unless it was logged before.
func (u *upstream) warnOnce(text, name string) {
	const most = 1000
	u.mu.Lock()
	again := u.warned[text+name] || len(u.warned) >= most
	if !again && u.warned == nil {
		u.warned = map[string]bool{}
	}
	if !again {
		u.warned[text+name] = true
	}
	u.mu.Unlock()
	if !again {
		u.r.opts.Log.Warn(text, "server", u.name, "name", name)
	}
}

// changeInterval is the shortest time between two announcements of changes of one
// server. Clients read the list after each.
const changeInterval = 500 * time.Millisecond

// changes has the changes of lists that are not announced yet. upstream.mu guards
// it.
type changes struct {
	pending mcp.SubscriptionFilter
	last    time.Time // of the last announcement
	waiting bool      // announce is called later
}

// changed marks lists as out of date, and notifies clients: at once, or after a
// while if it did so just before.
func (u *upstream) changed(what mcp.SubscriptionFilter) {
	u.mu.Lock()
	for method, l := range lists {
		if known := u.lists[method]; known != nil && l.selected(&what) {
			known.stale = true
			known.epoch++
		}
	}
	addLists(&u.changes.pending, &what)
	early := changeInterval - time.Since(u.changes.last)
	waiting := u.changes.waiting
	u.changes.waiting = waiting || early > 0
	u.mu.Unlock()
	switch {
	case waiting:
	case early > 0:
		time.AfterFunc(early, u.announce)
	default:
		u.announce()
	}
}

// announce announces the pending changes.
func (u *upstream) announce() {
	u.mu.Lock()
	what := u.changes.pending
	u.changes = changes{last: time.Now()}
	u.mu.Unlock()
	u.r.changes.announce(u, what)
}

// addLists adds the lists that a filter selects.
func addLists(to, more *mcp.SubscriptionFilter) {
	to.ToolsListChanged = to.ToolsListChanged || more.ToolsListChanged
	to.PromptsListChanged = to.PromptsListChanged || more.PromptsListChanged
	to.ResourcesListChanged = to.ResourcesListChanged || more.ResourcesListChanged
}
