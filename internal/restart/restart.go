// Package restart keeps a process or a connection running: a [Supervisor]
// starts it, and starts it again after a delay when it ends.
package restart

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// A Process runs until it ends or is closed.
type Process interface {
	Done() <-chan struct{} // closed when it has ended
	Err() error            // why, once Done is closed
	Close() error          // ends it and waits until it has ended
}

// A State is what a Supervisor is doing.
type State string

// The states of a Supervisor.
const (
	Starting State = "starting"
	Running  State = "running"
	Waiting  State = "waiting" // the process ended or did not start; the next start follows after Delay
	GaveUp   State = "gave up" // it ended too often; only Retry starts it again
	Closed   State = "closed"
)

// A Status is a State with its circumstances.
type Status struct {
	State State
	Err   error         // why the process does not run; nil if it runs or starts
	Delay time.Duration // until the next start, if State is Waiting
}

// Options configures a [Supervisor]; nil means the defaults.
type Options struct {
	Backoff Backoff

	// Changed is called with every change of state, one at a time and in
	// order. It must not call Close. Nil means no callback.
	Changed func(Status)
}

// ErrClosed is the error of a Supervisor that was closed.
var ErrClosed = errors.New("the connection was closed on this side")

// A Supervisor keeps one Process running. It starts it at the first Get, and
// again whenever it ends, until it ends too often or Close is called.
type Supervisor[T Process] struct {
	start   func(context.Context) (T, error)
	backoff Backoff
	changed func(Status)

	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	retry  chan struct{} // holds a token after Retry
	ended  chan struct{} // closed when run has returned

	mu      sync.Mutex
	current *attempt[T] // nil until the first Get
	closed  bool
	closing error // the error of closing the last process
}

// An attempt is one start and its outcome.
type attempt[T Process] struct {
	settled  chan struct{} // closed when value or err is set
	value    T
	err      error
	replaced chan struct{} // closed when another attempt is current
}

// New returns a Supervisor that has not started anything yet. The context of
// start ends with Close. If the error of start, or one that it wraps, has a
// method Done() <-chan struct{}, the Supervisor waits for that channel before
// it starts again and before Close returns: a process is still ending. If it
// has a method Permanent() bool that returns true, the Supervisor gives up at
// once, until Retry.
func New[T Process](start func(context.Context) (T, error), o *Options) *Supervisor[T] {
	s := &Supervisor[T]{start: start, changed: func(Status) {}, retry: make(chan struct{}, 1), ended: make(chan struct{})}
	if o != nil {
		s.backoff = o.Backoff
		if o.Changed != nil {
			s.changed = o.Changed
		}
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s
}

// Get returns the running process, or waits for the next start and returns its
// outcome. ctx bounds only the wait: a process that runs is returned even if
// ctx has ended. After giving up, and after Close, Get fails at once. A process
// may end right after it was returned.
func (s *Supervisor[T]) Get(ctx context.Context) (T, error) {
	var none T
	for {
		a, err := s.wanted()
		if err != nil {
			return none, err
		}
		if !awaits(ctx, a.settled) {
			return none, fmt.Errorf("gave up waiting for the server to start: %w", context.Cause(ctx))
		}
		if a.err != nil {
			return none, a.err
		}
		select {
		case <-a.value.Done():
		default:
			return a.value, nil
		}
		// It has just ended; another attempt follows.
		if !awaits(ctx, a.replaced) {
			return none, fmt.Errorf("gave up waiting for the server to start again: %w", context.Cause(ctx))
		}
	}
}

// awaits waits until event is closed, and reports false if ctx ends before.
func awaits(ctx context.Context, event <-chan struct{}) bool {
	select {
	case <-event:
		return true
	case <-ctx.Done():
	}
	select {
	case <-event:
		return true
	default:
		return false
	}
}

// wanted returns the current attempt; the first call starts run.
func (s *Supervisor[T]) wanted() (*attempt[T], error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, ErrClosed
	}
	if s.current == nil {
		s.current = newAttempt[T]()
		go s.run(s.current)
	}
	return s.current, nil
}

// Retry starts the process now instead of after a delay, also after giving up,
// and resets the Backoff. It does nothing while the process runs.
func (s *Supervisor[T]) Retry() {
	select {
	case s.retry <- struct{}{}:
	default:
	}
}

// Close ends the process and the Supervisor, and returns the error of closing
// the process.
func (s *Supervisor[T]) Close() error {
	s.mu.Lock()
	if !s.closed && s.current == nil {
		close(s.ended)
	}
	s.closed = true
	s.mu.Unlock()
	s.cancel()
	<-s.ended
	return s.closing
}

func newAttempt[T Process]() *attempt[T] {
	return &attempt[T]{settled: make(chan struct{}), replaced: make(chan struct{})}
}

// run is the goroutine of a Supervisor. Its states are:
//
//	starting → running → waiting → starting → …
//	starting → waiting             if the process did not start
//	waiting  → gave up → starting  if it ended too often, and after Retry
//
// and from each → closed. Get waits for the outcome of the current attempt.
func (s *Supervisor[T]) run(a *attempt[T]) {
	defer close(s.ended)
	for {
		s.changed(Status{State: Starting})
		s.backoff.Started(time.Now())
		err := s.launch(a)
		if err == nil {
			s.changed(Status{State: Running})
			err = s.await(a.value)
		} else if ending, ok := errors.AsType[stillEnding](err); ok {
			<-ending.Done()
		}
		if a = s.next(a); !s.pause(a, err) {
			s.changed(Status{State: Closed, Err: ErrClosed})
			return
		}
		if a.err != nil { // it reported giving up, before Retry
			a = s.next(a)
		}
	}
}

// stillEnding is the error of a process that did not start and has not ended.
type stillEnding interface {
	error
	Done() <-chan struct{}
}

// permanent is an error after which starting again does not help.
type permanent interface {
	error
	Permanent() bool
}

// launch starts the process and settles the attempt. A process that starts only
// after Close is ended again.
func (s *Supervisor[T]) launch(a *attempt[T]) error {
	defer close(a.settled)
	a.value, a.err = s.start(s.ctx)
	failed := a.err
	if s.ctx.Err() != nil {
		if a.err == nil {
			s.closing = a.value.Close()
			failed = ErrClosed
		}
		a.err = ErrClosed
	}
	return failed
}

// await waits until the process has ended, or ends it on Close, and returns why
// it ended.
func (s *Supervisor[T]) await(value T) error {
	select {
	case <-value.Done():
	case <-s.ctx.Done():
	}
	closing := value.Close()
	if s.ctx.Err() != nil {
		s.closing = closing
	}
	if err := value.Err(); err != nil {
		return err
	}
	return errors.New("it ended without an error")
}

// next replaces the current attempt by a new one.
func (s *Supervisor[T]) next(old *attempt[T]) *attempt[T] {
	a := newAttempt[T]()
	s.mu.Lock()
	s.current = a
	s.mu.Unlock()
	close(old.replaced)
	return a
}

// pause waits for the delay of the Backoff, or for Retry after giving up; in
// that case the attempt a fails at once. It reports false if the Supervisor is
// closed; a has failed then.
func (s *Supervisor[T]) pause(a *attempt[T], why error) bool {
	if s.ctx.Err() != nil {
		return s.deny(a)
	}
	select {
	case <-s.retry: // from before the process ended
	default:
	}
	var due <-chan time.Time
	delay, again := s.backoff.Ended(time.Now())
	refused, ok := errors.AsType[permanent](why)
	isPermanent := ok && refused.Permanent()
	if again && !isPermanent {
		t := time.NewTimer(delay)
		defer t.Stop()
		due = t.C
		s.changed(Status{State: Waiting, Err: why, Delay: delay})
	} else {
		if a.err = why; !isPermanent {
			a.err = fmt.Errorf("%s and is not started again; last: %w", s.backoff.reason(), why)
		}
		close(a.settled)
		s.changed(Status{State: GaveUp, Err: a.err})
	}
	select {
	case <-due:
		return true
	case <-s.retry:
		s.backoff.Reset()
		return true
	case <-s.ctx.Done():
		return s.deny(a)
	}
}

// deny fails an attempt because the Supervisor is closed.
func (s *Supervisor[T]) deny(a *attempt[T]) bool {
	if a.err == nil {
		a.err = ErrClosed
		close(a.settled)
	}
	return false
}
