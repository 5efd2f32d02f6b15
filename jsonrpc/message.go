package jsonrpc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/tenon-mcp/tenon/internal/rawjson"
)

// MaxID is the maximum length of the JSON of an id in bytes.
const MaxID = 1 << 10

// A Message is a request, a notification, a result or an error. After Decode,
// ID, Params, Result and Error.Data are slices of the decoded bytes.
type Message struct {
	// ID is nil in a notification, and in an error response to a message whose
	// id could not be read.
	ID ID
	// Method is empty in a response.
	Method string
	// Params is an object, or nil.
	Params json.RawMessage
	// Result is an object, or nil if this is not a result.
	Result json.RawMessage
	// Error is nil if this is not an error.
	Error *Error
}

// IsRequest reports whether the message expects a response.
func (m *Message) IsRequest() bool { return m.Method != "" && m.ID != nil }

// IsNotification reports whether the message has a method and expects no
// response.
func (m *Message) IsNotification() bool { return m.Method != "" && m.ID == nil }

// IsResponse reports whether the message is a result or an error.
func (m *Message) IsResponse() bool {
	return m.Method == "" && (m.Result != nil || m.Error != nil)
}

// An ID is the JSON of a string or an integer, exactly as received, so that it
// is sent back byte for byte. Nil means none.
type ID []byte

// IntID returns the id of a number.
func IntID(n int64) ID { return strconv.AppendInt(nil, n, 10) }

// StringID returns the id of a string.
func StringID(s string) ID { return rawjson.AppendString(nil, s) }

// String returns the JSON of the id; it is empty if there is none.
func (id ID) String() string { return string(id) }

// Equal reports whether both ids are the same JSON value. The number 1 and the
// string "1" differ.
func (id ID) Equal(other ID) bool {
	if bytes.Equal(id, other) {
		return (id == nil) == (other == nil)
	}
	if !id.isOdd() && !other.isOdd() {
		return false
	}
	return id.Key() == other.Key()
}

// Key returns a string that is the same for equal ids only.
func (id ID) Key() string {
	switch {
	case !id.isOdd():
		return string(id)
	case id[0] == '-':
		return "0"
	}
	s, _ := rawjson.String(id)
	return string(rawjson.AppendString(make([]byte, 0, len(id)), s))
}

// isOdd reports whether the id has an unusual form: a string with an escape, or
// minus zero.
func (id ID) isOdd() bool {
	if len(id) > 0 && id[0] == '"' {
		return bytes.IndexByte(id, '\\') >= 0
	}
	return string(id) == "-0"
}

// The error codes defined by JSON-RPC.
const (
	CodeParse          = -32700 // not valid JSON
	CodeInvalidRequest = -32600 // not a valid message
	CodeMethodNotFound = -32601 // unknown method
	CodeInvalidParams  = -32602 // invalid parameters
	CodeInternal       = -32603 // internal error
)

// An Error is the error of a response.
type Error struct {
	Code    int
	Message string
	// Data is any JSON value, or nil.
	Data json.RawMessage
}

func (e *Error) Error() string { return fmt.Sprintf("%s (%d)", e.Message, e.Code) }

// A DecodeError describes invalid bytes and how to respond to them: with an
// error that has this code and id, unless NeedsNoResponse returns true.
type DecodeError struct {
	Code int
	// ID is nil if the message has no valid id.
	ID ID
	// Response is set if the bytes are a response: they have a result or an
	// error, and no method. If the bytes are not valid JSON, Response and ID
	// are set if both can be read regardless.
	Response bool
	// Reason is a text that may be sent to the peer.
	Reason string
}

func (e *DecodeError) Error() string { return e.Reason }

// NeedsNoResponse reports whether the bytes were a notification or a response,
// which get no response.
func (e *DecodeError) NeedsNoResponse() bool {
	return e.Response || e.ID == nil && e.Code == CodeInvalidParams
}
