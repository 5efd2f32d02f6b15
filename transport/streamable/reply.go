package streamable

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/era"
)

// A reply answers one POST: with JSON if nothing was told before the answer,
// and as a stream of events from the first note on.
type reply struct {
	h   *Handler
	w   http.ResponseWriter
	ctx context.Context // ends when the client goes away

	header   http.Header // of the request, for callContext; nil if no call is served with it
	jsonOnly bool        // the client does not accept a stream: notifications are left out; never changes

	mu      sync.Mutex
	stream  bool // the answer has become a stream
	over    bool // nothing more may be written
	failed  bool // a write failed: the client is gone
	touched bool // something was written since the last beat

	turn turn // when the pulse keeps the stream alive
}

func (s *Handler) newReply(ctx context.Context, w http.ResponseWriter) *reply {
	return &reply{h: s, w: w, ctx: ctx}
}

// note sends a message that is not the answer, unless the client has gone.
func (o *reply) note(build func(dst []byte) []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.over || o.jsonOnly || o.ctx.Err() != nil {
		return
	}
	o.open()
	o.event("", build)
}

// open makes the answer a stream.
func (o *reply) open() {
	if o.stream {
		return
	}
	o.stream = true
	streamHeaders(o.w.Header())
	o.w.WriteHeader(http.StatusOK)
	o.h.pulse.add(o)
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

// event writes one event and sends it off.
func (o *reply) event(id string, build func(dst []byte) []byte) {
	buf := answerBuffers.Get().(*[]byte) // none is kept: most streams wait most of the time
	b := (*buf)[:0]
	if id != "" {
		b = append(append(append(b, "id: "...), id...), '\n')
	}
	b = append(b, "data: "...)
	if build != nil {
		b = build(b)
	}
	b = append(b, '\n', '\n')
	o.send(b)
	giveBack(buf, b)
}

// netBuffer is what net/http takes without sending it at once.
const netBuffer = 2 << 10

// send writes bytes and flushes them, within the time that the client has.
func (o *reply) send(b []byte) {
	if o.failed {
		return
	}
	o.touched = true
	rc := http.NewResponseController(o.w)
	err := o.put(rc, b, piece)
	if err == nil {
		err = rc.Flush()
	}
	if err != nil && !errors.Is(err, http.ErrNotSupported) {
		o.failed = true
		o.h.recordDropped(err)
		return
	}
	rc.SetWriteDeadline(time.Time{})
}

// comment tells the client, and whoever stands in between, that the stream is
// alive.
func (o *reply) comment() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.over || o.failed {
		return
	}
	if !o.touched {
		o.send([]byte(":\n\n"))
	}
	o.touched = false
	o.h.pulse.add(o)
}

// answer sends the answer, which is the last message.
func (o *reply) answer(status int, a *era.Answer) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.over {
		return
	}
	o.over = true
	if o.stream {
		o.event("", a.Append)
		return
	}
	buf := answerBuffers.Get().(*[]byte)
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

// putAll writes what follows each other. Who is gone misses nothing.
func (o *reply) putAll(parts ...[]byte) {
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

// nothing ends a reply that has no answer.
func (o *reply) nothing() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.over && !o.stream {
		o.w.WriteHeader(http.StatusAccepted)
	}
	o.over = true
}

// put writes bytes piece by piece, so that a client that takes nothing for a
// while is told from one that is slow.
func (o *reply) put(rc *http.ResponseController, b []byte, piece int) error {
	for {
		n := min(piece, len(b))
		rc.SetWriteDeadline(time.Now().Add(o.h.opts.WriteIdle))
		if _, err := o.w.Write(b[:n]); err != nil {
			return err
		}
		if b = b[n:]; len(b) == 0 {
			return nil
		}
	}
}

// A piece is what a client has to take before its time runs out. Each costs a
// call into the system and wakes who reads, so those of a whole answer, which
// come one after another, are larger than those of a stream.
const (
	piece      = 32 << 10
	largePiece = 128 << 10
)

const maxAnswerBuffer = 64 << 10

// answerBuffers are what answers and events are built in.
var answerBuffers = sync.Pool{New: func() any { b := make([]byte, 0, 1024); return &b }}

// giveBack returns a buffer, in which b was built, unless it has grown large.
func giveBack(buf *[]byte, b []byte) {
	if cap(b) <= maxAnswerBuffer {
		*buf = b
		answerBuffers.Put(buf)
	}
}

// close ends the reply: whatever still wants to be told is dropped.
func (o *reply) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.over = true
	o.w = nil // a stream may outlive its first reply by far
	if o.stream {
		o.h.pulse.remove(o)
	}
}
