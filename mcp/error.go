package mcp

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// The error codes of the protocol. Applications use codes outside the range
// -32768 to -32000 for their own errors.
const (
	CodeParse              = -32700 // not valid JSON
	CodeInvalidRequest     = -32600 // not a valid request, or not allowed now
	CodeMethodNotFound     = -32601 // unknown method, or the capability is not offered
	CodeInvalidParams      = -32602 // unknown tool, prompt or resource; missing or malformed parameter
	CodeInternal           = -32603 // the server failed
	CodeHeaderMismatch     = -32020 // HTTP headers contradict the body
	CodeMissingCapability  = -32021 // the client has not declared a capability that the call needs
	CodeUnsupportedVersion = -32022 // the server does not support the requested revision

	// Error codes of older revisions. They are understood from every peer and
	// sent only to peers of those revisions.
	CodeLegacyResourceNotFound = -32002
	CodeLegacyURLElicitation   = -32042
)

// An Error is a protocol error with a code.
type Error struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`

	// Local is set if the error was created on this side of the connection (a
	// timeout, a limit, an invalid response) and not sent by the peer.
	Local bool `json:"-"`

	// HTTPStatus is the status with which an HTTP transport sends the error,
	// unless the response has begun; 0 means the one for Code. RetryAfter is
	// when the client may make the call again; 0 means that nobody knows. An
	// HTTP transport sends it as the header Retry-After. Neither is part of the
	// message. See [Refusal].
	HTTPStatus int           `json:"-"`
	RetryAfter time.Duration `json:"-"`
}

func (e *Error) Error() string {
	if e.Local {
		return e.Message
	}
	return fmt.Sprintf("%s (%d)", e.Message, e.Code)
}

// maxMessage is the maximum length of an error text in bytes. The text may
// quote data of any length from a peer.
const maxMessage = 1 << 10

// Errorf returns an Error. A message of more than 1 KiB is truncated.
func Errorf(code int, format string, args ...any) *Error {
	text := fmt.Sprintf(format, args...)
	if len(text) > maxMessage {
		text = strings.ToValidUTF8(text[:maxMessage], "") + "…"
	}
	return &Error{Code: code, Message: text}
}

// With returns a copy of e with data, encoded as JSON. If data cannot be
// encoded, With returns e.
func (e *Error) With(data any) *Error {
	raw, err := json.Marshal(data)
	if err != nil {
		return e
	}
	c := *e
	c.Data = raw
	return &c
}

// InvalidParams returns an error with [CodeInvalidParams].
func InvalidParams(format string, args ...any) *Error {
	return Errorf(CodeInvalidParams, format, args...)
}

// MethodNotFound returns an error with [CodeMethodNotFound].
func MethodNotFound(method string) *Error {
	return Errorf(CodeMethodNotFound, "unknown method %q", method)
}

// ResourceNotFound returns the error for a resource that does not exist.
func ResourceNotFound(uri string) *Error {
	return InvalidParams("no resource has the URI %q", uri).With(map[string]string{"uri": uri})
}

// MissingCapability returns an error with [CodeMissingCapability] whose data
// lists the capabilities that the client has to declare.
func MissingCapability(need *ClientCapabilities, format string, args ...any) *Error {
	return Errorf(CodeMissingCapability, format, args...).With(map[string]any{"requiredCapabilities": need})
}

// Refusal returns the error for a call that was not served and may be made again
// after wait, with an HTTP status such as 429 or 503. The status is also the code of
// the error, since JSON-RPC leaves codes outside of -32768 to -32000 to
// applications, and its data has the number of seconds, for clients that do not use
// HTTP: {"retryAfter": 7}.
func Refusal(status int, wait time.Duration, format string, args ...any) *Error {
	e := Errorf(status, format, args...)
	e = e.With(map[string]int64{"retryAfter": RetrySeconds(wait)})
	e.HTTPStatus, e.RetryAfter = status, wait
	return e
}

// RetrySeconds returns a time to wait in whole seconds, at least 1.
func RetrySeconds(wait time.Duration) int64 {
	return max(1, int64((wait+time.Second-1)/time.Second))
}

// A ClosedError means that a connection is closed for good and that every later
// call fails in the same way. A Handler that reconnects returns the Cause
// instead.
type ClosedError struct {
	Cause error // why the call failed; never nil
}

// Error returns the text of the cause.
func (e *ClosedError) Error() string { return e.Cause.Error() }

// Unwrap returns the cause.
func (e *ClosedError) Unwrap() error { return e.Cause }
