package tasks

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/mcp"
)

// A remoteTask is what a client knows about a task of a server with the older
// form. The result and the input requests of such a task arrive on a
// tasks/result call, which a goroutine makes when the task has either.
type remoteTask struct {
	id    string
	owner string // the principal that may use it

	mu       sync.Mutex
	task     Task      // the last state, without payload
	expires  time.Time // zero means never
	final    *Task     // the last state with payload, when the task has ended
	fetching bool      // a goroutine makes the tasks/result call
	over     bool      // the server has ended the task, so that it waits for no answer
	requests map[string]mcp.InputRequest
	original map[string]string // keys of requests as the call has them
	answers  map[string]json.RawMessage
	changed  chan struct{} // closed and replaced at each change
}

// change applies f and wakes those that wait for a change.
func (r *remoteTask) change(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f()
	close(r.changed)
	r.changed = make(chan struct{})
}

// saw records a state without payload.
func (r *remoteTask) saw(t Task) {
	r.change(func() {
		r.task = t
		if t.TTL > 0 && r.expires.IsZero() {
			r.expires = time.Now().Add(t.TTL)
		}
	})
}

// finish records the end of the task, unless it has ended.
func (r *remoteTask) finish(t Task) {
	r.change(func() {
		if r.final == nil {
			r.final, r.requests = &t, nil
		}
	})
}

// ended returns the last state of a task that has ended and has not expired.
func (r *remoteTask) ended() (Task, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.final != nil && !r.expires.IsZero() && time.Now().After(r.expires) {
		r.final = nil
	}
	if r.final == nil {
		return Task{}, false
	}
	return *r.final, true
}

// state returns the state in the form of the extension. A task that requires
// input works until its requests are known, and one that has ended until its
// result is.
func (r *remoteTask) state() Task {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.final != nil {
		return *r.final
	}
	t := r.task
	if t.Status.Final() || t.Status == InputRequired {
		t.Status = Working
	}
	if len(r.requests) > 0 {
		t.Status, t.InputRequests = InputRequired, maps.Clone(r.requests)
	}
	return t
}

func (r *remoteTask) isFetching() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.fetching
}

// withdraw ends the wait for answers to input requests.
func (r *remoteTask) withdraw() { r.change(func() { r.over = true }) }

// wait waits until ready reports true. r.mu is held while it is called.
func (r *remoteTask) wait(ctx context.Context, ready func() bool) error {
	for {
		r.mu.Lock()
		ok, changed := ready(), r.changed
		r.mu.Unlock()
		if ok {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// fetch starts the tasks/result call, unless it is open.
func (l *legacyServer) fetch(r *remoteTask, caller *mcp.Caller) {
	start := false
	r.change(func() {
		start = !r.fetching && r.final == nil
		r.fetching = r.fetching || start
	})
	if start {
		c := &mcp.Call{Method: legacyResult, Caller: *caller}
		c.Params, _ = mcp.Marshal(idParams{r.id})
		go func() {
			defer r.change(func() { r.fetching = false })
			l.result(r, c)
		}()
	}
}

// result makes the tasks/result call and its further rounds, until the task has
// ended.
func (l *legacyServer) result(r *remoteTask, c *mcp.Call) {
	ctx, cancel := context.WithCancel(l.life)
	defer cancel()
	go func() { // the call ends when the task is cancelled
		if r.wait(ctx, func() bool { return r.final != nil }) == nil {
			cancel()
		}
	}()
	for first := c; ; {
		res, err := l.server.Serve(ctx, c)
		need, asks := errors.AsType[*mcp.InputRequired](err)
		if !asks {
			if !l.settle(ctx, r, c, res, err) {
				return
			}
			c = first
			continue
		}
		responses, err := r.ask(ctx, need)
		if err != nil {
			mcp.Abandon(need)
			if ctx.Err() != nil {
				return
			}
			c = first // the task has ended meanwhile
			continue
		}
		next := *c
		next.State, next.InputResponses = need.State, responses
		c = &next
	}
}

// errWithdrawn is the error of an input request that the server does not wait
// for any more.
var errWithdrawn = errors.New("the task has ended")

// ask publishes input requests and waits for the responses to all of them. Keys
// are new: within a task none may stand for two requests, also after another
// connection.
func (r *remoteTask) ask(ctx context.Context, need *mcp.InputRequired) (map[string]json.RawMessage, error) {
	r.change(func() {
		r.answers, r.original = map[string]json.RawMessage{}, map[string]string{}
		r.requests = map[string]mcp.InputRequest{}
		for key, q := range need.Requests {
			fresh := rand.Text()
			r.requests[fresh], r.original[fresh] = q, key
		}
	})
	if err := r.wait(ctx, func() bool { return len(r.requests) == 0 || r.over }); err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over {
		r.requests = nil
		return nil, errWithdrawn
	}
	responses := maps.Clone(need.PriorResponses)
	if responses == nil {
		responses = map[string]json.RawMessage{}
	}
	maps.Copy(responses, r.answers)
	r.requests = nil
	r.task.Status = Working
	return responses, nil
}

// respond records the responses to open requests and reports whether there was
// one.
func (r *remoteTask) respond(responses map[string]json.RawMessage) (some bool) {
	r.change(func() {
		for key, response := range responses {
			if _, open := r.requests[key]; open {
				delete(r.requests, key)
				r.answers[r.original[key]] = response
				some = true
			}
		}
	})
	return some
}

// settle records the result of the tasks/result call, which is that of the tool
// call. An error may also be one of the call itself, so the server is asked
// for the status. It reports whether the call must be made again. After an error
// of the connection it is made at the next tasks/get.
func (l *legacyServer) settle(ctx context.Context, r *remoteTask, c *mcp.Call, res mcp.Result, err error) (again bool) {
	r.mu.Lock()
	t := r.task
	r.mu.Unlock()
	t.LastUpdatedAt = time.Now()
	if err == nil {
		t.Status, t.Result = Completed, withMeta(res.Body, res.Meta)
		r.finish(t)
		return false
	}
	e, answered := errors.AsType[*mcp.Error](err)
	if !answered || e.Local {
		return false
	}
	now, err := l.ask(ctx, &c.Caller, MethodGet, r.id)
	switch {
	case err != nil:
		return false // tasks/get says the same
	case now.Status == Failed:
		now.StatusMessage, now.Error = e.Message, e
		r.finish(now)
	case now.Status == Cancelled:
		r.finish(now)
	case c.State != "": // the answer came too late: the call that carried the question is gone
		return true
	}
	return false
}

// listen serves subscriptions. The members of the extension are served here,
// from status notifications and by polling; the server gets the rest.
func (l *legacyServer) listen(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
	var in mcp.ListenParams
	if err := c.Decode(&in); err != nil || in.Notifications.Other[Filter] == nil {
		return l.server.Serve(ctx, c)
	}
	if err := supported(&c.Caller); err != nil {
		return mcp.Result{}, err
	}
	var ids []string
	if err := mcp.Unmarshal(in.Notifications.Other[Filter], &ids); err != nil {
		return mcp.Result{}, mcp.InvalidParams("%s: %v", Filter, err)
	}
	if len(ids) > maxWatched {
		return mcp.Result{}, mcp.InvalidParams("%s: %d tasks; at most %d are allowed", Filter, len(ids), maxWatched)
	}
	if ctx.Err() != nil {
		return mcp.Result{}, ctx.Err() // see [mcp.Call].Detach
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	filter := in.Notifications.Other[Filter]
	in.Notifications.Other = maps.Clone(in.Notifications.Other)
	delete(in.Notifications.Other, Filter)
	rest := *c
	rest.Detach = nil
	var err error
	if rest.Params, err = mcp.Marshal(in); err != nil {
		return mcp.Result{}, err
	}
	ctx, cancel := context.WithCancel(ctx)
	var following sync.WaitGroup
	defer following.Wait()
	defer cancel()
	out := make(chan mcp.Notification)
	following.Go(func() { deliver(ctx, c, out) })
	send := func(n mcp.Notification) {
		select {
		case out <- n:
		case <-ctx.Done():
		}
	}
	rest.OnNotification = func(n mcp.Notification) {
		if n.Method == mcp.NotificationSubscriptionsAcknowledged {
			n = acknowledge(n, filter)
			defer func() {
				for _, id := range ids {
					following.Go(func() { l.watch(ctx, &c.Caller, id, send) })
				}
			}()
		}
		send(n)
	}
	return l.server.Serve(ctx, &rest)
}

// deliver passes notifications to the caller, one at a time.
func deliver(ctx context.Context, c *mcp.Call, out <-chan mcp.Notification) {
	for {
		select {
		case n := <-out:
			c.Notify(n)
		case <-ctx.Done():
			return
		}
	}
}

// acknowledge adds the tasks to the acknowledgement of a subscription.
func acknowledge(n mcp.Notification, filter json.RawMessage) mcp.Notification {
	var ack mcp.SubscriptionsAcknowledgedParams
	if mcp.Unmarshal(n.Params, &ack) != nil {
		return n
	}
	ack.Notifications.Other = maps.Clone(ack.Notifications.Other)
	if ack.Notifications.Other == nil {
		ack.Notifications.Other = map[string]json.RawMessage{}
	}
	ack.Notifications.Other[Filter] = filter
	if params, err := mcp.Marshal(ack); err == nil {
		n.Params = params
	}
	return n
}

// watch notifies of each state of a task until it has ended or ctx has.
func (l *legacyServer) watch(ctx context.Context, caller *mcp.Caller, id string, notify func(mcp.Notification)) {
	wake := make(chan struct{}, 1)
	l.mu.Lock()
	if l.wakes[id] == nil {
		l.wakes[id] = map[chan struct{}]bool{}
	}
	l.wakes[id][wake] = true
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if delete(l.wakes[id], wake); len(l.wakes[id]) == 0 {
			delete(l.wakes, id)
		}
	}()
	for last := ""; ; {
		t, err := l.get(ctx, caller, id)
		if e, ok := errors.AsType[*mcp.Error](err); ok && !e.Local {
			return // it has expired
		}
		if err == nil {
			params, err := mcp.Marshal(t)
			if err == nil && string(params) != last {
				last = string(params)
				notify(mcp.Notification{Method: Notification, Params: params})
			}
			if t.Status.Final() {
				return
			}
		}
		poll := t.PollInterval
		if poll <= 0 {
			poll = time.Second
		}
		select {
		case <-wake:
		case <-time.After(poll):
		case <-ctx.Done():
			return
		}
	}
}
