package tasks

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/internal/textclip"
	"github.com/tenon-mcp/tenon/mcp"
)

// methodList returns the tasks of the caller. The extension has no such method
// on purpose; it serves clients of the older form, and is never sent.
const methodList = "tenon/tasks/list"

// idParams is the parameters of tasks/get and tasks/cancel.
type idParams struct {
	ID string `json:"taskId"`
}

// UpdateParams is the parameters of tasks/update.
type UpdateParams struct {
	ID             string                     `json:"taskId"`
	InputResponses map[string]json.RawMessage `json:"inputResponses"`
}

// find returns the task that a call names. A task of somebody else does not
// exist for the caller.
func (m *Manager) find(ctx context.Context, caller *mcp.Caller, id string) (*Record, error) {
	if err := supported(caller); err != nil {
		return nil, err
	}
	if id == "" {
		return nil, mcp.InvalidParams("taskId: missing")
	}
	r, err := m.store.Get(ctx, id)
	if err == nil && r.Owner != ownerOf(caller) {
		err = ErrNotFound
	}
	if err == nil {
		r, err = m.check(ctx, r)
	}
	return r, m.explain("read a task", id, err)
}

// explain returns the error for the client of an operation on a task.
func (m *Manager) explain(what, id string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrNotFound):
		return unknown(id)
	}
	return m.failed(what, err)
}

func unknown(id string) error {
	return mcp.InvalidParams("unknown task %q: it does not exist or has expired", clip(id))
}

func clip(s string) string { return textclip.Clip(s, 100) }

// read returns a record for work that no caller waits for.
func (m *Manager) read(ctx context.Context, id string) (*Record, error) {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	r, err := m.store.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	return m.check(ctx, r)
}

// check looks whether a task was interrupted: its process has stopped without
// storing a result. If another Manager may take over the task, this one is about
// to; otherwise the task has failed.
func (m *Manager) check(ctx context.Context, r *Record) (*Record, error) {
	if r.Task.Status.Final() {
		return r, nil
	}
	alive, err := m.alive(ctx, r)
	if err != nil || alive {
		return r, err
	}
	if r.Call != nil && m.shared {
		m.suspect(r.Task.ID, suspect{})
		signal(m.kick)
		return r, nil
	}
	return m.fail(ctx, r, interrupted)
}

// alive reports whether a task is being run. A Manager trusts the lease of
// others only: it knows what it runs itself, also when it was too slow to renew
// its own. While it doubts that others could renew theirs, they count as alive.
func (m *Manager) alive(ctx context.Context, r *Record) (bool, error) {
	if r.Runner != m.runner {
		alive, err := m.store.Alive(ctx, r.Runner)
		return alive || m.doubts(), err
	}
	_, running := m.running.Load(r.Task.ID)
	return running, nil
}

// get serves tasks/get.
func (m *Manager) get(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
	var in idParams
	if err := c.Decode(&in); err != nil {
		return mcp.Result{}, err
	}
	r, err := m.find(ctx, &c.Caller, in.ID)
	if err != nil {
		return mcp.Result{}, err
	}
	body, err := mcp.Marshal(r.Task)
	return mcp.Result{Body: body}, err
}

// update serves tasks/update. Responses under keys that are not open are
// ignored, as the extension recommends.
func (m *Manager) update(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
	var in UpdateParams
	if err := c.Decode(&in); err != nil {
		return mcp.Result{}, err
	}
	r, err := m.find(ctx, &c.Caller, in.ID)
	if err != nil {
		return mcp.Result{}, err
	}
	if in.InputResponses == nil {
		return mcp.Result{}, mcp.InvalidParams("inputResponses: missing")
	}
	for key, q := range r.Task.InputRequests {
		if response, ok := in.InputResponses[key]; ok {
			if err := checkResponse(q, response); err != nil {
				return mcp.Result{}, mcp.InvalidParams("inputResponses[%q]: %v", clip(key), err)
			}
		}
	}
	_, err = change(ctx, m.store, in.ID, func(r *Record) bool { return r.respond(in.InputResponses) })
	return mcp.Result{}, m.explain("update a task", in.ID, err)
}

// respond moves responses to open requests into the record. When none is open
// any more, the task works on.
func (r *Record) respond(responses map[string]json.RawMessage) (changed bool) {
	for key, response := range responses {
		if _, open := r.Task.InputRequests[key]; !open {
			continue
		}
		delete(r.Task.InputRequests, key)
		delete(r.Asking, key)
		if r.Responses == nil {
			r.Responses = map[string]json.RawMessage{}
		}
		r.Responses[key] = response
		changed = true
	}
	if changed && len(r.Task.InputRequests) == 0 {
		r.Task.Status, r.Task.InputRequests = Working, nil
	}
	return changed
}

// checkResponse returns an error if a response does not have the form that its
// request needs.
func checkResponse(q mcp.InputRequest, response json.RawMessage) error {
	var v any
	switch q.Method {
	case mcp.MethodElicit:
		v = new(mcp.ElicitResult)
	case mcp.MethodCreateMessage:
		v = new(mcp.CreateMessageResult)
	case mcp.MethodRootsList:
		v = new(mcp.ListRootsResult)
	default:
		return nil
	}
	if err := mcp.Unmarshal(response, v); err != nil {
		return err
	}
	e, ok := v.(*mcp.ElicitResult)
	switch {
	case !ok:
	case e.Action != mcp.ActionAccept && e.Action != mcp.ActionDecline && e.Action != mcp.ActionCancel:
		return errors.New(`action: must be "accept", "decline" or "cancel"`)
	case len(e.Content) > 0 && e.Content[0] != '{' && string(e.Content) != "null":
		return errors.New("content: must be an object")
	}
	return nil
}

// cancel serves tasks/cancel. It marks the task at once; its run ends when it
// sees that.
func (m *Manager) cancel(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
	var in idParams
	if err := c.Decode(&in); err != nil {
		return mcp.Result{}, err
	}
	if _, err := m.find(ctx, &c.Caller, in.ID); err != nil {
		return mcp.Result{}, err
	}
	_, err := change(ctx, m.store, in.ID, func(r *Record) bool { return r.finish(outcome{status: Cancelled}) })
	return mcp.Result{}, m.explain("cancel a task", in.ID, err)
}

// listParams and listResult are those of methodList.
type listParams struct {
	Cursor string `json:"cursor,omitzero"`
}

type listResult struct {
	Tasks      []Task `json:"tasks"`
	NextCursor string `json:"nextCursor,omitzero"`
}

// listPage is the number of tasks on one page of a list.
const listPage = 50

// list serves methodList. Callers that are not authenticated share their tasks
// with all others that are not, so there is no list for them.
func (m *Manager) list(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
	if c.Caller.Principal == nil {
		return mcp.Result{}, mcp.MethodNotFound(c.Method)
	}
	var in listParams
	if err := c.Decode(&in); err != nil {
		return mcp.Result{}, err
	}
	after, err := parseCursor(in.Cursor)
	if err != nil {
		return mcp.Result{}, err
	}
	records, err := m.store.List(ctx, ownerOf(&c.Caller), after, listPage)
	if err != nil {
		return mcp.Result{}, m.failed("list tasks", err)
	}
	out := listResult{Tasks: make([]Task, 0, len(records))}
	for _, r := range records {
		switch r, err := m.check(ctx, r); {
		case err == nil:
			out.Tasks = append(out.Tasks, r.Task.handle())
		case !errors.Is(err, ErrNotFound):
			return mcp.Result{}, m.failed("list tasks", err)
		}
	}
	if len(records) == listPage {
		out.NextCursor = records[listPage-1].Cursor().String()
	}
	body, err := mcp.Marshal(out)
	return mcp.Result{Body: body}, err
}

// String returns the cursor as it is sent to clients.
func (c Cursor) String() string { return strconv.FormatInt(c.millis(), 10) + "." + c.ID }

func parseCursor(s string) (Cursor, error) {
	if s == "" {
		return Cursor{}, nil
	}
	millis, id, _ := strings.Cut(s, ".")
	n, err := strconv.ParseInt(millis, 10, 64)
	if err != nil || id == "" || len(s) > 100 {
		return Cursor{}, mcp.InvalidParams("cursor: invalid; begin again without one")
	}
	return Cursor{time.UnixMilli(n), id}, nil
}
