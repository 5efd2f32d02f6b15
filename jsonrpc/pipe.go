package jsonrpc

import (
	"bytes"
	"io"
	"sync"
)

// Pipe returns the two ends of a stream in memory. Closing one end closes both;
// frames written before can still be read.
func Pipe() (Stream, Stream) {
	a, b := newQueue(), newQueue()
	return &pipeEnd{in: a, out: b}, &pipeEnd{in: b, out: a}
}

type pipeEnd struct{ in, out *queue }

func (p *pipeEnd) Read() ([]byte, error)     { return p.in.get() }
func (p *pipeEnd) Write(frames []byte) error { return p.out.put(frames) }

func (p *pipeEnd) more() bool              { return p.in.more() }
func (p *pipeEnd) room(frames []byte) bool { return p.out.room(frames) }

func (p *pipeEnd) Close() error {
	p.in.close()
	p.out.close()
	return nil
}

// pipeRoom is the number of frames that a pipe buffers.
const pipeRoom = 64

// A queue is one direction of a pipe.
type queue struct {
	mu     sync.Mutex
	change sync.Cond
	frames [pipeRoom][]byte // a ring: n frames from first on
	first  int
	n      int
	closed bool
}

func newQueue() *queue {
	q := &queue{}
	q.change.L = &q.mu
	return q
}

func (q *queue) get() ([]byte, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.n == 0 {
		if q.closed {
			return nil, io.EOF
		}
		q.change.Wait()
	}
	f := q.frames[q.first]
	q.frames[q.first] = nil
	q.first = (q.first + 1) % pipeRoom
	if q.n--; q.n == pipeRoom-1 {
		q.change.Broadcast()
	}
	return f, nil
}

func (q *queue) more() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.n > 0
}

func (q *queue) put(frames []byte) error {
	own := bytes.Clone(frames)
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(own) > 0 {
		for q.n == pipeRoom && !q.closed {
			q.change.Wait()
		}
		if q.closed {
			return io.ErrClosedPipe
		}
		line, rest, _ := bytes.Cut(own, []byte{'\n'})
		if own = rest; len(line) == 0 {
			continue
		}
		q.frames[(q.first+q.n)%pipeRoom] = line[:len(line):len(line)]
		if q.n++; q.n == 1 {
			q.change.Broadcast()
		}
	}
	return nil
}

// room reports whether put would not block.
func (q *queue) room(frames []byte) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.closed || q.n+bytes.Count(frames, []byte{'\n'}) <= pipeRoom
}

func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.change.Broadcast()
}
