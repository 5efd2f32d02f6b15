package clientcall

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
)

// Notifications are served in order, no more than a bound wait, and Close waits
// for the one that is being served.
func TestInbox(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b Inbox
		var served []int
		free := make(chan struct{})
		for i := range maxInbox + 10 {
			b.Put(func(context.Context) { <-free; served = append(served, i) })
			synctest.Wait() // the first is being served, the rest wait
		}
		close(free)
		synctest.Wait()
		if len(served) != maxInbox+1 || !slices.IsSorted(served) {
			t.Errorf("served %d: %v", len(served), served)
		}
		ended := false
		b.Put(func(ctx context.Context) { <-ctx.Done(); ended = true })
		synctest.Wait()
		b.Put(func(context.Context) { t.Error("served after Close") })
		b.Close()
		if !ended {
			t.Error("Close did not wait")
		}
		b.Put(func(context.Context) { t.Error("served after Close") })
		b.Close()
	})
}
