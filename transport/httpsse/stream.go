package httpsse

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tenon-mcp/tenon/sse"
)

const (
	queueFrames = 64       // messages of a client that wait to be read
	queueBytes  = 8 << 20  // their total size; a single one may be larger
	piece       = 64 << 10 // written with one deadline
	spareBuffer = 64 << 10 // larger buffers are not reused
	lastWrite   = 5 * time.Second
)

var errFull = errors.New("the session is busy: too many messages wait to be read")

// A stream is a session's [jsonrpc.Stream]: it reads messages from POSTs and
// writes events. The goroutine that reads also sends keep-alive comments.
type stream struct {
	in      chan []byte
	waiting atomic.Int64 // bytes in the channel
	alive   *time.Ticker
	idle    time.Duration
	done    chan struct{} // closed by Close
	close   sync.Once

	out      *http.ResponseController
	mu       sync.Mutex // held while writing
	w        http.ResponseWriter
	buf      []byte
	finished bool // nothing more may be written
}

func newStream(w http.ResponseWriter, o *Options) *stream {
	return &stream{
		in:    make(chan []byte, queueFrames),
		alive: time.NewTicker(o.KeepAlive),
		idle:  o.WriteIdle,
		done:  make(chan struct{}),
		w:     w,
		out:   http.NewResponseController(w),
	}
}

// begin sends the headers.
func (s *stream) begin(r *http.Request) error {
	h := s.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-cache")
	h.Set("X-Accel-Buffering", "no")
	if r.ProtoMajor == 1 {
		h.Set("Connection", "close") // no other request should inherit its deadlines
	}
	// The server's read timeout would end the stream. An error means that the
	// connection has no deadlines.
	_ = s.out.SetReadDeadline(time.Time{})
	if err := s.out.Flush(); err != nil {
		h.Del("Connection")
		_ = s.Close()
		return err
	}
	return nil
}

// finish is called when the handler returns: nothing is written after it.
func (s *stream) finish() {
	_ = s.Close()
	_ = s.out.SetWriteDeadline(time.Now().Add(lastWrite)) // for the end that net/http writes
}

// enqueue queues a message of the client.
func (s *stream) enqueue(frame []byte) error {
	size := int64(len(frame))
	if before := s.waiting.Add(size) - size; before > 0 && before+size > queueBytes {
		s.waiting.Add(-size)
		return errFull
	}
	select {
	case <-s.done:
		return io.ErrClosedPipe
	default:
	}
	select {
	case s.in <- frame:
		return nil
	default:
		s.waiting.Add(-size)
		return errFull
	}
}

func (s *stream) Read() ([]byte, error) {
	for {
		select {
		case <-s.done:
			return nil, io.EOF
		case frame := <-s.in:
			s.waiting.Add(-int64(len(frame)))
			return frame, nil
		case <-s.alive.C:
			if err := s.write(func(dst []byte) []byte { return sse.AppendComment(dst, "") }); err != nil {
				return nil, err
			}
		}
	}
}

// Write sends each message as an event of its own.
func (s *stream) Write(frames []byte) error {
	return s.write(func(dst []byte) []byte {
		for line := range bytes.Lines(frames) {
			if line = bytes.TrimSuffix(line, []byte{'\n'}); len(line) > 0 {
				dst = sse.Append(dst, sse.Event{Name: "message", Data: line})
			}
		}
		return dst
	})
}

func (s *stream) event(name string, data []byte) error {
	return s.write(func(dst []byte) []byte { return sse.Append(dst, sse.Event{Name: name, Data: data}) })
}

func (s *stream) write(build func(dst []byte) []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.finished {
		return io.ErrClosedPipe
	}
	buf := build(s.buf[:0])
	if cap(buf) <= spareBuffer {
		s.buf = buf[:0]
	}
	for len(buf) > 0 {
		part := buf[:min(len(buf), piece)]
		buf = buf[len(part):]
		// Deadline before check; Close has the reverse order, so one of them
		// sees the other. Without deadlines the server's own limits apply.
		_ = s.out.SetWriteDeadline(time.Now().Add(s.idle))
		select {
		case <-s.done:
			return io.ErrClosedPipe
		default:
		}
		if _, err := s.w.Write(part); err != nil {
			return err
		}
		if err := s.out.Flush(); err != nil {
			return err
		}
	}
	_ = s.out.SetWriteDeadline(time.Time{})
	return nil
}

// Close ends the stream. A blocked write fails.
func (s *stream) Close() error {
	s.close.Do(func() {
		close(s.done)
		s.alive.Stop()
		if !s.mu.TryLock() {
			_ = s.out.SetWriteDeadline(time.Unix(1, 0))
			s.mu.Lock()
		}
		s.finished = true
		s.mu.Unlock()
	})
	return nil
}
