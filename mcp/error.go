package mcp

import (
	"encoding/json"
	"fmt"
	"strings"
)

// The error codes of the protocol, each with its one meaning. Codes of an
// application's own lie outside -32768 … -32000.
const (
	CodeParse              = -32700 // the bytes are not JSON
	CodeInvalidRequest     = -32600 // the JSON is not a request, or not one that is allowed now
	CodeMethodNotFound     = -32601 // no such method, or one behind a capability that is not offered
	CodeInvalidParams      = -32602 // unknown tool, prompt or resource; missing or malformed parameter
	CodeInternal           = -32603 // the server failed
	CodeHeaderMismatch     = -32020 // HTTP headers and body disagree
	CodeMissingCapability  = -32021 // the client did not declare what the call needs
	CodeUnsupportedVersion = -32022 // the server does not speak the requested revision

	// Codes of older revisions, understood everywhere and sent only to peers
	// that speak one of them.
	CodeLegacyResourceNotFound = -32002
	CodeLegacyURLElicitation   = -32042
)

// An Error is a failure with a code that the far side understands.
type Error struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`

	// Local marks an error that was made on this side (a timeout, a limit, a
	// refused answer) and never by the peer.
	Local bool `json:"-"`
}

func (e *Error) Error() string {
	if e.Local {
		return e.Message
	}
	return fmt.Sprintf("%s (%d)", e.Message, e.Code)
}

// maxMessage is how long the text of an error may be: what a caller sent goes
// into it, and may be of any length.
const maxMessage = 1 << 10

// Errorf makes an Error. A text that is too long is cut.
func Errorf(code int, format string, args ...any) *Error {
	text := fmt.Sprintf(format, args...)
	if len(text) > maxMessage {
		text = strings.ToValidUTF8(text[:maxMessage], "") + "…"
	}
	return &Error{Code: code, Message: text}
}

// With returns the error with data that a program can read. Data that cannot
// be encoded is left out.
func (e *Error) With(data any) *Error {
	raw, err := json.Marshal(data)
	if err != nil {
		return e
	}
	c := *e
	c.Data = raw
	return &c
}

// InvalidParams says that the parameters cannot be used.
func InvalidParams(format string, args ...any) *Error {
	return Errorf(CodeInvalidParams, format, args...)
}

// MethodNotFound says that nobody here knows the method.
func MethodNotFound(method string) *Error {
	return Errorf(CodeMethodNotFound, "method %q is not known here", method)
}

// ResourceNotFound says that there is no resource with this URI.
func ResourceNotFound(uri string) *Error {
	return InvalidParams("no resource has the URI %q", uri).With(map[string]string{"uri": uri})
}

// MissingCapability says which capabilities the caller would have to declare.
func MissingCapability(need *ClientCapabilities, format string, args ...any) *Error {
	return Errorf(CodeMissingCapability, format, args...).With(map[string]any{"requiredCapabilities": need})
}

// A ClosedError says that a Handler has ended for good: its connection is
// closed, and every later call fails in the same way. A Handler that connects
// again by itself returns the Cause instead.
type ClosedError struct {
	Cause error // why the call failed; never nil
}

// Error is the text of the cause.
func (e *ClosedError) Error() string { return e.Cause.Error() }

// Unwrap returns the cause.
func (e *ClosedError) Unwrap() error { return e.Cause }
