package client

import (
	"context"
	"sync"
	"time"
)

// A clock ends the context of one call when a time limit is reached. A single
// timer serves both limits. A sign of life only notes the time: when the timer
// fires too early because of it, it is set again for the rest.
type clock struct {
	idle, total time.Duration // not positive: no such limit
	ctx         context.Context
	cancel      context.CancelCauseFunc
	flight      *flight // whose clock it is

	mu              sync.Mutex
	timer           *time.Timer // nil: no limit
	begun           time.Time
	sign            time.Time // the last sign of life
	waitingForInput int       // questions that wait for an answer; the server may be silent
}

// start sets the clock off and returns the context to make the call with.
func (k *clock) start(parent context.Context, idle, total time.Duration) context.Context {
	k.ctx, k.cancel = context.WithCancelCause(parent)
	k.idle, k.total = idle, total
	k.mu.Lock()
	defer k.mu.Unlock()
	k.begun = time.Now()
	k.sign = k.begun
	if wait, some := k.left(k.begun); some {
		k.timer = time.AfterFunc(wait, k.rings)
	}
	return k.ctx
}

// left is how long it is until the next limit.
func (k *clock) left(now time.Time) (wait time.Duration, some bool) {
	if k.total > 0 {
		wait, some = k.total-now.Sub(k.begun), true
	}
	if k.idle > 0 {
		silence := k.idle - now.Sub(k.sign)
		if k.waitingForInput > 0 {
			silence = k.idle
		}
		if !some || silence < wait {
			wait, some = silence, true
		}
	}
	return wait, some
}

// rings is called by the timer.
func (k *clock) rings() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.ctx.Err() != nil {
		return
	}
	now := time.Now()
	switch {
	case k.total > 0 && now.Sub(k.begun) >= k.total:
		k.cancel(k.flight.limit(false, k.waitingForInput > 0))
	case k.idle > 0 && k.waitingForInput == 0 && now.Sub(k.sign) >= k.idle:
		k.cancel(k.flight.limit(true, false))
	default:
		wait, _ := k.left(now)
		k.timer.Reset(wait)
	}
}

// alive notes a sign of life.
func (k *clock) alive() {
	k.mu.Lock()
	k.sign = time.Now()
	k.mu.Unlock()
}

// ask says that a question is being answered (+1) or was answered (-1).
func (k *clock) ask(n int) {
	k.mu.Lock()
	k.waitingForInput += n
	k.sign = time.Now()
	k.mu.Unlock()
}

// stop ends the context, if it has not ended.
func (k *clock) stop() {
	k.mu.Lock()
	if k.timer != nil {
		k.timer.Stop()
	}
	k.mu.Unlock()
	k.cancel(context.Canceled)
}
