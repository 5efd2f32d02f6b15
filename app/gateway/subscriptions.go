package gateway

import (
	"context"
	"net/http"
	"sync"

	"github.com/tenon-mcp/tenon/internal/outcome"
	"github.com/tenon-mcp/tenon/internal/protocol"
	"github.com/tenon-mcp/tenon/mcp"
)

// SubscriptionOptions configures [Subscriptions]; nil means the defaults.
type SubscriptionOptions struct {
	// Max is the number of subscriptions that a principal may have open. All
	// clients without authorization are one principal, and a client of an older
	// revision has one subscription for changes of lists. 0 means 25,000.
	Max int
	// MaxNames is the number of resources and tasks in the subscriptions of a
	// principal. 0 means 10,000.
	MaxNames int
}

// Subscriptions returns middleware that bounds the open subscriptions of each
// principal. It refuses further ones like [Limits]. The middleware may be used in
// several chains, which count together.
func Subscriptions(o *SubscriptionOptions) mcp.Middleware {
	s := &subscriptions{open: map[string]subscribed{}}
	if o != nil {
		s.max = subscribed{o.Max, o.MaxNames}
	}
	if s.max.number <= 0 {
		s.max.number = 25_000
	}
	if s.max.names <= 0 {
		s.max.names = 10_000
	}
	return func(next mcp.Handler) mcp.Handler {
		return mcp.HandlerFunc(func(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
			if c.Method != mcp.MethodSubscriptionsListen {
				return next.Serve(ctx, c)
			}
			return s.serve(ctx, c, next)
		})
	}
}

// subscribed counts subscriptions and the names in them.
type subscribed struct{ number, names int }

type subscriptions struct {
	max  subscribed
	mu   sync.Mutex
	open map[string]subscribed // by principal
}

func (s *subscriptions) serve(ctx context.Context, c *mcp.Call, next mcp.Handler) (mcp.Result, error) {
	key, n := c.Caller.Principal.Key(), subscribed{number: 1}
	_, err := protocol.RenameNames(c.Method, mcp.InParams, "", c.Params, func(_, name string) (string, error) {
		n.names++
		return name, nil
	})
	if err != nil {
		return mcp.Result{}, err
	}
	if !s.add(key, n) {
		return mcp.Result{}, mcp.Refusal(http.StatusTooManyRequests, failurePause, "too many open subscriptions: end some first; a principal may have %d, with %d resources and tasks in them", s.max.number, s.max.names)
	}
	return outcome.Subscribe(ctx, c, next, func() { s.add(key, subscribed{-n.number, -n.names}) })
}

// add counts subscriptions that open or end. It reports false, and does not count
// them, if there would be too many.
func (s *subscriptions) add(key string, n subscribed) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	sum := s.open[key]
	sum.number, sum.names = sum.number+n.number, sum.names+n.names
	switch {
	case n.number > 0 && (sum.number > s.max.number || n.names > 0 && sum.names > s.max.names):
		return false
	case sum == subscribed{}:
		delete(s.open, key)
	default:
		s.open[key] = sum
	}
	return true
}

// isAttempt reports whether a subscription is made to see whether the Handler
// detaches; see [mcp.Call].Detach. If it does not, the caller makes it again.
func isAttempt(ctx context.Context, c *mcp.Call) bool {
	return c.Method == mcp.MethodSubscriptionsListen && c.Detach != nil && ctx.Err() != nil
}

// serveAttempt passes an attempt on, and calls opened if it has opened the
// subscription. An error of opened ends the subscription.
func serveAttempt(ctx context.Context, c *mcp.Call, next mcp.Handler, opened func(context.Context) error) (mcp.Result, error) {
	detached := false
	onward := *c
	onward.Detach = func(stop func()) {
		detached = true
		c.Detach(stop)
	}
	res, err := next.Serve(ctx, &onward)
	if err == nil && detached {
		err = opened(context.WithoutCancel(ctx))
	}
	return res, err
}
