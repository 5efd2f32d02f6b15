package stdio

import (
	"errors"
	"fmt"
	"time"
)

// loop is the one goroutine of a Restarter. The life of the thing is:
//
//	starting → running → waiting → starting → …
//	starting → waiting             if it did not start
//	waiting  → gave up → starting  if it ended too often, and after Retry
//
// and from everywhere → closed. Each starting is one attempt; those who wait
// in Get wait for the current one.
func (r *Restarter[T]) loop(a *attempt[T]) {
	defer close(r.ended)
	for {
		r.changed(RunStatus{State: StateStarting})
		r.backoff.Started(time.Now())
		err := r.launch(a)
		if err == nil {
			r.changed(RunStatus{State: StateRunning})
			err = r.outlive(a.value)
		} else if ending, ok := errors.AsType[stillEnding](err); ok {
			<-ending.Done()
		}
		if a = r.next(a); !r.rest(a, err) {
			r.changed(RunStatus{State: StateClosed, Err: ErrClosed})
			return
		}
		// Given up and then told to retry: the attempt was used to say no.
		if a.err != nil {
			a = r.next(a)
		}
	}
}

// stillEnding is an error of something that did not start and has not ended.
type stillEnding interface {
	error
	Done() <-chan struct{}
}

// permanent is an error after which starting again does not help.
type permanent interface {
	error
	Permanent() bool
}

// launch starts the thing and settles the attempt. A thing that has started
// only after Close is ended again.
func (r *Restarter[T]) launch(a *attempt[T]) error {
	defer close(a.settled)
	a.value, a.err = r.start(r.ctx)
	failed := a.err
	if r.ctx.Err() != nil {
		if a.err == nil {
			r.closing = a.value.Close()
			failed = ErrClosed
		}
		a.err = ErrClosed
	}
	return failed
}

// outlive waits until value has ended, or ends it on Close, and returns why it
// ended.
func (r *Restarter[T]) outlive(value T) error {
	select {
	case <-value.Done():
	case <-r.ctx.Done():
	}
	closing := value.Close()
	if r.ctx.Err() != nil {
		r.closing = closing
	}
	if err := value.Err(); err != nil {
		return err
	}
	return errors.New("it ended without an error")
}

// next puts a new attempt in the place of the old one.
func (r *Restarter[T]) next(old *attempt[T]) *attempt[T] {
	a := newAttempt[T]()
	r.mu.Lock()
	r.current = a
	r.mu.Unlock()
	close(old.finished)
	return a
}

// rest waits as long as the backoff says. If that is for ever, the attempt a
// fails at once. It reports false when the Restarter is closed; a has failed
// then.
func (r *Restarter[T]) rest(a *attempt[T], why error) bool {
	if r.ctx.Err() != nil {
		return r.deny(a)
	}
	r.forgetRetry()
	var due <-chan time.Time
	delay, again := r.backoff.Ended(time.Now())
	refused, ok := errors.AsType[permanent](why)
	switch {
	case ok && refused.Permanent():
		a.err = why
		close(a.settled)
		r.changed(RunStatus{State: StateGaveUp, Err: a.err})
	case again:
		t := time.NewTimer(delay)
		defer t.Stop()
		due = t.C
		r.changed(RunStatus{State: StateWaiting, Err: why, Delay: delay})
	default:
		a.err = fmt.Errorf("%s and is not started again; last: %w", r.backoff.reason(), why)
		close(a.settled)
		r.changed(RunStatus{State: StateGaveUp, Err: a.err})
	}
	select {
	case <-due:
		return true
	case <-r.retry:
		r.backoff.Reset()
		return true
	case <-r.ctx.Done():
		return r.deny(a)
	}
}

// deny lets whoever still waits for a know that the Restarter is closed.
func (r *Restarter[T]) deny(a *attempt[T]) bool {
	if a.err == nil {
		a.err = ErrClosed
		close(a.settled)
	}
	return false
}

// forgetRetry drops a wish that came while the thing was running.
func (r *Restarter[T]) forgetRetry() {
	select {
	case <-r.retry:
	default:
	}
}

var _ Process = (*Child)(nil)
