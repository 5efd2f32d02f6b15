package api

import (
	"context"
	"crypto/sha256"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tenon-mcp/tenon/mcp"
)

// subscriptions requests the resources that clients subscribed to, as often as the
// file says, and notifies the clients of changes. A resource is requested while
// there are subscriptions to it, once for each account; a subscriber is notified of
// what its own account sees.
type subscriptions struct {
	mu     sync.Mutex
	polled map[string]*polled // by account and URI
	closed bool
	wg     sync.WaitGroup
}

type polled struct {
	key     string
	count   int
	stop    context.CancelFunc
	changes atomic.Int64
}

// subscribing is the middleware that sees subscriptions begin and end.
func (e *engine) subscribing(next mcp.Handler) mcp.Handler {
	return mcp.HandlerFunc(func(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
		if c.Method != mcp.MethodSubscriptionsListen {
			return next.Serve(ctx, c)
		}
		var params struct {
			Notifications mcp.SubscriptionFilter `json:"notifications"`
		}
		if c.Decode(&params) != nil || len(params.Notifications.ResourceSubscriptions) == 0 {
			return next.Serve(ctx, c)
		}
		polls, release := e.poll(ctx, c, params.Notifications.ResourceSubscriptions)
		forwarded, detached := *c, false
		if len(polls) > 0 && c.OnNotification != nil {
			forwarded.OnNotification = ownChanges(polls, c.OnNotification)
		}
		if c.Detach != nil {
			forwarded.Detach = func(stop func()) {
				detached = true
				c.Detach(func() { stop(); release() })
			}
		}
		res, err := next.Serve(ctx, &forwarded)
		if !detached {
			release()
		}
		return res, err
	})
}

// ownChanges passes on notifications, but not of changes that only other accounts
// see.
func ownChanges(polls map[string]*polled, next func(mcp.Notification)) func(mcp.Notification) {
	var mu sync.Mutex
	seen := map[string]int64{}
	for uri, p := range polls {
		seen[uri] = p.changes.Load()
	}
	isOwn := func(uri string) bool {
		p := polls[uri]
		if p == nil {
			return true
		}
		mu.Lock()
		defer mu.Unlock()
		now := p.changes.Load()
		changed := now != seen[uri]
		seen[uri] = now
		return changed
	}
	return func(n mcp.Notification) {
		var u mcp.ResourceUpdatedParams
		if n.Method != mcp.NotificationResourceUpdated || mcp.Unmarshal(n.Params, &u) != nil || isOwn(u.URI) {
			next(n)
		}
	}
}

// poll begins to request resources, until release is called. It returns what is
// requested, by URI.
func (e *engine) poll(ctx context.Context, c *mcp.Call, uris []string) (began map[string]*polled, release func()) {
	began = map[string]*polled{}
	for _, uri := range uris {
		if began[uri] != nil {
			continue
		}
		if r, _ := polledResource(e.current.Load(), uri); r != nil {
			if p := e.retain(ctx, c, r, uri); p != nil {
				began[uri] = p
			}
		}
	}
	return began, sync.OnceFunc(func() {
		s := &e.subscriptions
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, p := range began {
			if p.count--; p.count == 0 {
				p.stop()
				delete(s.polled, p.key)
			}
		}
	})
}

// polledResource returns the resource of a URI if it is to be requested for
// subscribers.
func polledResource(v *service, uri string) (*resource, map[string]string) {
	for _, r := range v.resources {
		if r.spec.Subscribe <= 0 {
			continue
		}
		if vars, ok := r.matches(uri); ok {
			return r, vars
		}
	}
	return nil, nil
}

// maxPolled is the maximum number of resources that are requested for subscribers.
const maxPolled = 1000

// retain counts a subscription, and starts requesting if it is the first of its
// account. It returns nil if there are too many.
func (e *engine) retain(ctx context.Context, c *mcp.Call, r *resource, uri string) *polled {
	key := e.current.Load().client.Credential.Account(ctx, c) + "\x00" + uri
	s := &e.subscriptions
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.polled[key]; p != nil {
		p.count++
		return p
	}
	if s.closed || len(s.polled) >= maxPolled {
		return nil
	}
	if s.polled == nil {
		s.polled = map[string]*polled{}
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx)) // with the token of the caller
	p := &polled{key: key, count: 1, stop: cancel}
	s.polled[key] = p
	call := &mcp.Call{Method: mcp.MethodResourcesRead, Caller: mcp.Caller{Principal: c.Caller.Principal}}
	s.wg.Go(func() { e.pollOne(ctx, call, p, r.spec.Subscribe, uri) }) // ends with its context
	return p
}

// pollOne requests a resource again and again, each time as the current version of the
// file says, and notifies subscribers of changes. It requests nothing while the file
// does not have the resource.
func (e *engine) pollOne(ctx context.Context, c *mcp.Call, p *polled, every time.Duration, uri string) {
	var last [sha256.Size]byte
	for first := true; ; {
		v := e.current.Load()
		if r, vars := polledResource(v, uri); r != nil {
			every = r.spec.Subscribe
			args := make(map[string]any, len(vars))
			for name, value := range vars {
				args[name] = value
			}
			if got, err := e.contents(ctx, c, v, r, newScope(args)); err == nil {
				now := sha256.Sum256(append([]byte(got.Text), got.Blob...))
				if !first && now != last {
					p.changes.Add(1)
					e.server.ResourceUpdated(uri)
				}
				first, last = false, now
			}
		}
		if pause(ctx, max(every, time.Millisecond)) != nil {
			return
		}
	}
}

// end stops all requests for subscribers.
func (s *subscriptions) end() error {
	s.mu.Lock()
	s.closed = true
	for _, p := range s.polled {
		p.stop()
	}
	s.mu.Unlock()
	s.wg.Wait()
	return nil
}
