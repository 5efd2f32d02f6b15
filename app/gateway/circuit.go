package gateway

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tenon-mcp/tenon/internal/outcome"
	"github.com/tenon-mcp/tenon/mcp"
)

// CircuitOptions configures [Circuit]; nil means the defaults.
type CircuitOptions struct {
	// Server is the name of the server in errors.
	Server string
	// IdleTimeout is how long the server may send nothing during a call.
	// Notifications of the call, such as progress, count. 0 means 60 s, and a
	// negative value no limit.
	IdleTimeout time.Duration
}

// Circuit returns middleware for a connection to a server that may hang or end.
//
// A call fails if the server sends nothing for IdleTimeout. After a call that
// timed out, or three calls in a row that failed without a response, the circuit
// pings the server. If there is no answer, the circuit opens: calls fail at once,
// with an error that says when the server is tried again. After 0.5, 1, 2 and then
// every 3 seconds the next call is let through; the circuit closes if it gets a
// response. Subscriptions have no limit.
func Circuit(o *CircuitOptions) mcp.Middleware {
	if o == nil {
		o = &CircuitOptions{}
	}
	return func(next mcp.Handler) mcp.Handler {
		b := newBreaker(o.Server, o.IdleTimeout)
		return mcp.HandlerFunc(func(ctx context.Context, c *mcp.Call) (mcp.Result, error) { return b.serve(ctx, next, c) })
	}
}

const (
	idleTimeout  = time.Minute // of a call, as in package client
	maxFailures  = 3           // in a row, before the server is pinged
	probeTimeout = 5 * time.Second

	// The first and the longest wait before a server that does not work is
	// tried again.
	firstRetry = 500 * time.Millisecond
	lastRetry  = 3 * time.Second
)

// A breaker is the state of a circuit.
type breaker struct {
	server string        // in errors
	idle   time.Duration // not positive: no limit
	// onOpen is called when calls have opened the circuit, without a lock; the
	// owner then closes it. Nil means that a call is let through after a while.
	onOpen func(error)

	counts   *callCounts  // of the server, whose connections share them
	calls    atomic.Int64 // that are open
	failures atomic.Int64 // calls in a row without a response
	answered atomic.Int64 // when the server last responded, in Unix nanoseconds
	probing  atomic.Bool

	open atomic.Pointer[outage] // nil while the circuit is closed

	mu   sync.Mutex // guards wait and changes of open
	wait time.Duration
}

// callCounts has the calls at a server: all, and those without a response.
type callCounts struct{ calls, failures atomic.Int64 }

// An outage is the state of an open circuit.
type outage struct {
	cause   error
	retryAt time.Time
	tried   atomic.Bool // a call was let through
}

func newBreaker(server string, idle time.Duration) *breaker {
	b := &breaker{counts: &callCounts{}, server: "the server", idle: cmp.Or(idle, idleTimeout), wait: firstRetry}
	if server != "" {
		b.server = "server " + server
	}
	return b
}

// serve makes a call at next, unless the circuit is open.
func (b *breaker) serve(ctx context.Context, next mcp.Handler, c *mcp.Call) (mcp.Result, error) {
	out := b.open.Load()
	counts := b.counts
	if _, _, ok := extensionList(c.Method); ok || lists[c.Method].method != "" {
		counts = new(callCounts) // the gateway reads lists by itself
	}
	single := c.IsNotification || c.Method == mcp.MethodSubscriptionsListen
	if !single {
		counts.calls.Add(1)
	}
	if out != nil && (b.onOpen != nil || time.Now().Before(out.retryAt) || out.tried.Swap(true)) {
		counts.failures.Add(1)
		return mcp.Result{}, b.unavailable(out)
	}
	if single {
		res, err := next.Serve(ctx, c)
		if out != nil {
			out.tried.Store(false) // it says nothing about the server
		}
		return res, b.named(ctx, err)
	}
	b.calls.Add(1)
	res, err := b.limited(ctx, next, c)
	b.calls.Add(-1)
	switch {
	case outcome.Answered(err):
		b.works()
	case ctx.Err() != nil: // the caller cancelled the call
		if out != nil {
			out.tried.Store(false)
		}
	case out != nil:
		counts.failures.Add(1)
		b.trip(err)
	default:
		counts.failures.Add(1)
		b.failed(ctx, next, err)
	}
	return res, b.named(ctx, err)
}

// named adds the name of the server to an error without a response.
func (b *breaker) named(ctx context.Context, err error) error {
	if outcome.Answered(err) || ctx.Err() != nil {
		return err
	}
	return mcp.Errorf(mcp.CodeInternal, "%s: %v", b.server, err)
}

// works records a response of the server and closes the circuit.
func (b *breaker) works() {
	b.answered.Store(time.Now().UnixNano())
	if b.failures.Load() != 0 {
		b.failures.Store(0)
	}
	if b.open.Load() == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.wait = firstRetry
	b.open.Store(nil)
}

// failed records a call without a response, and opens the circuit if the server
// does not respond to a ping either.
func (b *breaker) failed(ctx context.Context, next mcp.Handler, err error) {
	_, silent := errors.AsType[*idleError](err)
	if b.failures.Add(1) < maxFailures && !silent || !b.probing.CompareAndSwap(false, true) {
		return
	}
	defer b.probing.Store(false)
	unanswered := b.probe(ctx, next)
	switch {
	case ctx.Err() != nil:
		return // nothing is known
	case unanswered == nil:
		b.works()
		return
	}
	b.trip(err)
	if b.onOpen != nil {
		b.onOpen(err)
	}
}

// probe pings the server. Any response will do. There is no error if ctx ends
// first.
func (b *breaker) probe(ctx context.Context, next mcp.Handler) error {
	limit, cancel := context.WithTimeoutCause(ctx, probeTimeout, &idleError{probeTimeout})
	defer cancel()
	_, err := next.Serve(limit, &mcp.Call{Method: mcp.MethodPing})
	switch {
	case outcome.Answered(err) || ctx.Err() != nil:
		return nil
	case limit.Err() != nil:
		return context.Cause(limit)
	}
	return err
}

// trip opens the circuit, or keeps it open, and returns when the server is tried
// again.
func (b *breaker) trip(cause error) (wait time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	wait = b.wait
	b.wait = min(2*b.wait, lastRetry)
	b.open.Store(&outage{cause: cause, retryAt: time.Now().Add(wait)})
	return wait
}

// unavailable returns the error for a call while the circuit is open.
func (b *breaker) unavailable(out *outage) error {
	after, when := time.Until(out.retryAt).Round(100*time.Millisecond), "is being tried again now"
	if after > 0 {
		when = "is tried again in " + after.String()
	}
	e := mcp.Errorf(mcp.CodeInternal, "%s is not available and %s: %v", b.server, when, out.cause)
	return e.With(map[string]int64{"retryAfter": mcp.RetrySeconds(after)})
}

// An idleError is the error of a call during which the server sent nothing.
type idleError struct{ after time.Duration }

func (e *idleError) Error() string { return "no response for " + e.after.String() }

// limited makes a call that fails if the server sends nothing for too long.
func (b *breaker) limited(ctx context.Context, next mcp.Handler, c *mcp.Call) (mcp.Result, error) {
	if b.idle <= 0 {
		return next.Serve(ctx, c)
	}
	life, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	k := &limitedCall{call: *c, idle: b.idle}
	k.timer = time.AfterFunc(b.idle, func() { cancel(&idleError{b.idle}) })
	defer k.timer.Stop()
	if c.OnNotification != nil {
		k.notify, k.call.OnNotification = c.OnNotification, k.notified
	}
	res, err := next.Serve(life, &k.call)
	if err != nil && life.Err() != nil && ctx.Err() == nil {
		if silent, ok := errors.AsType[*idleError](context.Cause(life)); ok {
			mcp.Abandon(err)
			return mcp.Result{}, silent
		}
	}
	return res, err
}

// A limitedCall is a call with an idle timeout.
type limitedCall struct {
	call   mcp.Call
	idle   time.Duration
	timer  *time.Timer
	notify func(mcp.Notification)
}

func (k *limitedCall) notified(n mcp.Notification) {
	k.timer.Reset(k.idle)
	k.notify(n)
}
