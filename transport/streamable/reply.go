package streamable

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tenon-mcp/tenon/internal/eraconn"
	"github.com/tenon-mcp/tenon/internal/notifyqueue"
)

// An eventWriter writes the response to one HTTP request: JSON, or an event
// stream. One goroutine at a time uses it; only interrupt may be called by
// others.
type eventWriter struct {
	h   *Handler
	w   http.ResponseWriter
	ctx context.Context // ends when the client disconnects or the call is cancelled

	stream   bool          // the response has become a stream
	finished bool          // nothing more may be written
	failed   bool          // a write failed: the client has disconnected
	stopped  atomic.Bool   // interrupt was called
	sent     time.Duration // time of the last write, since Handler.started
}

// open makes the response a stream.
func (o *eventWriter) open() {
	if o.stream {
		return
	}
	o.stream, o.sent = true, time.Since(o.h.started)
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

// begin makes the response a stream before there is an event.
func (o *eventWriter) begin() {
	if !o.finished && !o.stream {
		o.open()
		o.send(nil)
	}
}

// event sends an event; one without data only sets the id.
func (o *eventWriter) event(id string, data []byte) {
	if o.finished || o.failed {
		return
	}
	buf := buffers.Get().(*[]byte) // not kept: most streams wait most of the time
	b := (*buf)[:0]
	if id != "" {
		b = append(append(append(b, "id: "...), id...), '\n')
	}
	b = append(append(append(b, "data: "...), data...), '\n', '\n')
	o.open()
	o.send(b)
	putBuffer(buf, b)
}

// eventFrom sends an event whose data build appends.
func (o *eventWriter) eventFrom(build func(dst []byte) []byte) {
	buf := buffers.Get().(*[]byte)
	b := build((*buf)[:0])
	o.event("", b)
	putBuffer(buf, b)
}

// raw sends bytes that are not an event.
func (o *eventWriter) raw(text string) {
	if !o.finished && !o.failed {
		o.open()
		o.send([]byte(text))
	}
}

// send writes and flushes bytes within Options.WriteIdle.
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
			o.h.logDropped(err)
		}
		return
	}
	rc.SetWriteDeadline(time.Time{})
	o.sent = time.Since(o.h.started)
}

// keepAlive sends a comment if nothing was sent for Options.KeepAlive. It returns
// the time until the next.
func (o *eventWriter) keepAlive() (in time.Duration) {
	every := o.h.opts.KeepAlive
	if in = o.sent + every - time.Since(o.h.started); o.stream && in > 0 {
		return in
	}
	o.raw(":\n\n")
	return every
}

// respond sends the response, which is the last message.
func (o *eventWriter) respond(status int, a *eraconn.Response) {
	if o.finished {
		return
	}
	if o.stream {
		o.eventFrom(a.Append)
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
	setRetryAfter(h, a)
	if len(body)+len(large) <= netBuffer {
		o.w.WriteHeader(status)
		o.w.Write(body)
	} else {
		h["Content-Length"] = []string{strconv.Itoa(len(body) + len(large))} // otherwise net/http would send chunks
		o.w.WriteHeader(status)
		o.putAll(body[:at], large, body[at:])
	}
	putBuffer(buf, body)
}

// netBuffer is the size of the buffer of net/http.
const netBuffer = 2 << 10

// putAll writes the parts of a response.
func (o *eventWriter) putAll(parts ...[]byte) {
	rc := http.NewResponseController(o.w)
	for _, b := range parts {
		if len(b) == 0 {
			continue
		}
		if err := o.put(rc, b, largePiece); err != nil {
			o.h.logDropped(err)
			return
		}
	}
}

// respondEmpty ends a response without a message.
func (o *eventWriter) respondEmpty() {
	if !o.finished && !o.stream {
		o.w.WriteHeader(http.StatusAccepted)
	}
	o.finished = true
}

// close ends the response.
func (o *eventWriter) close() { o.finished = true }

// put writes bytes in pieces with a deadline each, so that a slow client is not
// taken for one that reads nothing.
func (o *eventWriter) put(rc *http.ResponseController, b []byte, piece int) error {
	for {
		n := min(piece, len(b))
		// Deadline before check; interrupt has the reverse order, so one of them
		// sees the other.
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

// interrupt stops further writes, and lets a blocked write fail after
// handOverTimeout. It must not be called once the handler of the request may
// have returned.
func (o *eventWriter) interrupt() {
	o.stopped.Store(true)
	http.NewResponseController(o.w).SetWriteDeadline(time.Now().Add(handOverTimeout))
}

// handOverTimeout bounds a write to a client that has connected elsewhere.
const handOverTimeout = time.Second

// resume undoes interrupt.
func (o *eventWriter) resume() {
	o.stopped.Store(false)
	http.NewResponseController(o.w).SetWriteDeadline(time.Now().Add(o.h.opts.WriteIdle))
}

// Sizes of the pieces of put. Each piece costs a system call, so those of a large
// response are larger than those of a stream.
const (
	piece      = 32 << 10
	largePiece = 128 << 10
)

const maxBuffer = 64 << 10

// buffers are for encoding responses and events.
var buffers = sync.Pool{New: func() any { b := make([]byte, 0, 1024); return &b }}

// putBuffer returns a buffer, which has grown to b, unless it is large.
func putBuffer(buf *[]byte, b []byte) {
	if cap(b) <= maxBuffer {
		*buf = b
		buffers.Put(buf)
	}
}

// A reply is the response to a request that is served on the goroutine of its
// HTTP request: JSON, or an event stream after a notification. The goroutines
// that send notifications write them, one at a time; notifications sent
// meanwhile are queued.
type reply struct {
	eventWriter
	queue notifyqueue.Queue[[]byte]
	alive *time.Timer // nil until the response is a stream

	header   http.Header // of the request, for callContext; nil if no call is served with it
	held     bool        // the goroutine of the request delivers, to the end
	jsonOnly bool        // the client accepts no stream: notifications are dropped; never changes
}

func (s *Handler) newReply(ctx context.Context, w http.ResponseWriter) *reply {
	return &reply{eventWriter: eventWriter{h: s, w: w, ctx: ctx}}
}

// notification sends a notification, unless the client has disconnected.
func (o *reply) notification(n eraconn.Notification) {
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
	putBuffer(buf, b)
}

// deliver writes the queued notifications. The caller then no longer delivers.
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
		o.alive = time.AfterFunc(time.Hour, o.sendKeepAlive) // Reset orders this write before the read in sendKeepAlive
		o.alive.Reset(o.h.opts.KeepAlive)
	}
}

// sendKeepAlive sends a keep-alive comment if one is due, and sets the timer again.
func (o *reply) sendKeepAlive() {
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

// hold makes the goroutine of the request deliver to the end: no other goroutine
// writes after it.
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

// respond sends the response, which is the last message.
func (o *reply) respond(status int, a *eraconn.Response) {
	o.hold()
	o.eventWriter.respond(status, a)
}

// respondIfConnected sends the response unless the client has disconnected.
func (o *reply) respondIfConnected(a *eraconn.Response) {
	if o.ctx.Err() == nil {
		o.respond(statusOf(a), a)
	}
}

// respondEmpty ends a response without a message.
func (o *reply) respondEmpty() {
	o.hold()
	o.eventWriter.respondEmpty()
}

// close ends the response; later notifications are dropped.
func (o *reply) close() {
	o.hold()
	o.finished = true
	o.queue.Close()
	if o.alive != nil {
		o.alive.Stop()
	}
}
