package jsonrpc

import (
	"bytes"
	"fmt"
	"io"
)

// A Stream carries whole messages between two ends. One goroutine may read
// while another writes.
type Stream interface {
	// Read returns the next frame; the caller owns it. A *FrameError costs
	// one frame and the stream goes on; any other error is its end, io.EOF
	// when the far end closed it in order.
	Read() ([]byte, error)

	// Write sends one or more messages, each ended by a newline, and keeps
	// nothing of frames.
	Write(frames []byte) error

	// Close ends the stream. A Read or Write that waits returns.
	Close() error
}

// hasMore reports whether s has a frame already, so that Read does not wait. It
// is called where Read is. A stream that does not know has none.
func hasMore(s Stream) bool {
	known, ok := s.(interface{ more() bool })
	return ok && known.more()
}

// hasRoom reports whether s takes these messages without waiting. It is called
// where Write is. A stream that does not know may have to wait.
func hasRoom(s Stream, frames []byte) bool {
	known, ok := s.(interface{ room(frames []byte) bool })
	return ok && known.room(frames)
}

// A FrameError says that one frame was passed over.
type FrameError struct {
	Limit int // how many bytes a frame may have
}

func (e *FrameError) Error() string {
	return fmt.Sprintf("message too large: the limit is %d bytes", e.Limit)
}

// DefaultFrameLimit is how long a frame may be unless told otherwise.
const DefaultFrameLimit = 16 << 20

// Lines frames messages by newlines over r and w. A line longer than limit
// bytes (0 means [DefaultFrameLimit]) is passed over as a *FrameError. Empty
// lines do not count, and a carriage return before the newline is dropped.
// Close calls c.Close.
func Lines(r io.Reader, w io.Writer, c io.Closer, limit int) Stream {
	if limit <= 0 {
		limit = DefaultFrameLimit
	}
	return &lines{r: r, w: w, c: c, limit: limit, buf: make([]byte, 32<<10)}
}

type lines struct {
	r     io.Reader
	w     io.Writer
	c     io.Closer
	limit int

	buf        []byte // buf[start:end] was read and not yet returned
	start, end int
	err        error // what ended r
}

func (l *lines) Write(frames []byte) error {
	_, err := l.w.Write(frames)
	return err
}

func (l *lines) Close() error { return l.c.Close() }

func (l *lines) Read() ([]byte, error) {
	for {
		line, err := l.next()
		if err != nil {
			return nil, err
		}
		if line = bytes.Trim(line, " \t\r"); len(line) > 0 {
			return line, nil
		}
	}
}

// more passes over empty lines and reports whether a whole one was read
// already.
func (l *lines) more() bool {
	for {
		chunk := l.buf[l.start:l.end]
		i := bytes.IndexByte(chunk, '\n')
		if i < 0 || len(bytes.Trim(chunk[:i], " \t\r")) > 0 {
			return i >= 0
		}
		l.start += i + 1
	}
}

// next returns the next line, copied out of the buffer.
func (l *lines) next() ([]byte, error) {
	var long []byte // the part of the line that did not fit into the buffer
	size := 0       // of that part, also when it is too long to be kept
	for {
		chunk := l.buf[l.start:l.end]
		if i := bytes.IndexByte(chunk, '\n'); i >= 0 {
			l.start += i + 1
			if size+i > l.limit {
				return nil, &FrameError{Limit: l.limit}
			}
			return append(long, chunk[:i]...), nil
		}
		if size += len(chunk); size <= l.limit {
			long = append(long, chunk...)
		} else {
			long = nil
		}
		l.start, l.end = 0, 0
		if l.err != nil {
			if size > l.limit {
				return nil, &FrameError{Limit: l.limit}
			}
			if len(long) > 0 {
				return long, nil // a last line that nobody ended
			}
			return nil, l.err
		}
		l.end, l.err = l.r.Read(l.buf)
	}
}
