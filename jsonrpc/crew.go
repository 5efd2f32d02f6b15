package jsonrpc

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"time"
)

// A crew is the requests that were admitted and wait, and the goroutines that
// serve them. Requests that came together are handed over together. A goroutine
// that has served one takes the next, so a burst of short ones needs few
// goroutines, few wake-ups and few writes.
//
// No request waits for the handler of another, and no answer either: whoever
// goes into a handler and leaves behind a request that waits, or an answer that
// is not written, sees to it that somebody comes for it.
type workerPool struct {
	waiting row
	coming  bool          // somebody was woken or started and has not looked yet
	resting int           // goroutines that wait to be woken
	wake    chan struct{} // has room for one; closed when nothing more is read
	closed  bool          // wake is
}

// maxResting is how many goroutines that have served a request may wait for
// the next. Each keeps the stack that it has grown, which for a call of some
// microseconds costs more to grow than all the rest.
const maxResting = 64

// maxTogether is how many requests are handed over together at most: the first
// waits until the last was read.
const maxTogether = 64

// maxRun is how long a goroutine serves one request after the other. Then it
// writes what was left, and others may have the processor.
const maxRun = 100 * time.Microsecond

// A row is requests in the order in which they came.
type row struct {
	first, last *Exchange
	n           int
}

func (r *row) put(x *Exchange) {
	if r.first == nil {
		r.first = x
	} else {
		r.last.next = x
	}
	r.last = x
	r.n++
}

// putAll moves all of another row to the end of this one.
func (r *row) putAll(other *row) {
	if other.n == 0 {
		return
	}
	r.put(other.first)
	r.last = other.last
	r.n += other.n - 1
	*other = row{}
}

// take returns the first, or nil.
func (r *row) take() *Exchange {
	x := r.first
	if x != nil {
		r.first, x.next = x.next, nil
		r.n--
	}
	return x
}

// handOver gives what was admitted to the crew.
func (c *Conn) handOver() {
	if c.receivedAt.n == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.workers.waiting.putAll(&c.receivedAt)
	c.wakeLocked()
}

// rouseLocked has somebody come if there is something left to do.
func (c *Conn) wakeLocked() {
	w := &c.workers
	if w.coming || w.waiting.n == 0 && !c.writing.left() {
		return
	}
	w.coming = true
	if w.resting == 0 || w.closed {
		go c.work()
		return
	}
	w.resting--
	w.wake <- struct{}{} // does not wait: only one is on its way at a time
}

// dismiss sends home those who rest; nothing more is read.
func (c *Conn) stopWorkers() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.workers.closed, c.workers.resting = true, 0
	close(c.workers.wake)
}

// work serves requests until it is not needed any more.
func (c *Conn) work() {
	c.mu.Lock()
	c.workers.coming = false
	c.mu.Unlock()
	var s run
	for x := c.next(&s); x != nil; x = c.next(&s) {
		c.serve(x)
	}
}

// A shift is what a goroutine does between two rests.
type run struct {
	since time.Time // zero as long as there was one request only
}

// isLong reports whether it is time for a pause, if so many requests wait.
func (s *run) isLong(waiting int) bool {
	if s.since.IsZero() {
		if waiting > 1 {
			s.since = time.Now()
		}
		return false
	}
	return waiting > 0 && time.Since(s.since) > maxRun
}

// next returns a request to serve. Where none waits it writes what was left,
// and rests. Nil means that nobody is needed.
func (c *Conn) next(s *run) *Exchange {
	w := &c.workers
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		if s.isLong(w.waiting.n) {
			c.pauseLocked()
			*s = run{}
		}
		x := w.waiting.take()
		switch {
		case x != nil:
			c.wakeLocked()
			return x
		case c.claimLocked():
			c.mu.Unlock()
			c.flush(true)
			c.mu.Lock()
		case w.closed || w.resting == maxResting:
			return nil
		default:
			w.resting++
			c.mu.Unlock()
			<-w.wake
			c.mu.Lock()
			w.coming = false
			*s = run{}
		}
	}
}

// pauseLocked writes what was left, which may take as long as the far end likes,
// and lets others have the processor.
func (c *Conn) pauseLocked() {
	write := c.claimLocked()
	c.wakeLocked()
	c.mu.Unlock()
	if write {
		c.flush(true)
	}
	runtime.Gosched()
	c.mu.Lock()
}

// serve serves a request that was admitted.
func (c *Conn) serve(x *Exchange) {
	defer x.served()
	c.handle.Request(&x.ctx, x)
}

// served sees to it that the request gets its answer, and ends what was begun
// for it.
func (x *Exchange) served() {
	c := x.conn
	if p := recover(); p != nil {
		c.invalidFrame(nil, panicked(x.Method, p))
	}
	c.mu.Lock()
	over := x.finished
	c.mu.Unlock()
	if !over {
		x.RespondError(&Error{Code: CodeInternal, Message: "the request was not served"})
	}
	x.ctx.end()
	c.ended(true)
}

func panicked(method string, p any) error {
	return fmt.Errorf("panic while serving %s: %v\n%s", method, p, debug.Stack())
}
