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

// A StatusError is an HTTP answer that carries no message of the protocol: the
// server, or something before it, does not want the request.
type StatusError struct {
	// Status is the HTTP status.
	Status int

	// Header is that of the answer. WWW-Authenticate in it says what a 401 or
	// a 403 is about, Retry-After when to come back.
	Header http.Header

	// Reason is what the body says, shortened; often empty.
	Reason string

	doing string // the request: method of the protocol and where it went
	about string // what this status means here
}

func (e *StatusError) Error() string {
	text := e.doing + ": the server answered " + strconv.Itoa(e.Status)
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

// NotModern reports whether a server of the newest era would not answer so. It
// implements [era.NotModern].
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
// and before its answer came. Whether the server has done what it was asked to
// is not known.
type StreamEndedError struct {
	// Method is what was asked for.
	Method string
	// Cause is what broke the connection; nil means that the server closed it
	// in order.
	Cause error
}

func (e *StreamEndedError) Error() string {
	text := e.Method + ": the stream ended before the answer came"
	if e.Cause != nil {
		text += ": " + e.Cause.Error()
	}
	return text
}

// Unwrap returns the cause.
func (e *StreamEndedError) Unwrap() error { return e.Cause }

// errSessionLost says that the server does not know the session any more.
// Unserved says that it therefore has not served the request.
type errSessionLost struct {
	method   string
	unserved bool
}

func (e *errSessionLost) Error() string {
	if e.unserved {
		return e.method + ": the server does not know the session any more"
	}
	return e.method + ": the server has ended the session while the request was served; whether it was done is not known"
}

// cut reports whether an error means that a connection broke while it was in
// use, in contrast to one that was never made. Net/http has no name for one of
// these errors.
func cut(err error) bool {
	return strings.Contains(err.Error(), "server closed idle connection") || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// plain makes a line that can be shown of what somebody else wrote: a body that
// may be a page of HTML, or bytes that are no text at all.
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
