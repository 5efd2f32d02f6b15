package tasks

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/mcp"
)

// A legacyServer is a connection to a server that has tasks in the older form.
// To the caller the server has the extension.
type legacyServer struct {
	server mcp.Handler
	life   context.Context // ends with the connection

	mu      sync.Mutex
	support map[string]string // taskSupport of tools by name; nil until the list was read
	read    time.Time         // when the whole list was read
	tasks   map[string]*remoteTask
	order   []string
	wakes   map[string]map[chan struct{}]bool // of subscriptions, by task
}

const (
	requestedTTL   = time.Hour
	maxRemoteTasks = 1000
	// inputWait is how long tasks/get waits for the input requests of a task
	// that requires input: the server sends them when it is asked for the
	// result.
	inputWait = 2 * time.Second
)

func newLegacyServer(h mcp.Handler, c *mcp.LegacyConn) mcp.Handler {
	if !hasLegacyTasks(c.Revision) {
		return h
	}
	res, err := h.Serve(c.Context, &mcp.Call{Method: mcp.MethodDiscover})
	var d mcp.Discovery
	if err != nil || res.Decode(&d) != nil || !callsAreTasks(d.Capabilities.Other[legacyCapability]) {
		return h
	}
	l := &legacyServer{server: h, life: c.Context, tasks: map[string]*remoteTask{}, wakes: map[string]map[chan struct{}]bool{}}
	c.OnNotification, c.InputCall = l.notified, resultCall
	return l
}

// resultCall recognizes the tasks/result call that an input request belongs to.
func resultCall(meta json.RawMessage) func(*mcp.Call) bool {
	m, err := readMembers(meta)
	var in idParams
	if err != nil || m[metaRelatedTask] == nil || mcp.Unmarshal(m[metaRelatedTask], &in) != nil || in.ID == "" {
		return nil
	}
	return func(c *mcp.Call) bool {
		var of idParams
		return c.Method == legacyResult && c.Decode(&of) == nil && of.ID == in.ID
	}
}

// callsAreTasks reports whether a server with this capability accepts tool
// calls as tasks.
func callsAreTasks(capability json.RawMessage) bool {
	var in struct {
		Requests struct {
			Tools struct {
				Call json.RawMessage `json:"call"`
			} `json:"tools"`
		} `json:"requests"`
	}
	return capability != nil && mcp.Unmarshal(capability, &in) == nil && in.Requests.Tools.Call != nil
}

// Serve implements [mcp.Handler].
func (l *legacyServer) Serve(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
	switch {
	case c.IsNotification:
	case c.Method == mcp.MethodDiscover:
		return l.discover(ctx, c)
	case c.Method == mcp.MethodToolsList:
		res, err := l.server.Serve(ctx, c)
		if err == nil {
			l.learn(res)
		}
		return res, err
	case c.Method == mcp.MethodToolsCall:
		return l.call(ctx, c)
	case c.Method == mcp.MethodSubscriptionsListen:
		return l.listen(ctx, c)
	case c.Method == MethodGet, c.Method == MethodUpdate, c.Method == MethodCancel:
		return l.onTask(ctx, c)
	case c.Method == legacyResult, c.Method == legacyList:
		return mcp.Result{}, mcp.MethodNotFound(c.Method) // the extension has no such method
	}
	return l.server.Serve(ctx, c)
}

// discover replaces the capability of the older form by the extension.
func (l *legacyServer) discover(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
	return rediscover(ctx, l.server, c, func(can *mcp.ServerCapabilities) {
		delete(can.Other, legacyCapability)
		can.Extensions[ExtensionID] = json.RawMessage("{}")
	})
}

// learn remembers which tools of a list can be tasks.
func (l *legacyServer) learn(res mcp.Result) {
	var page toolPage
	if res.Decode(&page) != nil {
		return
	}
	for _, t := range page.Tools {
		l.remember(t.Name, t.Execution.TaskSupport)
	}
}

func (l *legacyServer) remember(tool, support string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.support == nil {
		l.support = map[string]string{}
	}
	l.support[tool] = support
}

// supportOf returns the taskSupport of a tool. It reads the list of tools if the
// tool is not known.
func (l *legacyServer) supportOf(ctx context.Context, c *mcp.Call, tool string) string {
	l.mu.Lock()
	support, known := l.support[tool]
	known = known || time.Since(l.read) < listAgain
	l.mu.Unlock()
	if known {
		return support
	}
	err := eachTool(ctx, l.server, &c.Caller, func(tool, support string) bool {
		l.remember(tool, support)
		return true
	})
	if err != nil {
		return "" // the call itself shows what is wrong
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.read = time.Now()
	return l.support[tool]
}

// listAgain is how long an unknown tool is not looked for again.
const listAgain = 30 * time.Second

// call serves tools/call. It makes the call a task if the tool requires that,
// or if the tool can be one and the caller wants that.
func (l *legacyServer) call(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
	params, err := readMembers(c.Params)
	if err != nil {
		return mcp.Result{}, mcp.InvalidParams("%v", err)
	}
	var name string
	if params["name"] != nil {
		_ = mcp.Unmarshal(params["name"], &name) // the server says what is wrong with it
	}
	if params["task"] != nil { // the extension has no such parameter
		delete(params, "task")
		copied := *c
		copied.Params = params.json()
		c = &copied
	}
	declared := supported(&c.Caller)
	switch l.supportOf(ctx, c, name) {
	case "required":
		if declared != nil {
			return mcp.Result{}, declared
		}
	case "optional":
		if declared != nil || !wantsTask(ctx) {
			return l.server.Serve(ctx, c)
		}
	default:
		return l.server.Serve(ctx, c)
	}
	params["task"], _ = mcp.Marshal(map[string]int64{"ttl": requestedTTL.Milliseconds()})
	copied := *c
	copied.Params = params.json()
	res, err := l.server.Serve(ctx, &copied)
	if err != nil {
		return mcp.Result{}, err
	}
	var created struct {
		Task *legacyTask `json:"task"`
	}
	if res.Decode(&created) != nil || created.Task == nil {
		return res, nil // the server has not made it a task
	}
	if created.Task.ID == "" || !created.Task.Status.valid() {
		return mcp.Result{}, &mcp.Error{Code: mcp.CodeInternal, Local: true, Message: "the server returned an invalid task: it has no taskId or an unknown status"}
	}
	t := fromLegacy(*created.Task)
	l.adopt(t, &c.Caller)
	res.Type = ResultType
	res.Body, err = mcp.Marshal(t)
	return res, err
}

// onTask serves the methods of the extension.
func (l *legacyServer) onTask(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
	if err := supported(&c.Caller); err != nil {
		return mcp.Result{}, err
	}
	var in UpdateParams
	if err := c.Decode(&in); err != nil {
		return mcp.Result{}, err
	}
	if in.ID == "" {
		return mcp.Result{}, mcp.InvalidParams("taskId: missing")
	}
	switch c.Method {
	case MethodGet:
		t, err := l.get(ctx, &c.Caller, in.ID)
		if err != nil {
			return mcp.Result{}, err
		}
		return resultOf(t)
	case MethodUpdate:
		return mcp.Result{}, l.update(ctx, &c.Caller, in)
	}
	return mcp.Result{}, l.cancel(ctx, &c.Caller, in.ID)
}

// find returns the entry of a task; nil if there is none. To the server all
// callers are one client, so the task of another principal does not exist.
func (l *legacyServer) find(id string, caller *mcp.Caller) (*remoteTask, error) {
	l.mu.Lock()
	r := l.tasks[id]
	l.mu.Unlock()
	if r != nil && r.owner != ownerOf(caller) {
		return nil, unknown(id)
	}
	return r, nil
}

// adopt returns the entry of a task that the server has returned to a caller.
func (l *legacyServer) adopt(t Task, caller *mcp.Caller) *remoteTask {
	l.mu.Lock()
	r := l.tasks[t.ID]
	if r == nil {
		r = &remoteTask{id: t.ID, owner: ownerOf(caller), changed: make(chan struct{})}
		l.evictLocked()
		l.tasks[t.ID], l.order = r, append(l.order, t.ID)
	}
	l.mu.Unlock()
	r.saw(t)
	return r
}

// evictLocked makes room for another task. A task whose result is being fetched
// stays.
func (l *legacyServer) evictLocked() {
	for i := 0; len(l.tasks) >= maxRemoteTasks && i < len(l.order); {
		if l.tasks[l.order[i]].isFetching() {
			i++
			continue
		}
		delete(l.tasks, l.order[i])
		l.order = slices.Delete(l.order, i, i+1)
	}
}

// get returns the state of a task in the form of the extension.
func (l *legacyServer) get(ctx context.Context, caller *mcp.Caller, id string) (Task, error) {
	r, err := l.find(id, caller)
	if err != nil {
		return Task{}, err
	}
	if r != nil {
		if t, ok := r.ended(); ok {
			return t, nil
		}
	}
	now, err := l.ask(ctx, caller, MethodGet, id)
	if err != nil {
		return Task{}, err
	}
	r = l.adopt(now, caller)
	switch {
	case now.Status == Cancelled:
		r.finish(now)
	case now.Status == Completed || now.Status == Failed:
		r.withdraw() // the server does not wait for an answer any more
		l.fetch(r, caller)
		if err := r.wait(ctx, func() bool { return r.final != nil || !r.fetching }); err != nil {
			return Task{}, err
		}
	case now.Status == InputRequired:
		l.fetch(r, caller)
		short, stop := context.WithTimeout(ctx, inputWait)
		defer stop()
		_ = r.wait(short, func() bool { return r.final != nil || len(r.requests) > 0 || !r.fetching })
	}
	return r.state(), ctx.Err()
}

// ask calls a method of the older form that returns a task.
func (l *legacyServer) ask(ctx context.Context, caller *mcp.Caller, method, id string) (Task, error) {
	res, err := request(ctx, l.server, &mcp.Call{Caller: *caller}, method, idParams{id})
	if err != nil {
		return Task{}, err
	}
	var in legacyTask
	if err := res.Decode(&in); err != nil {
		return Task{}, &mcp.Error{Code: mcp.CodeInternal, Local: true, Message: "the server returned an invalid task: " + err.Error()}
	}
	if in.ID != id || !in.Status.valid() {
		return Task{}, &mcp.Error{Code: mcp.CodeInternal, Local: true, Message: "the server returned another task than " + strconv.Quote(clip(id)) + ", or one with an unknown status"}
	}
	return fromLegacy(in), nil
}

// cancel cancels a task; one that has ended stays as it is.
func (l *legacyServer) cancel(ctx context.Context, caller *mcp.Caller, id string) error {
	r, err := l.find(id, caller)
	if err != nil {
		return err
	}
	if r != nil {
		if _, ok := r.ended(); ok {
			return nil
		}
	}
	t, err := l.ask(ctx, caller, MethodCancel, id)
	if e, ok := errors.AsType[*mcp.Error](err); ok && e.Code == mcp.CodeInvalidParams && !e.Local {
		// The older form refuses to cancel a task that has ended.
		if now, getErr := l.ask(ctx, caller, MethodGet, id); getErr == nil && now.Status.Final() {
			return nil
		}
	}
	if err != nil {
		return err
	}
	t.Status = Cancelled
	l.adopt(t, caller).finish(t)
	return nil
}

// update passes responses to the task. Those to requests that are not open are
// ignored.
func (l *legacyServer) update(ctx context.Context, caller *mcp.Caller, in UpdateParams) error {
	if in.InputResponses == nil {
		return mcp.InvalidParams("inputResponses: missing")
	}
	r, err := l.find(in.ID, caller)
	if err != nil {
		return err
	}
	if r == nil || !r.respond(in.InputResponses) {
		_, err := l.ask(ctx, caller, MethodGet, in.ID) // an unknown task is an error
		return err
	}
	return nil
}

// notified receives the notifications of the server. A status notification has
// no payload, so subscriptions to the task fetch its state.
func (l *legacyServer) notified(n mcp.Notification) bool {
	switch n.Method {
	case mcp.NotificationToolsListChanged:
		l.mu.Lock()
		l.support, l.read = nil, time.Time{}
		l.mu.Unlock()
		return false
	case legacyNotification:
	default:
		return false
	}
	var in idParams
	if mcp.Unmarshal(n.Params, &in) != nil {
		return true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for wake := range l.wakes[in.ID] {
		signal(wake)
	}
	return true
}
