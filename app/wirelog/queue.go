package wirelog

import (
	"context"
	"sync"

	"github.com/tenon-mcp/tenon/app/speccheck"
)

// A Queue is a [Sink] that passes messages to a slow function in its own
// goroutine. Add never blocks: when the queue is full, messages are dropped, and
// their number is reported before the next message.
type Queue struct {
	write    func(m *speccheck.Message)
	dropped  func(n int)
	maxBytes int

	mu      sync.Mutex
	wake    sync.Cond
	waiting []speccheck.Message
	bytes   int
	lost    int
	closed  bool
	done    chan struct{}
}

// NewQueue returns a queue that calls write for each message and dropped with the
// number of messages that were dropped, never both at once. The queue holds at
// most maxBytes; 0 means 16 MB. Dropped may be nil. Close ends the goroutine.
func NewQueue(maxBytes int, write func(m *speccheck.Message), dropped func(n int)) *Queue {
	if maxBytes <= 0 {
		maxBytes = 16 << 20
	}
	if dropped == nil {
		dropped = func(int) {}
	}
	q := &Queue{write: write, dropped: dropped, maxBytes: maxBytes, done: make(chan struct{})}
	q.wake.L = &q.mu
	go q.run()
	return q
}

// Add queues a message, or drops it if the queue is full or closed.
func (q *Queue) Add(m *speccheck.Message) {
	q.mu.Lock()
	defer q.mu.Unlock()
	size := cost(m)
	if q.closed || q.bytes > 0 && q.bytes+size > q.maxBytes {
		q.lost++
		return
	}
	q.waiting = append(q.waiting, *m)
	q.bytes += size
	q.wake.Signal()
}

func (q *Queue) run() {
	defer close(q.done)
	for {
		ms, lost, open := q.take()
		for i := range ms {
			q.write(&ms[i])
		}
		if lost > 0 {
			q.dropped(lost)
		}
		if !open {
			return
		}
	}
}

// take waits for messages. What was lost was lost after those that it returns.
func (q *Queue) take() (ms []speccheck.Message, lost int, open bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.waiting) == 0 && q.lost == 0 && !q.closed {
		q.wake.Wait()
	}
	ms, lost, open = q.waiting, q.lost, !q.closed
	q.waiting, q.bytes, q.lost = nil, 0, 0
	return ms, lost, open
}

// Close accepts no more messages and waits until the queued ones are written or
// ctx ends. If ctx ends first, the goroutine ends after the queued messages.
func (q *Queue) Close(ctx context.Context) error {
	q.mu.Lock()
	q.closed = true
	q.wake.Signal()
	q.mu.Unlock()
	select {
	case <-q.done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
