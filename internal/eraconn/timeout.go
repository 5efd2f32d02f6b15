package eraconn

import (
	"context"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/internal/timeoutpause"
)

// A timeoutError ends the context of a connection attempt that took too long.
type timeoutError struct{}

func (timeoutError) Error() string { return "the server did not answer in time" }
func (timeoutError) Unwrap() error { return context.DeadlineExceeded }

var errTimeout error = timeoutError{}

// withPausableTimeout returns a context that ends after limit. The timeout
// stops while a person is asked, as for a login, which may take minutes, and
// starts from zero afterwards.
func withPausableTimeout(parent context.Context, limit time.Duration) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(parent)
	timer := time.AfterFunc(limit, func() { cancel(errTimeout) })
	var mu sync.Mutex
	holding := 0
	ctx = timeoutpause.With(ctx, func(n int) {
		mu.Lock()
		defer mu.Unlock()
		if holding += n; holding > 0 {
			timer.Stop()
		} else {
			timer.Reset(limit)
		}
	})
	return ctx, func() {
		mu.Lock()
		defer mu.Unlock()
		holding = 1 << 30 // a later release does not restart the timer
		timer.Stop()
		cancel(context.Canceled)
	}
}
