package host

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/tenon-mcp/tenon/app/tasklist"
	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/ext/tasks"
	"github.com/tenon-mcp/tenon/mcp"
)

// A savedTask is a task in the list, with its call.
type savedTask struct {
	record tasklist.Record
	call   savedCall
}

// A savedCall is what the list of tasks keeps of a call.
type savedCall struct {
	ID         string          `json:"id"`
	Name       string          `json:"name"`
	Title      string          `json:"title,omitzero"`
	Arguments  json.RawMessage `json:"arguments"` // without secrets
	Background bool            `json:"background,omitzero"`
}

// keepTask writes a task to the list, unless its end is there.
func (h *Host) keepTask(t *task) {
	if h.opts.Tasks == nil {
		return
	}
	t.writing <- struct{}{} // one write at a time
	defer func() { <-t.writing }()
	t.mu.Lock()
	c, written := t.call, t.written
	t.mu.Unlock()
	if written {
		return
	}
	raw, err := mcp.Marshal(savedCall{c.ID, c.Name, c.Title, json.RawMessage(h.known.NamedJSON(c.Arguments)), c.Task.Background})
	if err == nil {
		t.session.mu.Lock()
		session := t.session.saved.ID
		t.session.mu.Unlock()
		r := tasklist.Record{Server: c.Server, ID: c.Task.ID, Tool: c.Tool, Started: t.began, Session: session, Call: raw}
		setRecord(&r, h, t.handle.Task())
		err = h.opts.Tasks.Put(r)
	}
	h.notKept(t, err)
}

func (h *Host) notKept(t *task, err error) {
	if err != nil {
		h.emit(Event{Kind: EventNotice, Session: t.session.ID, Text: "Cannot keep the task for a later run: " + err.Error()})
	}
}

// setRecord sets the state in a record.
func setRecord(r *tasklist.Record, h *Host, state tasks.Task) {
	r.Status, r.Message, r.Checked = string(state.Status), h.safe(state.StatusMessage), time.Now()
	if state.TTL > 0 {
		r.Expires = r.Started.Add(state.TTL)
	}
}

// changeTask writes a new state to the list.
func (h *Host) changeTask(t *task, state tasks.Task) {
	if h.opts.Tasks != nil {
		h.notKept(t, h.opts.Tasks.Change(t.entry.server.name, state.ID, func(r *tasklist.Record) { setRecord(r, h, state) }))
	}
}

// endTask writes the end of a task to the list. One that was not in the background
// is removed.
func (h *Host) endTask(t *task, keep bool) {
	if h.opts.Tasks == nil {
		return
	}
	t.writing <- struct{}{}
	defer func() { <-t.writing }()
	t.mu.Lock()
	state, problem := *t.call.Task, t.call.Problem
	t.written = true
	t.mu.Unlock()
	if !keep {
		h.notKept(t, h.opts.Tasks.Remove(t.entry.server.name, state.ID))
		return
	}
	h.notKept(t, h.opts.Tasks.Change(t.entry.server.name, state.ID, func(r *tasklist.Record) {
		r.Status, r.Message, r.Checked = state.Status, problem, time.Now()
	}))
}

// recorded returns the running tasks of a session in the list.
func (h *Host) recorded(session string) (found []savedTask) {
	if h.opts.Tasks == nil {
		return nil
	}
	all, err := h.opts.Tasks.All()
	if err != nil {
		h.emit(Event{Kind: EventNotice, Session: session, Text: err.Error()})
	}
	for _, r := range all {
		var c savedCall
		if r.Session == session && r.Running() && mcp.Unmarshal(r.Call, &c) == nil {
			found = append(found, savedTask{r, c})
		}
	}
	return found
}

// ResumeTasks waits for the tasks that an earlier run left running. Their sessions
// are claimed, unless another process has them open.
func (h *Host) ResumeTasks() {
	if h.opts.Tasks == nil || h.opts.Store == nil {
		return
	}
	all, err := h.opts.Tasks.All()
	if err != nil {
		h.emit(Event{Kind: EventNotice, Text: err.Error()})
	}
	seen := map[string]bool{}
	for _, r := range all {
		if r.Session == "" || !r.Running() || seen[r.Session] || h.server(r.Server) == nil {
			continue
		}
		seen[r.Session] = true
		s, err := h.Session(r.Session)
		if err == nil {
			err = s.Claim(false)
		}
		if _, elsewhere := errors.AsType[*OpenElsewhereError](err); err != nil && !elsewhere && !errors.Is(err, ErrNoSession) {
			h.emit(Event{Kind: EventNotice, Session: r.Session, Text: "Cannot go on waiting for a task: " + err.Error()})
		}
	}
}

// resumeTasks waits for the tasks of a session that an earlier run left running.
func (s *Session) resumeTasks(saved []savedTask) {
	for _, one := range saved {
		at := s.host.server(one.record.Server)
		if at == nil {
			continue
		}
		s.host.begin(func() { s.resumeTask(at, one) })
	}
}

func (s *Session) resumeTask(at *attached, saved savedTask) {
	r, c := saved.record, saved.call
	call := ToolCall{
		ID: c.ID, Server: r.Server, Tool: r.Tool, Name: c.Name, Title: c.Title, Arguments: c.Arguments, Phase: CallRunning, Rule: "in an earlier run",
		Message: r.Message, Task: &TaskState{ID: r.ID, Status: r.Status, Background: true},
	}
	ctx := withSession(s.host.ctx, s.ID, c.ID)
	h, err := tasks.Resume(ctx, at.client, r.ID, r.Tool, &client.CallOptions{IdleTimeout: s.host.opts.CallIdle})
	t := s.newTask(s.host.info(), &toolEntry{server: at, tool: &mcp.Tool{Name: r.Tool}}, call, h, r.Started)
	for err != nil && ctx.Err() == nil && !tasks.IsPermanent(err) && !r.Expired(time.Now()) && t.sleep(retryPause) {
		_, err = h.Get(ctx)
	}
	if err != nil {
		t.end(ctx, nil, err)
		t.cancel()
		return
	}
	t.saw(h.Task())
	s.host.keepTask(t)
	s.host.emitCall(s.ID, &call)
	t.run(ctx)
}
