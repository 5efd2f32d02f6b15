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

// A FrameError reports a frame that is longer than the limit. The frame was
// not kept; the stream goes on after it.
type FrameError struct {
	// Limit is the longest frame in bytes that the stream accepts.
	Limit int
	// Size is the length of the frame in bytes, or how much of it was read
	// when Open is set.
	Size int
	// Open reports that the frame had not ended when it was given up, after
	// twice the limit.
	Open bool
	// ID is the id of the message in the frame; nil if it has none, or none
	// that could be found.
	ID ID
	// Response reports that the message is a response: it has a result or an
	// error and no method.
	Response bool
}

func (e *FrameError) Error() string {
	more := ""
	if e.Open {
		more = "more than "
	}
	return fmt.Sprintf("message too large: it has %s%d bytes, and the limit is %d", more, e.Size, e.Limit)
}

// DefaultFrameLimit is the longest frame in bytes that [Lines] accepts by
// default.
const DefaultFrameLimit = 16 << 20

// readBuffer is how much Lines reads at once.
const readBuffer = 32 << 10

// Lines frames messages by newlines over r and w. A line longer than limit
// bytes (0 means [DefaultFrameLimit]) is discarded and reported as a
// *FrameError; it takes no more memory than limit and a buffer of 32 KiB. Empty
// lines are skipped, and white space around a line is removed. Close calls
// c.Close.
func Lines(r io.Reader, w io.Writer, c io.Closer, limit int) Stream {
	if limit <= 0 {
		limit = DefaultFrameLimit
	}
	return &lines{r: r, w: w, c: c, limit: limit, buf: make([]byte, readBuffer)}
}

type lines struct {
	r     io.Reader
	w     io.Writer
	c     io.Closer
	limit int

	buf        []byte // buf[start:end] was read and not yet returned
	start, end int
	skipping   bool  // the rest of this line was reported already
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

// more skips empty lines and reports whether a whole line has been read
// already.
func (l *lines) more() bool {
	for {
		chunk := l.buf[l.start:l.end]
		i := bytes.IndexByte(chunk, '\n')
		if i < 0 || !l.skipping && len(bytes.Trim(chunk[:i], " \t\r")) > 0 {
			return i >= 0
		}
		l.start += i + 1
		l.skipping = false
	}
}

// next returns the next line, copied out of the buffer. The rest of a line that
// was reported is returned as an empty line.
func (l *lines) next() ([]byte, error) {
	long := longLine{limit: l.limit}
	for {
		chunk := l.buf[l.start:l.end]
		if i := bytes.IndexByte(chunk, '\n'); i >= 0 {
			l.start += i + 1
			if l.skipping {
				l.skipping = false
				return nil, nil
			}
			return long.end(chunk[:i])
		}
		l.start, l.end = 0, 0
		if !l.skipping {
			if l.skipping = long.add(chunk); l.skipping {
				return nil, long.tooLong()
			}
		}
		if l.err != nil {
			if !l.skipping && long.size > 0 {
				return long.end(nil) // a last line without a newline
			}
			return nil, l.err
		}
		l.end, l.err = l.r.Read(l.buf)
	}
}

// A longLine gathers a line that is longer than what is read at once. It keeps
// the line in blocks, which are never copied while the line grows, so that a
// line of any length takes at most limit bytes.
type longLine struct {
	limit  int
	size   int
	blocks [][]byte // nil if the line is too long
	head   outline  // of a line that is too long
}

// maxBlock is the size of the largest block.
const maxBlock = 4 << 20

// add adds the next part of the line. It reports whether the line is so long
// that its end is not waited for.
func (l *longLine) add(part []byte) (giveUp bool) {
	l.size += len(part)
	if l.size > l.limit {
		for _, b := range l.blocks {
			l.head.add(b)
		}
		l.blocks = nil
		l.head.add(part)
		return l.size > 2*l.limit
	}
	for len(part) > 0 {
		last := len(l.blocks) - 1
		if last < 0 || len(l.blocks[last]) == cap(l.blocks[last]) {
			l.blocks = append(l.blocks, make([]byte, 0, l.nextBlock(len(part))))
			last++
		}
		b := l.blocks[last]
		n := min(len(part), cap(b)-len(b))
		l.blocks[last] = append(b, part[:n]...)
		part = part[n:]
	}
	return false
}

// nextBlock returns the size of the next block, twice the one before and no
// more than may still come. part is how much is waiting to be added.
func (l *longLine) nextBlock(part int) int {
	size := 2 * readBuffer
	if n := len(l.blocks); n > 0 {
		size = min(2*cap(l.blocks[n-1]), maxBlock)
	}
	return min(size, l.limit-l.size+part)
}

// end returns the line, which ends with last.
func (l *longLine) end(last []byte) ([]byte, error) {
	if l.size+len(last) > l.limit {
		l.add(last)
		err := l.tooLong()
		err.Open = false
		return nil, err
	}
	line := make([]byte, 0, l.size+len(last))
	for _, b := range l.blocks {
		line = append(line, b...)
	}
	return append(line, last...), nil
}

func (l *longLine) tooLong() *FrameError {
	return &FrameError{Limit: l.limit, Size: l.size, Open: true, ID: l.head.id, Response: l.head.isResponse()}
}
