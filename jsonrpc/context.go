package jsonrpc

import (
	"context"
	"sync"
	"time"
)

// A requestContext is the context of one request. Most handlers never wait for
// its end, so the channel for it is created when it is first needed.
type requestContext struct {
	parent context.Context

	mu     sync.Mutex
	ended  bool
	made   context.Context // nil until Done is called
	cancel context.CancelFunc
}

// end ends the context.
func (c *requestContext) end() {
	c.mu.Lock()
	c.ended = true
	cancel := c.cancel
	c.mu.Unlock()
	if cancel != nil {
		cancel()
	}
}

// Done is closed when the context ends.
func (c *requestContext) Done() <-chan struct{} {
	if made := c.derived(); made != nil {
		return made.Done()
	}
	made, needless := c.derive(context.WithCancel(c.parent))
	if needless != nil {
		needless()
	}
	return made.Done()
}

// derive stores a context derived from the parent, unless there is one already.
// It returns the stored one and what to cancel.
func (c *requestContext) derive(made context.Context, cancel context.CancelFunc) (context.Context, context.CancelFunc) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.made != nil {
		return c.made, cancel
	}
	c.made, c.cancel = made, cancel
	if c.ended {
		return made, cancel
	}
	return made, nil
}

// derived returns the derived context, or nil.
func (c *requestContext) derived() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.made
}

// Err implements context.Context.
func (c *requestContext) Err() error {
	c.mu.Lock()
	made, ended := c.made, c.ended
	c.mu.Unlock()
	switch {
	case made != nil:
		return made.Err()
	case ended:
		return context.Canceled
	}
	return c.parent.Err()
}

// Value delegates to the derived context if there is one, so that contexts
// derived from this one find it as their parent.
func (c *requestContext) Value(key any) any {
	if made := c.derived(); made != nil {
		return made.Value(key)
	}
	return c.parent.Value(key)
}

// Deadline returns that of the parent.
func (c *requestContext) Deadline() (time.Time, bool) { return c.parent.Deadline() }
