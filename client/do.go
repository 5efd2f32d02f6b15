package client

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/internal/notifyqueue"
	"github.com/tenon-mcp/tenon/internal/protocol"
	"github.com/tenon-mcp/tenon/internal/timeoutpause"
	"github.com/tenon-mcp/tenon/mcp"
)

// CallOptions configures one call; nil means the defaults.
type CallOptions struct {
	// Progress receives the progress of the call: one notification at a time,
	// with increasing values, and none after the call has returned. The call
	// does not return while Progress is running. If Progress is nil, the server
	// is not asked for progress.
	Progress func(mcp.ProgressParams)

	// IdleTimeout and TotalTimeout override those of [Options]. 0 means no
	// override; negative means no limit. An explicit TotalTimeout also limits
	// a call that continues as a task.
	IdleTimeout, TotalTimeout time.Duration

	// Fresh requests the result from the server although a cached one is still
	// valid. The new result is cached.
	Fresh bool

	// Meta is sent as _meta, for example a trace context. Results of such calls
	// are not cached.
	Meta mcp.Meta
}

// An activeCall is a call in progress, through all its rounds. The flow is:
//
//	do           looks for a cached result, starts the clock, makes the rounds
//	Serve        makes one round and checks the input requests of the server
//	handleInput  pauses the idle timeout and responds to an input request
//	notify       receives the notifications of the call
type activeCall struct {
	client         *Client
	call           mcp.Call
	name           string // the tool, prompt or resource, for error texts
	clock          clock
	inputRequested bool // the server requested input: the result must not be cached

	queue    notifyqueue.Queue[mcp.Notification] // notifications, delivered one at a time
	progress func(mcp.ProgressParams)
	reached  float64 // the last progress value
	moved    bool    // reached is valid

	mu    sync.Mutex
	pages map[string]*Elicitation // pages that the user was asked to open, by the key of the input request
}

// Do makes a call of any method, such as one of an extension, with input
// requests, time limits and caching as for the other calls; a result of an
// extension is cached if the server sends both ttlMs and cacheScope with it.
// Params is encoded
// as a JSON object; nil means none. The result may have a type that an
// extension defines, see [mcp.Result].
func (c *Client) Do(ctx context.Context, method string, params any, o *CallOptions) (mcp.Result, error) {
	raw, err := object(params, mcp.Marshal)
	if err != nil {
		return mcp.Result{}, refused("parameters of %s: %v", method, err)
	}
	res, _, err := c.do(ctx, method, "", raw, o)
	return res, err
}

// Notify sends a notification, such as one of an extension, and returns when it
// has been sent. Params is encoded as a JSON object; nil means none. A server
// that does not know the method ignores the notification.
func (c *Client) Notify(ctx context.Context, method string, params any) error {
	raw, err := object(params, mcp.Marshal)
	if err != nil {
		return refused("parameters of %s: %v", method, err)
	}
	_, err = c.h.Serve(ctx, &mcp.Call{Method: method, Params: raw, Caller: c.caller, IsNotification: true})
	return err
}

// do makes a call. It reports whether the result was cached.
func (c *Client) do(ctx context.Context, method, name string, params json.RawMessage, o *CallOptions) (res mcp.Result, cached bool, err error) {
	var where slot
	cacheable := protocol.MayCache(method) && c.cache != nil && (o == nil || len(o.Meta) == 0)
	if cacheable {
		where = c.cache.slot(method, params, c.caller.Principal.Key())
		if res, ok := c.cache.get(where); ok && (o == nil || !o.Fresh) {
			return res, true, nil
		}
	}
	f := &activeCall{client: c, name: name, call: mcp.Call{Method: method, Params: params, Caller: c.caller}}
	idle, total := c.opts.IdleTimeout, c.opts.TotalTimeout
	f.clock.liftable = c.opts.defaultTotal
	if o != nil {
		f.call.Meta, f.progress = o.Meta, o.Progress
		f.call.Progress = o.Progress != nil
		if o.IdleTimeout != 0 {
			idle = o.IdleTimeout
		}
		if o.TotalTimeout != 0 {
			total, f.clock.liftable = o.TotalTimeout, false
		}
	}
	if f.progress != nil || c.caller.LogLevel != "" || c.opts.ElicitURLDone != nil {
		f.call.OnNotification = f.notify
	}
	res, err = f.run(ctx, idle, total)
	if err == nil && cacheable && !f.inputRequested && res.Type == "" {
		c.cache.put(where, res)
	}
	return res, false, err
}

// run makes the rounds of the call within its time limits.
func (f *activeCall) run(ctx context.Context, idle, total time.Duration) (mcp.Result, error) {
	f.clock.activeCall = f
	ctx = timeoutpause.WithLimits(f.clock.start(ctx, idle, total), &f.clock)
	defer f.finish()
	res, err := f.Serve(ctx, &f.call)
	if err != nil && f.inputRequested {
		res, err = f.nextRounds(ctx, err)
	}
	if err != nil {
		if late, ok := context.Cause(ctx).(*TimeoutError); ok {
			return mcp.Result{}, late
		}
		return mcp.Result{}, err
	}
	return res, nil
}

// timeoutError returns the error of a call that reached a time limit.
func (f *activeCall) timeoutError(idle, waiting bool) error {
	e := &TimeoutError{Method: f.call.Method, Name: f.name, Idle: idle, WaitingForInput: waiting && !f.clock.long, Working: f.clock.long, After: f.clock.total}
	if idle {
		e.After = f.clock.idle
	}
	return e
}

// finish ends the call. No notification is delivered after it returns.
func (f *activeCall) finish() {
	f.clock.stop()
	if f.call.OnNotification == nil {
		return
	}
	f.queue.Close()
	f.queue.Await()
}

// Serve makes one round. It checks all input requests of the server before the
// first is handled.
func (f *activeCall) Serve(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
	res, err := f.client.h.Serve(ctx, c)
	if err == nil {
		return res, nil
	}
	need, ok := errors.AsType[*mcp.InputRequired](err)
	if !ok {
		return mcp.Result{}, err
	}
	if err := f.checkRequests(c, need); err != nil {
		mcp.Abandon(need)
		return mcp.Result{}, err
	}
	f.inputRequested = true
	return mcp.Result{}, need
}

// checkRequests returns an error if the input requests of the server are
// invalid.
func (f *activeCall) checkRequests(c *mcp.Call, need *mcp.InputRequired) error {
	if !protocol.MayRequireInput(c.Method) {
		return invalid(c.Method, f.name, "this method cannot require input")
	}
	if len(need.Requests) == 0 && need.State == "" && len(need.PriorResponses) == 0 {
		return invalid(c.Method, f.name, "input_required without inputRequests or requestState")
	}
	for key, q := range need.Requests {
		if err := c.Caller.CanHandle(q); err != nil {
			return invalid(c.Method, f.name, "input request %q: %v", clip(key), err)
		}
	}
	return nil
}

// handleInput responds to one input request.
func (f *activeCall) handleInput(ctx context.Context, _ *mcp.Call, key string, q mcp.InputRequest) (json.RawMessage, error) {
	f.clock.Pause(+1)
	defer f.clock.Pause(-1)
	return f.client.opts.handleInput(ctx, f, key, q)
}

// nextRounds makes the rounds after the first, which failed with err. It warns
// about input requests that were answered with an error, except if the call
// ends with that error or the user rejected the request.
func (f *activeCall) nextRounds(ctx context.Context, err error) (mcp.Result, error) {
	var refused []error
	respond := func(ctx context.Context, c *mcp.Call, key string, q mcp.InputRequest) (json.RawMessage, error) {
		response, err := f.handleInput(ctx, c, key, q)
		if err != nil && ctx.Err() == nil && !errors.Is(err, ErrSamplingRejected) {
			refused = append(refused, err)
		}
		return response, err
	}
	res, err := mcp.InputHandler(respond).Continue(ctx, f, &f.call, err, f.client.opts.MaxRounds)
	for _, r := range refused {
		if !errors.Is(err, r) {
			f.client.opts.warn("an input request of " + callName(f.call.Method, f.name) + " was answered with an error: " + r.Error())
		}
	}
	return res, err
}

// notify receives a notification of the call.
func (f *activeCall) notify(n mcp.Notification) {
	f.clock.active()
	it := notifyqueue.Item[mcp.Notification]{Size: len(n.Params), Value: n}
	switch n.Method {
	case mcp.NotificationProgress:
		it.Kind = notifyqueue.Progress
	case mcp.NotificationMessage:
		it.Kind = notifyqueue.Log
	}
	if f.queue.Put(it) {
		f.queue.Deliver(f.take)
	}
}

// take handles one notification. Notifications are handled one at a time, and
// no lock is held.
func (f *activeCall) take(n mcp.Notification) {
	switch n.Method {
	case mcp.NotificationProgress:
		f.advance(n)
	case mcp.NotificationElicitationComplete:
		f.pageDone(n)
	case mcp.NotificationMessage:
		f.client.opts.Logging.message(f.clock.ctx, n)
	default:
		f.client.opts.warn("dropped a notification " + quote(n.Method) + " that does not belong to " + callName(f.call.Method, f.name))
	}
}

// recordPage records that the user is asked to open a page.
func (f *activeCall) recordPage(key string, e *Elicitation) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.pages == nil {
		f.pages = map[string]*Elicitation{}
	}
	f.pages[key] = e
}

// pageDone reports that the user has finished with a page.
func (f *activeCall) pageDone(n mcp.Notification) {
	var p mcp.ElicitationCompleteParams
	if mcp.Unmarshal(n.Params, &p) != nil {
		return
	}
	f.mu.Lock()
	e := f.pages[p.ElicitationID]
	f.mu.Unlock()
	if e != nil && f.client.opts.ElicitURLDone != nil {
		f.client.opts.ElicitURLDone(e)
	}
}

// advance reports progress if it increases.
func (f *activeCall) advance(n mcp.Notification) {
	if f.progress == nil {
		return
	}
	var p mcp.ProgressParams
	if err := mcp.Unmarshal(n.Params, &p); err != nil {
		f.client.opts.warn("dropped progress of " + callName(f.call.Method, f.name) + ": " + err.Error())
		return
	}
	if f.moved && p.Progress <= f.reached {
		if f.inputRequested {
			return // a handler that requests input starts again in each round
		}
		f.client.opts.warn("dropped progress of " + callName(f.call.Method, f.name) + ": it does not increase")
		return
	}
	f.moved, f.reached = true, p.Progress
	f.progress(p)
}
