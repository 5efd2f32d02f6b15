// Package sse encodes and decodes server-sent events, the text/event-stream
// format of the HTML standard.
//
//	buf = sse.Append(buf[:0], sse.Event{ID: "7", Data: message})
//
//	r := sse.NewReader(resp.Body, 0)
//	event, err := r.Next()
//
// The Reader follows the HTML standard with two differences: it also returns
// events that have only an id or a retry time, and it limits the size of an
// event. It does not check that the bytes are valid UTF-8.
package sse

import (
	"bytes"
	"strconv"
	"time"
)

// An Event is one event of a stream.
type Event struct {
	// ID is the position from which the stream can be resumed. An empty id
	// means that it cannot be; HasID distinguishes it from no id. An event
	// without an id leaves the previous id in effect.
	ID    string
	HasID bool

	// Name is the event type; empty means "message".
	Name string

	// Data is the payload without a final newline. Nil means no data field;
	// empty means an empty one.
	Data []byte

	// Retry is how long to wait before reconnecting; HasRetry distinguishes
	// zero from absent. A server may send any value, so limit it.
	Retry    time.Duration
	HasRetry bool
}

// Append appends an encoded event to dst. Line ends in the data (CR LF, CR or
// LF) are decoded as LF. CR, LF and NUL are removed from the id and the name,
// so that they cannot inject fields.
func Append(dst []byte, e Event) []byte {
	if e.HasID || e.ID != "" {
		dst = appendField(dst, "id: ", e.ID)
	}
	if e.Name != "" {
		dst = appendField(dst, "event: ", e.Name)
	}
	if e.HasRetry || e.Retry > 0 {
		dst = append(dst, "retry: "...)
		dst = strconv.AppendInt(dst, max(0, e.Retry.Milliseconds()), 10)
		dst = append(dst, '\n')
	}
	if e.Data != nil {
		dst = appendLines(dst, "data: ", e.Data)
	}
	return append(dst, '\n')
}

// AppendComment appends a comment, which readers ignore, to keep a connection
// alive.
func AppendComment(dst []byte, text string) []byte {
	dst = appendField(dst, ": ", text)
	return append(dst, '\n')
}

// appendField appends one line, without the bytes that would end it.
func appendField(dst []byte, name, value string) []byte {
	dst = append(dst, name...)
	for i := range len(value) {
		if c := value[i]; c != '\n' && c != '\r' && c != 0 {
			dst = append(dst, c)
		}
	}
	return append(dst, '\n')
}

// appendLines appends one line for each line of value.
func appendLines(dst []byte, name string, value []byte) []byte {
	noCR := bytes.IndexByte(value, '\r') < 0
	for {
		dst = append(dst, name...)
		end := bytes.IndexByte(value, '\n')
		if !noCR {
			end = bytes.IndexAny(value, "\r\n")
		}
		if end < 0 {
			dst = append(dst, value...)
			return append(dst, '\n')
		}
		dst = append(dst, value[:end]...)
		dst = append(dst, '\n')
		if value[end] == '\r' && end+1 < len(value) && value[end+1] == '\n' {
			end++
		}
		value = value[end+1:]
	}
}
