package gateway

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/mcp"
)

// An upstream is a server behind the gateway and what the gateway knows about
// it.
type upstream struct {
	r         *Router
	name, key string
	handler   mcp.Handler
	inUse     inUse

	ctx  context.Context // ends with the Router, or when the server is removed
	stop context.CancelFunc

	settled chan struct{} // closed when the first attempt to connect has ended
	settle  sync.Once

	mu        sync.Mutex
	found     *mcp.Discovery // nil until the server was connected to
	status    status
	listening mcp.SubscriptionFilter // the changes that the server notifies of; empty while it does not
	lists     map[string]*upstreamList
	warned    map[string]bool // see warnOnce
}

// A status says whether a server can be used.
type status int

const (
	connecting status = iota
	connected
	failed
)

func newUpstream(r *Router, s Upstream) *upstream {
	u := &upstream{r: r, name: s.Name, key: keyOf(s.Name), handler: s.Handler, settled: make(chan struct{}), lists: map[string]*upstreamList{}}
	u.inUse.idle = make(chan struct{})
	u.ctx, u.stop = context.WithCancel(r.ctx)
	return u
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
	res, err := u.handler.Serve(ctx, c)
	if err == nil || ctx.Err() != nil {
		return res, err
	}
	if _, asks := errors.AsType[*mcp.InputRequired](err); asks {
		return res, err
	}
	if e, ok := errors.AsType[*mcp.Error](err); ok && !e.Local {
		return res, err
	}
	return mcp.Result{}, &mcp.Error{Code: mcp.CodeInternal, Message: "server " + u.name + ": " + err.Error()}
}

const (
	firstRetry = 500 * time.Millisecond
	lastRetry  = 30 * time.Second
)

// watch keeps the gateway informed about a server until it is removed or the
// Router is closed: it connects, subscribes to changes of lists, and starts again when the
// subscription has ended. The server has failed only if connecting fails.
func (u *upstream) watch() {
	ctx := u.ctx
	for wait := firstRetry; ctx.Err() == nil; wait = min(2*wait, lastRetry) {
		err := u.connect(ctx)
		u.settle.Do(func() { close(u.settled) })
		if err != nil {
			u.fail(err)
		} else if began := time.Now(); u.subscribe(ctx) == nil && time.Since(began) > wait {
			wait = firstRetry
		}
		pause(ctx, wait)
	}
}

// connect asks the server what it offers.
func (u *upstream) connect(ctx context.Context) error {
	res, err := u.handler.Serve(ctx, &mcp.Call{Method: mcp.MethodDiscover})
	if err != nil {
		return err
	}
	found := new(mcp.Discovery)
	if err := res.Decode(found); err != nil {
		return err
	}
	u.mu.Lock()
	u.found, u.status = found, connected
	u.mu.Unlock()
	u.changed(mcp.SubscriptionFilter{ToolsListChanged: true, PromptsListChanged: true, ResourcesListChanged: true})
	return nil
}

// subscribe receives the changes of the server until the server or the
// connection ends the subscription. If the server has no subscriptions, it waits
// until ctx ends.
func (u *upstream) subscribe(ctx context.Context) error {
	params, err := mcp.Marshal(mcp.ListenParams{Notifications: mcp.SubscriptionFilter{ToolsListChanged: true, PromptsListChanged: true, ResourcesListChanged: true}})
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
			missed.ToolsListChanged = missed.ToolsListChanged || l.changes.ToolsListChanged
			missed.PromptsListChanged = missed.PromptsListChanged || l.changes.PromptsListChanged
			missed.ResourcesListChanged = missed.ResourcesListChanged || l.changes.ResourcesListChanged
		}
	}
	u.mu.Unlock()
	u.changed(missed)
}

// fail records that the server cannot be connected to.
func (u *upstream) fail(err error) {
	u.mu.Lock()
	was := u.status
	u.status = failed
	u.mu.Unlock()
	if was != failed && u.ctx.Err() == nil {
		u.r.opts.Log.Warn("gateway: a server is not available", "server", u.name, "error", err)
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

// changed marks lists as out of date and notifies clients.
func (u *upstream) changed(what mcp.SubscriptionFilter) {
	u.mu.Lock()
	for method, l := range lists {
		if known := u.lists[method]; known != nil && l.selected(&what) {
			known.stale = true
			known.epoch++
		}
	}
	u.mu.Unlock()
	u.r.changes.announce(u, what)
}
