package recording

import (
	"bytes"
	"fmt"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/app/speccheck"
	"github.com/tenon-mcp/tenon/app/wirelog"
)

// A stream is one of the three standard streams.
type stream int

const (
	toServer stream = iota
	fromServer
	fromStderr
	streams
)

// tapQueue takes copies of the bytes that pass a tap and logs them as messages in
// its own goroutine. Its add never blocks.
type tapQueue struct {
	wire *wirelog.Wire
	max  int

	mu      sync.Mutex
	wake    sync.Cond
	waiting []chunk
	bytes   int
	lost    [streams]int // dropped bytes that are not reported yet
	closed  bool
	done    chan struct{}

	lines [streams]lineCutter // used only by run
}

// A chunk is a piece of a stream; nil data is its end. Lost is the number of
// bytes missing before it.
type chunk struct {
	of   stream
	at   time.Time
	data []byte
	lost int
	text string // an event instead
}

func newTapQueue(w *wirelog.Wire, maxBytes int) *tapQueue {
	if maxBytes <= 0 {
		maxBytes = 64 << 20
	}
	n := &tapQueue{wire: w, max: maxBytes, done: make(chan struct{})}
	n.wake.L = &n.mu
	go n.run()
	return n
}

func (n *tapQueue) add(of stream, data []byte) {
	if n.wire == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.bytes > 0 && n.bytes+len(data) > n.max {
		n.lost[of] += len(data)
		return
	}
	n.putLocked(chunk{of: of, at: time.Now(), data: bytes.Clone(data), lost: n.lost[of]})
	n.lost[of] = 0
}

func (n *tapQueue) event(text string) {
	if n.wire == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.putLocked(chunk{text: text})
}

func (n *tapQueue) putLocked(c chunk) {
	n.waiting = append(n.waiting, c)
	n.bytes += len(c.data) + 64
	n.wake.Signal()
}

// close waits until all queued chunks are logged.
func (n *tapQueue) close() {
	n.mu.Lock()
	n.closed = true
	n.wake.Signal()
	n.mu.Unlock()
	<-n.done
}

func (n *tapQueue) run() {
	defer close(n.done)
	for {
		n.mu.Lock()
		for len(n.waiting) == 0 && !n.closed {
			n.wake.Wait()
		}
		cs, closed := n.waiting, n.closed
		n.waiting, n.bytes = nil, 0
		n.mu.Unlock()
		for i := range cs {
			n.emit(&cs[i])
		}
		if closed && len(cs) == 0 {
			return
		}
	}
}

func (n *tapQueue) emit(c *chunk) {
	if c.text != "" {
		n.wire.Event(c.text)
		return
	}
	lines := &n.lines[c.of]
	if c.lost > 0 {
		lines.torn()
		n.wire.Event(fmt.Sprintf("%d bytes are missing here: they arrived too fast", c.lost))
	}
	lines.cut(c.data, func(line []byte, tooLong int) {
		switch {
		case tooLong > 0:
			n.wire.Event(fmt.Sprintf("a line of more than %d bytes was passed on and not logged", tooLong))
		case c.of == fromStderr:
			n.wire.Stderr(string(line))
		case c.of == toServer:
			n.wire.Add(speccheck.Message{At: c.at, Dir: speccheck.ToServer, Frame: line})
		default:
			n.wire.Add(speccheck.Message{At: c.at, Dir: speccheck.FromServer, Frame: line})
		}
	})
}

// A lineCutter splits chunks into lines.
type lineCutter struct {
	part []byte
	skip bool // drop the rest of the line
}

const maxTapLine = 64 << 20

// torn drops the current line, of which bytes are missing.
func (l *lineCutter) torn() { l.part, l.skip = nil, true }

// cut calls give with each line that data completes, without its end; blank lines
// are left out. Nil data ends the last line.
func (l *lineCutter) cut(data []byte, give func(line []byte, tooLong int)) {
	if data == nil {
		l.give(give)
		return
	}
	for {
		i := bytes.IndexByte(data, '\n')
		if i < 0 {
			break
		}
		l.hold(data[:i], give)
		l.give(give)
		data = data[i+1:]
	}
	l.hold(data, give)
}

func (l *lineCutter) hold(data []byte, give func([]byte, int)) {
	switch {
	case l.skip:
	case len(l.part)+len(data) > maxTapLine:
		l.part, l.skip = nil, true
		give(nil, maxTapLine)
	default:
		l.part = append(l.part, data...)
	}
}

func (l *lineCutter) give(give func([]byte, int)) {
	line := bytes.TrimSuffix(l.part, []byte("\r"))
	if !l.skip && len(bytes.TrimSpace(line)) > 0 {
		give(line, 0)
	}
	l.part, l.skip = l.part[:0], false
}
