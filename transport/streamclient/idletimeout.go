package streamclient

import (
	"errors"
	"io"
	"time"
)

// A network can fail without closing its connections, and a stream then stays
// open forever. Two checks detect that. TCP probes the connections of the
// client's own transport (see newTransport). And a stream on which the server
// sends keep-alive comments counts as broken when neither comments nor events
// arrive any more; this also works behind a proxy and with the caller's own
// http.Client.

// streamIdle is the idle timeout of a stream with keep-alive comments. For a
// server that sends comments less often, the timeout is three times the longest
// interval between them.
const streamIdle = 75 * time.Second

// errIdle is the error of a stream that exceeds its idle timeout.
var errIdle = errors.New("connection lost: no keep-alive from the server")

// A heartbeat is a reader of a stream with an idle timeout.
type heartbeat struct {
	stream io.Reader
	idle   func(error) // ends the stream

	last     time.Time     // of the last read with bytes
	comments int           // reads that began with a comment
	longest  time.Duration // longest interval before a comment
	timer    *time.Timer   // runs after the second comment
}

// watchIdle returns a reader of a stream that calls idle when a server that sent
// keep-alive comments no longer does. The caller must call stop.
func watchIdle(stream io.Reader, idle func(error)) *heartbeat {
	return &heartbeat{stream: stream, idle: idle, last: time.Now()}
}

func (h *heartbeat) Read(p []byte) (int, error) {
	n, err := h.stream.Read(p)
	if n > 0 {
		h.beat(p[0] == ':')
	}
	return n, err
}

// beat restarts the timer. It needs two comments first: some servers send one
// when a stream begins, and no keep-alive.
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
