package client

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/internal/notifyqueue"
	"github.com/tenon-mcp/tenon/internal/patience"
	"github.com/tenon-mcp/tenon/mcp"
)

// CallOptions are about one call; nil means none of them.
type CallOptions struct {
	// Progress hears how far the call has come, one report at a time, never
	// one that does not go forward, and none after the call has returned: a
	// report that is being heard holds the end of the call up. Nil: the server
	// is not asked to report.
	Progress func(mcp.ProgressParams)

	// IdleTimeout and TotalTimeout stand for those of [Options]. 0 means as
	// there; negative means for ever.
	IdleTimeout, TotalTimeout time.Duration

	// Meta is what else is sent along, such as a trace context. Results of
	// calls that have some are not kept.
	Meta mcp.Meta
}

// A flight is one call on its way, through all its rounds. The journey:
//
//	do      looks for a kept result, sets the clock, makes the rounds
//	Serve   makes one round and looks at what the server asks before anyone else
//	answer  stops the clock for idleness and has the question answered
//	hear    takes the notes that ride with the call
type flight struct {
	client         *Client
	call           mcp.Call
	name           string // what is called, for error texts
	clock          clock
	inputRequested bool // the server has asked for input: the result must not be kept

	queue    notifyqueue.Queue[mcp.Notification] // notifications, of which one at a time is heard
	progress func(mcp.ProgressParams)
	reached  float64 // the last progress
	moved    bool    // there was some

	mu    sync.Mutex
	pages map[string]*Elicitation // that a person was asked to open, by the key of the question
}

// Do makes a call of any method, such as one of an extension, and takes care of
// all that the other calls do: questions, time limits, kept results. Params is
// encoded as a JSON object; nil means none. The result may be of a type that an
// extension has added, see [mcp.Result].
func (c *Client) Do(ctx context.Context, method string, params any, o *CallOptions) (mcp.Result, error) {
	raw, err := object(params, mcp.Marshal)
	if err != nil {
		return mcp.Result{}, refused("parameters of %s: %v", method, err)
	}
	res, _, err := c.do(ctx, method, "", raw, o)
	return res, err
}

// Notify sends a notification of the client's own, such as one of an extension,
// and waits until it is on its way. Params is encoded as a JSON object; nil means
// none. A server that does not know it ignores it.
func (c *Client) Notify(ctx context.Context, method string, params any) error {
	raw, err := object(params, mcp.Marshal)
	if err != nil {
		return refused("parameters of %s: %v", method, err)
	}
	_, err = c.h.Serve(ctx, &mcp.Call{Method: method, Params: raw, Caller: c.caller, IsNotification: true})
	return err
}

// do makes a call. It reports whether the result was a kept one.
func (c *Client) do(ctx context.Context, method, name string, params json.RawMessage, o *CallOptions) (res mcp.Result, kept bool, err error) {
	var where place
	keep := mcp.Cacheable(method) && c.cache != nil && (o == nil || len(o.Meta) == 0)
	if keep {
		where = c.cache.place(method, params, c.caller.Principal.Key())
		if res, ok := c.cache.get(where); ok {
			return res, true, nil
		}
	}
	f := &flight{client: c, name: name, call: mcp.Call{Method: method, Params: params, Caller: c.caller}}
	idle, total := c.opts.IdleTimeout, c.opts.TotalTimeout
	if o != nil {
		f.call.Meta, f.progress = o.Meta, o.Progress
		f.call.Progress = o.Progress != nil
		if o.IdleTimeout != 0 {
			idle = o.IdleTimeout
		}
		if o.TotalTimeout != 0 {
			total = o.TotalTimeout
		}
	}
	if f.progress != nil || c.caller.LogLevel != "" || c.opts.ElicitURLDone != nil {
		f.call.OnNotification = f.notify
	}
	res, err = f.run(ctx, idle, total)
	if err == nil && keep && !f.inputRequested && res.Type == "" {
		c.cache.put(where, res)
	}
	return res, false, err
}

// run makes the rounds of the call within its time limits.
func (f *flight) run(ctx context.Context, idle, total time.Duration) (mcp.Result, error) {
	f.clock.flight = f
	ctx = patience.With(f.clock.start(ctx, idle, total), f.clock.ask)
	defer f.land()
	res, err := f.Serve(ctx, &f.call)
	if err != nil && f.inputRequested {
		res, err = f.goOn(ctx, err)
	}
	if err != nil {
		if late, ok := context.Cause(ctx).(*TimeoutError); ok {
			return mcp.Result{}, late
		}
		return mcp.Result{}, err
	}
	return res, nil
}

// limit is the error of a call that reached a time limit.
func (f *flight) limit(idle, asking bool) error {
	e := &TimeoutError{Method: f.call.Method, Name: f.name, Idle: idle, WaitingForInput: asking, After: f.clock.total}
	if idle {
		e.After = f.clock.idle
	}
	return e
}

// land ends the flight: nothing is heard after it.
func (f *flight) land() {
	f.clock.stop()
	if f.call.OnNotification == nil {
		return
	}
	f.queue.Close()
	f.queue.Await()
}

// Serve makes one round. What the server asks is looked at as a whole before
// anybody is asked anything.
func (f *flight) Serve(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
	res, err := f.client.h.Serve(ctx, c)
	if err == nil {
		return res, nil
	}
	need, ok := errors.AsType[*mcp.InputRequired](err)
	if !ok {
		return mcp.Result{}, err
	}
	if err := f.mayAsk(c, need); err != nil {
		mcp.Abandon(need)
		return mcp.Result{}, err
	}
	f.inputRequested = true
	return mcp.Result{}, need
}

// mayAsk says what is wrong with what the server asks, if anything is.
func (f *flight) mayAsk(c *mcp.Call, need *mcp.InputRequired) error {
	if !mcp.MayRequireInput(c.Method) {
		return invalid(c.Method, f.name, "this method cannot ask for input")
	}
	if len(need.Requests) == 0 && need.State == "" && len(need.PriorResponses) == 0 {
		return invalid(c.Method, f.name, "input_required without inputRequests or requestState")
	}
	for key, q := range need.Requests {
		if err := c.Caller.CanHandle(q); err != nil {
			return invalid(c.Method, f.name, "its question %q was refused: %v", clip(key), err)
		}
	}
	return nil
}

// answer has one question answered.
func (f *flight) handleInput(ctx context.Context, _ *mcp.Call, key string, q mcp.InputRequest) (json.RawMessage, error) {
	f.clock.ask(+1)
	defer f.clock.ask(-1)
	return f.client.opts.handleInput(ctx, f, key, q)
}

// goOn makes the rounds after the first, which came to err. It reports why input
// requests were answered with an error, except where the call ends with that
// error. The person's own no is not reported.
func (f *flight) goOn(ctx context.Context, err error) (mcp.Result, error) {
	var refused []error
	answer := func(ctx context.Context, c *mcp.Call, key string, q mcp.InputRequest) (json.RawMessage, error) {
		a, err := f.handleInput(ctx, c, key, q)
		if err != nil && ctx.Err() == nil && !errors.Is(err, ErrSamplingRejected) {
			refused = append(refused, err)
		}
		return a, err
	}
	res, err := mcp.ContinueInput(ctx, f, &f.call, err, answer, f.client.opts.MaxRounds)
	for _, r := range refused {
		if !errors.Is(err, r) {
			f.client.opts.warn("an input request of " + doing(f.call.Method, f.name) + " was answered with an error: " + r.Error())
		}
	}
	return res, err
}

// hear takes a notification of the call.
func (f *flight) notify(n mcp.Notification) {
	f.clock.alive()
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

// take deals with one notification. No lock is held, and no other is dealt with
// meanwhile.
func (f *flight) take(n mcp.Notification) {
	switch n.Method {
	case mcp.NotificationProgress:
		f.advance(n)
	case mcp.NotificationElicitationComplete:
		f.pageDone(n)
	case mcp.NotificationMessage:
		f.client.opts.Logging.message(f.clock.ctx, n)
	default:
		f.client.opts.warn("dropped a note " + quote(n.Method) + " that does not belong with " + doing(f.call.Method, f.name))
	}
}

// shown notes that the person is asked to open a page.
func (f *flight) shown(key string, e *Elicitation) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.pages == nil {
		f.pages = map[string]*Elicitation{}
	}
	f.pages[key] = e
}

// pageDone tells that the person is done with a page.
func (f *flight) pageDone(n mcp.Notification) {
	var p mcp.ElicitationComplete
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

// advance tells of progress if it is any.
func (f *flight) advance(n mcp.Notification) {
	if f.progress == nil {
		return
	}
	var p mcp.ProgressParams
	if err := mcp.Unmarshal(n.Params, &p); err != nil {
		f.client.opts.warn("dropped a report of progress of " + doing(f.call.Method, f.name) + ": " + err.Error())
		return
	}
	if f.moved && p.Progress <= f.reached {
		if f.inputRequested {
			return // a server that asks begins again in each round
		}
		f.client.opts.warn("dropped a report of progress of " + doing(f.call.Method, f.name) + ": it does not go forward")
		return
	}
	f.moved, f.reached = true, p.Progress
	f.progress(p)
}
