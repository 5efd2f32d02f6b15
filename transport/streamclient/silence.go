package streamclient

import (
	"errors"
	"io"
	"time"
)

// A network that goes away without a word leaves a stream open that will never
// bring anything. Two things notice it. TCP probes each connection of the
// client's own (see newTransport). And a server that sends comments to keep an
// idle stream alive has promised, in effect, to go on: when neither comments
// nor events come any more, the stream is broken. This also holds behind a
// proxy that is still there, and for an http.Client that the caller made.

// streamIdle is how long a stream of a server that keeps it alive may be
// silent. A server that sends comments less often may be silent for three times
// as long as it was between two of them.
const streamIdle = 75 * time.Second

// errIdle is the error of a stream that has become silent.
var errIdle = errors.New("the server no longer keeps the stream alive: the connection is lost")

// A heartbeat watches the bytes of a stream on their way to its reader.
type heartbeat struct {
	stream io.Reader
	idle   func(error) // ends the stream

	last     time.Time     // when bytes came last
	comments int           // reads that began with a comment
	longest  time.Duration // between bytes and the comment that followed them
	timer    *time.Timer   // runs once there were two comments
}

// watchIdle returns a reader of a stream that calls silent when a server that kept
// the stream alive no longer does. Stop ends the watch.
func watchIdle(stream io.Reader, silent func(error)) *heartbeat {
	return &heartbeat{stream: stream, idle: silent, last: time.Now()}
}

func (h *heartbeat) Read(p []byte) (int, error) {
	n, err := h.stream.Read(p)
	if n > 0 {
		h.beat(p[0] == ':')
	}
	return n, err
}

// beat notes that bytes came. One comment promises nothing: some servers greet
// with it.
func (h *heartbeat) beat(comment bool) {
	now := time.Now()
	if comment {
		h.comments++
		h.longest = max(h.longest, now.Sub(h.last))
	}
	h.last = now
	if h.comments < 2 {
		return
	}
	limit := max(streamIdle, 3*h.longest)
	if h.timer == nil {
		h.timer = time.AfterFunc(limit, func() { h.idle(errIdle) })
	} else {
		h.timer.Reset(limit)
	}
}

func (h *heartbeat) stop() {
	if h.timer != nil {
		h.timer.Stop()
	}
}
