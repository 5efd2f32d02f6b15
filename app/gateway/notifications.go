package gateway

import (
	"context"
	"sync"

	"github.com/tenon-mcp/tenon/mcp"
)

// isForServers reports whether servers get a notification of a client. The others
// mean something to the gateway alone: a cancelled call ends at its server with its
// context, the gateway initializes its own connections, and progress of an input
// request has no token that a server knows. Servers get no notification of an
// extension either, since the gateway does not know to which of them it belongs.
func isForServers(c *mcp.Call) bool { return c.Method == mcp.NotificationRootsListChanged }

// The notifications that a session may send at once, and each second from then on.
const (
	notificationBurst = 10
	notificationRate  = 1
)

// Notifications returns middleware that drops the notifications of clients that are
// not for servers: all but notifications/roots/list_changed, which has no content
// and which servers of older revisions get. Of these it drops what exceeds ten at
// once and one each second from a session, or from a principal without a session.
func Notifications() mcp.Middleware {
	counts := NewMemoryLimits()
	return func(next mcp.Handler) mcp.Handler {
		return mcp.HandlerFunc(func(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
			if !c.IsNotification {
				return next.Serve(ctx, c)
			}
			if !isForServers(c) {
				return mcp.Result{}, nil
			}
			bucket := Bucket{LimitKey: LimitKey{Limit: "notifications", Principal: PerSession.key(&c.Caller)}, Rate: notificationRate, Burst: notificationBurst}
			if _, wait, err := counts.Take(ctx, []Bucket{bucket}); wait > 0 || err != nil {
				return mcp.Result{}, nil
			}
			return next.Serve(ctx, c)
		})
	}
}

// notifyAll passes a notification of the client to all servers that it is for. A
// server that does not take it costs the others nothing.
func (r *Router) notifyAll(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
	if !isForServers(c) {
		return mcp.Result{}, nil
	}
	var all sync.WaitGroup
	for _, u := range r.table.Load().upstreams {
		one := u.known(&c.Caller)
		if one != nil && one.state() == connected && mayContact(ctx, u) {
			all.Go(func() {
				limit, cancel := context.WithTimeout(ctx, r.opts.ListTimeout)
				defer cancel()
				_, _ = one.handler.Serve(limit, c) // a notification has no response
			})
		}
	}
	all.Wait()
	return mcp.Result{}, nil
}
