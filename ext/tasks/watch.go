package tasks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/mcp"
)

// The limits of a watch.
const (
	defaultPoll    = time.Second
	maxPoll        = time.Minute
	subscribedPoll = 30 * time.Second // while there is a subscription, in case a notification was lost
	getTimeout     = 20 * time.Second // of one tasks/get
	maxOutage      = 2 * time.Minute  // how long requests may fail until the watch gives up; see WithMaxOutage
)

// A watch learns of the states of a task: from a subscription if the server has
// that, and by polling.
type watch struct {
	server mcp.Handler
	call   *mcp.Call // for its caller
	id     string
	others []func(Task)
	outage func() // called when the state could not be fetched; may be nil

	poll    time.Duration
	expires time.Time     // when the server may forget the task; zero means never
	failing time.Time     // since when requests fail; zero means they do not
	limit   time.Duration // how long they may
	due     bool          // the state has no payload: get it at once

	cancel context.CancelFunc
	acked  chan struct{} // closed when the server has acknowledged the subscription
	over   chan struct{} // closed when the subscription has ended

	mu     sync.Mutex
	latest *Task         // the newest state that next has not returned
	signal chan struct{} // has a token if there is one
}

// newWatch returns a watch for a task with a known state, which subscribes until
// it is stopped. The states of other tasks are passed to others.
func newWatch(ctx context.Context, next mcp.Handler, c *mcp.Call, t Task, others ...func(Task)) *watch {
	w := &watch{limit: maxOutage, server: next, call: c, id: t.ID, others: others, acked: make(chan struct{}), over: make(chan struct{}), signal: make(chan struct{}, 1)}
	if d, ok := ctx.Value(outageKey{}).(time.Duration); ok {
		w.limit = d
	}
	w.saw(t)
	// A handle has no payload.
	w.due = t.Status == InputRequired && t.InputRequests == nil || t.Status.Final() && t.Result == nil && t.Error == nil
	if t.Status.Final() {
		w.cancel = func() {}
		close(w.over)
		return w
	}
	ctx, w.cancel = context.WithCancel(ctx)
	go w.listen(ctx)
	return w
}

func (w *watch) stop() {
	w.cancel()
	<-w.over
}

// saw notes how often the server wants to be asked.
func (w *watch) saw(t Task) {
	w.poll = min(cmp.Or(t.PollInterval, defaultPoll), maxPoll)
	if t.TTL > 0 && w.expires.IsZero() {
		w.expires = time.Now().Add(t.TTL)
	}
}

// listen subscribes to the task until ctx ends.
func (w *watch) listen(ctx context.Context) {
	defer close(w.over)
	params, err := mcp.Marshal(map[string]any{"notifications": map[string]any{Filter: []string{w.id}}})
	if err != nil {
		return
	}
	var once sync.Once
	_, _ = w.server.Serve(ctx, &mcp.Call{Method: mcp.MethodSubscriptionsListen, Params: params, Caller: w.call.Caller, OnNotification: func(n mcp.Notification) {
		if n.Method == mcp.NotificationSubscriptionsAcknowledged && strings.Contains(string(n.Params), w.id) {
			once.Do(func() { close(w.acked) })
		} else if t, ok := notifiedTask(n); ok {
			w.put(t)
		}
	}}) // without a subscription there is polling
}

// notifiedTask returns the state in a notification.
func notifiedTask(n mcp.Notification) (t Task, ok bool) {
	return t, n.Method == Notification && mcp.Unmarshal(n.Params, &t) == nil
}

// put keeps a state for next. A state that follows the final one is an older one.
func (w *watch) put(t Task) {
	if t.ID != w.id {
		for _, f := range w.others {
			f(t)
		}
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.latest == nil || !w.latest.Status.Final() {
		w.latest = &t
	}
	signal(w.signal)
}

func (w *watch) take() *Task {
	w.mu.Lock()
	defer w.mu.Unlock()
	t := w.latest
	w.latest = nil
	return t
}

// next waits for the next state, which may be the same as the last.
func (w *watch) next(ctx context.Context) (Task, error) {
	for {
		t, err := w.await(ctx)
		if err == nil && t == nil {
			t, err = w.fetch(ctx)
		}
		if err != nil {
			return Task{}, err
		}
		if t != nil {
			w.saw(*t)
			return *t, nil
		}
	}
}

// await waits for a notification. It returns nil when it is time to poll.
func (w *watch) await(ctx context.Context) (*Task, error) {
	defer client.PauseTimeouts(ctx)()
	pause, over := w.pause()
	timer := time.NewTimer(pause)
	defer timer.Stop()
	for {
		select {
		case <-w.signal:
			if t := w.take(); t != nil {
				return t, nil
			}
		case <-over: // the subscription is gone: poll from now on
			over = nil
			timer.Reset(min(pause, w.poll))
		case <-timer.C:
			return nil, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// pause returns the time until the next poll; over is closed when a subscription
// that makes it longer has ended.
func (w *watch) pause() (d time.Duration, over <-chan struct{}) {
	if w.due {
		w.due = false
		return 0, nil
	}
	select {
	case <-w.over:
		return w.poll, nil
	default:
	}
	select {
	case <-w.acked:
		return max(w.poll, min(10*w.poll, subscribedPoll, w.limit)), w.over
	default:
		return w.poll, nil
	}
}

// fetch gets the state. It returns nil if that failed but may succeed later.
func (w *watch) fetch(ctx context.Context) (*Task, error) {
	began := time.Now()
	asked, cancel := context.WithTimeout(ctx, min(getTimeout, w.limit))
	t, err := get(asked, w.server, w.call, w.id)
	cancel()
	switch {
	case err == nil:
		w.failing = time.Time{}
		return t, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case IsPermanent(err):
		return nil, explainUnknown(w.id, err)
	}
	now := time.Now()
	if w.failing.IsZero() {
		w.failing = began
	}
	if d := now.Sub(w.failing); d >= w.limit || !w.expires.IsZero() && now.After(w.expires) {
		return nil, fmt.Errorf("task %q: %w for %v: %w", clip(w.id), ErrOutage, d.Round(time.Second), err)
	}
	if w.outage != nil {
		w.outage()
	}
	return nil, nil
}

// ErrOutage is in the error of a call whose task goes on as far as is known, but
// whose server could not be reached for two minutes, or the time of [WithMaxOutage].
var ErrOutage = errors.New("no state from the server")

// WithMaxOutage returns a context for a tool call through the middleware [Client], or
// for [Handle.Wait] and [Handle.Updates]: they fail with [ErrOutage] when the server
// could not be reached for d, which must be positive, instead of two minutes.
func WithMaxOutage(ctx context.Context, d time.Duration) context.Context {
	return context.WithValue(ctx, outageKey{}, d)
}

type outageKey struct{}

// IsPermanent reports whether asking a server again about a task makes no sense
// after an error: the server does not know the task or the extension, or the
// connection is closed for good. Errors of other packages may have a method
// Permanent that says so.
func IsPermanent(err error) bool {
	if e, ok := errors.AsType[*mcp.Error](err); ok && !e.Local {
		switch e.Code {
		case mcp.CodeInvalidParams, mcp.CodeMethodNotFound, mcp.CodeInvalidRequest, mcp.CodeMissingCapability, mcp.CodeUnsupportedVersion:
			return true
		}
	}
	if _, closed := errors.AsType[*mcp.ClosedError](err); closed {
		return true
	}
	var e interface{ Permanent() bool }
	return errors.As(err, &e) && e.Permanent()
}

// IsUnknown reports whether an error of a task means that the server does not know
// the task, or not any more.
func IsUnknown(err error) bool {
	e, ok := errors.AsType[*mcp.Error](err)
	return ok && !e.Local && e.Code == mcp.CodeInvalidParams
}

// explainUnknown says what to do about a task that the server does not know.
func explainUnknown(id string, err error) error {
	if IsUnknown(err) {
		return fmt.Errorf("the server has no task %q: it has expired, belongs to another user, or was lost when the server restarted; call the tool again: %w", clip(id), err)
	}
	return fmt.Errorf("task %q: %w", clip(id), err)
}

// The bounds of earlyTasks.
const (
	maxEarly   = 64
	earlyTime  = 30 * time.Second
	earlyBytes = 64 << 10 // of a result; a larger one is fetched again
)

// earlyTasks keeps for a moment the states of tasks that are not known yet: some
// servers notify of a task before they return it.
type earlyTasks struct {
	mu   sync.Mutex
	list []earlyTask // oldest first
}

type earlyTask struct {
	task Task
	at   time.Time
}

// notified keeps the state in a notification, and reports whether there is one.
func (e *earlyTasks) notified(n mcp.Notification) bool {
	t, ok := notifiedTask(n)
	if ok {
		e.put(t)
	}
	return ok
}

func (e *earlyTasks) put(t Task) {
	if len(t.Result) > earlyBytes || t.InputRequests != nil {
		t = t.handle()
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.remove(t.ID)
	if len(e.list) == maxEarly {
		e.list = e.list[1:]
	}
	e.list = append(e.list, earlyTask{t, time.Now()})
}

// take returns and removes the state of a task.
func (e *earlyTasks) take(id string) (Task, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.remove(id)
}

// remove removes a task and those that were kept for too long. The lock is held.
func (e *earlyTasks) remove(id string) (t Task, found bool) {
	kept := e.list[:0]
	for _, one := range e.list {
		switch {
		case time.Since(one.at) > earlyTime:
		case one.task.ID == id:
			t, found = one.task, true
		default:
			kept = append(kept, one)
		}
	}
	clear(e.list[len(kept):])
	e.list = kept
	return t, found
}

// progressSeen records the last progress of a call, which must increase also
// after the call has become a task.
type progressSeen struct {
	mu   sync.Mutex
	last float64
}

func (p *progressSeen) notified(n mcp.Notification) {
	var params mcp.ProgressParams
	if n.Method == mcp.NotificationProgress && mcp.Unmarshal(n.Params, &params) == nil {
		p.mu.Lock()
		p.last = max(p.last, params.Progress)
		p.mu.Unlock()
	}
}

func (p *progressSeen) value() float64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.last
}
