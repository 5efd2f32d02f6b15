package jsonrpc

import (
	"encoding/json"
	"fmt"
)

// The codes that JSON-RPC itself defines.
const (
	CodeParse          = -32700 // the bytes are not JSON
	CodeInvalidRequest = -32600 // the JSON is not a message
	CodeMethodNotFound = -32601 // nobody here knows the method
	CodeInvalidParams  = -32602 // the parameters cannot be used
	CodeInternal       = -32603 // the answering side failed
)

// An Error is a failure as it stands in a response.
type Error struct {
	Code    int
	Message string
	// Data is any JSON value, or nil.
	Data json.RawMessage
}

func (e *Error) Error() string { return fmt.Sprintf("%s (%d)", e.Message, e.Code) }

// A DecodeError says why bytes are no message, and what to answer: an error
// response with this code and id, unless the bytes were an answer themselves.
type DecodeError struct {
	Code int
	// ID is nil if the message had none, or none that could be read.
	ID ID
	// Response reports that the bytes were meant as a response: they have a
	// result or an error and no method. A response is never answered. Where
	// the bytes are not valid JSON, Response and ID are set if both can be read
	// regardless.
	Response bool
	// Reason is fit to be shown to the sender.
	Reason string
}

func (e *DecodeError) Error() string { return e.Reason }

// NeedsNoResponse reports whether the bytes were meant as a notification or as
// a response, neither of which is ever responded to.
func (e *DecodeError) NeedsNoResponse() bool {
	return e.Response || e.ID == nil && e.Code == CodeInvalidParams
}
