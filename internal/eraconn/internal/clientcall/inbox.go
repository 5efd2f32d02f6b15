package clientcall

import (
	"context"
	"sync"
)

// maxInbox is how many notifications of a client may wait to be served.
const maxInbox = 256

// An Inbox serves the notifications of one client one at a time, in order, so
// that their reader does not wait. When 256 wait, further ones are dropped: a
// notification has no response.
type Inbox struct {
	mu      sync.Mutex
	waiting []func(ctx context.Context)
	running bool
	closed  bool
	ctx     context.Context // ends with Close
	cancel  context.CancelFunc
	serving sync.WaitGroup
}

// Put has serve called, unless the Inbox is full or closed.
func (b *Inbox) Put(serve func(ctx context.Context)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed || len(b.waiting) >= maxInbox {
		return
	}
	if b.cancel == nil {
		b.ctx, b.cancel = context.WithCancel(context.Background())
	}
	b.waiting = append(b.waiting, serve)
	if !b.running {
		b.running = true
		b.serving.Go(b.run)
	}
}

// run serves what waits and ends when nothing does.
func (b *Inbox) run() {
	for {
		b.mu.Lock()
		if len(b.waiting) == 0 || b.closed {
			b.waiting, b.running = nil, false
			b.mu.Unlock()
			return
		}
		serve := b.waiting[0]
		b.waiting = b.waiting[1:]
		b.mu.Unlock()
		serve(b.ctx)
	}
}

// Close drops what waits and waits for what is being served.
func (b *Inbox) Close() {
	b.mu.Lock()
	b.closed = true
	if b.cancel != nil {
		b.cancel()
	}
	b.mu.Unlock()
	b.serving.Wait()
}
