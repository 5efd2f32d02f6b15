package jsonrpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tenon-mcp/tenon/internal/rawjson"
)

// A Handler serves the requests and notifications of the peer of a Conn.
type Handler interface {
	// Request serves one request in a goroutine of its own. It responds through
	// x, once; a request without a response gets an internal error, unless
	// x.Ignore was called.
	Request(ctx context.Context, x *Exchange)

	// Notification handles one notification. Notifications are handled in the
	// order in which they and requests are received, so it must not block.
	Notification(ctx context.Context, c *Conn, m *Message)
}

// ConnOptions configures a Conn; nil means the defaults.
type ConnOptions struct {
	// MaxServing is the maximum number of requests that are served at the same
	// time; more get an error. 0 means 1024.
	MaxServing int

	// RespondToInvalid makes the Conn respond to invalid messages with an
	// error, as a server does.
	RespondToInvalid bool

	// WriteInline lets the goroutine that responds write to the stream. That
	// saves a goroutine if senders may wait for a slow reader. Otherwise no
	// sender blocks in a write longer than its context.
	WriteInline bool

	// Arrived is called for each request before it is served, in the order of
	// the stream, between the notifications. It must not block. Nil means no
	// call.
	Arrived func(m *Message)

	// Batch returns nil if batches are allowed now, or the error to send. A nil
	// Batch rejects all batches.
	Batch func() error

	// OnInvalidFrame is called with invalid frames, responses without a
	// request, and recovered panics of the Handler. The frame is nil if it was
	// too long, and for a panic. It must be safe for concurrent use and must
	// not block. Nil discards them.
	OnInvalidFrame func(frame []byte, err error)

	// Grace is how long requests in progress may continue after the stream or
	// the context of Run has ended, before their contexts are cancelled. 0
	// means 500 ms; negative means that they are cancelled at once.
	Grace time.Duration

	// Linger is how long Run then waits for handlers that ignore their context
	// and for a peer that does not read. 0 means 5 s.
	Linger time.Duration
}

// maxBatch is the maximum number of messages in one batch.
const maxBatch = 100

// A Conn is one end of a stream of JSON-RPC messages. It matches responses to
// requests, serves requests, and sends messages. The flow of a received message
// is:
//
//	Stream.Read → Decode → response     → the Call that waits for it
//	                     → notification → Handler.Notification, in order
//	                     → request      → worker pool → Handler.Request, concurrently
//	                                      → Exchange.Respond → outbox → Stream.Write
//
// Run waits for every goroutine that the Conn starts.
type Conn struct {
	stream Stream
	handle Handler
	opts   ConnOptions

	seq  atomic.Int64
	done chan struct{} // closed when reading has ended

	received requestQueue // requests not yet dispatched; used by the reading goroutine only

	mu      sync.Mutex
	state   connState  // guarded by mu
	workers workerPool // guarded by mu
	writing outbox     // guarded by mu
}

type connState struct {
	waiting map[int64]*Pending   // requests sent, by id
	serving map[string]*Exchange // requests received, by the key of their id
	spare   []*Pending           // for reuse
	dropped map[int64]struct{}   // cancelled requests whose response may still arrive
	closing bool                 // reject new requests
	err     error                // why the Conn has ended; nil until then
	running int                  // requests being served, and goroutines that write
	handled int                  // requests being served
	idle    chan struct{}        // closed when nothing is left to do; nil if no goroutine waits
}

// A ClosedError is the error of calls on a Conn that has ended.
type ClosedError struct{ Cause error }

func (e *ClosedError) Error() string {
	if e.Cause == nil || errors.Is(e.Cause, io.EOF) {
		return "the connection is closed"
	}
	return "the connection is closed: " + e.Cause.Error()
}

func (e *ClosedError) Unwrap() error { return e.Cause }

// NewConn returns a Conn that uses s. It reads nothing before Run.
func NewConn(s Stream, h Handler, o *ConnOptions) *Conn {
	c := &Conn{stream: s, handle: h, done: make(chan struct{})}
	c.workers.work = c.work
	if o != nil {
		c.opts = *o
	}
	if c.opts.MaxServing <= 0 {
		c.opts.MaxServing = 1024
	}
	if c.opts.Grace == 0 {
		c.opts.Grace = 500 * time.Millisecond
	}
	if c.opts.Linger <= 0 {
		c.opts.Linger = 5 * time.Second
	}
	c.state.waiting = map[int64]*Pending{}
	c.state.serving = map[string]*Exchange{}
	return c
}

// Run serves until the peer closes the stream or ctx ends. It then lets
// requests in progress finish within bounds, closes the stream, and returns nil
// if the peer closed the stream cleanly or ctx ended.
func (c *Conn) Run(ctx context.Context) error {
	serveCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(ended)
		c.drain(cancel)
		c.stream.Close()
	})

	err := c.endCause(c.read(serveCtx))

	cancelled := !stop()
	if cancelled {
		err = nil // ending because of ctx is not an error
	}
	c.fail(&ClosedError{Cause: err})
	if cancelled {
		<-ended
	} else {
		c.drain(cancel)
		c.stream.Close()
	}
	if !c.wait(c.opts.Linger) {
		return c.stuck()
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// endCause returns the cause of the end of reading: if a write failed, the
// stream was closed because of that.
func (c *Conn) endCause(err error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if failed, ok := c.writing.stopped.(*ClosedError); ok && !errors.Is(err, io.EOF) {
		return failed.Cause
	}
	return err
}

// stuck describes what keeps Run from ending.
func (c *Conn) stuck() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state.handled == 0 {
		return fmt.Errorf("the stream is still blocked in a write %s after it was closed", c.opts.Linger)
	}
	return fmt.Errorf("%d requests are still running %s after they were cancelled", c.state.handled, c.opts.Linger)
}

// Done returns a channel that is closed when reading has ended; calls fail from
// then on. Run may still take a moment to return.
func (c *Conn) Done() <-chan struct{} { return c.done }

// Err returns why reading has ended, once Done is closed. Nil means that the
// stream was closed cleanly.
func (c *Conn) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	closed, ok := c.state.err.(*ClosedError)
	if !ok || errors.Is(closed.Cause, io.EOF) {
		return nil
	}
	return closed.Cause
}

// Close closes the stream, which ends Run.
func (c *Conn) Close() error { return c.stream.Close() }

// read reads messages until the stream ends. Requests that arrive together are
// dispatched together.
func (c *Conn) read(ctx context.Context) error {
	defer c.dispatch()
	for {
		if c.received.n >= maxBurst || !hasMore(c.stream) {
			c.dispatch()
		}
		frame, err := c.stream.Read()
		if bad, ok := errors.AsType[*FrameError](err); ok {
			c.bad(nil, &DecodeError{Code: CodeInvalidRequest, ID: bad.ID, Response: bad.Response, Reason: bad.Error()})
			continue
		}
		if err != nil {
			return err
		}
		if IsBatch(frame) {
			c.receiveBatch(ctx, frame)
			continue
		}
		m, err := Decode(frame)
		if err != nil {
			c.bad(frame, err)
			continue
		}
		c.receive(ctx, frame, &m)
	}
}

func (c *Conn) receive(ctx context.Context, frame []byte, m *Message) {
	switch {
	case m.IsResponse():
		if !c.pair(m, nil) {
			c.invalidFrame(frame, c.unexpected(m.ID))
		}
	case m.IsNotification():
		n := *m // so that only notifications escape to the heap
		c.notified(ctx, &n)
	default:
		c.accept(ctx, m)
	}
}

// notified passes a notification to the Handler and recovers a panic.
func (c *Conn) notified(ctx context.Context, m *Message) {
	defer func() {
		if p := recover(); p != nil {
			c.invalidFrame(nil, panicked(m.Method, p))
		}
	}()
	c.handle.Notification(ctx, c, m)
}

// bad handles an invalid frame. A malformed response fails the request that it
// belongs to, or is reported if there is none; it gets no response.
func (c *Conn) bad(frame []byte, err error) {
	e, ok := errors.AsType[*DecodeError](err)
	if !ok {
		c.invalidFrame(frame, err)
		return
	}
	isResponse, paired := c.badResponse(frame, e)
	if paired {
		return
	}
	c.invalidFrame(frame, err)
	if isResponse {
		return
	}
	if c.opts.RespondToInvalid && !e.NeedsNoResponse() {
		c.Push("", func(dst []byte) []byte {
			return AppendError(dst, e.ID, &Error{Code: e.Code, Message: e.Reason})
		})
	}
}

// badResponse fails the request that a malformed response belongs to. It
// reports whether the frame was a response, and whether a request waited for
// it. A message without a method counts as a response if a request waits for
// its id.
func (c *Conn) badResponse(frame []byte, e *DecodeError) (isResponse, paired bool) {
	if !e.Response && (e.ID == nil || frame == nil || rawjson.Lookup(frame, "method") != nil) {
		return false, false
	}
	paired = c.pair(&Message{ID: e.ID}, e)
	return e.Response || paired, paired
}

func (c *Conn) invalidFrame(frame []byte, err error) {
	if c.opts.OnInvalidFrame != nil {
		c.opts.OnInvalidFrame(frame, err)
	}
}

// drain lets requests in progress finish, then cancels them and waits until
// pending messages are written.
func (c *Conn) drain(cancel context.CancelFunc) {
	c.mu.Lock()
	c.state.closing = true
	c.mu.Unlock()
	if c.opts.Grace > 0 {
		c.wait(c.opts.Grace)
	}
	cancel()
	c.wait(c.opts.Linger)
}

// wait waits up to d until nothing is left to do, and reports whether that is
// so.
func (c *Conn) wait(d time.Duration) bool {
	c.mu.Lock()
	if c.idleLocked() {
		c.mu.Unlock()
		return true
	}
	if c.state.idle == nil {
		c.state.idle = make(chan struct{})
	}
	idle := c.state.idle
	c.mu.Unlock()
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-idle:
		return true
	case <-t.C:
		return false
	}
}

// startedLocked and ended count what the Conn has to do.
func (c *Conn) startedLocked() { c.state.running++ }

// idleLocked reports whether nothing is left to do or to write.
func (c *Conn) idleLocked() bool { return c.state.running == 0 && !c.writing.left() }

func (c *Conn) ended(handler bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if handler {
		c.state.handled--
	}
	if c.state.running--; c.state.idle != nil && c.idleLocked() {
		close(c.state.idle)
		c.state.idle = nil
	}
}

// fail ends all waiting and future calls. Done is closed before they return.
func (c *Conn) fail(err error) {
	c.mu.Lock()
	waiting := c.state.waiting
	c.state.waiting, c.state.err = nil, err
	close(c.done)
	c.mu.Unlock()
	for _, w := range waiting {
		w.response <- Response{Err: err}
	}
}
