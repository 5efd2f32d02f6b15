package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
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

	settled chan struct{} // closed when the first attempt to connect has ended
	settle  sync.Once

	mu        sync.Mutex
	found     *mcp.Discovery // nil until the server was connected to
	status    status
	listening mcp.SubscriptionFilter // the changes that the server notifies of; empty while it does not
	lists     map[string]*upstreamList
}

// A status says whether a server can be used.
type status int

const (
	connecting status = iota
	connected
	failed
)

func newUpstream(r *Router, s Upstream) *upstream {
	return &upstream{r: r, name: s.Name, key: keyOf(s.Name), handler: s.Handler, settled: make(chan struct{}), lists: map[string]*upstreamList{}}
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

// watch keeps the gateway informed about a server until the Router is closed: it
// connects, subscribes to changes of lists, and starts again when the connection
// has ended.
func (u *upstream) watch() {
	ctx := u.r.ctx
	for wait := firstRetry; ctx.Err() == nil; wait = min(2*wait, lastRetry) {
		err := u.connect(ctx)
		u.settle.Do(func() { close(u.settled) })
		if err == nil {
			wait = firstRetry
			err = u.subscribe(ctx)
		}
		u.disconnected(err)
		select {
		case <-time.After(wait):
		case <-ctx.Done():
		}
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

// subscribe receives the changes of the server until the connection ends.
func (u *upstream) subscribe(ctx context.Context) error {
	params, err := mcp.Marshal(mcp.ListenParams{Notifications: mcp.SubscriptionFilter{ToolsListChanged: true, PromptsListChanged: true, ResourcesListChanged: true}})
	if err != nil {
		return err
	}
	_, err = u.handler.Serve(ctx, &mcp.Call{Method: mcp.MethodSubscriptionsListen, Params: params, OnNotification: u.notified})
	if e, ok := errors.AsType[*mcp.Error](err); ok && !e.Local {
		<-ctx.Done() // the server has no subscriptions; calls show whether it is there
	}
	return err
}

func (u *upstream) notified(n mcp.Notification) {
	switch n.Method {
	case mcp.NotificationSubscriptionsAcknowledged:
		var ack mcp.SubscriptionsAcknowledgedParams
		if mcp.Unmarshal(n.Params, &ack) == nil {
			u.mu.Lock()
			u.listening = ack.Notifications
			u.mu.Unlock()
		}
	case mcp.NotificationToolsListChanged:
		u.changed(mcp.SubscriptionFilter{ToolsListChanged: true})
	case mcp.NotificationPromptsListChanged:
		u.changed(mcp.SubscriptionFilter{PromptsListChanged: true})
	case mcp.NotificationResourcesListChanged:
		u.changed(mcp.SubscriptionFilter{ResourcesListChanged: true})
	}
}

func (u *upstream) disconnected(err error) {
	u.mu.Lock()
	was := u.status
	u.status, u.listening = failed, mcp.SubscriptionFilter{}
	u.mu.Unlock()
	if err != nil && was != failed && u.r.ctx.Err() == nil {
		u.r.opts.Log.Warn("gateway: a server is not available", "server", u.name, "error", err)
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
	u.r.changes.announce(what)
}

// addCapabilities adds the capabilities of a server that the gateway passes on.
func addCapabilities(all, of *mcp.ServerCapabilities) {
	for id, settings := range of.Extensions {
		if all.Extensions == nil {
			all.Extensions = map[string]json.RawMessage{}
		}
		if all.Extensions[id] == nil {
			all.Extensions = maps.Clone(all.Extensions)
			all.Extensions[id] = settings
		}
	}
}
