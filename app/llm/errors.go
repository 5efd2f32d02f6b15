package llm

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"
)

// An ErrorKind classifies errors by what the caller can do about them.
type ErrorKind string

const (
	ErrAuth          ErrorKind = "auth"           // the key is missing, wrong or not permitted to do this
	ErrQuota         ErrorKind = "quota"          // the account has no credit; waiting does not help
	ErrRate          ErrorKind = "rate"           // too many requests; wait
	ErrOverloaded    ErrorKind = "overloaded"     // the provider is busy; wait
	ErrContextLength ErrorKind = "context_length" // the conversation is too long; shorten it
	ErrBadRequest    ErrorKind = "bad_request"    // the provider rejects the request or has no such model
	ErrNetwork       ErrorKind = "network"        // no connection, or it was interrupted
	ErrServer        ErrorKind = "server"         // the provider failed or sent an invalid answer
	ErrCanceled      ErrorKind = "canceled"       // the context ended; Unwrap returns its error
)

// An Error ends a stream before the answer is complete. It never contains a key.
type Error struct {
	Kind       ErrorKind
	Provider   string
	Status     int           // HTTP status; 0 if the error is not an HTTP response
	Message    string        // the provider's message, or a description of the problem
	RetryAfter time.Duration // wait requested by the provider; 0 if none
	Err        error         // the cause; nil if the provider reported the error
}

// Error returns what happened and what to do about it.
func (e *Error) Error() string {
	var b strings.Builder
	if e.Provider != "" {
		b.WriteString(e.Provider + ": ")
	}
	b.WriteString(cmp.Or(summaries[e.Kind], string(e.Kind)))
	if e.Message != "" {
		b.WriteString(": " + strings.TrimRight(e.Message, ". \n"))
	}
	if e.Status != 0 {
		fmt.Fprintf(&b, " (HTTP %d)", e.Status)
	}
	if advice := e.advice(); advice != "" {
		b.WriteString(". " + advice)
	}
	return b.String()
}

var summaries = map[ErrorKind]string{
	ErrAuth:          "the API key was rejected",
	ErrQuota:         "the account has no credit for this request",
	ErrRate:          "too many requests",
	ErrOverloaded:    "the provider is overloaded",
	ErrContextLength: "the conversation is too long for this model",
	ErrBadRequest:    "the request was rejected",
	ErrNetwork:       "connection failed",
	ErrServer:        "the provider failed",
	ErrCanceled:      "canceled",
}

func (e *Error) advice() string {
	switch e.Kind {
	case ErrAuth:
		return "Check the API key and that it may use this model"
	case ErrQuota:
		return "Add credit to the account, or choose another model"
	case ErrRate, ErrOverloaded:
		if e.RetryAfter > 0 {
			return "Try again in " + e.RetryAfter.Round(time.Second).String()
		}
		return "Try again in a minute, or choose another model"
	case ErrContextLength:
		return "Shorten the conversation, or choose a model with a larger context"
	case ErrBadRequest:
		switch e.Status {
		case 200: // a page of another service
			return "Check the base URL"
		case 404:
			return "Check the name of the model and the base URL"
		}
	case ErrNetwork:
		return "Check the network and the base URL, then try again"
	case ErrServer:
		return "Try again; if it fails again, check the provider's status page"
	}
	return ""
}

// Unwrap returns the cause, so that errors.Is(err, context.Canceled) works.
func (e *Error) Unwrap() error { return e.Err }

// KindOf returns the kind of an [Error], and "" for any other error.
func KindOf(err error) ErrorKind {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	return ""
}
