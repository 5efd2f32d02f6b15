package login

import (
	"context"
	"sync"
)

// A once runs a function once, in its own goroutine. Unlike with
// [sync.Once], callers can stop waiting, and no lock is held while the
// function runs.
type once struct {
	mu   sync.Mutex
	done chan struct{}
}

// do runs f if it has not run yet, and waits until f or ctx ends.
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
