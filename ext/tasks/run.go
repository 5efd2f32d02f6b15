package tasks

import (
	"bytes"
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

	"github.com/tenon-mcp/tenon/internal/textclip"
	"github.com/tenon-mcp/tenon/mcp"
)

// A run is a task that this process works on.
//
// The flow of a run is: serve the call; if it requires input, publish the
// requests in the record and wait until clients have responded to all of them;
// serve it again with the responses; at the end store the result. Requests of
// clients act on the record only, and the run watches it, so that they may
// arrive at any process that shares the store.
//
// The record decides. If it has ended in another way, because a client has
// cancelled the task or because another process took this one for stopped, the
// run ends, and a result that the tool returns nevertheless is dropped.
//
// Every change of the record that a run makes is on condition that the task is
// still its own, see owns: another Manager may have taken it over.
type run struct {
	m       *Manager
	id      string
	expires time.Time
	attempt int             // Record.Attempts when it began
	saved   *savedCall      // for the Manager that takes over; nil if none may
	used    map[string]bool // keys of input requests, never used again
	woken   chan struct{}   // has a token when the record may have changed, for watch
	changed chan struct{}   // likewise, for ask

	ctx    context.Context // ends when the tool shall return
	cancel context.CancelCauseFunc

	mu        sync.Mutex
	message   string // a status message that is not stored yet
	saving    bool   // a goroutine stores messages
	abandoned bool   // the task has ended without the tool
}

var (
	errCancelled = errors.New("the task was cancelled")
	errExpired   = errors.New("the task took longer than its time to live")
	errGone      = errors.New("the record of the task is gone from the store")
	errEnded     = errors.New("another process has ended the task")
	errTaken     = errors.New("another process has taken over the task")
	errLost      = errors.New("the lease of this process has ended")
)

// served is what the tool returned.
type served struct {
	res mcp.Result
	err error
}

// newRun returns the run of a task that this Manager owns or is about to own.
func (m *Manager) newRun(rec *Record, saved *savedCall) *run {
	r := &run{
		m: m, id: rec.Task.ID, expires: rec.Expires, attempt: rec.Attempts, saved: saved,
		used: map[string]bool{}, woken: make(chan struct{}, 1), changed: make(chan struct{}, 1),
	}
	if saved != nil {
		for _, key := range saved.Used {
			r.used[key] = true
		}
	}
	r.ctx, r.cancel = context.WithCancelCause(m.ctx)
	return r
}

// owns reports whether the record says that this run works on the task.
func (r *run) owns(rec *Record) bool { return rec.Runner == r.m.runner && rec.Attempts == r.attempt }

// lose ends the run of a task that another Manager takes over, because the lease
// of this one has ended.
func (r *run) lose() {
	if r.saved != nil {
		r.cancel(errLost)
	}
}

// run serves a call until it has a result.
func (r *run) run(c *mcp.Call, next mcp.Handler) {
	m := r.m
	defer m.running.Delete(r.id)
	defer r.cancel(nil)
	ctx := r.ctx
	if !r.expires.IsZero() {
		// A task fails a moment before its record expires, so that clients see it.
		var stop func()
		ctx, stop = context.WithDeadlineCause(ctx, r.expires.Add(-m.margin()), errExpired)
		defer stop()
	}
	unwatch := m.store.Watch(r.id, r.wake)
	r.wake() // it may have changed before
	watching := make(chan struct{})
	go func() {
		defer close(watching)
		r.watch(ctx)
	}()
	call := *c
	call.Detach, call.Progress, call.OnNotification = nil, true, r.notified
	tool := make(chan served, 1)
	go func() {
		res, err := r.serve(ctx, &call, next)
		tool <- served{res, err}
		r.returned(err)
	}()
	s, cause := r.await(ctx, tool)
	r.cancel(nil)
	unwatch()
	<-watching
	if r.saved != nil && s.err != nil && (errors.Is(cause, errLost) || errors.Is(cause, errClosing)) {
		r.release(cause)
		return
	}
	r.settle(r.outcome(s, cause))
}

// margin is how long before the end of its TTL a running task fails.
func (m *Manager) margin() time.Duration { return min(m.opts.TTL/10, 10*time.Second) }

// await returns what the tool returned, and why its context ended, if it did. A
// tool that goes on for long after that is left alone.
func (r *run) await(ctx context.Context, tool <-chan served) (served, error) {
	select {
	case s := <-tool:
		return s, context.Cause(ctx)
	case <-ctx.Done():
	}
	late := time.NewTimer(min(grace, r.m.margin()/2))
	defer late.Stop()
	select {
	case s := <-tool:
		return s, context.Cause(ctx)
	case <-late.C:
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.abandoned = true
	select {
	case s := <-tool:
		return s, context.Cause(ctx)
	default:
		return served{err: context.Cause(ctx)}, context.Cause(ctx)
	}
}

// returned notes that the tool has returned.
func (r *run) returned(err error) {
	r.mu.Lock()
	late := r.abandoned
	r.mu.Unlock()
	if late {
		r.m.opts.Log.Warn("tasks: a tool returned long after its task was to end; its result is dropped", "task", r.id, "error", err)
	}
}

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

// watch follows the record and ends the run when the task has ended.
func (r *run) watch(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.woken:
		}
		rec, err := r.m.read(ctx, r.id)
		switch {
		case errors.Is(err, ErrNotFound):
			r.cancel(errGone)
		case err != nil:
			r.retry(ctx, err)
		case rec.Task.Status == Cancelled:
			r.cancel(errCancelled)
		case rec.Task.Status.Final():
			r.cancel(errEnded)
		case !r.owns(rec):
			r.cancel(errTaken)
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

// serve serves the call and its further rounds. A panic is an error.
func (r *run) serve(ctx context.Context, c *mcp.Call, next mcp.Handler) (res mcp.Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			r.m.opts.Log.Error("panic in a task", "task", r.id, "panic", p, "stack", string(debug.Stack()))
			res, err = mcp.Result{}, mcp.Errorf(mcp.CodeInternal, "internal error while running the task")
		}
	}()
	if c, err = r.continued(ctx, c); err != nil {
		return mcp.Result{}, err
	}
	for {
		res, err := next.Serve(ctx, c)
		need, ok := errors.AsType[*mcp.InputRequired](err)
		if !ok {
			return res, err
		}
		responses, err := r.ask(ctx, need)
		if err != nil {
			mcp.Abandon(need)
			return mcp.Result{}, err
		}
		c = nextRound(c, need.State, need.PriorResponses, responses)
	}
}

// nextRound returns the call of the round that follows.
func nextRound(c *mcp.Call, state string, prior, responses map[string]json.RawMessage) *mcp.Call {
	again := *c
	again.State, again.InputResponses = state, maps.Clone(prior)
	if again.InputResponses == nil {
		again.InputResponses = responses
	} else {
		maps.Copy(again.InputResponses, responses)
	}
	return &again
}

// ask publishes input requests in the record and waits for the responses to
// all of them. A key that was used before gets a number: within a task no key
// may stand for two requests.
func (r *run) ask(ctx context.Context, need *mcp.InputRequired) (map[string]json.RawMessage, error) {
	if len(need.Requests) == 0 {
		return nil, nil
	}
	open := make(map[string]mcp.InputRequest, len(need.Requests))
	original := make(map[string]string, len(need.Requests))
	for key, q := range need.Requests {
		fresh := key
		for n := 2; r.used[fresh]; n++ {
			fresh = key + "-" + strconv.Itoa(n)
		}
		r.used[fresh] = true
		open[fresh], original[fresh] = q, key
	}
	if err := r.publish(ctx, open, r.saved.after(need, original, r.used)); err != nil {
		return nil, err
	}
	return r.answers(ctx, original)
}

// answers waits for the responses to input requests, given by the keys in the
// record with those of the tool, and returns them by the keys of the tool.
func (r *run) answers(ctx context.Context, original map[string]string) (map[string]json.RawMessage, error) {
	r.wake() // it may have changed already
	for {
		select {
		case <-r.changed:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		got, err := r.responses(ctx, original)
		if err != nil {
			r.retry(ctx, err)
		}
		if got == nil {
			continue
		}
		responses := make(map[string]json.RawMessage, len(got))
		for key, own := range original {
			responses[own] = got[key]
		}
		return responses, nil
	}
}

// publish stores the open input requests of a round, and how another Manager
// continues it.
func (r *run) publish(ctx context.Context, open map[string]mcp.InputRequest, saved *savedCall) error {
	call := saved.encode()
	_, err := r.persist("store input requests of a task", ctx.Done(), func(rec *Record) bool {
		for key := range open {
			_, asked := rec.Task.InputRequests[key]
			_, answered := rec.Responses[key]
			if asked || answered {
				return false // stored before, although the store returned an error
			}
		}
		if rec.Task.Status.Final() || !r.owns(rec) {
			return false
		}
		rec.Task.Status, rec.Task.InputRequests, rec.Responses, rec.Call = InputRequired, open, nil, call
		return true
	})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// responses returns the responses to all open requests; nil while some are
// missing.
func (r *run) responses(ctx context.Context, keys map[string]string) (map[string]json.RawMessage, error) {
	rec, err := r.m.read(ctx, r.id)
	if err != nil {
		return nil, err
	}
	for key := range keys {
		if _, answered := rec.Responses[key]; !answered {
			return nil, nil
		}
	}
	return rec.Responses, nil
}

// persist changes the record. While the store fails it tries again, until done
// is closed. The result may be stored although persist returns an error.
func (r *run) persist(what string, done <-chan struct{}, f func(*Record) bool) (*Record, error) {
	for wait := 50 * time.Millisecond; ; wait = min(2*wait, 5*time.Second) {
		ctx, cancel := context.WithTimeout(context.Background(), storeTimeout)
		rec, err := change(ctx, r.m.store, r.id, f)
		cancel()
		if err == nil || errors.Is(err, ErrNotFound) {
			return rec, err
		}
		r.m.opts.Log.Error("tasks: "+what, "task", r.id, "error", err)
		select {
		case <-time.After(wait):
		case <-done:
			return nil, err
		}
	}
}

// settle stores how the task ended. If the store fails until the server is
// closed, the task counts as interrupted.
func (r *run) settle(o outcome) {
	rec, err := r.persist("store the end of a task", r.m.ctx.Done(), func(rec *Record) bool { return r.owns(rec) && rec.finish(o) })
	switch {
	case errors.Is(err, ErrNotFound):
		r.m.opts.Log.Warn("tasks: the record of a task is gone; its result is dropped", "task", r.id)
	case err == nil && !r.owns(rec):
		r.m.opts.Log.Warn("tasks: another process has taken over a task; what its tool returned here is dropped", "task", r.id)
	case err == nil && rec.Task.Status != Cancelled && !o.is(&rec.Task):
		r.m.opts.Log.Warn("tasks: a task had ended before its tool returned; its result is dropped", "task", r.id, "status", rec.Task.Status, "reason", rec.Task.StatusMessage)
	}
}

// is reports whether a task ended so.
func (o outcome) is(t *Task) bool {
	return t.Status == o.status && t.StatusMessage == o.message && bytes.Equal(t.Result, o.result)
}

// outcome returns how a task ends whose tool returned s. cause is why the
// context ended, or nil.
func (r *run) outcome(s served, cause error) outcome {
	fail := func(format string, args ...any) outcome {
		return failure(mcp.Errorf(mcp.CodeInternal, format, args...))
	}
	most := r.m.opts.MaxResult
	if s.err == nil && len(s.res.Meta) > 0 {
		s.res.Body = withMeta(s.res.Body, s.res.Meta)
	}
	switch {
	case s.err == nil && len(s.res.Body) > most:
		return failure(r.m.tooLarge("result", len(s.res.Body)))
	case s.err == nil && s.res.Body == nil:
		return outcome{status: Completed, result: json.RawMessage("{}")}
	case s.err == nil && mcp.Unmarshal(s.res.Body, new(json.RawMessage)) != nil:
		return fail("the result of the task is not valid JSON")
	case s.err == nil:
		return outcome{status: Completed, result: s.res.Body}
	case errors.Is(cause, errCancelled):
		return outcome{status: Cancelled}
	case cause != nil:
		return fail("%v", cause)
	}
	e, ok := errors.AsType[*mcp.Error](s.err)
	if !ok {
		r.m.opts.Log.Error("tasks: a task failed", "task", r.id, "error", s.err)
		return fail("the task failed")
	}
	if n := len(e.Message) + len(e.Data); n > most {
		return failure(r.m.tooLarge("error", n))
	}
	return failure(e)
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
	if r.message = textclip.Clip(text, maxMessage); !r.saving {
		r.saving = r.m.spawn(r.saveMessages)
	}
}

// maxMessage is the maximum size of a status message in bytes.
const maxMessage = 1000

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
		ctx, cancel := context.WithTimeout(r.m.ctx, storeTimeout)
		_, err := change(ctx, r.m.store, r.id, func(rec *Record) bool {
			if rec.Task.Status.Final() || !r.owns(rec) {
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
