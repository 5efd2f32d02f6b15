package sse

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"time"
)

// DefaultLimit is the default maximum size of an event in bytes.
const DefaultLimit = 64 << 20

// A LimitError means that an event or a line was too large.
type LimitError struct {
	Limit int // in bytes
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("event too large: the limit is %d bytes", e.Limit)
}

// A Reader decodes a stream of events. It reads ahead, but returns an event as
// soon as its last line has arrived.
type Reader struct {
	lines lines
	limit int
	begun bool // the first line was read

	event    Event  // the part of the next event read so far
	lastName string // names repeat: reuse the string
}

// NewReader returns a Reader for r. The data, name and id of an event may have
// limit bytes together, and any other line limit bytes; 0 means [DefaultLimit].
func NewReader(r io.Reader, limit int) *Reader {
	if limit <= 0 {
		limit = DefaultLimit
	}
	limit = min(limit, math.MaxInt-fieldName)
	return &Reader{limit: limit, lines: lines{r: r, limit: limit + fieldName, buf: make([]byte, 8<<10)}}
}

// fieldName is the room for the field name of a line.
const fieldName = 16

// Next returns the next event that has data, an id or a retry time; the caller
// owns its data. At the end of the stream the error is io.EOF and an incomplete
// event is dropped; if something was too large it is a [*LimitError]. After an
// error nothing more can be read.
func (r *Reader) Next() (Event, error) {
	for {
		line, own, err := r.lines.next()
		if err != nil {
			return Event{}, err
		}
		if !r.begun {
			r.begun = true
			line = bytes.TrimPrefix(line, []byte("\ufeff"))
		}
		if len(line) > 0 {
			if err := r.field(line, own); err != nil {
				r.lines.err, r.lines.start = err, r.lines.end
				return Event{}, err
			}
			continue
		}
		e := r.event
		r.event = Event{}
		if e.Data != nil || e.HasID || e.HasRetry {
			return e, nil
		}
	}
}

// field decodes one non-empty line. If own is true, it may retain the line.
func (r *Reader) field(line []byte, own bool) error {
	e := &r.event
	name, value, _ := bytes.Cut(line, []byte{':'})
	if len(value) > 0 && value[0] == ' ' {
		value = value[1:]
	}
	switch string(name) {
	case "data":
		switch {
		case e.Data != nil:
			e.Data = append(append(e.Data, '\n'), value...)
		case own && len(value) > 0:
			e.Data = value[:len(value):len(value)]
		default:
			e.Data = append(make([]byte, 0, len(value)), value...)
		}
	case "event":
		if string(value) != r.lastName {
			r.lastName = string(value)
		}
		e.Name = r.lastName
	case "id":
		if bytes.IndexByte(value, 0) < 0 {
			e.ID, e.HasID = string(value), true
		}
	case "retry":
		if d, ok := milliseconds(value); ok {
			e.Retry, e.HasRetry = d, true
		}
	}
	if len(e.Data)+len(e.Name)+len(e.ID) > r.limit {
		return &LimitError{Limit: r.limit}
	}
	return nil
}

// milliseconds parses decimal digits. A value that is too long for a Duration
// is the maximum.
func milliseconds(digits []byte) (time.Duration, bool) {
	const most = int64(math.MaxInt64 / time.Millisecond)
	var n int64
	for _, c := range digits {
		if c < '0' || '9' < c {
			return 0, false
		}
		n = min(n*10+int64(c-'0'), most)
	}
	return time.Duration(n) * time.Millisecond, len(digits) > 0
}

// lines splits a stream into lines that end with LF, CR LF or CR. It examines
// each byte a fixed number of times, however the bytes arrive.
type lines struct {
	r     io.Reader
	limit int // maximum length of a line
	err   error

	buf        []byte // buf[start:end] was read and not yet returned
	start, end int
	lf         int  // index of the next LF; less than start means unknown
	afterCR    bool // ignore an LF that comes next
}

// next returns the next line without its end. If own is true the line belongs
// to the caller; otherwise it is valid until the next call. An incomplete last
// line is dropped.
func (l *lines) next() (line []byte, own bool, err error) {
	var long []byte // the part of the line that has left the buffer
	for {
		if l.afterCR && l.start < l.end {
			l.afterCR = false
			if l.buf[l.start] == '\n' {
				l.start++
			}
		}
		part, ended := l.cut()
		if len(long)+len(part) > l.limit {
			l.err, l.start = &LimitError{Limit: l.limit}, l.end
			return nil, false, l.err
		}
		switch {
		case ended && long == nil:
			return part, false, nil
		case ended:
			return l.extend(long, part), true, nil
		case len(part) > 0:
			long = l.extend(long, part)
		}
		if err := l.fill(); err != nil {
			return nil, false, err
		}
	}
}

// cut removes a line from the buffer, or all of it if no line ends there.
func (l *lines) cut() (part []byte, ended bool) {
	if l.lf < l.start {
		l.lf = l.end
		if i := bytes.IndexByte(l.buf[l.start:l.end], '\n'); i >= 0 {
			l.lf = l.start + i
		}
	}
	part = l.buf[l.start:l.lf]
	if i := bytes.IndexByte(part, '\r'); i >= 0 {
		l.start += i + 1
		l.afterCR = true
		return part[:i], true
	}
	ended = l.lf < l.end
	l.start = min(l.lf+1, l.end)
	return part, ended
}

// extend appends part to long. It doubles the capacity up to the limit.
func (l *lines) extend(long, part []byte) []byte {
	if need := len(long) + len(part); need > cap(long) {
		bigger := make([]byte, len(long), max(need, min(max(2*need, 1<<10), l.limit)))
		copy(bigger, long)
		long = bigger
	}
	return append(long, part...)
}

// fill reads into the empty buffer.
func (l *lines) fill() error {
	l.start, l.end, l.lf = 0, 0, -1
	for range 100 {
		if l.err != nil {
			return l.err
		}
		if l.end, l.err = l.r.Read(l.buf); l.end > 0 {
			return nil
		}
	}
	if l.err == nil {
		l.err = io.ErrNoProgress
	}
	return l.err
}
