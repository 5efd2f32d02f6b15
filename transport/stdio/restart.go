package stdio

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Process is something that runs until it ends or is closed, such as a
// [*Child] or a connection.
type Process interface {
	Done() <-chan struct{} // closed when it has ended
	Err() error            // why, once Done is closed
	Close() error          // ends it and waits until it has ended
}

// A RunState is what a Restarter is doing.
type RunState string

// The states of a Restarter.
const (
	StateStarting RunState = "starting" // the start func runs
	StateRunning  RunState = "running"  // the thing lives
	StateWaiting  RunState = "waiting"  // it ended, or did not start; the next start is due after Delay
	StateGaveUp   RunState = "gave up"  // it ended too often; only Retry starts it again
	StateClosed   RunState = "closed"   // Close was called
)

// A RunStatus is a state with its circumstances.
type RunStatus struct {
	State RunState
	Err   error         // why the thing is not running; nil if it is or starts
	Delay time.Duration // until the next start, when waiting
}

// RestartOptions configures a [Restarter]. A nil *RestartOptions means the
// defaults.
type RestartOptions struct {
	// Backoff decides on waits and on giving up. Nil means the zero Backoff.
	// It belongs to the Restarter from then on.
	Backoff *Backoff

	// Changed is called with every change of state, one at a time and in
	// order. It must not call the Restarter's Close. Nil means no callback.
	Changed func(RunStatus)
}

// ErrClosed is returned by a Restarter that was closed.
var ErrClosed = errors.New("the connection was closed on this side")

// A Restarter keeps one T alive: it starts it when it is first wanted and again
// whenever it ends, with waits in between, until it ends too often or Close is
// called.
type Restarter[T Process] struct {
	start   func(context.Context) (T, error)
	backoff *Backoff
	changed func(RunStatus)

	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	retry  chan struct{} // holds one wish to start now
	ended  chan struct{} // closed when the loop has ended

	mu      sync.Mutex
	current *attempt[T] // nil until the first Get
	closed  bool
	closing error // what closing the last T said
}

// An attempt is one start and what became of it.
type attempt[T Process] struct {
	settled  chan struct{} // closed when value or err is set
	value    T
	err      error
	finished chan struct{} // closed when another attempt has taken its place
}

// NewRestarter returns a Restarter that starts nothing yet. The context given
// to start ends with Close. If the error of start, or one that it wraps, has a
// method Done() <-chan struct{}, the Restarter waits for that channel to be
// closed before it starts again and before Close returns: something that was
// started is still ending. If it has a method Permanent() bool that returns
// true, the Restarter gives up at once, until Retry.
func NewRestarter[T Process](start func(context.Context) (T, error), o *RestartOptions) *Restarter[T] {
	var opts RestartOptions
	if o != nil {
		opts = *o
	}
	if opts.Backoff == nil {
		opts.Backoff = &Backoff{}
	}
	if opts.Changed == nil {
		opts.Changed = func(RunStatus) {}
	}
	r := &Restarter[T]{
		start:   start,
		backoff: opts.Backoff,
		changed: opts.Changed,
		retry:   make(chan struct{}, 1),
		ended:   make(chan struct{}),
	}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	return r
}

// Get returns the running T, or waits for the next start and returns what
// comes of it; ctx bounds the wait only, so that a ctx that has ended gets a T
// that runs. While the Restarter has given up, and after Close, it fails at
// once. A T may end right after it was returned; its own errors tell.
func (r *Restarter[T]) Get(ctx context.Context) (T, error) {
	var none T
	for {
		a, err := r.wanted()
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
		if !awaits(ctx, a.finished) {
			return none, fmt.Errorf("gave up waiting for the server to start again: %w", context.Cause(ctx))
		}
	}
}

// awaits waits until event is closed, and reports false if ctx ends before. An
// event that is closed already counts, whatever ctx says.
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

// wanted returns the current attempt; the first call makes the loop begin.
func (r *Restarter[T]) wanted() (*attempt[T], error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, ErrClosed
	}
	if r.current == nil {
		r.current = newAttempt[T]()
		go r.loop(r.current)
	}
	return r.current, nil
}

// Retry starts the thing now instead of after a wait, also if the Restarter
// has given up; what happened before is forgotten. It does nothing to a thing
// that runs.
func (r *Restarter[T]) Retry() {
	select {
	case r.retry <- struct{}{}:
	default:
	}
}

// Close ends the running T and the Restarter, and returns what closing T said.
func (r *Restarter[T]) Close() error {
	r.mu.Lock()
	first := !r.closed
	r.closed = true
	if first && r.current == nil {
		close(r.ended)
	}
	r.mu.Unlock()
	r.cancel()
	<-r.ended
	return r.closing
}

func newAttempt[T Process]() *attempt[T] {
	return &attempt[T]{settled: make(chan struct{}), finished: make(chan struct{})}
}
