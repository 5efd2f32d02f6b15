package jsonrpc

import (
	"context"
	"sync"
	"time"
)

// A requestContext is the context of one request. Most handlers never wait for
// the end of theirs, so what it takes to be told of it is made when somebody
// first asks.
type requestContext struct {
	parent context.Context

	mu     sync.Mutex
	ended  bool
	made   context.Context // nil until somebody waits for the end
	cancel context.CancelFunc
}

// end ends the context.
func (c *requestContext) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	if c.cancel != nil {
		c.cancel()
	}
}

// Done is closed when the context ends.
func (c *requestContext) Done() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.made == nil {
		c.made, c.cancel = context.WithCancel(c.parent)
		if c.ended {
			c.cancel()
		}
	}
	return c.made.Done()
}

// Err says whether the context has ended.
func (c *requestContext) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.made != nil:
		return c.made.Err()
	case c.ended:
		return context.Canceled
	}
	return c.parent.Err()
}

// Value asks the context that was made, if one was: contexts that are derived
// from this one then find it and hang on to it as if it were their parent.
func (c *requestContext) Value(key any) any {
	c.mu.Lock()
	from := c.made
	c.mu.Unlock()
	if from == nil {
		from = c.parent
	}
	return from.Value(key)
}

// Deadline is that of the parent.
func (c *requestContext) Deadline() (time.Time, bool) { return c.parent.Deadline() }
