package login

import (
	"context"
	"sync"
)

// A once runs a function once, in a goroutine of its own. Unlike with
// [sync.Once], those who wait for it can give up, and no lock is held while it
// runs.
type once struct {
	mu   sync.Mutex
	done chan struct{}
}

// do runs f if nobody has, and waits for its end or that of ctx.
func (o *once) do(ctx context.Context, f func()) error {
	o.mu.Lock()
	done := o.done
	if done == nil {
		done = make(chan struct{})
		o.done = done
		go func() { // ends with f
			defer close(done)
			f()
		}()
	}
	o.mu.Unlock()
	select {
	case <-done:
		return nil
	default:
	}
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
