package sse

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"time"
)

// DefaultLimit is how large an event may be unless told otherwise.
const DefaultLimit = 64 << 20

// A LimitError says that an event, or one line, was too large.
type LimitError struct {
	Limit int // how many bytes it may have
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("event too large: the limit is %d bytes", e.Limit)
}

// A Reader takes a stream apart. It reads ahead, but delivers an event as soon
// as the line that ends it has come.
type Reader struct {
	lines lines
	limit int
	begun bool // the first line was seen

	event    Event  // what has come of the next event
	lastName string // names repeat: the same string serves again
}

// NewReader returns a Reader of the stream r. The data, name and id of an event
// may have limit bytes together, and so may whatever else a line holds; 0 means
// [DefaultLimit].
func NewReader(r io.Reader, limit int) *Reader {
	if limit <= 0 {
		limit = DefaultLimit
	}
	limit = min(limit, math.MaxInt-fieldName)
	return &Reader{limit: limit, lines: lines{r: r, limit: limit + fieldName, buf: make([]byte, 8<<10)}}
}

// fieldName is room for what stands before the value in a line.
const fieldName = 16

// Next returns the next event; the caller owns its data. An event is delivered
// if it has data, an id or a retry. At the end of the stream, which drops an
// event that was not complete, the error is io.EOF; it is a [*LimitError] where
// something was too large. After an error nothing more can be read.
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

// field takes in one line that is not empty. An own line may be kept.
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

// milliseconds reads decimal digits and nothing else. What is too long for a
// Duration is the longest there is.
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
