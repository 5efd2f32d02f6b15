package host

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/app/llm"
	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/ext/tasks"
	"github.com/tenon-mcp/tenon/mcp"
)

// A TaskState is the state of a call that its server runs as a task.
type TaskState struct {
	ID         string `json:"id"`
	Status     string `json:"status"`              // working, input_required, completed, failed or cancelled
	Background bool   `json:"background,omitzero"` // the turn goes on without its result
}

// A Task is a call that its server runs, or has run, as a task.
type Task struct {
	TaskState
	Server  string    `json:"server"`
	Tool    string    `json:"tool"`
	Title   string    `json:"title,omitzero"` // for people
	Message string    `json:"message,omitzero"`
	Problem string    `json:"problem,omitzero"`
	Session string    `json:"session"` // the conversation that gets the result
	Call    string    `json:"call"`    // the id of the call
	Started time.Time `json:"started"`
	Over    bool      `json:"over,omitzero"` // the call has ended
}

// A task is a call that its server runs as a task. The flow is:
//
//	follow   waits for the end of the task, of the turn, or for move
//	run      waits for the task, in a goroutine of the host
//	move     puts it into the background: the model gets backgroundText
//	end      records the result; that of a task in the background is delivered
type task struct {
	session *Session
	info    llm.Info
	entry   *toolEntry
	handle  *tasks.Handle
	began   time.Time
	ctx     context.Context // of the waiting
	cancel  context.CancelFunc
	moved   chan struct{} // closed when it was put into the background
	over    chan struct{} // closed when the call has ended
	writing chan struct{} // has an element while the list of tasks is written

	mu      sync.Mutex
	call    ToolCall
	emitted time.Time // the last event
	ending  bool      // it cannot be put into the background any more
	dropped bool      // nobody wants the result
	written bool      // the list has the end
	result  llm.ToolResult
}

// maxTasks bounds the tasks that have ended and are still listed.
const maxTasks = 50

// newTask adds a task to the host.
func (s *Session) newTask(info llm.Info, e *toolEntry, call ToolCall, h *tasks.Handle, began time.Time) *task {
	t := &task{session: s, info: info, entry: e, handle: h, began: began, call: call, moved: make(chan struct{}), over: make(chan struct{}), writing: make(chan struct{}, 1)}
	t.ctx, t.cancel = context.WithCancel(withSession(s.host.ctx, s.ID, call.ID))
	if call.Task != nil && call.Task.Background {
		close(t.moved)
	}
	s.host.mu.Lock()
	defer s.host.mu.Unlock()
	s.host.tasks = append(s.host.tasks, t)
	old := 0
	for _, t := range s.host.tasks {
		if isClosed(t.over) {
			old++
		}
	}
	s.host.tasks = slices.DeleteFunc(s.host.tasks, func(t *task) bool {
		drop := old > maxTasks && isClosed(t.over)
		if drop {
			old--
		}
		return drop
	})
	return t
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// ErrLeaving is the cause of the end of a turn's context if the program ends: a
// task that the turn waits for is then put into the background, and the next run
// of the program waits for it. If a turn ends for another cause, its task is
// cancelled.
var ErrLeaving = errors.New("the program ends")

// follow waits for a call that became a task, and returns the result for the
// model. If ctx ends, it cancels the task; see [ErrLeaving].
func (s *Session) follow(ctx context.Context, info llm.Info, e *toolEntry, call *ToolCall, h *tasks.Handle, began time.Time) llm.ToolResult {
	state := h.Task()
	call.Task = &TaskState{ID: state.ID, Status: string(state.Status)}
	t := s.newTask(info, e, *call, h, began)
	s.host.keepTask(t)
	s.host.emitCall(s.ID, call)
	if !s.host.begin(func() { t.run(ctx) }) {
		t.end(ctx, nil, context.Canceled)
	}
	select {
	case <-t.over:
	case <-t.moved:
	case <-ctx.Done():
		if errors.Is(context.Cause(ctx), ErrLeaving) && t.move() == nil {
			break
		}
		if t.close() { // it was not put into the background
			t.cancelNow()
			<-t.over
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	*call = t.call
	if t.inBackground() {
		return llm.ToolResult{CallID: call.ID, Parts: []llm.Part{llm.Text(backgroundText(state.ID))}, Made: call.made}
	}
	return t.result
}

// backgroundText is the result for the model of a call in the background.
func backgroundText(id string) string {
	return fmt.Sprintf("The call goes on in the background, as task %s. Its result is added to this conversation when it is there. Do not make the call again.", id)
}

// inBackground reports whether the task is in the background. The lock is held, or
// the task is ending.
func (t *task) inBackground() bool { return t.call.Task.Background }

// close keeps the task from being put into the background. It returns false if it
// is there.
func (t *task) close() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.inBackground() {
		t.ending = true
	}
	return !t.inBackground()
}

// cancelNow cancels the task and ends the waiting.
func (t *task) cancelNow() {
	ctx, stop := context.WithTimeout(context.WithoutCancel(t.ctx), 2*time.Second)
	defer stop()
	if err := t.handle.Cancel(ctx); err != nil && t.session.host.ctx.Err() == nil {
		t.session.host.emit(Event{Kind: EventNotice, Session: t.session.ID, Server: t.entry.server.name, Text: "Cannot cancel the task: " + t.session.host.safe(err.Error())})
	}
	t.cancel()
}

// run waits for the task. turn is the context of its turn.
func (t *task) run(turn context.Context) {
	defer t.cancel()
	r, err := t.wait()
	t.end(turn, r, err)
}

// retryPause is the time between two attempts to reach the server of a task in
// the background.
const retryPause = 30 * time.Second

// wait waits for the result. A task in the background outlives outages of its
// server.
func (t *task) wait() (*mcp.CallToolResult, error) {
	for {
		r, err := t.handle.Wait(tasks.Observe(t.ctx, t.saw))
		_, late := errors.AsType[*client.TimeoutError](err)
		if !late && !errors.Is(err, tasks.ErrOutage) || !isClosed(t.moved) || t.expired() || !t.sleep(retryPause) {
			return r, err
		}
	}
}

func (t *task) expired() bool {
	ttl := t.handle.Task().TTL
	return ttl > 0 && time.Since(t.began) > ttl
}

// sleep reports whether it slept without the waiting ending.
func (t *task) sleep(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-t.ctx.Done():
		return false
	}
}

// saw records a state of the task and emits it.
func (t *task) saw(state tasks.Task) {
	h := t.session.host
	message := h.safe(state.StatusMessage)
	t.mu.Lock()
	before := *t.call.Task
	changed := before.Status != string(state.Status)
	now := time.Now()
	emit := changed || t.call.Message != message && now.Sub(t.emitted) >= progressPause
	t.call.Message = message
	t.setState(func(s *TaskState) { s.Status = string(state.Status) })
	emit = emit && !state.Status.Final() // the end is emitted with the result
	if emit {
		t.emitted = now
	}
	call := t.call
	t.mu.Unlock()
	if changed && !state.Status.Final() {
		h.changeTask(t, state)
	}
	if emit {
		h.emitCall(t.session.ID, &call)
	}
}

// setState changes the state in the call. Copies of the call keep theirs. The lock
// is held.
func (t *task) setState(change func(*TaskState)) {
	state := *t.call.Task
	change(&state)
	t.call.Task = &state
}

// move puts the task into the background.
func (t *task) move() error {
	t.mu.Lock()
	if t.ending {
		t.mu.Unlock()
		return fmt.Errorf("task %s has already ended", t.handle.ID())
	}
	if t.inBackground() {
		t.mu.Unlock()
		return nil
	}
	t.setState(func(s *TaskState) { s.Background = true })
	call := t.call
	t.mu.Unlock()
	t.session.host.keepTask(t)
	close(t.moved)
	t.session.host.emitCall(t.session.ID, &call)
	return nil
}

// end records how the call ended. If the host ends before, the task goes on, and
// the next run of the program waits for it.
func (t *task) end(turn context.Context, r *mcp.CallToolResult, err error) {
	s := t.session
	defer close(t.over)
	t.mu.Lock()
	t.ending = true
	call, dropped := t.call, t.dropped
	background := t.inBackground()
	t.mu.Unlock()
	defer s.host.forgetSampling(t.entry.server.name, inSession{s.ID, call.ID})
	result := llm.ToolResult{CallID: call.ID, Parts: []llm.Part{llm.Text(backgroundText(call.Task.ID))}, Made: call.made}
	goesOn := err != nil && s.host.ctx.Err() != nil && (background || turn.Err() == nil)
	if background {
		turn = context.Background()
	}
	if !goesOn {
		call.Duration = Millis(time.Since(t.began))
		result = *s.guarded(&call, func() *llm.ToolResult {
			r := t.outcome(turn, &call, r, err)
			return &r
		})
	}
	t.mu.Lock()
	t.call, t.result = call, result
	t.mu.Unlock()
	if goesOn {
		return
	}
	s.host.endTask(t, background && !dropped)
	if background && !dropped {
		s.deliver(call, result)
	}
}

// outcome emits the end of the call and returns the result for the model.
func (t *task) outcome(turn context.Context, call *ToolCall, r *mcp.CallToolResult, err error) llm.ToolResult {
	state := *call.Task
	state.Status = string(t.handle.Task().Status)
	if err != nil && !t.handle.Task().Status.Final() {
		state.Status = string(tasks.Failed)
		if turn.Err() != nil {
			state.Status = string(tasks.Cancelled)
		}
	}
	call.Task = &state
	if err != nil {
		return t.session.failed(turn, call, err)
	}
	return t.session.finished(t.info, t.entry, call, r)
}

// deliver adds the result of a task in the background to the conversation, as if
// the model had made the call now: at once, or when the running turn allows it.
func (s *Session) deliver(call ToolCall, r llm.ToolResult) {
	id := call.ID + taskSuffix
	r.CallID = id
	name := call.Server + "/" + s.host.safe(call.Tool)
	s.mu.Lock()
	s.inbox = append(s.inbox,
		llm.User(fmt.Sprintf("Task %s of %s has ended.", call.Task.ID, name)),
		llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{{Kind: llm.PartToolCall, Call: &llm.ToolCall{ID: id, Name: call.Name, Arguments: call.Arguments}}}},
		llm.Results(r))
	s.mu.Unlock()
	if s.turns.TryLock() {
		s.unlockTurn()
	}
	s.host.emit(Event{Kind: EventTask, Session: s.ID, Call: &call, Text: fmt.Sprintf("Task %s of %s has ended. The conversation has its result.", call.Task.ID, name)})
}

// takeDelivered adds delivered results to the conversation. It is called while
// the turn's lock is held and no call is open.
func (s *Session) takeDelivered() {
	s.mu.Lock()
	arrived := s.inbox
	s.inbox = nil
	s.mu.Unlock()
	for _, m := range arrived {
		s.add(m)
	}
	if len(arrived) > 0 {
		s.save()
	}
}

// taskSuffix ends the id of the call that stands for the delivered result of
// another call.
const taskSuffix = "-task"

// beginTurn takes the turn's lock. If a turn runs, the error is ErrBusy; it waits
// for other holders, which add a few messages.
func (s *Session) beginTurn() error {
	s.mu.Lock()
	if s.inTurn {
		s.mu.Unlock()
		return ErrBusy
	}
	s.inTurn = true
	s.mu.Unlock()
	s.turns.Lock()
	return nil
}

// endTurn ends what beginTurn began.
func (s *Session) endTurn() {
	s.unlockTurn()
	s.mu.Lock()
	s.inTurn = false
	s.mu.Unlock()
}

// unlockTurn releases the turn's lock. Results that were delivered while it was
// held are added.
func (s *Session) unlockTurn() {
	for {
		s.takeDelivered()
		s.turns.Unlock()
		s.mu.Lock()
		more := len(s.inbox) > 0
		s.mu.Unlock()
		if !more || !s.turns.TryLock() {
			return
		}
	}
}

// Tasks returns the tasks of this run of the host, oldest first: those that are
// running, and the latest that have ended.
func (h *Host) Tasks() []Task {
	h.mu.Lock()
	all := slices.Clone(h.tasks)
	h.mu.Unlock()
	list := make([]Task, 0, len(all))
	for _, t := range all {
		t.mu.Lock()
		c := t.call
		t.mu.Unlock()
		list = append(list, Task{
			TaskState: *c.Task, Server: c.Server, Tool: h.safe(c.Tool), Title: c.Title, Message: c.Message, Problem: c.Problem,
			Session: t.session.ID, Call: c.ID, Started: t.began, Over: isClosed(t.over),
		})
	}
	return list
}

// findTask returns a task of a server that has not ended.
func (h *Host) findTask(server, id string) (*task, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, t := range h.tasks {
		if t.entry.server.name == server && t.handle.ID() == id && !isClosed(t.over) {
			return t, nil
		}
	}
	return nil, fmt.Errorf("no running task %q of %s", id, server)
}

// BackgroundTask puts a task into the background: its turn goes on without the
// result, which is added to the conversation later.
func (h *Host) BackgroundTask(server, id string) error {
	t, err := h.findTask(server, id)
	if err != nil {
		return err
	}
	return t.move()
}

// CancelTask asks the server to end a task.
func (h *Host) CancelTask(ctx context.Context, server, id string) error {
	t, err := h.findTask(server, id)
	if err != nil {
		return err
	}
	return t.handle.Cancel(ctx)
}

// WaitTask waits until a task has ended.
func (h *Host) WaitTask(ctx context.Context, server, id string) error {
	t, err := h.findTask(server, id)
	if err != nil {
		return err
	}
	select {
	case <-t.over:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// dropTasks cancels the tasks of a session that is deleted.
func (s *Session) dropTasks() {
	s.host.mu.Lock()
	all := slices.Clone(s.host.tasks)
	s.host.mu.Unlock()
	for _, t := range all {
		if t.session == s && !isClosed(t.over) {
			t.mu.Lock()
			t.dropped = true
			t.mu.Unlock()
			t.cancelNow()
		}
	}
}
