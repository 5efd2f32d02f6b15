package jsonrpc

import (
	"bytes"
	"encoding/json"
	"strconv"

	"github.com/tenon-mcp/tenon/internal/rawjson"
)

// MaxID is how many bytes the JSON of an id may have.
const MaxID = 1 << 10

// A Message is a request, a notification, a result or an error. What Decode
// puts into ID, Params, Result and Error.Data are slices of the bytes it read.
type Message struct {
	// ID is nil in a notification, and in an error that answers something
	// whose id could not be read.
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

// IsRequest reports whether the message waits for a response.
func (m *Message) IsRequest() bool { return m.Method != "" && m.ID != nil }

// IsNotification reports whether the message calls a method and waits for no
// response.
func (m *Message) IsNotification() bool { return m.Method != "" && m.ID == nil }

// IsResponse reports whether the message is a result or an error.
func (m *Message) IsResponse() bool {
	return m.Method == "" && (m.Result != nil || m.Error != nil)
}

// An ID is the JSON of a string or an integer, exactly as it came, so that it
// goes back as the very same bytes. Nil means that there is none.
type ID []byte

// IntID makes an id from a number.
func IntID(n int64) ID { return strconv.AppendInt(nil, n, 10) }

// StringID makes an id from a text.
func StringID(s string) ID { return rawjson.AppendString(nil, s) }

// String returns the JSON of the id; it is empty if there is none.
func (id ID) String() string { return string(id) }

// Equal reports whether both are the same JSON value, however it is written.
// The number 1 and the string "1" differ.
func (id ID) Equal(other ID) bool {
	if bytes.Equal(id, other) {
		return (id == nil) == (other == nil)
	}
	if !id.isOdd() && !other.isOdd() {
		return false
	}
	return id.Key() == other.Key()
}

// Key returns a text that is the same for equal ids and differs for others.
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

// isOdd reports whether the value of the id can be written in another way that
// is more usual: a string with an escape in it, or minus zero.
func (id ID) isOdd() bool {
	if len(id) > 0 && id[0] == '"' {
		return bytes.IndexByte(id, '\\') >= 0
	}
	return string(id) == "-0"
}
