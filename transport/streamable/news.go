package streamable

import "sync"

// maxNews is how much news may wait for one client.
const maxNews = 1024

// A newsQueue holds news for a client that may be slow: whoever has some must
// not wait for it.
type newsQueue struct {
	mu      sync.Mutex
	waiting []func(dst []byte) []byte
	lost    bool
	left    func(build func(dst []byte) []byte) // what becomes of news once nobody waits for it; nil before
	over    bool                                // nobody is to wait any more
	ready   chan struct{}                       // has a token when something waits, or all is over
}

func (q *newsQueue) put(build func(dst []byte) []byte) {
	q.mu.Lock()
	if q.left != nil {
		defer q.mu.Unlock()
		q.left(build)
		return
	}
	if len(q.waiting) < maxNews {
		q.waiting = append(q.waiting, build)
	} else {
		q.lost = true
	}
	q.mu.Unlock()
	q.wake()
}

func (q *newsQueue) wake() {
	select {
	case q.ready <- struct{}{}:
	default:
	}
}

// end lets the one go who waits.
func (q *newsQueue) end() {
	q.mu.Lock()
	q.over = true
	q.mu.Unlock()
	q.wake()
}

// leave has news that waits, and all that comes, go elsewhere.
func (q *newsQueue) leave(left func(build func(dst []byte) []byte)) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, build := range q.waiting {
		left(build)
	}
	q.waiting, q.left = nil, left
}

// take returns what waits, and whether more is to be waited for: not if there
// was more than could be kept.
func (q *newsQueue) take() (waiting []func(dst []byte) []byte, more bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	waiting, q.waiting = q.waiting, nil
	return waiting, !q.lost && !q.over
}
