package streamclient

import (
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"
)

// A StatusError is an HTTP response without a JSON-RPC message: the server, or a
// proxy before it, refused the request.
type StatusError struct {
	// Status is the HTTP status.
	Status int

	// Header is the header of the response, such as WWW-Authenticate with 401
	// and Retry-After with 429.
	Header http.Header

	// Reason is the text of the body, shortened; often empty.
	Reason string

	doing string // the method and the URL
	about string // the meaning of the status
}

func (e *StatusError) Error() string {
	text := e.doing + ": status " + strconv.Itoa(e.Status)
	if name := http.StatusText(e.Status); name != "" {
		text += " " + name
	}
	if e.about != "" {
		text += ": " + e.about
	}
	if e.Reason != "" {
		text += " (" + e.Reason + ")"
	}
	return text
}

// NotModern reports whether a server of the newest revision would not send this
// status, so that the client tries an older one.
func (e *StatusError) NotModern() bool {
	switch e.Status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusProxyAuthRequired,
		http.StatusRequestTimeout, http.StatusTooManyRequests:
		return false
	case http.StatusNotImplemented:
		return true
	}
	return e.Status >= 200 && e.Status < 300 || e.Status >= 400 && e.Status < 500
}

// A StreamEndedError says that the connection ended after a request was sent
// and before its response arrived. The server may or may not have served the
// request.
type StreamEndedError struct {
	// Method is the method of the request.
	Method string
	// Cause is the error that broke the connection; nil means that the server
	// closed the stream.
	Cause error
}

func (e *StreamEndedError) Error() string {
	text := e.Method + ": the stream ended before the response"
	if e.Cause != nil {
		text += ": " + e.Cause.Error()
	}
	return text
}

// Unwrap returns the cause.
func (e *StreamEndedError) Unwrap() error { return e.Cause }

// errSessionLost is the error for a session that the server no longer knows.
// unserved means that the server has therefore not served the request.
type errSessionLost struct {
	method   string
	unserved bool
}

func (e *errSessionLost) Error() string {
	if e.unserved {
		return e.method + ": the server has lost the session"
	}
	return e.method + ": the server ended the session while it served the request, which may or may not have completed"
}

// connectionBroke reports whether an error means that an established connection broke.
// net/http exports no value for one of these errors.
func connectionBroke(err error) bool {
	return strings.Contains(err.Error(), "server closed idle connection") || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// plain returns the body of a response as one printable line; "" if the body is
// HTML or not text.
func plain(body []byte) string {
	const most = 200
	if !utf8.Valid(body) || strings.HasPrefix(strings.TrimSpace(string(body)), "<") {
		return ""
	}
	text := strings.Join(strings.FieldsFunc(string(body), func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }), " ")
	if len(text) <= most {
		return text
	}
	end := most
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "…"
}
