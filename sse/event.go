// Package sse writes and reads server-sent events, the text/event-stream
// format that browsers know as EventSource.
//
// Writing appends to a slice and allocates nothing else. Reading follows the
// rules of the HTML standard, byte for byte and however the bytes arrive, with
// two differences that a protocol needs and a page does not: an event that
// carries only an id or a retry is delivered too, and nothing larger than a
// limit is kept. Bytes are not checked to be UTF-8.
package sse

import (
	"bytes"
	"strconv"
	"time"
)

// An Event is one event of a stream.
type Event struct {
	// ID is where the stream can be resumed. The empty id is one too, and
	// means that it cannot; HasID tells it from no id. An event without an id
	// leaves the id of those before in force.
	ID    string
	HasID bool

	// Name is the kind of event; empty means message.
	Name string

	// Data is what the event says, without a newline at the end. Nil means
	// that it has no data at all, empty that its data is empty.
	Data []byte

	// Retry is how long to wait before connecting again; HasRetry tells zero
	// from nothing. What a stream asks for may be absurd: bound it.
	Retry    time.Duration
	HasRetry bool
}

// Append appends an event as it goes over the wire. Line ends in the data
// (CR LF, CR or LF) arrive as LF. Bytes that would end a line, and NUL, are left
// out of the id and the name, so that neither can forge anything.
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

// AppendComment appends text that readers pass over, as a sign of life.
func AppendComment(dst []byte, text string) []byte {
	dst = appendField(dst, ": ", text)
	return append(dst, '\n')
}

// appendField appends one line, without what could end it.
func appendField(dst []byte, name, value string) []byte {
	dst = append(dst, name...)
	for i := range len(value) {
		if c := value[i]; c != '\n' && c != '\r' && c != 0 {
			dst = append(dst, c)
		}
	}
	return append(dst, '\n')
}

// appendLines appends a line for each line of the value.
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
