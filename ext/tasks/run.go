package tasks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/mcp"
)

// A run is a task that this process works on.
//
// The flow of a run is: serve the call; if it requires input, publish the
// requests in the record and wait until clients have responded to all of them;
// serve it again with the responses; at the end store the result. Requests of
// clients act on the record only, and the run watches it, so that they may
// arrive at any process that shares the store.
type run struct {
	m       *Manager
	id      string
	used    map[string]bool // keys of input requests, never used again
	woken   chan struct{}   // has a token when the record may have changed, for watch
	changed chan struct{}   // likewise, for ask

	mu      sync.Mutex
	message string // a status message that is not stored yet
	saving  bool   // a goroutine stores messages
}

var (
	errCancelled = errors.New("the task was cancelled")
	errExpired   = errors.New("the task took longer than its time to live")
)

// run serves a call until it has a result.
func (m *Manager) run(id string, expires time.Time, c *mcp.Call, next mcp.Handler) {
	ctx, cancel := context.WithCancelCause(m.ctx)
	defer cancel(nil)
	// A task fails a moment before its record expires, so that clients see it.
	ctx, stop := context.WithDeadlineCause(ctx, expires.Add(-m.margin()), errExpired)
	defer stop()

	r := &run{m: m, id: id, used: map[string]bool{}, woken: make(chan struct{}, 1), changed: make(chan struct{}, 1)}
	unwatch := m.store.Watch(id, r.wake)
	watching := make(chan struct{})
	go func() {
		defer close(watching)
		r.watch(ctx, cancel)
	}()
	call := *c
	call.Detach, call.Progress, call.OnNotification = nil, true, r.notified
	res, err := r.serve(ctx, &call, next)
	cause := context.Cause(ctx)
	cancel(nil)
	unwatch()
	<-watching
	r.settle(cause, res, err)
}

// margin is how long before the end of its TTL a running task fails.
func (m *Manager) margin() time.Duration { return min(m.opts.TTL/10, 10*time.Second) }

func (r *run) wake() {
	signal(r.woken)
	signal(r.changed)
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// watch follows the record: it ends the run of a task that was cancelled, and
// renews the lease.
func (r *run) watch(ctx context.Context, cancel context.CancelCauseFunc) {
	renew := time.NewTicker(lease / 3)
	defer renew.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-renew.C:
			r.renew(ctx)
			continue
		case <-r.woken:
		}
		rec, err := r.m.store.Get(ctx, r.id)
		switch {
		case errors.Is(err, ErrNotFound) || err == nil && rec.Task.Status == Cancelled:
			cancel(errCancelled)
			return
		case err != nil:
			r.retry(ctx, err)
		}
	}
}

// retry looks at the record again after an error of the store.
func (r *run) retry(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	r.m.opts.Log.Warn("tasks: read a running task", "task", r.id, "error", err)
	time.AfterFunc(time.Second, r.wake)
}

func (r *run) renew(ctx context.Context) {
	_, err := change(ctx, r.m.store, r.id, func(rec *Record) bool {
		if rec.Task.Status.Final() {
			return false
		}
		rec.Lease = time.Now().Add(lease)
		return true
	})
	if err != nil && ctx.Err() == nil && !errors.Is(err, ErrNotFound) {
		r.m.opts.Log.Warn("tasks: renew the lease of a task", "task", r.id, "error", err)
	}
}

// serve serves the call and its further rounds. A panic is an error.
func (r *run) serve(ctx context.Context, c *mcp.Call, next mcp.Handler) (res mcp.Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			r.m.opts.Log.Error("panic in a task", "task", r.id, "panic", p, "stack", string(debug.Stack()))
			res, err = mcp.Result{}, mcp.Errorf(mcp.CodeInternal, "internal error while running the task")
		}
	}()
	for {
		res, err := next.Serve(ctx, c)
		need, ok := errors.AsType[*mcp.InputRequired](err)
		if !ok {
			return res, err
		}
		responses, err := r.ask(ctx, need.Requests)
		if err != nil {
			mcp.Abandon(need)
			return mcp.Result{}, err
		}
		again := *c
		again.State, again.InputResponses = need.State, maps.Clone(need.PriorResponses)
		if again.InputResponses == nil {
			again.InputResponses = responses
		} else {
			maps.Copy(again.InputResponses, responses)
		}
		c = &again
	}
}

// ask publishes input requests in the record and waits for the responses to
// all of them. A key that was used before gets a number: within a task no key
// may stand for two requests.
func (r *run) ask(ctx context.Context, requests map[string]mcp.InputRequest) (map[string]json.RawMessage, error) {
	if len(requests) == 0 {
		return nil, nil
	}
	open := make(map[string]mcp.InputRequest, len(requests))
	original := make(map[string]string, len(requests))
	for key, q := range requests {
		fresh := key
		for n := 2; r.used[fresh]; n++ {
			fresh = key + "-" + strconv.Itoa(n)
		}
		r.used[fresh] = true
		open[fresh], original[fresh] = q, key
	}
	_, err := change(ctx, r.m.store, r.id, func(rec *Record) bool {
		if rec.Task.Status.Final() {
			return false
		}
		rec.Task.Status, rec.Task.InputRequests, rec.Responses = InputRequired, open, nil
		return true
	})
	if err != nil {
		return nil, err
	}
	r.wake() // it may have been cancelled
	for {
		select {
		case <-r.changed:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		got, err := r.responses(ctx)
		if err != nil {
			r.retry(ctx, err)
		}
		if got == nil {
			continue
		}
		responses := make(map[string]json.RawMessage, len(got))
		for key, v := range got {
			responses[original[key]] = v
		}
		return responses, nil
	}
}

// responses takes the responses out of the record; nil while some are missing.
func (r *run) responses(ctx context.Context) (got map[string]json.RawMessage, err error) {
	_, err = change(ctx, r.m.store, r.id, func(rec *Record) bool {
		got = nil
		if rec.Task.Status != Working {
			return false
		}
		got, rec.Responses = rec.Responses, nil
		return true
	})
	if err != nil {
		return nil, err
	}
	return got, nil
}

// settle stores how the task ended. cause is why its context ended, or nil.
func (r *run) settle(cause error, res mcp.Result, err error) {
	status, message, result, failure := r.outcome(cause, res, err)
	// The store may be away for a while, also while the server stops.
	for wait := 50 * time.Millisecond; ; wait = min(2*wait, 5*time.Second) {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		_, err := change(ctx, r.m.store, r.id, func(rec *Record) bool { return rec.finish(status, message, result, failure) })
		cancel()
		if err == nil || errors.Is(err, ErrNotFound) {
			return
		}
		r.m.opts.Log.Error("tasks: store the end of a task", "task", r.id, "error", err)
		select {
		case <-time.After(wait):
		case <-r.m.ctx.Done():
			return // its lease ends, and it counts as interrupted
		}
	}
}

// outcome says how a task ends.
func (r *run) outcome(cause error, res mcp.Result, err error) (status Status, message string, result json.RawMessage, failure *mcp.Error) {
	fail := func(code int, format string, args ...any) (Status, string, json.RawMessage, *mcp.Error) {
		e := mcp.Errorf(code, format, args...)
		return Failed, e.Message, nil, e
	}
	switch {
	case err == nil && len(res.Body) > r.m.opts.MaxResult:
		return fail(mcp.CodeInternal, "the result has %d bytes; at most %d are kept", len(res.Body), r.m.opts.MaxResult)
	case err == nil:
		if res.Body == nil {
			res.Body = json.RawMessage("{}")
		}
		return Completed, "", res.Body, nil
	case errors.Is(cause, errCancelled):
		return Cancelled, "", nil, nil
	case cause != nil:
		return fail(mcp.CodeInternal, "%v", cause)
	}
	if e, ok := errors.AsType[*mcp.Error](err); ok {
		return Failed, e.Message, nil, e
	}
	r.m.opts.Log.Error("tasks: a task failed", "task", r.id, "error", err)
	return fail(mcp.CodeInternal, "the task failed")
}

// notified receives the notifications of the tool. The extension has none but
// the status: a progress notification becomes the status message.
func (r *run) notified(n mcp.Notification) {
	if n.Method != mcp.NotificationProgress {
		return
	}
	var p mcp.ProgressParams
	if mcp.Unmarshal(n.Params, &p) != nil {
		return
	}
	text := p.Message
	if p.Total > 0 {
		text = strings.TrimSpace(fmt.Sprintf("%s %.0f %%", text, 100*p.Progress/p.Total))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.message = text
	if !r.saving {
		r.saving = true
		r.m.wg.Go(r.saveMessages)
	}
}

// messagePause is the shortest time between two changes of a status message.
const messagePause = 200 * time.Millisecond

// saveMessages stores the latest status message until there is none.
func (r *run) saveMessages() {
	for {
		r.mu.Lock()
		text := r.message
		r.message = ""
		r.saving = text != ""
		r.mu.Unlock()
		if text == "" {
			return
		}
		ctx, cancel := context.WithTimeout(r.m.ctx, lease)
		_, err := change(ctx, r.m.store, r.id, func(rec *Record) bool {
			if rec.Task.Status.Final() {
				return false
			}
			rec.Task.StatusMessage = text
			return true
		})
		cancel()
		if err != nil {
			r.m.opts.Log.Warn("tasks: store a status message", "task", r.id, "error", err)
		}
		select {
		case <-time.After(messagePause):
		case <-r.m.ctx.Done():
		}
	}
}
