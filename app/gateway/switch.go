package gateway

import (
	"context"
	"sync/atomic"

	"github.com/tenon-mcp/tenon/mcp"
)

// A Switch is an [mcp.Handler] that passes calls on to another Handler, which can
// be replaced while it runs. A gateway replaces its links that way when the
// configuration has changed. The zero value fails all calls until Set.
type Switch struct {
	to atomic.Pointer[target]
}

// A target is a Handler of a Switch and the number of its calls.
type target struct {
	handler mcp.Handler
	inUse   inUse
}

// Set passes further calls on to h. Calls in flight and open subscriptions go on
// at the Handler of before; Set returns a channel that is closed when the last of
// them has ended.
func (s *Switch) Set(h mcp.Handler) <-chan struct{} {
	next := &target{handler: h}
	next.inUse.idle = make(chan struct{})
	old := s.to.Swap(next)
	if old == nil {
		old = &target{}
		old.inUse.idle = make(chan struct{})
	}
	old.inUse.retire()
	return old.inUse.idle
}

// InFlight returns the number of calls in flight at the current Handler.
func (s *Switch) InFlight() int {
	if t := s.to.Load(); t != nil {
		return int(t.inUse.n.Load())
	}
	return 0
}

// Serve implements [mcp.Handler].
func (s *Switch) Serve(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
	for {
		t := s.to.Load()
		if t == nil {
			return mcp.Result{}, mcp.Errorf(mcp.CodeInternal, "the gateway is starting")
		}
		if !t.inUse.acquire() {
			continue // replaced meanwhile
		}
		defer t.inUse.release()
		return t.handler.Serve(ctx, c)
	}
}
