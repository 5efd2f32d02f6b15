package era

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/internal/patience"
)

var errIdle = errors.New("the server did not answer in time")

// untilIdle returns a context that ends after a time in which no person was
// being asked. A login on the way to a server may take minutes, and the time
// begins anew after it.
func untilIdle(parent context.Context, limit time.Duration) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(parent)
	timer := time.AfterFunc(limit, func() { cancel(errIdle) })
	var mu sync.Mutex
	holding := 0
	ctx = patience.With(ctx, func(n int) {
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
		holding = 1 << 30 // whoever lets go later does not set it again
		timer.Stop()
		cancel(context.Canceled)
	}
}
