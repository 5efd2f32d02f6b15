package client

import (
	"context"
	"fmt"
	"strings"
	"sync"
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

// A clock ends the context of a call when a time limit is reached. One timer
// serves both limits. Activity only records the time: if the timer fires too
// early, it is reset to the remaining time.
type clock struct {
	idle, total time.Duration // not positive: no limit
	ctx         context.Context
	cancel      context.CancelCauseFunc
	activeCall  *activeCall // the call that it belongs to

	mu              sync.Mutex
	timer           *time.Timer // nil: no limit
	begun           time.Time
	lastActivity    time.Time // the last lastActivity of life
	waitingForInput int       // open input requests, during which the idle limit does not apply
}

// start starts the clock and returns the context for the call.
func (k *clock) start(parent context.Context, idle, total time.Duration) context.Context {
	k.ctx, k.cancel = context.WithCancelCause(parent)
	k.idle, k.total = idle, total
	k.mu.Lock()
	defer k.mu.Unlock()
	k.begun = time.Now()
	k.lastActivity = k.begun
	if wait, some := k.left(k.begun); some {
		k.timer = time.AfterFunc(wait, k.fire)
	}
	return k.ctx
}

// left returns the time until the next limit.
func (k *clock) left(now time.Time) (wait time.Duration, some bool) {
	if k.total > 0 {
		wait, some = k.total-now.Sub(k.begun), true
	}
	if k.idle > 0 {
		silence := k.idle - now.Sub(k.lastActivity)
		if k.waitingForInput > 0 {
			silence = k.idle
		}
		if !some || silence < wait {
			wait, some = silence, true
		}
	}
	return wait, some
}

// fire is called by the timer.
func (k *clock) fire() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.ctx.Err() != nil {
		return
	}
	now := time.Now()
	switch {
	case k.total > 0 && now.Sub(k.begun) >= k.total:
		k.cancel(k.activeCall.timeoutError(false, k.waitingForInput > 0))
	case k.idle > 0 && k.waitingForInput == 0 && now.Sub(k.lastActivity) >= k.idle:
		k.cancel(k.activeCall.timeoutError(true, false))
	default:
		wait, _ := k.left(now)
		k.timer.Reset(wait)
	}
}

// active records that the server sent something.
func (k *clock) active() {
	k.mu.Lock()
	k.lastActivity = time.Now()
	k.mu.Unlock()
}

// waitForInput records that an input request has started (+1) or ended (-1).
func (k *clock) waitForInput(n int) {
	k.mu.Lock()
	k.waitingForInput += n
	k.lastActivity = time.Now()
	k.mu.Unlock()
}

// stop ends the context.
func (k *clock) stop() {
	k.mu.Lock()
	if k.timer != nil {
		k.timer.Stop()
	}
	k.mu.Unlock()
	k.cancel(context.Canceled)
}
