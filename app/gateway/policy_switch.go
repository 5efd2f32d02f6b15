package gateway

import (
	"context"
	"slices"
	"sync/atomic"

	"github.com/tenon-mcp/tenon/mcp"
)

// A PolicySwitch is a [Policy] whose rules can be replaced while it runs. The new
// ones decide about calls that begin later, and about each notification of
// subscriptions that are open. The zero value allows everything.
type PolicySwitch struct {
	sets atomic.Pointer[[]*RuleSet]
}

// Set replaces the rules. A call has to be allowed by all sets: a gateway that
// replaces its servers, too, sets the old and the new rules meanwhile, so that
// nobody uses a new server by an old rule. A set without rules allows everything.
func (s *PolicySwitch) Set(sets ...*RuleSet) {
	sets = slices.DeleteFunc(slices.Clone(sets), func(p *RuleSet) bool { return p == nil || len(p.rules) == 0 })
	s.sets.Store(&sets)
}

func (s *PolicySwitch) current() []*RuleSet { return setsAt(s.sets.Load()) }

func setsAt(sets *[]*RuleSet) []*RuleSet {
	if sets == nil {
		return nil
	}
	return *sets
}

// Middleware is the Policy as an [mcp.Middleware].
func (s *PolicySwitch) Middleware(next mcp.Handler) mcp.Handler {
	return mcp.HandlerFunc(func(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
		sets := s.sets.Load()
		if !usesFeature(c) {
			return s.serve(ctx, c, sets, next)
		}
		ctx = withScope(ctx, scope{policy: s, who: c.Caller.Principal, sets: sets})
		for _, p := range setsAt(sets) {
			if err := p.check(ctx, c, p.callers.of(c.Caller.Principal)); err != nil {
				return mcp.Result{}, err
			}
		}
		return next.Serve(ctx, c)
	})
}

// serve serves a call that uses no feature, or many of them: a list, a subscription,
// a notification.
func (s *PolicySwitch) serve(ctx context.Context, c *mcp.Call, sets *[]*RuleSet, next mcp.Handler) (mcp.Result, error) {
	if c.Method == mcp.MethodSubscriptionsListen {
		c = s.filtered(ctx, c)
	}
	ctx = withScope(ctx, scope{policy: s, who: c.Caller.Principal, sets: sets})
	res, err := serveIn(ctx, c, setsAt(sets), next)
	if l, isList := listOf(c.Method); isList && err == nil && s.sets.Load() != sets {
		for _, p := range s.current() { // it may have servers that are newer than the rules
			res = p.filter(ctx, c, p.callers.of(c.Caller.Principal), l, res)
		}
	}
	return res, err
}

// checkAgain decides about a call again if rules were replaced since: the servers may
// have been, too.
func checkAgain(ctx context.Context, c *mcp.Call) error {
	for s := scopeOf(ctx); s != nil; s = s.outer {
		now := s.policy.sets.Load()
		if now == s.sets {
			continue
		}
		for _, p := range setsAt(now) {
			if err := p.check(ctx, c, p.callers.of(s.who)); err != nil {
				return err
			}
		}
	}
	return nil
}

// serveIn serves a call that all sets have to allow.
func serveIn(ctx context.Context, c *mcp.Call, sets []*RuleSet, next mcp.Handler) (mcp.Result, error) {
	switch len(sets) {
	case 0:
		return next.Serve(ctx, c)
	case 1:
		return sets[0].serve(ctx, c, next)
	}
	return sets[0].serve(ctx, c, mcp.HandlerFunc(func(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
		return serveIn(ctx, c, sets[1:], next)
	}))
}

// filtered returns a subscription whose notifications are subject to the rules at
// the time of each.
func (s *PolicySwitch) filtered(ctx context.Context, c *mcp.Call) *mcp.Call {
	if c.OnNotification == nil {
		return c
	}
	onward := *c
	onward.OnNotification = func(n mcp.Notification) {
		for _, p := range s.current() {
			if !p.mayReceive(ctx, c, n) {
				return
			}
		}
		c.OnNotification(n)
	}
	return &onward
}

// A scope says which servers a caller may use, by the rules of now.
type scope struct {
	policy *PolicySwitch
	who    *mcp.Principal
	sets   *[]*RuleSet // when the call began
	outer  *scope      // of a policy before this one; nil if there is none
}

// scopeKey is the key of the scope in the context of a call.
type scopeKey struct{}

// scopeOf returns the scope of a call; nil if it has none.
func scopeOf(ctx context.Context) *scope {
	if s, ok := ctx.Value(scopeKey{}).(*scope); ok {
		return s
	}
	if tr, ok := ctx.Value(trailKey{}).(*trail); ok && tr.scope.policy != nil {
		return &tr.scope
	}
	return nil
}

// withScope adds a scope to the context of a call. The trail of an Audit has room
// for it.
func withScope(ctx context.Context, s scope) context.Context {
	s.outer = scopeOf(ctx)
	if tr, ok := ctx.Value(trailKey{}).(*trail); ok && s.outer == nil {
		tr.scope = s
		return ctx
	}
	return &scopedContext{ctx, s}
}

// A scopedContext is a context with a scope.
type scopedContext struct {
	context.Context
	scope scope
}

// Value implements [context.Context].
func (c *scopedContext) Value(key any) any {
	if key == any(scopeKey{}) {
		return &c.scope
	}
	return c.Context.Value(key)
}

// mayUseServer reports whether the caller may use anything of a server.
func mayUseServer(ctx context.Context, server string) bool {
	for s := scopeOf(ctx); s != nil; s = s.outer {
		for _, p := range s.policy.current() {
			if !p.callers.of(s.who).mayUse(server, "") {
				return false
			}
		}
	}
	return true
}
