package tasks

import (
	"bytes"
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
