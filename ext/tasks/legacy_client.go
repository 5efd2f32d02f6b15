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

// A legacyClient serves the session of a client of an older revision with a
// Handler that has the extension.
type legacyClient struct {
	server  mcp.Handler
	waiting *driver // of server, for clients that wait for the result
	session *mcp.LegacySession
	core    bool // the revision has the older form

	mu    sync.Mutex
	tasks map[string]*sessionTask
	order []string // ids in the order of creation
}

// A sessionTask is a task that was created in the session.
type sessionTask struct {
	own       *Task // of a call that returned a result at once; nil for a task of the server
	expires   time.Time
	cancelled bool            // the client was told so
	ended     bool            // it is known to have ended
	results   int             // tasks/result calls that are open
	asking    map[string]bool // keys of input requests that the client is being asked by this process
}

const (
	maxSessionTasks = 1000
	// maxOwnTTL is how long the session keeps results of its own. Idle sessions
	// stay in memory longer than that.
	maxOwnTTL = 5 * time.Minute
)

func newLegacyClient(h mcp.Handler, s *mcp.LegacySession) mcp.Handler {
	return &legacyClient{server: h, waiting: &driver{server: h}, session: s, core: hasLegacyTasks(s.Revision), tasks: map[string]*sessionTask{}}
}

// Serve implements [mcp.Handler].
func (l *legacyClient) Serve(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
	switch c.Method {
	case mcp.MethodDiscover:
		return l.discover(ctx, c)
	case mcp.MethodToolsList:
		return l.listTools(ctx, c)
	case mcp.MethodToolsCall:
		return l.call(ctx, c)
	}
	if !strings.HasPrefix(c.Method, "tasks/") || c.IsNotification {
		return l.server.Serve(ctx, c)
	}
	if !l.core {
		return mcp.Result{}, mcp.MethodNotFound(c.Method)
	}
	switch c.Method {
	case MethodGet:
		return l.get(ctx, l.waiting.callers.declare(c))
	case legacyResult:
		return l.result(ctx, l.waiting.callers.declare(c))
	case legacyList:
		return l.list(ctx, l.waiting.callers.declare(c))
	case MethodCancel:
		return l.cancel(ctx, l.waiting.callers.declare(c))
	}
	return mcp.Result{}, mcp.MethodNotFound(c.Method)
}

// discover replaces the extension by the capability of the older form.
func (l *legacyClient) discover(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
	return rediscover(ctx, l.server, c, func(can *mcp.ServerCapabilities) {
		delete(can.Extensions, ExtensionID)
		if len(can.Extensions) == 0 {
			can.Extensions = nil
		}
		if l.core {
			can.Other[legacyCapability] = json.RawMessage(`{"list":{},"cancel":{},"requests":{"tools":{"call":{}}}}`)
		}
	})
}

// add records a task of the session.
func (l *legacyClient) add(t Task, own *Task) *sessionTask {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.addLocked(t, own)
}

func (l *legacyClient) addLocked(t Task, own *Task) *sessionTask {
	ttl := t.TTL
	if ttl <= 0 {
		ttl = 24 * time.Hour // the session forgets it; the server may keep it
	}
	s := &sessionTask{own: own, ended: own != nil, expires: time.Now().Add(ttl), asking: map[string]bool{}}
	if l.tasks[t.ID] == nil {
		l.order = append(l.order, t.ID)
	}
	l.tasks[t.ID] = s
	return s
}

// room returns an error if the session has no room for another task. It forgets
// tasks that have ended first.
func (l *legacyClient) room() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.expireLocked()
	for _, id := range l.order {
		if s := l.tasks[id]; len(l.tasks) >= maxSessionTasks && s.ended && s.own == nil {
			delete(l.tasks, id) // the server still has it
		}
	}
	l.expireLocked()
	if len(l.tasks) >= maxSessionTasks {
		return mcp.Errorf(mcp.CodeInternal, "too many tasks: this session has %d; wait until some have ended", len(l.tasks))
	}
	return nil
}

func (l *legacyClient) expireLocked() {
	now := time.Now()
	maps.DeleteFunc(l.tasks, func(_ string, s *sessionTask) bool { return !s.expires.IsZero() && now.After(s.expires) })
	l.order = slices.DeleteFunc(l.order, func(id string) bool { return l.tasks[id] == nil })
}

// find returns the state of a task as the client may see it.
func (l *legacyClient) find(ctx context.Context, c *mcp.Call, id string) (*Task, error) {
	if id == "" {
		return nil, mcp.InvalidParams("taskId: missing")
	}
	l.mu.Lock()
	l.expireLocked()
	var own *Task
	cancelled := false
	if s := l.tasks[id]; s != nil {
		own, cancelled = s.own, s.cancelled
	}
	l.mu.Unlock()
	if own != nil {
		t := *own
		return &t, nil
	}
	t, err := get(ctx, l.server, c, id)
	if err != nil {
		return nil, err
	}
	if !l.seen(*t) {
		l.adopt(ctx, c, *t)
	}
	if cancelled {
		t.Status, t.Result, t.Error, t.InputRequests = Cancelled, nil, nil, nil
	}
	return t, nil
}

func (l *legacyClient) get(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
	t, err := l.decodeAndFind(ctx, c)
	if err != nil {
		return mcp.Result{}, err
	}
	return resultOf(toLegacy(*t))
}

func (l *legacyClient) decodeAndFind(ctx context.Context, c *mcp.Call) (*Task, error) {
	var in idParams
	if err := c.Decode(&in); err != nil {
		return nil, err
	}
	return l.find(ctx, c, in.ID)
}

// cancel serves tasks/cancel. After it has returned, the task stays cancelled
// for the client, even if the server needs time for it or ends it otherwise.
func (l *legacyClient) cancel(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
	t, err := l.decodeAndFind(ctx, c)
	if err != nil {
		return mcp.Result{}, err
	}
	if t.Status.Final() {
		return mcp.Result{}, mcp.InvalidParams("cannot cancel the task %q: it is %s already", clip(t.ID), toLegacy(*t).Status)
	}
	if _, err := request(ctx, l.server, c, MethodCancel, idParams{t.ID}); err != nil {
		return mcp.Result{}, err
	}
	if now, err := get(ctx, l.server, c, t.ID); err == nil && now.Status.Final() && now.Status != Cancelled {
		return mcp.Result{}, mcp.InvalidParams("cannot cancel the task %q: it is %s already", clip(t.ID), toLegacy(*now).Status)
	}
	l.mu.Lock()
	s := l.tasks[t.ID]
	l.mu.Unlock()
	if s == nil { // of another session
		s = l.add(*t, nil)
	}
	l.mu.Lock()
	s.cancelled, s.ended = true, true
	l.mu.Unlock()
	t.Status, t.StatusMessage, t.LastUpdatedAt = Cancelled, "", time.Now()
	return resultOf(toLegacy(*t))
}

// list serves tasks/list: all tasks of an authenticated client if the server
// can list them, otherwise those of the session.
func (l *legacyClient) list(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
	var in listParams
	if err := c.Decode(&in); err != nil {
		return mcp.Result{}, err
	}
	if c.Caller.Principal.Key() != "" {
		res, err := request(ctx, l.server, c, methodList, in)
		if !isMethodNotFound(err) {
			return l.projectList(ctx, c, res, err)
		}
	}
	l.mu.Lock()
	l.expireLocked()
	ids := slices.Clone(l.order)
	l.mu.Unlock()
	if in.Cursor != "" {
		i := slices.Index(ids, in.Cursor)
		if i < 0 {
			return mcp.Result{}, mcp.InvalidParams("cursor: unknown or expired; begin again without one")
		}
		ids = ids[i+1:]
	}
	out := legacyTasks{Tasks: []legacyTask{}}
	if len(ids) > listPage {
		ids, out.NextCursor = ids[:listPage], ids[listPage-1]
	}
	for _, id := range ids {
		t, err := l.find(ctx, c, id)
		if e, ok := errors.AsType[*mcp.Error](err); ok && e.Code == mcp.CodeInvalidParams {
			continue // expired meanwhile
		}
		if err != nil {
			return mcp.Result{}, err
		}
		out.Tasks = append(out.Tasks, toLegacy(*t))
	}
	return resultOf(out)
}

// legacyTasks is the result of tasks/list.
type legacyTasks struct {
	Tasks      []legacyTask `json:"tasks"`
	NextCursor string       `json:"nextCursor,omitzero"`
}

// projectList returns a page of the server's list, and on the last the results
// that only this session has.
func (l *legacyClient) projectList(ctx context.Context, c *mcp.Call, res mcp.Result, err error) (mcp.Result, error) {
	if err != nil {
		return mcp.Result{}, err
	}
	var page listResult
	if err := res.Decode(&page); err != nil {
		return mcp.Result{}, err
	}
	out := legacyTasks{Tasks: make([]legacyTask, 0, len(page.Tasks)), NextCursor: page.NextCursor}
	for _, t := range page.Tasks {
		if l.isCancelled(t.ID) {
			t.Status = Cancelled
		} else if t.Status == Completed { // the list does not say whether the tool failed
			if whole, err := get(ctx, l.server, c, t.ID); err == nil {
				t = *whole
			}
		}
		out.Tasks = append(out.Tasks, toLegacy(t))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if page.NextCursor == "" { // the last page has those that only the session knows
		for _, id := range l.order {
			if own := l.tasks[id].own; own != nil {
				out.Tasks = append(out.Tasks, toLegacy(*own))
			}
		}
	}
	return resultOf(out)
}

// result serves tasks/result: it waits for the end of the task and returns the
// result of the call. Meanwhile it asks the client for the input that the task
// requires.
func (l *legacyClient) result(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
	t, err := l.decodeAndFind(ctx, c)
	if err != nil {
		return mcp.Result{}, err
	}
	defer l.resultOpen(t.ID)()
	r, _ := parseRound(c.State)
	if len(c.InputResponses) > 0 {
		if t, err = l.respond(ctx, c, t.ID); err != nil {
			return mcp.Result{}, err
		}
		r.Answered = slices.AppendSeq(r.Answered, maps.Keys(c.InputResponses))
	}
	w := newWatch(ctx, l.server, c, *t)
	defer w.stop()
	for now := *t; ; {
		if now.Status.Final() && (now.Status == Cancelled || now.Result != nil || now.Error != nil) {
			return finalResult(now)
		}
		if open := l.openRequests(ctx, c, now, r.Answered); len(open) > 0 {
			release := func() { l.release(c, t.ID, slices.Collect(maps.Keys(open))) }
			return mcp.Result{}, &mcp.InputRequired{Requests: open, State: round{ID: t.ID, Answered: r.Answered}.state(), Abandon: release}
		}
		if now, err = w.next(ctx); err != nil {
			return mcp.Result{}, err
		}
		if l.isCancelled(t.ID) {
			now.Status = Cancelled
		}
	}
}

// finalResult returns what the call that became the task returns.
func finalResult(t Task) (mcp.Result, error) {
	switch {
	case t.Status == Cancelled:
		return mcp.Result{}, mcp.Errorf(mcp.CodeInternal, "the task was cancelled")
	case t.Error != nil:
		return mcp.Result{}, t.Error
	}
	res := splitMeta(t.Result)
	if res.Meta == nil {
		res.Meta = mcp.Meta{}
	}
	maps.Copy(res.Meta, relatedTask(t.ID))
	return res, nil
}

// resultOpen counts a tasks/result call until the returned function is called.
func (l *legacyClient) resultOpen(id string) (done func()) {
	add := func(n int) {
		l.mu.Lock()
		defer l.mu.Unlock()
		if s := l.tasks[id]; s != nil {
			s.results += n
		}
	}
	add(1)
	return func() { add(-1) }
}

func (l *legacyClient) isCancelled(id string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.tasks[id]
	return s != nil && s.cancelled
}

// openRequests returns the input requests of a task that the client has not
// been asked, with the metadata that says whose they are. They count as asked
// until they are released.
func (l *legacyClient) openRequests(ctx context.Context, c *mcp.Call, t Task, answered []string) map[string]mcp.InputRequest {
	var keys []string
	for key := range t.InputRequests {
		if !slices.Contains(answered, key) {
			keys = append(keys, key)
		}
	}
	open := map[string]mcp.InputRequest{}
	for _, key := range l.claim(ctx, c, t.ID, keys) {
		open[key] = related(t.InputRequests[key], t.ID)
	}
	return open
}

// related adds to an input request which task it belongs to.
func related(q mcp.InputRequest, id string) mcp.InputRequest {
	params, err := readMembers(q.Params)
	if err != nil {
		return q
	}
	meta, err := readMembers(params["_meta"])
	if err != nil {
		return q
	}
	maps.Copy(meta, members(relatedTask(id)))
	params["_meta"] = meta.json()
	q.Params = params.json()
	return q
}

// respond passes the responses of the client on. If it refused a request, the
// task is cancelled: it cannot go on.
func (l *legacyClient) respond(ctx context.Context, c *mcp.Call, id string) (*Task, error) {
	if err := c.Refusal(); err != nil {
		cancelTask(l.server, c, id)
		return nil, err
	}
	if _, err := request(ctx, l.server, c, MethodUpdate, UpdateParams{ID: id, InputResponses: c.InputResponses}); err != nil {
		return nil, err
	}
	l.forget(id, slices.Collect(maps.Keys(c.InputResponses)))
	return get(ctx, l.server, c, id)
}
