package jsonrpc

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/tenon-mcp/tenon/internal/stack"
)

// A workerPool holds the admitted requests that wait for a worker, which is a
// goroutine that serves one after another. Requests that arrive together are
// dispatched together, so a burst of short requests needs few goroutines and
// writes.
//
// No request and no response waits for the handler of another request: a worker
// that enters a handler while a request waits or a response is unwritten starts
// another worker first.
type workerPool struct {
	waiting  requestQueue
	starting bool   // a worker was started and does not run yet
	work     func() // Conn.work, as a value that starts without an allocation
}

// maxBurst is the maximum number of requests that are dispatched together: the
// first waits until the last is read.
const maxBurst = 64

// maxRun is how long a worker serves requests before it writes deferred
// responses and yields the processor.
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

// wakeLocked starts a worker if there is something left to do.
func (c *Conn) wakeLocked() {
	if w := &c.workers; !w.starting && (w.waiting.n > 0 || c.writing.left()) {
		w.starting = true
		go w.work()
	}
}

// work serves requests until none waits.
func (c *Conn) work() {
	stack.Grow()
	c.mu.Lock()
	c.workers.starting = false
	c.mu.Unlock()
	since := time.Now()
	for x := c.next(&since); x != nil; x = c.next(&since) {
		c.serve(x)
	}
}

// next returns the next request for a worker, which has served since the last
// pause. If none waits, next writes deferred responses; nil means that the
// worker should end.
func (c *Conn) next(since *time.Time) *Exchange {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.workers.waiting.n > 0 && time.Since(*since) > maxRun {
		c.pauseLocked()
		*since = time.Now()
	}
	for {
		if x := c.workers.waiting.take(); x != nil {
			c.wakeLocked()
			return x
		}
		if !c.claimLocked() {
			return nil
		}
		c.mu.Unlock()
		c.flush(true)
		c.mu.Lock()
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
