package jsonrpc

import (
	"encoding/json"
	"fmt"
)

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
