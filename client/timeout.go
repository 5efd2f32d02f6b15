package client

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// A TimeoutError is the error of a call that took too long. It wraps
// [context.DeadlineExceeded].
type TimeoutError struct {
	Method string
	// Name is the tool, the prompt or the URI of the resource; empty if there
	// is none.
	Name string
	// Idle is set if the server sent nothing for After. Otherwise the call took
	// longer than After in all.
	Idle  bool
	After time.Duration
	// WaitingForInput is set if an input request was open.
	WaitingForInput bool
}

// Error says which limit the call reached.
func (e *TimeoutError) Error() string {
	switch {
	case e.Idle:
		return fmt.Sprintf("%s: no response from the server for %s", callName(e.Method, e.Name), formatDuration(e.After))
	case e.WaitingForInput:
		return fmt.Sprintf("%s: timed out after %s while waiting for input", callName(e.Method, e.Name), formatDuration(e.After))
	}
	return fmt.Sprintf("%s: timed out after %s", callName(e.Method, e.Name), formatDuration(e.After))
}

// Unwrap returns [context.DeadlineExceeded].
func (*TimeoutError) Unwrap() error { return context.DeadlineExceeded }

// Timeout returns true.
func (*TimeoutError) Timeout() bool { return true }

// formatDuration omits units that are zero: 60s, 10m, 1h30m.
func formatDuration(d time.Duration) string {
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
