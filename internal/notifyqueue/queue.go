package notifyqueue

import "sync"

// A Queue is a queue for one receiver that one goroutine at a time delivers. No
// lock is held during delivery. There are two ways to use it.
//
// Senders deliver: a goroutine to which Put reports true calls Next until it
// reports false, and so also delivers items that others put meanwhile.
//
//	if q.Put(it) {
//		for items, ok := q.Next(); ok; items, ok = q.Next() { … }
//	}
//
// A receiver delivers: it claims the queue, waits for Ready and calls Take. Put
// then never reports true. To leave delivery to senders, it calls Next until it
// reports false.
//
// The zero Queue is empty and has no deliverer.
type Queue[T any] struct {
	mu      sync.Mutex    // guards the fields below; held only briefly
	pending *Pending[T]   // nil if empty
	busy    bool          // a goroutine is delivering
	closed  bool          // items are no longer accepted
	lost    bool          // changes were dropped
	free    chan struct{} // closed when delivery ends; nil if no caller waits for it
	ready   chan struct{} // signals the receiver; nil without a receiver
}

// Receive makes the caller the receiver. It must be called before others use
// the queue.
func (q *Queue[T]) Receive() {
	q.busy, q.ready = true, make(chan struct{}, 1)
}

// Put adds an item and reports whether the caller must deliver. A closed
// queue ignores it.
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

// Claim makes the caller the deliverer, unless there is one or the queue is
// closed.
func (q *Queue[T]) Claim() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.busy || q.closed {
		return false
	}
	q.busy = true
	return true
}

// Await waits until there is no deliverer and makes the caller the deliverer.
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

// Next returns the queued items to the deliverer. If there are none it
// reports false, and the caller is no longer the deliverer.
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

// Deliver passes the queued items to f, one at a time, until the queue is
// empty; the caller is then no longer the deliverer. After Close it passes
// nothing. If f panics, the queue is aborted.
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

// Take returns the queued items and whether changes were dropped. The caller
// stays the deliverer.
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

// Ready is signalled when there are items to take, and by Wake.
func (q *Queue[T]) Ready() <-chan struct{} { return q.ready }

// Wake signals the receiver.
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

// Close makes the queue ignore further items. Queued items can still be
// delivered.
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

// Abort closes the queue and drops its items. The caller is no longer the
// deliverer.
func (q *Queue[T]) Abort() {
	q.mu.Lock()
	q.closed = true
	q.pending = nil
	q.mu.Unlock()
	q.Next()
}
