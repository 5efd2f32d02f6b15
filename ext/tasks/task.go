package tasks

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"github.com/tenon-mcp/tenon/mcp"
)

// ExtensionID is the identifier of the extension in capabilities.
const ExtensionID = "io.modelcontextprotocol/tasks"

// The methods and notifications of the extension.
const (
	MethodGet    = "tasks/get"
	MethodUpdate = "tasks/update"
	MethodCancel = "tasks/cancel"

	// Notification carries the state of a task to subscribed clients.
	Notification = "notifications/tasks"

	// ResultType is the resultType of a result that is a task.
	ResultType = "task"

	// Filter is the member of a subscription filter that lists task ids.
	Filter = "taskIds"
)

// A Status is the status of a task.
type Status string

// The statuses. Completed, failed and cancelled are final.
const (
	Working       Status = "working"
	InputRequired Status = "input_required" // waits for responses to input requests
	Completed     Status = "completed"      // has a result, which may be that of a failed tool
	Failed        Status = "failed"         // ended with a protocol error
	Cancelled     Status = "cancelled"
)

// Final reports whether a task with this status never changes again.
func (s Status) Final() bool { return s == Completed || s == Failed || s == Cancelled }

func (s Status) valid() bool { return s == Working || s == InputRequired || s.Final() }

// A Task is the state of a task at one moment.
type Task struct {
	ID     string
	Status Status
	// StatusMessage describes the state for the user or the model; it may be
	// empty.
	StatusMessage string
	// CreatedAt and LastUpdatedAt are times of the server's clock.
	CreatedAt, LastUpdatedAt time.Time
	// TTL is how long after CreatedAt the server keeps the task; 0 means
	// without limit.
	TTL time.Duration
	// PollInterval is how often the server suggests to call tasks/get; 0 means
	// unspecified.
	PollInterval time.Duration

	// InputRequests holds the open input requests by key, if the status is
	// InputRequired.
	InputRequests map[string]mcp.InputRequest
	// Result is the body of the result, if the status is Completed.
	Result json.RawMessage
	// Error is set if the status is Failed.
	Error *mcp.Error
}

// wireTask is the JSON form of a Task.
type wireTask struct {
	ID             string                      `json:"taskId"`
	Status         Status                      `json:"status"`
	StatusMessage  string                      `json:"statusMessage,omitzero"`
	CreatedAt      string                      `json:"createdAt"`
	LastUpdatedAt  string                      `json:"lastUpdatedAt"`
	TTLMs          *int64                      `json:"ttlMs"`
	PollIntervalMs *int64                      `json:"pollIntervalMs,omitzero"`
	InputRequests  map[string]mcp.InputRequest `json:"inputRequests,omitzero"`
	Result         json.RawMessage             `json:"result,omitzero"`
	Error          *mcp.Error                  `json:"error,omitzero"`
}

// MarshalJSON implements the interface of both JSON packages.
func (t Task) MarshalJSON() ([]byte, error) {
	w := wireTask{
		ID: t.ID, Status: t.Status, StatusMessage: t.StatusMessage,
		CreatedAt: formatTime(t.CreatedAt), LastUpdatedAt: formatTime(t.LastUpdatedAt),
		TTLMs: milliseconds(t.TTL), PollIntervalMs: milliseconds(t.PollInterval),
		InputRequests: t.InputRequests, Result: withResultType(t.Result), Error: t.Error,
	}
	return mcp.Marshal(w)
}

// On the wire the result of a task has a resultType, as every result has in
// revisions with this extension. Some clients insist on it.
const keyResultType = "resultType"

// withResultType adds the resultType to a result, which has none.
func withResultType(result json.RawMessage) json.RawMessage {
	inner, isObject := bytes.CutPrefix(bytes.TrimSpace(result), []byte("{"))
	if !isObject {
		return result
	}
	out := append(make([]byte, 0, len(result)+32), `{"`+keyResultType+`":"complete"`...)
	if !bytes.HasPrefix(bytes.TrimSpace(inner), []byte("}")) {
		out = append(out, ',')
	}
	return append(out, inner...)
}

// withoutResultType reverses withResultType.
func withoutResultType(result json.RawMessage) json.RawMessage {
	if !bytes.Contains(result, []byte(`"`+keyResultType+`"`)) {
		return result
	}
	m, err := readMembers(result)
	if err != nil || m[keyResultType] == nil {
		return result
	}
	delete(m, keyResultType)
	return m.json()
}

// UnmarshalJSON implements the interface of both JSON packages. It rejects an
// unknown status and a task without an id.
func (t *Task) UnmarshalJSON(data []byte) error {
	var w wireTask
	if err := mcp.Unmarshal(data, &w); err != nil {
		return err
	}
	switch {
	case w.ID == "":
		return fmt.Errorf("task without a taskId")
	case !w.Status.valid():
		return fmt.Errorf("task with an unknown status %q", w.Status)
	}
	*t = Task{
		ID: w.ID, Status: w.Status, StatusMessage: w.StatusMessage,
		CreatedAt: parseTime(w.CreatedAt), LastUpdatedAt: parseTime(w.LastUpdatedAt),
		TTL: duration(w.TTLMs), PollInterval: duration(w.PollIntervalMs),
		InputRequests: w.InputRequests, Result: withoutResultType(w.Result), Error: w.Error,
	}
	return nil
}

// handle returns the task without its payload, as the result of the call that
// created it.
func (t Task) handle() Task {
	t.InputRequests, t.Result, t.Error = nil, nil, nil
	return t
}

const timeFormat = "2006-01-02T15:04:05.000Z07:00"

func formatTime(t time.Time) string { return t.UTC().Format(timeFormat) }

// parseTime returns the zero time for a text that is not a time: it is for
// display only.
func parseTime(s string) time.Time {
	t, _ := time.Parse(time.RFC3339Nano, s)
	return t
}

func milliseconds(d time.Duration) *int64 {
	if d <= 0 {
		return nil
	}
	ms := max(d.Milliseconds(), 1)
	return &ms
}

func duration(ms *int64) time.Duration {
	const most = int64(1<<63-1) / int64(time.Millisecond)
	if ms == nil || *ms <= 0 {
		return 0
	}
	return time.Duration(min(*ms, most)) * time.Millisecond
}
