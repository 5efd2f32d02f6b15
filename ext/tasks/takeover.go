package tasks

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/tenon-mcp/tenon/mcp"
)

// A task whose process has ended without storing a result was interrupted. Every
// Manager looks for such tasks in the store that it shares with others.
//
// A task whose tool may be repeated has its call in [Record].Call: one Manager
// takes it over, by a change of the record that only one can make, and runs it
// from the last input requests, or from the beginning if there were none. All
// other tasks fail.
//
// The orders in which processes, clients and the store can act are tried out in
// internal/model: tasks_test.go for the record, lease_test.go for the leases.

const (
	// maxAttempts is how often a task is run. One that ends its process each
	// time must not end all of them.
	maxAttempts = 3
	// maxSavedCall is the size in bytes of the largest call that is kept for
	// another Manager: it is read and written with each change of the record.
	maxSavedCall = 256 << 10
	// recoverBatch is how many tasks are looked at in one go.
	recoverBatch = 100
)

const interrupted = "the server stopped while it was running the task"

// A savedCall is what a Manager needs to run a task that another one began: the
// call as the tool got it, and how far it has come.
type savedCall struct {
	Params    json.RawMessage            `json:"params,omitzero"`
	Meta      mcp.Meta                   `json:"meta,omitzero"`
	Caller    savedCaller                `json:"caller,omitzero"`
	State     string                     `json:"state,omitzero"`
	Responses map[string]json.RawMessage `json:"responses,omitzero"`
	// Used lists the keys of the input requests so far.
	Used []string `json:"used,omitzero"`
	// Round is the last round that ended with input requests; nil if there was
	// none that another process can continue.
	Round *savedRound `json:"round,omitzero"`
}

// A savedCaller is an [mcp.Caller] without its session.
type savedCaller struct {
	Revision     mcp.Revision            `json:"revision,omitzero"`
	Client       *mcp.Implementation     `json:"client,omitzero"`
	Capabilities *mcp.ClientCapabilities `json:"capabilities,omitzero"`
	Principal    *mcp.Principal          `json:"principal,omitzero"`
}

// A savedRound is a round of a call that ended with input requests.
type savedRound struct {
	State     string                     `json:"state,omitzero"`
	Responses map[string]json.RawMessage `json:"responses,omitzero"` // of earlier rounds
	Keys      map[string]string          `json:"keys"`               // those of the tool by those in the record
}

// saveCall returns what another Manager needs for a call, and its encoded form;
// nil if that is too large.
func saveCall(c *mcp.Call) (*savedCall, json.RawMessage) {
	s := &savedCall{
		Params: c.Params, Meta: c.Meta, State: c.State, Responses: c.InputResponses,
		Caller: savedCaller{c.Caller.Revision, c.Caller.Client, c.Caller.Capabilities, c.Caller.Principal},
	}
	raw := s.encode()
	if raw == nil {
		return nil, nil
	}
	return s, raw
}

// call reverses saveCall.
func (s *savedCall) call() *mcp.Call {
	return &mcp.Call{
		Method: mcp.MethodToolsCall, Params: s.Params, Meta: s.Meta, State: s.State, InputResponses: s.Responses,
		Caller: mcp.Caller{Revision: s.Caller.Revision, Client: s.Caller.Client, Capabilities: s.Caller.Capabilities, Principal: s.Caller.Principal},
	}
}

// after returns s after another round. A round that a connection in this process
// holds cannot be continued elsewhere: the call begins again there.
func (s *savedCall) after(need *mcp.InputRequired, keys map[string]string, used map[string]bool) *savedCall {
	if s == nil {
		return nil
	}
	next := *s
	next.Used, next.Round = slices.Sorted(maps.Keys(used)), nil
	if need.Abandon == nil {
		next.Round = &savedRound{State: need.State, Responses: need.PriorResponses, Keys: keys}
	}
	return &next
}

// encode returns the form that a record keeps; nil if it is too large.
func (s *savedCall) encode() json.RawMessage {
	if s == nil {
		return nil
	}
	raw, err := mcp.Marshal(s)
	if err != nil || len(raw) > maxSavedCall {
		return nil
	}
	return raw
}

func decodeSaved(raw json.RawMessage) (*savedCall, error) {
	s := new(savedCall)
	return s, mcp.Unmarshal(raw, s)
}

// continued returns the call with which a task that was taken over goes on: it
// waits for the responses to the input requests that were open.
func (r *run) continued(ctx context.Context, c *mcp.Call) (*mcp.Call, error) {
	if r.saved == nil || r.saved.Round == nil {
		return c, nil
	}
	round := r.saved.Round
	responses, err := r.answers(ctx, round.Keys)
	if err != nil {
		return nil, err
	}
	return nextRound(c, round.State, round.Responses, responses), nil
}

// release leaves the task to another Manager. A server that was closed in an
// orderly way does not count as an attempt.
func (r *run) release(cause error) {
	if !errors.Is(cause, errClosing) {
		r.m.suspect(r.id, suspect{})
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), storeTimeout)
	defer cancel()
	_, err := change(ctx, r.m.store, r.id, func(rec *Record) bool {
		if rec.Task.Status.Final() || !r.owns(rec) {
			return false
		}
		rec.Attempts--
		return true
	})
	if err != nil && !errors.Is(err, ErrNotFound) {
		r.m.opts.Log.Warn("tasks: leave a task to another process", "task", r.id, "error", err)
	}
}

// A suspect is a task that may have been interrupted.
type suspect struct {
	since      time.Time
	notStarted bool // by this Manager, whose Create returned an error
}

// suspect notes that a task may have been interrupted.
func (m *Manager) suspect(id string, s suspect) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, known := m.suspects[id]; !known {
		s.since = time.Now()
		m.suspects[id] = s
	}
}

// recoverAll looks for interrupted tasks until the server is closed.
func (m *Manager) recoverAll() {
	ticker := time.NewTicker(m.beatTime())
	defer ticker.Stop()
	failing := false
	for {
		waited := time.Now().Round(0) // by the wall clock, which goes on while a machine is suspended
		select {
		case <-m.ctx.Done():
			return
		case <-m.kick:
		case <-ticker.C:
		}
		err := m.findInterrupted()
		if m.ctx.Err() != nil {
			return
		}
		if err != nil || time.Now().Round(0).Sub(waited) >= m.leaseTime() {
			m.doubt()
		}
		if err != nil && !failing {
			m.opts.Log.Warn("tasks: look for interrupted tasks", "error", err)
		}
		failing = err != nil
		m.mu.Lock()
		ids := slices.Collect(maps.Keys(m.suspects))
		m.mu.Unlock()
		// Other Managers do the same now: begin with different ones.
		rand.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
		for _, id := range ids {
			if m.ctx.Err() == nil {
				m.recover(id)
			}
		}
	}
}

func (m *Manager) findInterrupted() error {
	ctx, cancel := context.WithTimeout(m.ctx, storeTimeout)
	defer cancel()
	ids, err := m.store.Interrupted(ctx, recoverBatch)
	for _, id := range ids {
		m.suspect(id, suspect{})
	}
	return err
}

// recover takes over a suspect, or fails it, if it was interrupted. It stays a
// suspect if the store fails, while its Manager may live without a lease, or while
// another Manager may be able to run it.
func (m *Manager) recover(id string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(m.ctx), storeTimeout)
	defer cancel()
	m.mu.Lock()
	s := m.suspects[id]
	m.mu.Unlock()
	keep, err := m.recoverSuspect(ctx, id, s)
	switch {
	case errors.Is(err, ErrNotFound) || errors.Is(err, ErrConflict):
	case err != nil:
		m.opts.Log.Warn("tasks: recover an interrupted task", "task", id, "error", err)
		return
	case keep:
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.suspects, id)
}

func (m *Manager) recoverSuspect(ctx context.Context, id string, s suspect) (keep bool, err error) {
	rec, err := m.store.Get(ctx, id)
	if err != nil || rec.Task.Status.Final() {
		return false, err
	}
	if alive, err := m.alive(ctx, rec); alive || err != nil {
		return m.doubts(), err
	}
	switch {
	case s.notStarted:
		_, err = m.fail(ctx, rec, "the task could not be started")
		return false, err
	case rec.Call == nil || !m.shared:
		_, err = m.fail(ctx, rec, interrupted)
		return false, err
	case rec.Attempts >= maxAttempts:
		_, err = m.fail(ctx, rec, interrupted+", for the third time")
		return false, err
	}
	saved, err := decodeSaved(rec.Call)
	prepared := &preparedCall{task: rec.Task}
	if err == nil {
		_, err = m.server.Serve(context.WithValue(ctx, preparing{}, prepared), saved.call())
	}
	switch {
	case prepared.next != nil:
		return false, m.takeOver(ctx, rec, saved, prepared)
	case ctx.Err() != nil:
		return false, ctx.Err()
	case time.Since(s.since) < m.opts.Lease: // another Manager may have the tool
		return true, nil
	}
	m.opts.Log.Warn("tasks: no process can take over a task", "task", id, "tool", rec.Tool, "error", err)
	_, err = m.fail(ctx, rec, interrupted+", and no other has taken it over")
	return false, err
}

// fail ends a task that is not run, unless somebody has changed it meanwhile.
func (m *Manager) fail(ctx context.Context, rec *Record, reason string) (*Record, error) {
	runner, attempts := rec.Runner, rec.Attempts
	return change(ctx, m.store, rec.Task.ID, func(r *Record) bool {
		return r.Runner == runner && r.Attempts == attempts && r.finish(failure(mcp.Errorf(mcp.CodeInternal, "%s", reason)))
	})
}

// preparing is the key of a context in which a call of a task is prepared, and
// not served.
type preparing struct{}

// A preparedCall is a call that has passed the middleware of the server up to
// its tool.
type preparedCall struct {
	task Task
	call *mcp.Call
	next mcp.Handler
}

// reached keeps the call and the handler that serves it.
func (p *preparedCall) reached(c *mcp.Call, next mcp.Handler) (mcp.Result, error) {
	p.call, p.next = c, next
	body, err := mcp.Marshal(p.task.handle())
	return mcp.Result{Type: ResultType, Body: body}, err
}

// takeOver makes this Manager the owner of a task and runs it. It returns
// ErrConflict if the task has changed, for example because another Manager was
// faster.
func (m *Manager) takeOver(ctx context.Context, rec *Record, saved *savedCall, p *preparedCall) error {
	left, err := m.store.Left(ctx, rec.Task.ID)
	if err != nil || !m.enter() {
		return err
	}
	before := rec.Runner
	rec.Runner, rec.Task.LastUpdatedAt = m.runner, time.Now()
	rec.Attempts++
	if saved.Round == nil { // the tool asks again
		rec.Task.Status, rec.Task.InputRequests, rec.Responses = Working, nil, nil
	}
	work := m.newRun(rec, saved)
	if left > 0 {
		work.expires = time.Now().Add(left)
	}
	m.running.Store(rec.Task.ID, work)
	err = m.join(ctx)
	if err == nil {
		err = m.store.Update(ctx, rec)
	}
	if err != nil {
		m.running.Delete(rec.Task.ID)
		m.wg.Done()
		return err
	}
	m.opts.Log.Info("tasks: took over a task", "task", rec.Task.ID, "tool", rec.Tool, "from", before, "attempt", rec.Attempts)
	go func() {
		defer m.wg.Done()
		work.run(p.call, p.next)
	}()
	return nil
}
