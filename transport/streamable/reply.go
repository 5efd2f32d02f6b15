package streamable

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tenon-mcp/tenon/era"
	"github.com/tenon-mcp/tenon/internal/notifyqueue"
)

// An eventWriter writes the response to one HTTP request: JSON, or a stream of
// events. One goroutine at a time uses it: the one that delivers what waits in
// the queue before it. Only interrupt may be called by others.
type eventWriter struct {
	h   *Handler
	w   http.ResponseWriter
	ctx context.Context // ends when the client goes away or the call is cancelled

	stream   bool          // the response has become a stream
	finished bool          // nothing more may be written
	failed   bool          // a write failed: the client is gone
	stopped  atomic.Bool   // interrupt was called
	sent     time.Duration // when something was last sent, since the Handler was made
}

// open makes the response a stream.
func (o *eventWriter) open() {
	if o.stream {
		return
	}
	o.stream, o.sent = true, time.Since(o.h.begun)
	streamHeaders(o.w.Header())
	o.w.WriteHeader(http.StatusOK)
}

func streamHeaders(h http.Header) {
	h["Content-Type"] = streamType
	h["Cache-Control"] = noCache
	h["X-Accel-Buffering"] = notBuffered
	h["X-Content-Type-Options"] = noSniff
}

var (
	streamType  = []string{"text/event-stream"}
	noCache     = []string{"no-cache, no-transform"}
	notBuffered = []string{"no"}
)

const okStatus = http.StatusOK

// begin makes the response a stream before there is an event.
func (o *eventWriter) begin() {
	if !o.finished && !o.stream {
		o.open()
		o.send(nil)
	}
}

// event sends an event; without data it is there for its id only.
func (o *eventWriter) event(id string, data []byte) {
	if o.finished || o.failed {
		return
	}
	buf := buffers.Get().(*[]byte) // none is kept: most streams wait most of the time
	b := (*buf)[:0]
	if id != "" {
		b = append(append(append(b, "id: "...), id...), '\n')
	}
	b = append(append(append(b, "data: "...), data...), '\n', '\n')
	o.open()
	o.send(b)
	giveBack(buf, b)
}

// built sends an event whose data build appends.
func (o *eventWriter) built(build func(dst []byte) []byte) {
	buf := buffers.Get().(*[]byte)
	b := build((*buf)[:0])
	o.event("", b)
	giveBack(buf, b)
}

// raw sends bytes that are no event.
func (o *eventWriter) raw(text string) {
	if !o.finished && !o.failed {
		o.open()
		o.send([]byte(text))
	}
}

// send writes bytes and flushes them, within the time that the client has.
func (o *eventWriter) send(b []byte) {
	if o.failed {
		return
	}
	rc := http.NewResponseController(o.w)
	err := o.put(rc, b, piece)
	if err == nil {
		err = rc.Flush()
	}
	if err != nil && !errors.Is(err, http.ErrNotSupported) {
		o.failed = true
		if !o.stopped.Load() {
			o.h.recordDropped(err)
		}
		return
	}
	rc.SetWriteDeadline(time.Time{})
	o.sent = time.Since(o.h.begun)
}

// keepAlive sends a comment if nothing was sent for as long as the options say.
// It returns when the next is due.
func (o *eventWriter) keepAlive() (in time.Duration) {
	every := o.h.opts.KeepAlive
	if in = o.sent + every - time.Since(o.h.begun); o.stream && in > 0 {
		return in
	}
	o.raw(":\n\n")
	return every
}

// answer sends the response, which is the last message.
func (o *eventWriter) answer(status int, a *era.Response) {
	if o.finished {
		return
	}
	if o.stream {
		o.built(a.Append)
		o.finished = true
		return
	}
	o.finished = true
	buf := buffers.Get().(*[]byte)
	body, at, large := (*buf)[:0], 0, []byte(nil)
	if a.Split != nil {
		body, at, large = a.Split(body)
	} else {
		body = a.Append(body)
	}
	h := o.w.Header()
	h["Content-Type"] = jsonType
	h["X-Content-Type-Options"] = noSniff
	if len(body)+len(large) <= netBuffer {
		o.w.WriteHeader(status)
		o.w.Write(body)
	} else {
		h["Content-Length"] = []string{strconv.Itoa(len(body) + len(large))} // or net/http would send it in chunks
		o.w.WriteHeader(status)
		o.putAll(body[:at], large, body[at:])
	}
	giveBack(buf, body)
}

// netBuffer is what net/http takes without sending it at once.
const netBuffer = 2 << 10

// putAll writes what follows each other. Who is gone misses nothing.
func (o *eventWriter) putAll(parts ...[]byte) {
	rc := http.NewResponseController(o.w)
	for _, b := range parts {
		if len(b) == 0 {
			continue
		}
		if err := o.put(rc, b, largePiece); err != nil {
			o.h.recordDropped(err)
			return
		}
	}
}

// nothing ends a response that has no message.
func (o *eventWriter) nothing() {
	if !o.finished && !o.stream {
		o.w.WriteHeader(http.StatusAccepted)
	}
	o.finished = true
}

// close ends the response.
func (o *eventWriter) close() { o.finished = true }

// put writes bytes piece by piece, so that a client that takes nothing for a
// while is told from one that is slow.
func (o *eventWriter) put(rc *http.ResponseController, b []byte, piece int) error {
	for {
		n := min(piece, len(b))
		// The deadline first, then the look: interrupt does it the other way
		// round, so one of them sees the other.
		rc.SetWriteDeadline(time.Now().Add(o.h.opts.WriteIdle))
		if o.stopped.Load() {
			return errInterrupted
		}
		if _, err := o.w.Write(b[:n]); err != nil {
			return err
		}
		if b = b[n:]; len(b) == 0 {
			return nil
		}
	}
}

var errInterrupted = errors.New("the client has connected elsewhere")

// interrupt ends the writing: nothing more is written, and a write that waits
// for the client fails after handOver. One that does not wait is completed, so
// that the response ends in order. interrupt must not be called once the handler
// of the request may have returned.
func (o *eventWriter) interrupt() {
	o.stopped.Store(true)
	http.NewResponseController(o.w).SetWriteDeadline(time.Now().Add(handOver))
}

// handOver is how long a client that has connected elsewhere has to take what is
// being written.
const handOver = time.Second

// resume undoes interrupt.
func (o *eventWriter) resume() {
	o.stopped.Store(false)
	http.NewResponseController(o.w).SetWriteDeadline(time.Now().Add(o.h.opts.WriteIdle))
}

// A piece is what a client has to take before its time runs out. Each costs a
// call into the system and wakes who reads, so those of a whole answer, which
// come one after another, are larger than those of a stream.
const (
	piece      = 32 << 10
	largePiece = 128 << 10
)

const maxBuffer = 64 << 10

// buffers are what responses and events are built in.
var buffers = sync.Pool{New: func() any { b := make([]byte, 0, 1024); return &b }}

// giveBack returns a buffer, in which b was built, unless it has grown large.
func giveBack(buf *[]byte, b []byte) {
	if cap(b) <= maxBuffer {
		*buf = b
		buffers.Put(buf)
	}
}

// A reply is the response to a request that is served on the goroutine of its
// HTTP request: JSON if there was no notification before it, and a stream of
// events otherwise. Notifications are written by the goroutines that send them,
// one at a time; what others send meanwhile waits in the queue.
type reply struct {
	eventWriter
	queue notifyqueue.Queue[[]byte]
	alive *time.Timer // nil until the response is a stream

	header   http.Header // of the request, for callContext; nil if no call is served with it
	held     bool        // the goroutine that serves the request delivers, to the end
	jsonOnly bool        // the client does not accept a stream: notifications are left out; never changes
}

func (s *Handler) newReply(ctx context.Context, w http.ResponseWriter) *reply {
	return &reply{eventWriter: eventWriter{h: s, w: w, ctx: ctx}}
}

// note sends a notification, unless the client has gone.
func (o *reply) notification(n era.Notification) {
	if o.jsonOnly || o.ctx.Err() != nil {
		return
	}
	buf := buffers.Get().(*[]byte)
	b := n.Value((*buf)[:0])
	if o.queue.Claim() {
		o.event("", b)
		o.watch()
		o.deliver()
	} else if o.queue.Put(notifyqueue.Item[[]byte]{Kind: n.Kind, Key: n.Key, Size: len(b), Value: append([]byte(nil), b...)}) {
		o.deliver()
	}
	giveBack(buf, b)
}

// deliver writes what waits, and ends the delivering of the caller.
func (o *reply) deliver() {
	for items, ok := o.queue.Next(); ok; items, ok = o.queue.Next() {
		for _, it := range items {
			o.event("", it.Value)
		}
		o.watch()
	}
}

// watch starts the keep-alive timer of a stream. The caller delivers.
func (o *reply) watch() {
	if o.stream && o.alive == nil {
		o.alive = time.AfterFunc(time.Hour, o.beat) // Reset orders this write before the read in beat
		o.alive.Reset(o.h.opts.KeepAlive)
	}
}

// beat sends a keep-alive comment if one is due, and sets the timer again.
func (o *reply) beat() {
	in := o.h.opts.KeepAlive
	if o.queue.Claim() {
		if in = o.keepAlive(); o.failed {
			in = 0
		}
		o.deliver()
	}
	if in > 0 && !o.queue.IsClosed() {
		o.alive.Reset(in)
	}
}

// hold makes the caller, who serves the request, deliver to the end. Nothing is
// written by others after it.
func (o *reply) hold() {
	if o.held {
		return
	}
	o.held = true
	o.queue.Await()
	items, _ := o.queue.Take()
	for _, it := range items {
		o.event("", it.Value)
	}
}

// answer sends the response, which is the last message.
func (o *reply) answer(status int, a *era.Response) {
	o.hold()
	o.eventWriter.answer(status, a)
}

// answerIfThere sends the response to a client that has not gone.
func (o *reply) answerIfThere(a *era.Response) {
	if o.ctx.Err() == nil {
		o.answer(statusOf(a.Code), a)
	}
}

// nothing ends a response that has no message.
func (o *reply) nothing() {
	o.hold()
	o.eventWriter.nothing()
}

// close ends the response: what is sent later is dropped.
func (o *reply) close() {
	o.hold()
	o.finished = true
	o.queue.Close()
	if o.alive != nil {
		o.alive.Stop()
	}
}
