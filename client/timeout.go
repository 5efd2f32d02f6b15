package client

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/internal/timeoutpause"
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
	// Working is set if the server was still working on the call, for example
	// as a task; see [PauseTimeouts].
	Working bool
}

// Error says which limit the call reached.
func (e *TimeoutError) Error() string {
	switch {
	case e.Idle:
		return fmt.Sprintf("%s: no response from the server for %s", callName(e.Method, e.Name), formatDuration(e.After))
	case e.Working:
		return fmt.Sprintf("%s: stopped waiting after %s, although the server was still working on it", callName(e.Method, e.Name), formatDuration(e.After))
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
	liftable    bool        // the total limit is the default

	mu              sync.Mutex
	long            bool        // the server works on the call for as long as it needs
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
	if k.limited() {
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

// limited reports whether there is a limit of the whole call.
func (k *clock) limited() bool { return k.total > 0 && !(k.long && k.liftable) }

// fire is called by the timer.
func (k *clock) fire() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.ctx.Err() != nil {
		return
	}
	now := time.Now()
	switch {
	case k.limited() && now.Sub(k.begun) >= k.total:
		k.cancel(k.activeCall.timeoutError(false, k.waitingForInput > 0))
	case k.idle > 0 && k.waitingForInput == 0 && now.Sub(k.lastActivity) >= k.idle:
		k.cancel(k.activeCall.timeoutError(true, false))
	default:
		if wait, some := k.left(now); some {
			k.timer.Reset(wait)
		}
	}
}

// active records that the server sent something.
func (k *clock) active() {
	k.mu.Lock()
	k.lastActivity = time.Now()
	k.mu.Unlock()
}

// Pause records that a wait which is not for the server has started (+1) or
// ended (-1): for the response to an input request, a login, or work that
// takes long.
func (k *clock) Pause(n int) {
	k.mu.Lock()
	k.waitingForInput += n
	k.lastActivity = time.Now()
	k.mu.Unlock()
}

// Lift ends the total limit, if it is the default.
func (k *clock) Lift() {
	k.mu.Lock()
	k.long = true
	k.mu.Unlock()
}

// PauseTimeouts tells the client that made a call that the server is working
// on it and that no response is due: the idle timeout of the call is paused
// until resume is called, which must be once, and the default total timeout
// does not apply to the call any more. Middleware of an extension calls it, with
// the context of the call, before it waits: for example between two polls of a
// task. Without a client, it does nothing.
func PauseTimeouts(ctx context.Context) (resume func()) {
	timeoutpause.Lift(ctx)
	return timeoutpause.Hold(ctx)
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
