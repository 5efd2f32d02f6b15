package notifyqueue

import "sync"

// A Queue holds items that wait for one receiver, and chooses the goroutine that
// delivers them: one at a time, which holds no lock meanwhile. There are two ways
// to use one.
//
// Senders deliver: a goroutine to which Put reports true calls Next until that
// reports false, and so delivers the items that others put meanwhile, too.
//
//	if q.Put(it) {
//		for items, ok := q.Next(); ok; items, ok = q.Next() { … }
//	}
//
// A receiver delivers: it has claimed the queue, waits for Ready and calls Take.
// No Put then reports true. To leave the queue to senders it calls Next until
// that reports false.
//
// The zero Queue is empty and nobody delivers.
type Queue[T any] struct {
	mu      sync.Mutex    // guards what follows; nothing is called under it
	pending *Pending[T]   // nil while nothing waits
	busy    bool          // a goroutine delivers
	closed  bool          // nothing more is taken in
	lost    bool          // changes were
	free    chan struct{} // closed when that goroutine lets go; nil if nobody waits for it
	ready   chan struct{} // has a token when the receiver should look; nil without a receiver
}

// Receive makes the caller the receiver. It must be called before the queue is
// used by others.
func (q *Queue[T]) Receive() {
	q.busy, q.ready = true, make(chan struct{}, 1)
}

// Put adds an item. It reports whether the caller has to deliver. A closed queue
// takes nothing.
func (q *Queue[T]) Put(it Item[T]) (deliver bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return false
	}
	if q.pending == nil {
		q.pending = newPending[T]()
	}
	q.pending.Add(it)
	if !q.busy {
		q.busy = true
		return true
	}
	q.wakeLocked()
	return false
}

// Claim makes the caller the goroutine that delivers, unless another does or the queue
// is closed.
func (q *Queue[T]) Claim() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.busy || q.closed {
		return false
	}
	q.busy = true
	return true
}

// Await makes the caller the goroutine that delivers, after the current one.
func (q *Queue[T]) Await() {
	for {
		q.mu.Lock()
		if !q.busy {
			q.busy = true
			q.mu.Unlock()
			return
		}
		if q.free == nil {
			q.free = make(chan struct{})
		}
		free := q.free
		q.mu.Unlock()
		<-free
	}
}

// Next returns the waiting items to the goroutine that delivers. If there are none
// it reports false, and the caller delivers no more.
func (q *Queue[T]) Next() (items []Item[T], ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if items, _ := q.takeLocked(); len(items) > 0 {
		return items, true
	}
	q.busy = false
	if q.free != nil {
		close(q.free)
		q.free = nil
	}
	return nil, false
}

// Deliver passes what waits to f, one item at a time, and ends the delivering of
// the caller. After Close it passes nothing. If f panics the queue is aborted.
func (q *Queue[T]) Deliver(f func(T)) {
	whole := false
	defer func() {
		if !whole {
			q.Abort()
		}
	}()
	for items, ok := q.Next(); ok; items, ok = q.Next() {
		for _, it := range items {
			if !q.IsClosed() {
				f(it.Value)
			}
		}
	}
	whole = true
}

// Take returns what waits, and whether changes were lost. The caller goes on to
// deliver.
func (q *Queue[T]) Take() (items []Item[T], lost bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.takeLocked()
}

func (q *Queue[T]) takeLocked() (items []Item[T], lost bool) {
	if q.pending == nil {
		return nil, q.lost
	}
	q.lost = q.lost || q.pending.Lost()
	items, q.pending = q.pending.Take(), nil
	return items, q.lost
}

// Ready has a token when there is something to take, and after Wake.
func (q *Queue[T]) Ready() <-chan struct{} { return q.ready }

// Wake has the receiver look.
func (q *Queue[T]) Wake() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.wakeLocked()
}

func (q *Queue[T]) wakeLocked() {
	if q.ready == nil {
		return
	}
	select {
	case q.ready <- struct{}{}:
	default:
	}
}

// Close has the queue take nothing more. What waits can still be delivered.
func (q *Queue[T]) Close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
}

// IsClosed reports whether Close was called.
func (q *Queue[T]) IsClosed() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.closed
}

// Abort closes the queue and drops what waits. The caller delivers no more: it
// could not.
func (q *Queue[T]) Abort() {
	q.mu.Lock()
	q.closed = true
	q.pending = nil
	q.mu.Unlock()
	q.Next()
}
