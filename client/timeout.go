package client

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// A TimeoutError is the error of a call that took too long. It is made on this
// side; errors.Is(err, context.DeadlineExceeded) reports true for it.
type TimeoutError struct {
	Method string
	// Name is the tool, the prompt or the URI of the resource; empty where
	// there is none.
	Name string
	// Idle is set when the server was silent for After. Otherwise the call
	// took more than After in all.
	Idle  bool
	After time.Duration
	// Asking is set when an answer to a question of the server was being
	// waited for.
	WaitingForInput bool
}

// Error says which limit was reached by which call.
func (e *TimeoutError) Error() string {
	switch {
	case e.Idle:
		return fmt.Sprintf("no sign of life from the server for %s while calling %s", spell(e.After), doing(e.Method, e.Name))
	case e.WaitingForInput:
		return fmt.Sprintf("gave up calling %s after %s in all, while a question of the server was being answered", doing(e.Method, e.Name), spell(e.After))
	}
	return fmt.Sprintf("gave up calling %s after %s in all", doing(e.Method, e.Name), spell(e.After))
}

// Unwrap makes the error a [context.DeadlineExceeded].
func (*TimeoutError) Unwrap() error { return context.DeadlineExceeded }

// Timeout reports true.
func (*TimeoutError) Timeout() bool { return true }

// spell writes a duration without the units that are zero: 60s, 10m, 1h30m.
func spell(d time.Duration) string {
	if d%time.Second == 0 && d <= 2*time.Minute {
		return fmt.Sprintf("%ds", int(d.Seconds()))
	}
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
