package llm

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// An ErrorKind says what to do about an error.
type ErrorKind string

const (
	ErrAuth          ErrorKind = "auth"           // the key is missing, wrong, or may not do this
	ErrQuota         ErrorKind = "quota"          // the account has no credit; waiting does not help
	ErrRate          ErrorKind = "rate"           // too many requests; wait
	ErrOverloaded    ErrorKind = "overloaded"     // the provider is busy; wait
	ErrContextLength ErrorKind = "context_length" // the conversation is too long; make it shorter
	ErrBadRequest    ErrorKind = "bad_request"    // the provider does not take this request, or has no such model
	ErrNetwork       ErrorKind = "network"        // no connection, or it broke
	ErrServer        ErrorKind = "server"         // the provider failed, or sent what makes no sense
	ErrCanceled      ErrorKind = "canceled"       // the context ended; Unwrap tells how
)

// An Error is what ends a stream that was not complete. Keys are never in it.
type Error struct {
	Kind       ErrorKind
	Provider   string
	Status     int           // of HTTP; 0 if it did not come with an answer's head
	Message    string        // what the provider said, or what is wrong
	RetryAfter time.Duration // how long the provider wants us to wait; 0 if it does not say
	Err        error         // what caused it; nil if the provider said so
}

// Error says what happened and what to do.
func (e *Error) Error() string {
	var b strings.Builder
	if e.Provider != "" {
		b.WriteString(e.Provider + ": ")
	}
	b.WriteString(says[e.Kind])
	if says[e.Kind] == "" {
		b.WriteString(string(e.Kind))
	}
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

var says = map[ErrorKind]string{
	ErrAuth:          "the key was not accepted",
	ErrQuota:         "the account cannot pay for this request",
	ErrRate:          "too many requests",
	ErrOverloaded:    "the provider is overloaded",
	ErrContextLength: "the conversation is too long for this model",
	ErrBadRequest:    "the request was refused",
	ErrNetwork:       "no answer",
	ErrServer:        "the provider failed",
	ErrCanceled:      "canceled",
}

func (e *Error) advice() string {
	switch e.Kind {
	case ErrAuth:
		return "Check the key in the environment or the keyring, and that it may use this model"
	case ErrQuota:
		return "Check the plan and the credit of the account, or choose another model"
	case ErrRate, ErrOverloaded:
		if e.RetryAfter > 0 {
			return "Try again in " + e.RetryAfter.Round(time.Second).String()
		}
		return "Try again in a minute, or choose another model"
	case ErrContextLength:
		return "Shorten the conversation, or choose a model with a larger context"
	case ErrBadRequest:
		if e.Status == 404 {
			return "Check the name of the model and the base URL"
		}
	case ErrNetwork:
		return "Check the connection and the address of the provider, then try again"
	case ErrServer:
		return "Try again; if it stays, the provider's status page may know"
	}
	return ""
}

// Unwrap returns the cause, so that errors.Is(err, context.Canceled) works.
func (e *Error) Unwrap() error { return e.Err }

// KindOf is the kind of an error of this package, and "" of any other.
func KindOf(err error) ErrorKind {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	return ""
}
