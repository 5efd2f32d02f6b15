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

// A Handler serves what the far end of a Conn sends.
type Handler interface {
	// Request serves one request. It has its goroutine for itself until it
	// returns, and nothing else waits for it. It answers through x, once; a
	// request that it leaves unanswered gets an internal error, unless
	// x.Ignore was called.
	Request(ctx context.Context, x *Exchange)

	// Notification hears one notification. Notifications and the arrival of
	// requests are in the order of the wire, so it must not block.
	Notification(ctx context.Context, c *Conn, m *Message)
}

// An Arrival is a Handler that wants to know the order in which requests came.
type Arrival interface {
	// Arrived hears of a request before it is served, in the order of the
	// wire, notifications included. It must not block.
	Arrived(m *Message)
}

// ConnOptions say how a Conn behaves; nil means the defaults.
type ConnOptions struct {
	// MaxServing is how many requests of the far end are served at once;
	// more get an error at once. 0 means 1024.
	MaxServing int

	// AnswerBad makes the Conn answer what is not a message with an error,
	// as a server does. A client leaves noise unanswered.
	RespondToInvalid bool

	// WriteInline lets the goroutine that answers write to the stream. It
	// saves a goroutine, and suits an end whose senders may wait for a slow
	// reader. Unset, no sender waits in a write longer than its context.
	WriteInline bool

	// Batch says whether a batch is welcome now; nil means never. The error
	// is told to the far end.
	Batch func() error

	// Noise is called with every frame that was skipped (bytes that are not a
	// message, a response that no call waits for) and with panics of the
	// Handler. The frame is nil if it was too long to be kept, and for a
	// panic. Noise may be called from several goroutines at once and must not
	// block. Nil drops it.
	OnInvalidFrame func(frame []byte, err error)

	// Grace is how long requests in flight may go on when the stream or the
	// context of Run ends, before their contexts are cancelled. Negative
	// means not at all; 0 means 500 ms.
	Grace time.Duration

	// Linger is how long Run then waits for handlers that ignore their
	// context, and for a far end that takes nothing. 0 means 5 s.
	Linger time.Duration
}

// maxBatch is how many messages one batch may hold.
const maxBatch = 100

// A Conn is one end of a stream: it pairs answers with what was asked, serves
// what is asked of it, and sends. The way of an inbound message is
//
//	Stream.Read → Decode → answer       → the Call that waits for it
//	                     → notification → Handler.Notification, in order
//	                     → request      → crew → Handler.Request, all at once
//	                                      → Exchange.Respond → out → Stream.Write
//
// Run owns every goroutine that a Conn starts and waits for them; those that
// have served a request and rest end by themselves when Run does.
type Conn struct {
	stream Stream
	handle Handler
	opts   ConnOptions

	arrived Arrival // the Handler, if it is one

	seq  atomic.Int64
	done chan struct{} // closed when nothing more will be read

	receivedAt row // admitted and not handed over; only the goroutine that reads looks at it

	mu      sync.Mutex
	state   connState  // guarded by mu
	workers workerPool // guarded by mu
	writing outbox     // guarded by mu
}

type connState struct {
	waiting map[int64]*Pending   // our requests, by id
	serving map[string]*Exchange // theirs, by the key of their id
	spare   []*Pending           // answered, to be used again
	dropped map[int64]struct{}   // ours that were dropped and whose response may still come
	closing bool                 // no new request is served
	err     error                // why the Conn is over; nil while it is not
	running int                  // requests that were admitted, and goroutines that write
	handled int                  // the requests of them
	idle    chan struct{}        // closed when nothing is left to do; nil unless somebody waits
}

// A ClosedError is what calls get when their connection is over.
type ClosedError struct{ Cause error }

func (e *ClosedError) Error() string {
	if e.Cause == nil || errors.Is(e.Cause, io.EOF) {
		return "the connection is closed"
	}
	return "the connection is closed: " + e.Cause.Error()
}

func (e *ClosedError) Unwrap() error { return e.Cause }

// NewConn returns a Conn over s. Nothing is read before Run.
func NewConn(s Stream, h Handler, o *ConnOptions) *Conn {
	c := &Conn{stream: s, handle: h, done: make(chan struct{})}
	c.workers.wake = make(chan struct{}, 1)
	c.arrived, _ = h.(Arrival)
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

// Run serves until the far end closes the stream or ctx ends. It then lets
// requests in flight come to their end within bounds, closes the stream, and
// returns nil if the end was in order.
func (c *Conn) Run(ctx context.Context) error {
	serveCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(ended)
		c.drain(cancel)
		c.stream.Close()
	})

	err := c.whyEnded(c.read(serveCtx))
	c.stopWorkers()

	told := !stop()
	if told {
		err = nil // the end that we were told to make is in order
	}
	c.fail(&ClosedError{Cause: err})
	if told {
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

// whyEnded returns the error that is behind the end of the reading: a stream
// that failed to write was closed for that reason.
func (c *Conn) whyEnded(err error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if failed, ok := c.writing.stopped.(*ClosedError); ok && !errors.Is(err, io.EOF) {
		return failed.Cause
	}
	return err
}

// stuck says what keeps Run from coming to its end.
func (c *Conn) stuck() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state.handled == 0 {
		return fmt.Errorf("the stream still holds a write %s after it was closed", c.opts.Linger)
	}
	return fmt.Errorf("%d requests are still being served %s after they were cancelled", c.state.handled, c.opts.Linger)
}

// Done is closed when the far end can no longer be heard; calls fail from then
// on. Run may still take a moment to end.
func (c *Conn) Done() <-chan struct{} { return c.done }

// Err says why the far end can no longer be heard, once Done is closed. Nil
// means that the stream was closed in order.
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

// read takes in messages until the stream ends. What came together is handed
// over together, before it waits for more.
func (c *Conn) read(ctx context.Context) error {
	defer c.handOver()
	for {
		if c.receivedAt.n >= maxTogether || !hasMore(c.stream) {
			c.handOver()
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
		note := *m // so that only notifications are moved to the heap
		c.notified(ctx, &note)
	default:
		c.accept(ctx, m)
	}
}

// notified brings a notification to the Handler. A panic costs no more than
// the notification.
func (c *Conn) notified(ctx context.Context, m *Message) {
	defer func() {
		if p := recover(); p != nil {
			c.invalidFrame(nil, panicked(m.Method, p))
		}
	}()
	c.handle.Notification(ctx, c, m)
}

// bad deals with a frame that is not a message. A malformed response fails the
// call it was for and is reported as noise if there is none; a response is never
// answered.
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

// badAnswer fails the call that a malformed response was for. It reports
// whether the frame was a response, and whether a call waited for it. A message
// without a method counts as a response when a call waits for its id.
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

// drain lets requests in flight end, then cancels them and what was written
// gets out.
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

// wait waits until nothing is left to do, at most d, and reports whether that
// is so.
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

// idleLocked reports whether nothing of it is left, and nothing to write.
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

// fail ends every call that waits, and those to come. Whoever hears of it finds
// Done closed.
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
