package wirelog

import (
	"context"
	"sync"

	"github.com/tenon-mcp/tenon/app/speccheck"
)

// A Queue is a [Sink] that hands messages to something slow, in a goroutine of
// its own. Add never waits: when the slow side is too far behind, messages are
// dropped, and it is told how many before it gets the next one.
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

// NewQueue returns a queue before write, which holds at most maxBytes; 0 means
// 16 MB. Dropped may be nil. Neither is called by two goroutines at once. Close
// ends the goroutine.
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

// Add takes a message, or drops it.
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

// Close lets the queue write what it holds, until ctx ends, and takes no more.
// If ctx ends first the goroutine ends when write lets it.
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
