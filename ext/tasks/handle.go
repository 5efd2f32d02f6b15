package tasks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/mcp"
)

// A Handle is a tool call that may have become a task. It is safe for concurrent
// use. Make one with [Start] or [Resume].
//
// To use the task in another process, keep its ID and call Resume there.
type Handle struct {
	client *client.Client
	tool   string
	opts   *client.CallOptions
	result *mcp.CallToolResult // of a call that became no task

	mu   sync.Mutex
	task Task
}

// Start calls a tool and returns as soon as the server has returned a task, or
// the result, if the server makes no task of this call. The arguments are those
// of [client.Call]; nil options mean those of the client, and they apply to Wait
// too. The client must have been made with the middleware [Client].
//
// Until the task exists, the end of ctx cancels the call. Then the task goes on
// until it ends, or until Cancel.
func Start(ctx context.Context, c *client.Client, tool string, args any, o *client.CallOptions) (*Handle, error) {
	res, err := c.CallTool(withIntent(ctx, &intent{start: true}), tool, args, o)
	if started, ok := errors.AsType[*startedError](err); ok {
		return &Handle{client: c, tool: tool, opts: o, task: started.task}, nil
	}
	if err != nil {
		return nil, err
	}
	return &Handle{client: c, tool: tool, opts: o, result: res, task: Task{Status: Completed}}, nil
}

// Resume returns the handle of a task that was started before, also by another
// process. It gets the state of the task from the server; if that fails, the
// handle is returned with the error and can still be used. Tool is the name of
// the tool, which names the call in errors and selects the schema that the result
// is checked against; it may be empty.
func Resume(ctx context.Context, c *client.Client, id, tool string, o *client.CallOptions) (*Handle, error) {
	h := &Handle{client: c, tool: tool, opts: o, task: Task{ID: id}}
	_, err := h.Get(ctx)
	return h, err
}

// ID returns the id of the task; "" if the call became none.
func (h *Handle) ID() string { return h.Task().ID }

// Task returns the last known state. If the call became no task, that is
// Completed, without an ID.
func (h *Handle) Task() Task {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.task
}

func (h *Handle) saw(t Task) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.task = t
}

// Get gets the state of the task from the server.
func (h *Handle) Get(ctx context.Context) (Task, error) {
	if h.result != nil {
		return h.Task(), nil
	}
	id := h.ID()
	in := &intent{}
	res, err := h.client.Do(withIntent(ctx, in), MethodGet, idParams{id}, nil)
	if !in.seen.Load() {
		return Task{}, errors.New("tasks: the client was made without the middleware tasks.Client")
	}
	if err != nil {
		return Task{}, explainUnknown(id, err)
	}
	var t Task
	if err := res.Decode(&t); err != nil {
		return Task{}, invalidTask(err)
	}
	h.saw(t)
	return t, nil
}

// Wait waits for the result of the call. If the task requires input, the handlers
// of the client respond. The error of a task that was cancelled is
// [ErrCancelled].
//
// If ctx ends, Wait returns and the task goes on.
func (h *Handle) Wait(ctx context.Context) (*mcp.CallToolResult, error) {
	if h.result != nil {
		return h.result, nil
	}
	t := h.Task()
	if t.Status != Working { // what is known may be outdated
		var err error
		if t, err = h.Get(ctx); err != nil {
			return nil, err
		}
	}
	return h.client.CallTool(withIntent(ctx, &intent{resume: &t, saw: h.saw}), h.tool, nil, h.opts)
}

// Cancel asks the server to end the task. A task that has ended stays as it is.
func (h *Handle) Cancel(ctx context.Context) error {
	return h.do(ctx, MethodCancel, idParams{h.ID()})
}

// Respond responds to input requests of the task by their keys, see
// [Task].InputRequests: each response is the JSON of an [mcp.ElicitResult], an
// [mcp.CreateMessageResult] or an [mcp.ListRootsResult]. It is for callers that
// use Updates; Wait responds by itself.
func (h *Handle) Respond(ctx context.Context, responses map[string]json.RawMessage) error {
	return h.do(ctx, MethodUpdate, UpdateParams{ID: h.ID(), InputResponses: responses})
}

func (h *Handle) do(ctx context.Context, method string, params any) error {
	if h.result != nil {
		return nil
	}
	if _, err := h.client.Do(ctx, method, params, nil); err != nil {
		return explainUnknown(h.ID(), err)
	}
	return nil
}

// Updates returns the present state of the task and each later one until it has
// ended. It responds to no input requests: they are in the states, for Respond.
// An error is the last element.
func (h *Handle) Updates(ctx context.Context) iter.Seq2[Task, error] {
	return func(yield func(Task, error) bool) {
		t, err := h.Get(ctx)
		if err != nil || !yield(t, nil) || t.Status.Final() {
			if err != nil {
				yield(Task{}, err)
			}
			return
		}
		w := newWatch(ctx, viaClient{h.client}, &mcp.Call{}, t)
		defer w.stop()
		last := t.fingerprint()
		for !t.Status.Final() {
			if t, err = w.next(ctx); err != nil {
				yield(Task{}, err)
				return
			}
			h.saw(t)
			if now := t.fingerprint(); now != last {
				if last = now; !yield(t, nil) {
					return
				}
			}
		}
	}
}

// fingerprint returns a text that is equal for equal states. A server may update
// the time of the last change without one.
func (t Task) fingerprint() string {
	t.LastUpdatedAt = time.Time{}
	data, _ := mcp.Marshal(t)
	return string(data)
}

// viaClient is the Handler of a watch that uses a client.
type viaClient struct{ c *client.Client }

func (v viaClient) Serve(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
	if c.Method != mcp.MethodSubscriptionsListen {
		return v.c.Do(ctx, c.Method, c.Params, nil)
	}
	var p mcp.ListenParams
	if err := c.Decode(&p); err != nil {
		return mcp.Result{}, err
	}
	return mcp.Result{}, v.c.Listen(ctx, p.Notifications, c.OnNotification)
}

// Observe returns a context for a tool call through the middleware [Client], or
// for [Handle.Wait]: f is called with each state of the task that the call
// becomes, one at a time. It must not block. While the server cannot be reached,
// f is called with the last state and a status message that says so.
func Observe(ctx context.Context, f func(Task)) context.Context {
	return context.WithValue(ctx, observerKey{}, f)
}

type observerKey struct{}

// An intent is what the caller of a tool call wants besides its result. It is in
// the context of the call for the middleware Client.
type intent struct {
	start  bool       // return a task as a *startedError
	resume *Task      // make no call, but wait for this task
	saw    func(Task) // receives the states of the task; may be nil
	watch  func(Task) // likewise, of Observe
	seen   atomic.Bool
}

func (in *intent) observe(t Task) {
	if in.saw != nil {
		in.saw(t)
	}
	if in.watch != nil {
		in.watch(t)
	}
}

// unreachable reports that the state after t could not be fetched.
func (in *intent) unreachable(t Task) {
	if in.watch != nil {
		t.StatusMessage = "cannot reach the server, trying again"
		in.watch(t)
	}
}

type intentKey struct{}

func withIntent(ctx context.Context, in *intent) context.Context {
	return context.WithValue(ctx, intentKey{}, in)
}

// takeIntent returns the intent of a call, and the context without it for the
// calls below: they may reach a server in this process that makes calls itself.
func takeIntent(ctx context.Context) (*intent, context.Context) {
	in, _ := ctx.Value(intentKey{}).(*intent)
	watch, _ := ctx.Value(observerKey{}).(func(Task))
	if in == nil && watch == nil {
		return new(intent), context.WithValue(ctx, wanted{}, false)
	}
	if in == nil {
		in = new(intent)
	}
	in.watch = watch
	ctx = context.WithValue(context.WithValue(ctx, intentKey{}, nil), observerKey{}, nil)
	return in, context.WithValue(ctx, wanted{}, in.start)
}

// wanted is the key of a context value that says whether calls are to become
// tasks where the server leaves that to the client.
type wanted struct{}

// wantsTask reports whether a call is to become a task. A client that has
// declared the extension itself, and not by way of [Client], wants that.
func wantsTask(ctx context.Context) bool {
	wants, said := ctx.Value(wanted{}).(bool)
	return wants || !said
}

// A startedError is the error of a call that was to return when it became a task.
type startedError struct{ task Task }

func (e *startedError) Error() string {
	return fmt.Sprintf("the call continues as task %q", clip(e.task.ID))
}
