package tasks

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"time"

	"github.com/tenon-mcp/tenon/mcp"
)

// Revision 2025-11-25 has tasks in its core, in another form. The differences:
//
//   - The client decides: it adds the parameter task to tools/call, and the
//     result is {"task":{…}}.
//   - tasks/get returns the status only. tasks/result waits for the end and
//     returns the result of the call; on its stream the server sends input
//     requests. tasks/list lists.
//   - A failed tool (isError) makes the task failed.
//   - Cancelling a task that has ended is an error.
//
// This package serves clients of that form, see legacyClient, and uses servers
// of that form, see legacyServer. To the rest of Tenon both look like the
// extension. Other older revisions have no tasks: their clients wait for the
// result.

func init() {
	mcp.RegisterExtension(mcp.Extension{
		ID: ExtensionID,
		Names: []mcp.NameRule{
			{Method: MethodGet, In: mcp.InParams, Path: "taskId", Kind: "task", Header: true},
			{Method: MethodGet, In: mcp.InResult, Path: "taskId", Kind: "task"},
			{Method: MethodGet, In: mcp.InResult, Path: "result.content[].uri", Kind: "uri"},
			{Method: MethodGet, In: mcp.InResult, Path: "result.content[].resource.uri", Kind: "uri"},
			{Method: MethodUpdate, In: mcp.InParams, Path: "taskId", Kind: "task", Header: true},
			{Method: MethodCancel, In: mcp.InParams, Path: "taskId", Kind: "task", Header: true},
			{Method: mcp.MethodToolsCall, In: mcp.InResult, ResultType: ResultType, Path: "taskId", Kind: "task"},
			{Method: mcp.MethodSubscriptionsListen, In: mcp.InParams, Path: "notifications." + Filter + "[]", Kind: "task"},
			{Method: mcp.NotificationSubscriptionsAcknowledged, In: mcp.InParams, Path: "notifications." + Filter + "[]", Kind: "task"},
			{Method: Notification, In: mcp.InParams, Path: "taskId", Kind: "task"},
			{Method: Notification, In: mcp.InParams, Path: "result.content[].uri", Kind: "uri"},
			{Method: Notification, In: mcp.InParams, Path: "result.content[].resource.uri", Kind: "uri"},
			{Method: methodList, In: mcp.InResult, Path: "tasks[].taskId", Kind: "task"},
		},
		InputMethods:    []string{legacyResult},
		ForLegacyClient: newLegacyClient,
		ForLegacyServer: newLegacyServer,
	})
}

// The names of the older form. tasks/get and tasks/cancel have the same name in
// both.
const (
	legacyResult       = "tasks/result"
	legacyList         = "tasks/list"
	legacyNotification = "notifications/tasks/status"
	legacyCapability   = "tasks"
	metaRelatedTask    = "io.modelcontextprotocol/related-task"
)

// hasLegacyTasks reports whether a revision has the older form.
func hasLegacyTasks(r mcp.Revision) bool { return r == mcp.Rev20251125 }

// legacyTask is a task in the older form.
type legacyTask struct {
	ID            string `json:"taskId"`
	Status        Status `json:"status"`
	StatusMessage string `json:"statusMessage,omitzero"`
	CreatedAt     string `json:"createdAt"`
	LastUpdatedAt string `json:"lastUpdatedAt"`
	TTL           *int64 `json:"ttl"` // milliseconds; null means without limit
	PollInterval  *int64 `json:"pollInterval,omitzero"`
}

// toLegacy returns a task in the older form.
func toLegacy(t Task) legacyTask {
	if t.Status == Completed && isError(t.Result) {
		t.Status = Failed
	}
	return legacyTask{
		ID: t.ID, Status: t.Status, StatusMessage: t.StatusMessage,
		CreatedAt: formatTime(t.CreatedAt), LastUpdatedAt: formatTime(t.LastUpdatedAt),
		TTL: milliseconds(t.TTL), PollInterval: milliseconds(t.PollInterval),
	}
}

// isError reports whether a result is that of a failed tool.
func isError(result json.RawMessage) bool {
	var in struct {
		IsError bool `json:"isError"`
	}
	return result != nil && mcp.Unmarshal(result, &in) == nil && in.IsError
}

// fromLegacy returns the task of the older form, without its payload.
func fromLegacy(l legacyTask) Task {
	t := Task{
		ID: l.ID, Status: l.Status, StatusMessage: l.StatusMessage,
		CreatedAt: parseTime(l.CreatedAt), LastUpdatedAt: parseTime(l.LastUpdatedAt),
		TTL: duration(l.TTL), PollInterval: duration(l.PollInterval),
	}
	if t.CreatedAt.IsZero() {
		t.CreatedAt = time.Now()
	}
	if t.LastUpdatedAt.IsZero() {
		t.LastUpdatedAt = t.CreatedAt
	}
	return t
}

// relatedTask returns the _meta of messages that belong to a task.
func relatedTask(id string) mcp.Meta {
	value, _ := mcp.Marshal(idParams{id})
	return mcp.Meta{metaRelatedTask: value}
}

// withMeta returns the body of a result with its metadata, as it is part of a
// task.
func withMeta(body json.RawMessage, meta mcp.Meta) json.RawMessage {
	if body == nil {
		body = json.RawMessage("{}")
	}
	rest := maps.Clone(meta)
	delete(rest, metaRelatedTask)
	if len(rest) == 0 {
		return body
	}
	m, err := readMembers(body)
	if err != nil {
		return body
	}
	m["_meta"] = members(rest).json()
	return m.json()
}

// splitMeta reverses withMeta.
func splitMeta(result json.RawMessage) mcp.Result {
	if !bytes.Contains(result, []byte(`"_meta"`)) {
		return mcp.Result{Body: result}
	}
	m, err := readMembers(result)
	if err != nil || m["_meta"] == nil {
		return mcp.Result{Body: result}
	}
	meta, err := readMembers(m["_meta"])
	if err != nil {
		return mcp.Result{Body: result}
	}
	delete(m, "_meta")
	return mcp.Result{Body: m.json(), Meta: mcp.Meta(meta)}
}

// resultOf returns v as a result.
func resultOf(v any) (mcp.Result, error) {
	body, err := mcp.Marshal(v)
	return mcp.Result{Body: body}, err
}

// members is a JSON object of which only some members are of interest.
type members map[string]json.RawMessage

func readMembers(raw json.RawMessage) (members, error) {
	m := members{}
	if raw == nil {
		return m, nil
	}
	return m, mcp.Unmarshal(raw, (*map[string]json.RawMessage)(&m))
}

func (m members) json() json.RawMessage {
	raw, _ := mcp.Marshal(map[string]json.RawMessage(m)) // parts of valid JSON
	return raw
}

// rediscover serves server/discover with other capabilities. The maps that
// change gets are copies.
func rediscover(ctx context.Context, h mcp.Handler, c *mcp.Call, change func(*mcp.ServerCapabilities)) (mcp.Result, error) {
	res, err := h.Serve(ctx, c)
	if err != nil {
		return res, err
	}
	var d mcp.Discovery
	if err := res.Decode(&d); err != nil {
		return mcp.Result{}, err
	}
	copied := func(m map[string]json.RawMessage) map[string]json.RawMessage {
		if m == nil {
			return map[string]json.RawMessage{}
		}
		return maps.Clone(m)
	}
	d.Capabilities.Extensions, d.Capabilities.Other = copied(d.Capabilities.Extensions), copied(d.Capabilities.Other)
	change(&d.Capabilities)
	res.Body, err = mcp.Marshal(d)
	return res, err
}

// toolPage is a page of a list of tools.
type toolPage struct {
	Tools []struct {
		Name      string            `json:"name"`
		Execution mcp.ToolExecution `json:"execution"`
	} `json:"tools"`
	NextCursor *string `json:"nextCursor"`
}

// maxPages bounds how far a list of tools is read.
const maxPages = 100

// eachTool calls see with the tools of a server and their taskSupport, until it
// returns false.
func eachTool(ctx context.Context, h mcp.Handler, caller *mcp.Caller, see func(name, support string) (more bool)) error {
	var cursor *string
	for range maxPages {
		params, err := mcp.Marshal(mcp.PageParams{Cursor: cursor})
		if err != nil {
			return err
		}
		res, err := h.Serve(ctx, &mcp.Call{Method: mcp.MethodToolsList, Params: params, Caller: *caller})
		if err != nil {
			return err
		}
		var page toolPage
		if err := res.Decode(&page); err != nil {
			return err
		}
		for _, t := range page.Tools {
			if !see(t.Name, t.Execution.TaskSupport) {
				return nil
			}
		}
		if cursor = page.NextCursor; cursor == nil {
			return nil
		}
	}
	return nil
}
