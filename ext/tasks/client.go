package tasks

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/mcp"
)

// Client is middleware for a connection to a server: it declares the extension
// with each tool call, and where the server returns a task, it waits for the
// result, so that the caller of a tool need not know about tasks. Input requests
// of the task become those of the call. If the context of the call ends, the
// task is cancelled.
//
// Changes of the status message are reported as progress, if the caller asked
// for that.
func Client(next mcp.Handler) mcp.Handler {
	d := &driver{server: next}
	return mcp.HandlerFunc(func(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
		if c.Method != mcp.MethodToolsCall || c.IsNotification {
			return next.Serve(ctx, c)
		}
		c = declare(c)
		if round, ok := parseRound(c.State); ok {
			return d.resume(ctx, c, round)
		}
		res, err := next.Serve(ctx, c)
		if err != nil || res.Type != ResultType {
			return res, err
		}
		var t Task
		if err := res.Decode(&t); err != nil {
			return mcp.Result{}, &mcp.Error{Code: mcp.CodeInternal, Local: true, Message: "the server returned an invalid task: " + err.Error()}
		}
		return d.drive(ctx, c, t, nil)
	})
}

// A driver waits for the tasks of a server.
type driver struct {
	server mcp.Handler
	open   sync.Map // the states of calls whose next round has not been made
}

// declare returns a copy of the call of a client that supports the extension.
func declare(c *mcp.Call) *mcp.Call {
	copied := *c
	var can mcp.ClientCapabilities
	if c.Caller.Capabilities != nil {
		can = *c.Caller.Capabilities
	}
	can.Extensions = maps.Clone(can.Extensions)
	if can.Extensions == nil {
		can.Extensions = map[string]json.RawMessage{}
	}
	can.Extensions[ExtensionID] = json.RawMessage("{}")
	copied.Caller.Capabilities = &can
	return &copied
}

// A round is the state of a call whose task requires input.
type round struct {
	ID       string   `json:"taskId"`
	Answered []string `json:"answered"` // keys of requests that the client has responded to
}

const roundPrefix = "tenon/task "

func (r round) state() string {
	data, _ := mcp.Marshal(r)
	return roundPrefix + string(data)
}

func parseRound(state string) (r round, ok bool) {
	data, ok := strings.CutPrefix(state, roundPrefix)
	return r, ok && mcp.Unmarshal([]byte(data), &r) == nil
}

// resume passes the responses of the caller to the task, and waits for it.
func (d *driver) resume(ctx context.Context, c *mcp.Call, r round) (mcp.Result, error) {
	next := d.server
	d.open.Delete(c.State)
	if err := c.Refusal(); err != nil {
		cancelTask(next, c, r.ID)
		return mcp.Result{}, err
	}
	responses := maps.Clone(c.InputResponses)
	maps.DeleteFunc(responses, func(key string, _ json.RawMessage) bool { return mcp.IsOwnKey(key) })
	if _, err := request(ctx, next, c, MethodUpdate, UpdateParams{ID: r.ID, InputResponses: responses}); err != nil {
		return mcp.Result{}, err
	}
	answered := append(slices.Clone(r.Answered), slices.Collect(maps.Keys(responses))...)
	t, err := get(ctx, next, c, r.ID)
	if err != nil {
		return mcp.Result{}, err
	}
	return d.drive(ctx, c, *t, answered)
}

// request makes a call of the extension for the caller of c.
func request(ctx context.Context, next mcp.Handler, c *mcp.Call, method string, params any) (mcp.Result, error) {
	body, err := mcp.Marshal(params)
	if err != nil {
		return mcp.Result{}, err
	}
	return next.Serve(ctx, &mcp.Call{Method: method, Params: body, Caller: c.Caller})
}

func get(ctx context.Context, next mcp.Handler, c *mcp.Call, id string) (*Task, error) {
	res, err := request(ctx, next, c, MethodGet, idParams{id})
	if err != nil {
		return nil, err
	}
	t := new(Task)
	if err := res.Decode(t); err != nil {
		return nil, &mcp.Error{Code: mcp.CodeInternal, Local: true, Message: "the server returned an invalid task: " + err.Error()}
	}
	return t, nil
}

// cancelTask cancels a task that nobody waits for any more.
func cancelTask(next mcp.Handler, c *mcp.Call, id string) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_, _ = request(ctx, next, c, MethodCancel, idParams{id}) // cancelling is a courtesy
}

// drive waits until a task has ended or requires input.
func (d *driver) drive(ctx context.Context, c *mcp.Call, t Task, answered []string) (mcp.Result, error) {
	w := newWatch(ctx, d.server, c, t)
	defer w.stop()
	progress := 0.0
	for message := ""; ; {
		if t.StatusMessage != message && c.Progress {
			message = t.StatusMessage
			progress++
			params, _ := mcp.Marshal(mcp.ProgressParams{Progress: progress, Message: message})
			c.Notify(mcp.Notification{Method: mcp.NotificationProgress, Params: params})
		}
		switch t.Status {
		case Completed:
			if t.Result != nil { // a handle has none
				return mcp.Result{Body: t.Result}, nil
			}
		case Failed:
			if t.Error != nil {
				return mcp.Result{}, t.Error
			}
		case Cancelled:
			return mcp.Result{}, mcp.Errorf(mcp.CodeInternal, "the task was cancelled")
		case InputRequired:
			open := maps.Clone(t.InputRequests)
			maps.DeleteFunc(open, func(key string, _ mcp.InputRequest) bool { return slices.Contains(answered, key) })
			if len(open) > 0 {
				return mcp.Result{}, d.require(c, open, round{t.ID, answered})
			}
		}
		var err error
		if t, err = w.next(ctx); err != nil {
			if ctx.Err() != nil {
				cancelTask(d.server, c, w.id)
			}
			return mcp.Result{}, err
		}
	}
}

// require returns the error that requests input for a task. If the next round is
// never made, the task is cancelled.
func (d *driver) require(c *mcp.Call, open map[string]mcp.InputRequest, r round) error {
	state := r.state()
	d.open.Store(state, true)
	return &mcp.InputRequired{Requests: open, State: state, Abandon: func() {
		if _, abandoned := d.open.LoadAndDelete(state); abandoned {
			go cancelTask(d.server, c, r.ID)
		}
	}}
}

// A watch learns of the states of a task: from a subscription if the server has
// that, and by polling.
type watch struct {
	server  mcp.Handler
	call    *mcp.Call
	id      string
	poll    time.Duration
	expires time.Time // when the task is given up; zero means never
	updates chan Task
	acked   chan struct{} // closed when the server has acknowledged the subscription
	cancel  context.CancelFunc
	over    chan struct{} // closed when the subscription has ended
	first   bool
}

func newWatch(ctx context.Context, next mcp.Handler, c *mcp.Call, t Task) *watch {
	w := &watch{server: next, call: c, id: t.ID, updates: make(chan Task, 1), acked: make(chan struct{}), over: make(chan struct{})}
	w.saw(t)
	// A handle has no payload.
	w.first = t.Status == InputRequired && t.InputRequests == nil || t.Status.Final() && t.Result == nil && t.Error == nil
	if t.Status.Final() {
		w.cancel = func() {}
		close(w.over)
		return w
	}
	ctx, w.cancel = context.WithCancel(ctx)
	go w.listen(ctx)
	return w
}

// saw notes how often the server wants to be asked.
func (w *watch) saw(t Task) {
	w.poll = t.PollInterval
	if w.poll <= 0 {
		w.poll = time.Second
	}
	w.poll = min(w.poll, time.Minute)
	if t.TTL > 0 && w.expires.IsZero() {
		w.expires = time.Now().Add(t.TTL)
	}
}

func (w *watch) stop() {
	w.cancel()
	<-w.over
}

// listen subscribes to the task until ctx ends. It keeps the newest state.
func (w *watch) listen(ctx context.Context) {
	defer close(w.over)
	params, err := mcp.Marshal(map[string]any{"notifications": map[string]any{Filter: []string{w.id}}})
	if err != nil {
		return
	}
	acked := false
	_, _ = w.server.Serve(ctx, &mcp.Call{Method: mcp.MethodSubscriptionsListen, Params: params, Caller: w.call.Caller, OnNotification: func(n mcp.Notification) {
		var t Task
		switch {
		case n.Method == mcp.NotificationSubscriptionsAcknowledged && !acked && strings.Contains(string(n.Params), w.id):
			acked = true
			close(w.acked)
		case n.Method == Notification && mcp.Unmarshal(n.Params, &t) == nil && t.ID == w.id:
			select {
			case <-w.updates: // an older one
			default:
			}
			w.updates <- t
		}
	}})
}

// next returns the next state. While there is a subscription it polls rarely,
// in case a notification was lost.
func (w *watch) next(ctx context.Context) (Task, error) {
	wait := w.poll
	select {
	case <-w.acked:
		wait *= 10
	default:
	}
	if w.first {
		w.first, wait = false, 0
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case t := <-w.updates:
		w.saw(t)
		return t, nil
	case <-ctx.Done():
		return Task{}, ctx.Err()
	case <-w.over:
		select {
		case <-timer.C:
		case <-ctx.Done():
			return Task{}, ctx.Err()
		}
	case <-timer.C:
	}
	t, err := get(ctx, w.server, w.call, w.id)
	if e, ok := errors.AsType[*mcp.Error](err); err != nil && (!ok || e.Local) && ctx.Err() == nil && !w.gone(err) {
		return Task{ID: w.id, Status: Working, PollInterval: w.poll}, nil // the connection may come back
	}
	if err != nil {
		return Task{}, err
	}
	w.saw(*t)
	return *t, nil
}

// gone reports whether waiting for the task makes no more sense.
func (w *watch) gone(err error) bool {
	_, closed := errors.AsType[*mcp.ClosedError](err)
	return closed || !w.expires.IsZero() && time.Now().After(w.expires)
}

// wanted is the key of a context whose calls are to become tasks where the
// server leaves that to the client.
type wanted struct{}

func wantsTask(ctx context.Context) bool { return ctx.Value(wanted{}) != nil }
