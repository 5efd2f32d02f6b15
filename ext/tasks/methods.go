package tasks

import (
	"context"
	"encoding/json"
	"errors"
	"time"

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
	switch {
	case errors.Is(err, ErrNotFound) || err == nil && r.Owner != ownerOf(caller):
		return nil, unknown(id)
	case err != nil:
		return nil, m.failed("read a task", err)
	}
	return m.revive(ctx, r)
}

func unknown(id string) error {
	return mcp.InvalidParams("unknown task %q: it does not exist or has expired", clip(id))
}

func clip(s string) string {
	if len(s) > 100 {
		return s[:100] + "…"
	}
	return s
}

// revive marks a task as failed whose process has stopped without a result.
func (m *Manager) revive(ctx context.Context, r *Record) (*Record, error) {
	if r.Task.Status.Final() || time.Now().Before(r.Lease) {
		return r, nil
	}
	lost := mcp.Errorf(mcp.CodeInternal, "the server stopped while it was running the task")
	r, err := change(ctx, m.store, r.Task.ID, func(r *Record) bool {
		return time.Now().After(r.Lease) && r.finish(Failed, lost.Message, nil, lost)
	})
	if errors.Is(err, ErrNotFound) {
		return nil, unknown(r.Task.ID)
	}
	if err != nil {
		return nil, m.failed("read a task", err)
	}
	return r, nil
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
	if errors.Is(err, ErrNotFound) {
		return mcp.Result{}, unknown(in.ID)
	}
	if err != nil {
		return mcp.Result{}, m.failed("update a task", err)
	}
	return mcp.Result{}, nil
}

// respond moves responses to open requests into the record. When none is open
// any more, the task works on.
func (r *Record) respond(responses map[string]json.RawMessage) (changed bool) {
	for key, response := range responses {
		if _, open := r.Task.InputRequests[key]; !open {
			continue
		}
		delete(r.Task.InputRequests, key)
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
	if e, ok := v.(*mcp.ElicitResult); ok && e.Action != mcp.ActionAccept && e.Action != mcp.ActionDecline && e.Action != mcp.ActionCancel {
		return errors.New(`action: must be "accept", "decline" or "cancel"`)
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
	_, err := change(ctx, m.store, in.ID, func(r *Record) bool { return r.finish(Cancelled, "", nil, nil) })
	if errors.Is(err, ErrNotFound) {
		return mcp.Result{}, unknown(in.ID)
	}
	if err != nil {
		return mcp.Result{}, m.failed("cancel a task", err)
	}
	return mcp.Result{}, nil
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

// list serves methodList.
func (m *Manager) list(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
	var in listParams
	if err := c.Decode(&in); err != nil {
		return mcp.Result{}, err
	}
	owner := ownerOf(&c.Caller)
	records, err := m.store.List(ctx, owner, in.Cursor, listPage)
	if errors.Is(err, ErrNotFound) {
		return mcp.Result{}, mcp.InvalidParams("cursor: unknown or expired; begin again without one")
	}
	if err != nil {
		return mcp.Result{}, m.failed("list tasks", err)
	}
	out := listResult{Tasks: make([]Task, 0, len(records))}
	for _, r := range records {
		if r, err = m.revive(ctx, r); err == nil {
			out.Tasks = append(out.Tasks, r.Task.handle())
		}
	}
	if len(records) == listPage {
		out.NextCursor = records[listPage-1].Task.ID
	}
	body, err := mcp.Marshal(out)
	return mcp.Result{Body: body}, err
}
