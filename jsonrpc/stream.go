package jsonrpc

import (
	"bytes"
	"fmt"
	"io"
)

// A Stream carries messages between two ends. One goroutine may read while
// another writes.
type Stream interface {
	// Read returns the next frame, which the caller owns. After a *FrameError
	// reading continues with the next frame; any other error ends the stream,
	// io.EOF if the peer closed it cleanly.
	Read() ([]byte, error)

	// Write sends one or more messages, each ended by a newline. It does not
	// retain frames.
	Write(frames []byte) error

	// Close ends the stream. A blocked Read or Write returns.
	Close() error
}

// hasMore reports whether s has a complete frame, so that Read does not block.
// Only the reading goroutine calls it. It is false for streams that do not
// know.
func hasMore(s Stream) bool {
	known, ok := s.(interface{ more() bool })
	return ok && known.more()
}

// hasRoom reports whether s accepts the messages without blocking. Only the
// writing goroutine calls it. It is false for streams that do not know.
func hasRoom(s Stream, frames []byte) bool {
	known, ok := s.(interface{ room(frames []byte) bool })
	return ok && known.room(frames)
}

// A FrameError reports a frame that is longer than the limit. The frame is
// discarded; the stream continues after it.
type FrameError struct {
	// Limit is the maximum length of a frame in bytes.
	Limit int
	// Size is the length of the frame in bytes, or of the part that was read if
	// Open is set.
	Size int
	// Open is set if the frame had not ended after twice the limit.
	Open bool
	// ID is the id of the message in the frame; nil if none was found.
	ID ID
	// Response is set if the message has a result or an error, and no method.
	Response bool
}

func (e *FrameError) Error() string {
	more := ""
	if e.Open {
		more = "more than "
	}
	return fmt.Sprintf("message too large: %s%d bytes; the limit is %d", more, e.Size, e.Limit)
}

// DefaultFrameLimit is the default maximum length of a frame of [Lines] in
// bytes.
const DefaultFrameLimit = 16 << 20

// readBuffer is the size of the buffer of Lines.
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
	skipping   bool  // the rest of this line has been reported
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

// more skips empty lines and reports whether a whole line is in the buffer.
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

// next returns a copy of the next line. The rest of a line that was reported is
// returned as an empty line.
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

// A longLine collects a line that is longer than the buffer, in blocks that are
// not copied while the line grows, so that it takes at most limit bytes.
type longLine struct {
	limit  int
	size   int
	blocks [][]byte // nil if the line is too long
	head   outline  // of a line that is too long
}

// maxBlock is the size of the largest block.
const maxBlock = 4 << 20

// add adds the next part of the line. It reports whether the line is too long
// to wait for its end.
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

// nextBlock returns the size of the next block: twice the previous one, but no
// more than may still follow. part is how much is waiting to be added.
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

// A Direction is the direction of a frame, seen from this end.
type Direction int

// The directions.
const (
	In Direction = iota
	Out
)

// Tap returns a stream that passes every frame to see as well. Frames of one
// direction are seen in order, in the goroutine that reads or writes; see must
// not retain or modify them.
func Tap(s Stream, see func(d Direction, frame []byte)) Stream {
	return &tap{s, see}
}

type tap struct {
	Stream
	see func(Direction, []byte)
}

func (t *tap) Read() ([]byte, error) {
	frame, err := t.Stream.Read()
	if err == nil {
		t.see(In, frame)
	}
	return frame, err
}

func (t *tap) more() bool              { return hasMore(t.Stream) }
func (t *tap) room(frames []byte) bool { return hasRoom(t.Stream, frames) }

func (t *tap) Write(frames []byte) error {
	for line := range bytes.Lines(frames) {
		t.see(Out, bytes.TrimSuffix(line, []byte{'\n'}))
	}
	return t.Stream.Write(frames)
}
