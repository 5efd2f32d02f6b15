package jsonrpc

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"time"
)

// A workerPool holds the admitted requests that wait, and the goroutines that
// serve them. Requests that arrive together are dispatched together. A worker
// that has served one request takes the next, so a burst of short requests
// needs few goroutines, wake-ups and writes.
//
// No request and no response waits for the handler of another request: a worker
// that enters a handler while a request waits or a response is unwritten wakes
// another worker first.
type workerPool struct {
	waiting requestQueue
	waking  bool          // a worker was woken or started and is not running yet
	idle    int           // workers that wait to be woken
	wake    chan struct{} // capacity 1; closed when reading has ended
	closed  bool          // wake is closed
}

// maxIdle is the maximum number of idle workers. Each keeps its grown stack;
// for a call of some microseconds, growing a new one would dominate the cost.
const maxIdle = 64

// maxBurst is the maximum number of requests that are dispatched together: the
// first waits until the last is read.
const maxBurst = 64

// maxRun is how long a worker serves requests without a pause. Then it writes
// deferred responses and yields the processor.
const maxRun = 100 * time.Microsecond

// A requestQueue holds requests in the order of their arrival.
type requestQueue struct {
	first, last *Exchange
	n           int
}

func (r *requestQueue) put(x *Exchange) {
	if r.first == nil {
		r.first = x
	} else {
		r.last.next = x
	}
	r.last = x
	r.n++
}

// putAll moves all requests of another queue to the end of this one.
func (r *requestQueue) putAll(other *requestQueue) {
	if other.n == 0 {
		return
	}
	r.put(other.first)
	r.last = other.last
	r.n += other.n - 1
	*other = requestQueue{}
}

// take removes and returns the first request, or nil.
func (r *requestQueue) take() *Exchange {
	x := r.first
	if x != nil {
		r.first, x.next = x.next, nil
		r.n--
	}
	return x
}

// dispatch passes admitted requests to the worker pool.
func (c *Conn) dispatch() {
	if c.received.n == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.workers.waiting.putAll(&c.received)
	c.wakeLocked()
}

// wakeLocked wakes or starts a worker if there is something left to do.
func (c *Conn) wakeLocked() {
	w := &c.workers
	if w.waking || w.waiting.n == 0 && !c.writing.left() {
		return
	}
	w.waking = true
	if w.idle == 0 || w.closed {
		go c.work()
		return
	}
	w.idle--
	w.wake <- struct{}{} // does not block: only one worker is woken at a time
}

// stopWorkers stops idle workers once reading has ended.
func (c *Conn) stopWorkers() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.workers.closed, c.workers.idle = true, 0
	close(c.workers.wake)
}

// work serves requests until the worker is not needed any more.
func (c *Conn) work() {
	c.mu.Lock()
	c.workers.waking = false
	c.mu.Unlock()
	var s run
	for x := c.next(&s); x != nil; x = c.next(&s) {
		c.serve(x)
	}
}

// A run is the time that a worker serves requests without a pause.
type run struct {
	since time.Time // zero until a second request waits
}

// isLong reports whether the worker should pause, given the number of waiting
// requests.
func (s *run) isLong(waiting int) bool {
	if s.since.IsZero() {
		if waiting > 1 {
			s.since = time.Now()
		}
		return false
	}
	return waiting > 0 && time.Since(s.since) > maxRun
}

// next returns a request to serve. If none waits, it writes deferred responses
// and waits. Nil means that the worker should end.
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
		case w.closed || w.idle == maxIdle:
			return nil
		default:
			w.idle++
			c.mu.Unlock()
			<-w.wake
			c.mu.Lock()
			w.waking = false
			*s = run{}
		}
	}
}

// pauseLocked writes deferred responses, which may block on a slow peer, and
// yields the processor.
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

// serve serves an admitted request.
func (c *Conn) serve(x *Exchange) {
	defer x.served()
	c.handle.Request(&x.ctx, x)
}

// served makes sure that the request has a response, and cleans up after it.
func (x *Exchange) served() {
	c := x.conn
	if p := recover(); p != nil {
		c.invalidFrame(nil, panicked(x.Method, p))
	}
	c.mu.Lock()
	finished := x.finished
	c.mu.Unlock()
	if !finished {
		x.RespondError(&Error{Code: CodeInternal, Message: "the handler did not respond"})
	}
	x.ctx.end()
	c.ended(true)
}

func panicked(method string, p any) error {
	return fmt.Errorf("panic while serving %s: %v\n%s", method, p, debug.Stack())
}
