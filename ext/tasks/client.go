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
//	c, err := client.Dial(ctx, dialer, &client.Options{Middleware: []mcp.Middleware{tasks.Client}})
//
// Changes of the status message are reported as progress, if the caller asked
// for that; see [Observe] for the whole state. To go on without waiting, use
// [Start].
//
// If there is other middleware, Client comes first: it must see the calls of the
// client before any other.
func Client(next mcp.Handler) mcp.Handler {
	return mcp.HandlerFunc((&driver{server: next}).serve)
}

// ErrCancelled is the error of a call whose task was cancelled.
var ErrCancelled error = mcp.Errorf(mcp.CodeInternal, "the task was cancelled")

// A driver waits for the tasks of a server. The flow of a tool call is:
//
//	call     makes the call; the server returns a task
//	drive    watches the task until it has ended or requires input
//	require  ends the round with the input requests of the task
//	respond  begins the next round: passes the responses to the task, and drives
type driver struct {
	server  mcp.Handler
	open    sync.Map // the states of calls whose next round has not been made
	early   earlyTasks
	callers callers
}

func (d *driver) serve(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
	switch {
	case c.IsNotification:
	case c.Method == mcp.MethodToolsCall:
		return d.call(ctx, d.callers.declare(c))
	case c.Method == MethodGet || c.Method == MethodUpdate || c.Method == MethodCancel || c.Method == mcp.MethodSubscriptionsListen && selectsTasks(c):
		in, ctx := takeIntent(ctx)
		in.seen.Store(true)
		return d.server.Serve(ctx, d.callers.declare(c))
	}
	return d.server.Serve(ctx, c)
}

// selectsTasks reports whether a subscription includes tasks.
func selectsTasks(c *mcp.Call) bool {
	var p mcp.ListenParams
	return c.Decode(&p) == nil && p.Notifications.Other[Filter] != nil
}

// callers keeps the capabilities of callers to which the extension was added. Each
// caller has the same ones in all its calls, which a connection encodes once.
type callers struct {
	mu  sync.Mutex
	can map[*mcp.ClientCapabilities]*mcp.ClientCapabilities // by those without it
}

// maxCallers bounds how many are kept.
const maxCallers = 64

// declare returns the call as one of a client that supports the extension.
func (k *callers) declare(c *mcp.Call) *mcp.Call {
	if declares(&c.Caller) {
		return c
	}
	copied := *c
	k.mu.Lock()
	defer k.mu.Unlock()
	can := k.can[c.Caller.Capabilities]
	if can == nil {
		can = new(mcp.ClientCapabilities)
		if c.Caller.Capabilities != nil {
			*can = *c.Caller.Capabilities
		}
		can.Extensions = maps.Clone(can.Extensions)
		if can.Extensions == nil {
			can.Extensions = map[string]json.RawMessage{}
		}
		can.Extensions[ExtensionID] = json.RawMessage("{}")
		if k.can == nil || len(k.can) >= maxCallers {
			k.can = map[*mcp.ClientCapabilities]*mcp.ClientCapabilities{}
		}
		k.can[c.Caller.Capabilities] = can
	}
	copied.Caller.Capabilities = can
	return &copied
}

// call makes a round of a tool call.
func (d *driver) call(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
	in, ctx := takeIntent(ctx)
	in.seen.Store(true)
	if r, ok := parseRound(c.State); ok {
		return d.respond(ctx, c, r, in)
	}
	if in.resume != nil {
		return d.drive(ctx, c, *in.resume, round{ID: in.resume.ID, Keep: true}, in)
	}
	var reached progressSeen
	made := *c
	if c.OnNotification != nil { // otherwise the connection has another receiver
		made.OnNotification = func(n mcp.Notification) {
			if !d.early.notified(n) {
				reached.notified(n)
				c.Notify(n)
			}
		}
	}
	res, err := d.server.Serve(ctx, &made)
	if err != nil || res.Type != ResultType {
		return res, err
	}
	var t Task
	if err := res.Decode(&t); err != nil {
		return mcp.Result{}, invalidTask(err)
	}
	if newer, ok := d.early.take(t.ID); ok && !t.Status.Final() {
		t = newer
	}
	if in.start {
		in.observe(t)
		return mcp.Result{}, &startedError{t}
	}
	return d.drive(ctx, c, t, round{ID: t.ID, Progress: reached.value()}, in)
}

func invalidTask(err error) error {
	return &mcp.Error{Code: mcp.CodeInternal, Local: true, Message: "the server returned an invalid task: " + err.Error()}
}

// A round is the state of a call whose task requires input.
type round struct {
	ID       string   `json:"taskId"`
	Answered []string `json:"answered"`          // keys of requests that the client has responded to
	Keep     bool     `json:"keep,omitzero"`     // the task goes on if the call ends
	Progress float64  `json:"progress,omitzero"` // the last progress that was reported
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

// respond passes the responses of the caller to the task, and waits for it.
func (d *driver) respond(ctx context.Context, c *mcp.Call, r round, in *intent) (mcp.Result, error) {
	d.open.Delete(c.State)
	if err := c.Refusal(); err != nil {
		if !r.Keep {
			cancelTask(d.server, c, r.ID)
		}
		return mcp.Result{}, err
	}
	responses := maps.Clone(c.InputResponses)
	maps.DeleteFunc(responses, func(key string, _ json.RawMessage) bool { return mcp.IsOwnKey(key) })
	if _, err := request(ctx, d.server, c, MethodUpdate, UpdateParams{ID: r.ID, InputResponses: responses}); err != nil {
		return mcp.Result{}, err
	}
	r.Answered = append(slices.Clone(r.Answered), slices.Collect(maps.Keys(responses))...)
	t, err := get(ctx, d.server, c, r.ID)
	if err != nil {
		return mcp.Result{}, err
	}
	return d.drive(ctx, c, *t, r, in)
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
		return nil, invalidTask(err)
	}
	if t.ID != id {
		return nil, invalidTask(errors.New("it has another id"))
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
func (d *driver) drive(ctx context.Context, c *mcp.Call, t Task, r round, in *intent) (mcp.Result, error) {
	w := newWatch(ctx, d.server, c, t, d.early.put)
	defer w.stop()
	w.outage = func() { in.unreachable(t) }
	for message := ""; ; {
		in.observe(t)
		if t.StatusMessage != message && c.Progress {
			message = t.StatusMessage
			r.Progress++
			params, _ := mcp.Marshal(mcp.ProgressParams{Progress: r.Progress, Message: message})
			c.Notify(mcp.Notification{Method: mcp.NotificationProgress, Params: params})
		}
		switch t.Status {
		case Completed:
			if t.Result != nil { // a handle has none
				return splitMeta(t.Result), nil
			}
		case Failed:
			if t.Error != nil {
				return mcp.Result{}, t.Error
			}
		case Cancelled:
			return mcp.Result{}, ErrCancelled
		case InputRequired:
			open := maps.Clone(t.InputRequests)
			maps.DeleteFunc(open, func(key string, _ mcp.InputRequest) bool { return slices.Contains(r.Answered, key) })
			if len(open) > 0 {
				return mcp.Result{}, d.require(c, open, r)
			}
		}
		var err error
		if t, err = w.next(ctx); err != nil {
			if ctx.Err() != nil && !r.Keep {
				cancelTask(d.server, c, w.id)
			}
			return mcp.Result{}, err
		}
	}
}

// require returns the error that requests input for a task. If the next round is
// never made, the task is cancelled, unless it is to be kept.
func (d *driver) require(c *mcp.Call, open map[string]mcp.InputRequest, r round) error {
	state := r.state()
	need := &mcp.InputRequired{Requests: open, State: state}
	if !r.Keep {
		d.open.Store(state, true)
		need.Abandon = func() {
			if _, abandoned := d.open.LoadAndDelete(state); abandoned {
				go cancelTask(d.server, c, r.ID)
			}
		}
	}
	return need
}
