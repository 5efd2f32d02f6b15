package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"github.com/tenon-mcp/tenon/app/llm"
	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/ext/tasks"
	"github.com/tenon-mcp/tenon/internal/toolname"
	"github.com/tenon-mcp/tenon/mcp"
)

// listTimeout bounds the wait for servers that list their tools.
const listTimeout = 2 * time.Second

// Call calls a tool for the user, with the same permissions, log and session as a
// call of the model. It returns when the call has ended; the ToolCall has its
// outcome.
func (s *Session) Call(ctx context.Context, server, tool string, args json.RawMessage) (*ToolCall, error) {
	at := s.host.server(server)
	if at == nil {
		return nil, fmt.Errorf("no server named %q", server)
	}
	if err := s.Claim(false); err != nil {
		return nil, err
	}
	tools, err := at.list(ctx)
	if err != nil {
		return nil, err
	}
	for _, e := range tools {
		if e.tool.Name == tool {
			if args == nil {
				args = json.RawMessage(`{}`)
			}
			call := &ToolCall{ID: s.nextCall(), Server: server, Tool: tool, Name: toolname.Join(server, tool, s.host.info().Limits.MaxLen), Title: s.host.safe(e.tool.DisplayName()), Arguments: args, Phase: CallProposed, UI: s.host.viewOf(e)}
			s.host.emitCall(s.ID, call)
			s.record(call, s.run(ctx, s.host.info(), e, call))
			return call, nil
		}
	}
	return nil, fmt.Errorf("server %q has no tool %q", server, tool)
}

// record adds a call that the user made to the conversation, as if the model had
// made it, so that the model knows of it and a resumed session shows it. It does
// nothing while a turn runs.
func (s *Session) record(call *ToolCall, r llm.ToolResult) {
	s.mu.Lock()
	delete(s.saved.Started, call.ID)
	s.mu.Unlock()
	if !s.turns.TryLock() {
		return
	}
	defer s.unlockTurn()
	s.mark(s.add(llm.User(fmt.Sprintf("Call %s of %s.", s.host.safe(call.Tool), call.Server))), "")
	s.add(llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{{Kind: llm.PartToolCall, Call: &llm.ToolCall{ID: call.ID, Name: call.Name, Arguments: call.Arguments}}}})
	s.ended(r)
}

// info describes the model; it is empty if there is none.
func (h *Host) info() llm.Info {
	if m := h.Model(); m != nil {
		return m.Info()
	}
	return llm.Info{}
}

// run checks the permission of a call, makes it, and returns the result for the
// model:
//
//	denied by a rule or the user  the denial
//	not written to the audit log  the error; the call is not made
//	made                          the result or the error
func (s *Session) run(ctx context.Context, info llm.Info, e *toolEntry, call *ToolCall) llm.ToolResult {
	return *s.guarded(call, func() *llm.ToolResult {
		if refused := s.approve(ctx, e, call); refused != nil {
			return refused
		}
		r := s.perform(ctx, info, e, call)
		return &r
	})
}

// approve returns nil if a call is permitted, and else the result for the model.
func (s *Session) approve(ctx context.Context, e *toolEntry, call *ToolCall) (refused *llm.ToolResult) {
	if err := ctx.Err(); err != nil { // the user is not asked any more
		return s.refusal(ctx, call, false, err)
	}
	for {
		ok, err := s.host.allowed(ctx, s.ID, e, call)
		if ok {
			ok, err = s.flows(ctx, e.server.name, call)
		}
		if ok && err == nil && !call.seen.current() {
			continue // the file is no longer the one of the difference that the user saw
		}
		return s.refusal(ctx, call, ok, err)
	}
}

// refusal returns the result for the model of a call that is not permitted, or
// about which the user could not be asked; nil if it is permitted.
func (s *Session) refusal(ctx context.Context, call *ToolCall, ok bool, err error) *llm.ToolResult {
	var r llm.ToolResult
	switch {
	case err != nil:
		r = s.failCall(call, CallCancelled, cancelledProblem(false), cancelledText(ctx, false))
	case !ok:
		s.audit(call, "denied", "", 0)
		r = s.failCall(call, CallDenied, "", denied(call))
	default:
		return nil
	}
	return &r
}

// perform makes a permitted call.
func (s *Session) perform(ctx context.Context, info llm.Info, e *toolEntry, call *ToolCall) llm.ToolResult {
	if ctx.Err() != nil {
		return s.failCall(call, CallCancelled, cancelledProblem(false), cancelledText(ctx, false))
	}
	if err := s.audit(call, "call", "", 0); err != nil {
		return s.failCall(call, CallFailed, "not made: cannot write the audit log: "+err.Error(), "The call was not made: the host cannot write its audit log.")
	}
	call.made = &llm.Made{Server: call.Server, Tool: s.host.safe(call.Tool), ReadOnly: e.tool.Annotations.ReadOnly(), About: s.host.aboutCall(call.Arguments)}
	s.starting(call)
	began := time.Now()
	call.Phase, call.Sent = CallRunning, began
	s.host.emitCall(s.ID, call)
	var started atomic.Bool // from then on the task reports its progress
	progress := s.progress(call)
	h, err := tasks.Start(withSession(ctx, s.ID, call.ID), e.server.client, e.tool.Name, call.Arguments, &client.CallOptions{
		IdleTimeout:  s.host.opts.CallIdle,
		TotalTimeout: s.host.opts.CallTotal,
		Progress: func(p mcp.ProgressParams) {
			if !started.Load() {
				progress(p)
			}
		},
	})
	if started.Store(true); err == nil && h.ID() != "" {
		return s.follow(ctx, info, e, call, h, began)
	}
	defer s.host.forgetSampling(e.server.name, inSession{s.ID, call.ID})
	call.Duration = Millis(time.Since(began))
	if err != nil {
		return s.failed(ctx, call, err)
	}
	r, err := h.Wait(ctx) // it is there
	if err != nil {
		return s.failed(ctx, call, err)
	}
	return s.finished(info, e, call, r)
}

// progressPause is the least time between progress events of a call.
const progressPause = 50 * time.Millisecond

// progress returns a function that emits the progress of a call. It drops reports
// that arrive too fast, except the last.
func (s *Session) progress(call *ToolCall) func(mcp.ProgressParams) {
	var last time.Time
	return func(p mcp.ProgressParams) {
		call.Progress, call.Total, call.Message = p.Progress, p.Total, s.host.safe(p.Message)
		if now := time.Now(); now.Sub(last) >= progressPause || p.Progress == p.Total {
			last = now
			s.host.emitCall(s.ID, call)
		}
	}
}

// failed ends a call that returned an error. The text of the error is data of the
// server, like a result.
func (s *Session) failed(ctx context.Context, call *ToolCall, err error) llm.ToolResult {
	if ctx.Err() != nil {
		s.audit(call, "result", "cancelled", 0)
		return s.failCall(call, CallCancelled, cancelledProblem(true), cancelledText(ctx, true))
	}
	if errors.Is(err, tasks.ErrCancelled) {
		s.audit(call, "result", "cancelled", 0)
		return s.failCall(call, CallCancelled, "the task was cancelled", "The task was cancelled.")
	}
	s.audit(call, "result", "failed", 0)
	s.source(call.Server)
	why := s.host.safe(err.Error())
	text := fmt.Sprintf("The call did not come to a result: %s", why)
	call.broken = true
	answer, ok := errors.AsType[*mcp.Error](err)
	if ok {
		call.Code = answer.Code
	}
	if ok && answer.Code == mcp.CodeInvalidParams {
		call.broken = false
		text = fmt.Sprintf("The server did not accept the call: %s. Check the name and the arguments against the schema, then try again.", why)
	} else if _, silent := errors.AsType[*client.TimeoutError](err); silent {
		text = fmt.Sprintf("%s. Whether it has done something is not known: check before you try again.", why)
	} else if mayHaveRun(err) {
		text = fmt.Sprintf("The call did not come to a result.%s The reason: %s", effectUnknown, why)
	}
	return s.failCall(call, CallFailed, why, text)
}

// mayHaveRun reports whether the connection was lost after the call was sent.
func mayHaveRun(err error) bool {
	lost, ok := errors.AsType[interface {
		error
		MayHaveRun() bool
	}](err)
	return ok && lost.MayHaveRun()
}

func (s *Session) finished(info llm.Info, e *toolEntry, call *ToolCall, r *mcp.CallToolResult) llm.ToolResult {
	outcome := "ok"
	call.Phase, call.Result = CallDone, s.host.withoutSecrets(r)
	if call.UI != "" {
		call.Meta = r.Meta
		s.keepView(call)
	}
	if r.IsError {
		outcome, call.Phase = "error", CallFailed
	}
	s.audit(call, "result", outcome, size(r))
	s.source(e.server.name)
	given := s.shape(info, e.server.name, e.tool.Name, r)
	call.Handle = given.handle
	result := llm.ToolResult{CallID: call.ID, Parts: append(s.host.changedNote(call), given.parts...), IsError: r.IsError, Made: call.made}
	if r.IsError {
		result.Outcome = "failed"
	}
	call.ForModel = llm.Results(result).Text()
	s.host.emitCall(s.ID, call)
	return result
}

// failCall ends a call that has no result.
func (s *Session) failCall(call *ToolCall, phase CallPhase, problem, text string) llm.ToolResult {
	result := llm.ToolResult{CallID: call.ID, Parts: append(s.host.changedNote(call), llm.Text(text)), IsError: true, Made: call.made}
	call.Phase, call.Problem, call.ForModel = phase, problem, llm.Results(result).Text()
	s.host.emitCall(s.ID, call)
	outcome := string(phase) // denied or cancelled
	if phase == CallFailed {
		outcome = "error"
	}
	result.Outcome, result.Code = outcome, call.Code
	return result
}

// ownResult ends a call of one of the host's own tools.
func (s *Session) ownResult(call *ToolCall, text string, err error) llm.ToolResult {
	result := llm.ToolResult{CallID: call.ID, Parts: []llm.Part{llm.Text(text)}}
	call.Phase = CallDone
	if err != nil {
		call.Phase, call.Problem = CallFailed, err.Error()
		result.Parts, result.IsError, result.Outcome = []llm.Part{llm.Text(err.Error())}, true, "error"
	}
	call.ForModel = llm.Results(result).Text()
	s.host.emitCall(s.ID, call)
	return result
}

func (s *Session) audit(call *ToolCall, what, outcome string, bytes int) error {
	r := AuditRecord{What: what, Session: s.ID, Call: call.ID, Server: call.Server, Tool: call.Tool, Why: call.Rule, Outcome: outcome, Bytes: bytes, Duration: call.Duration}
	if what != "result" {
		r.Arguments, r.Proposed = s.host.audited(call.Arguments), s.host.audited(call.Proposed)
	}
	return s.host.audit(r)
}

// guarded runs a step of a call. A panic in it fails the call, not the host.
func (s *Session) guarded(call *ToolCall, step func() *llm.ToolResult) (r *llm.ToolResult) {
	defer func() {
		if v := recover(); v != nil {
			err := panicked(v)
			failed := s.failCall(call, CallFailed, err.Error(), fmt.Sprintf("The call failed inside the host (%v). Whether it has done something is not known: check before you try again.", err))
			r = &failed
		}
	}()
	return step()
}

// recovering runs f and returns its panic as an error.
func recovering(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = panicked(v)
		}
	}()
	return f()
}

// panicked describes a recovered panic and where it happened. It must be called
// by the deferred function that recovers.
func panicked(v any) error {
	pc := make([]uintptr, 32)
	frames := runtime.CallersFrames(pc[:runtime.Callers(3, pc)])
	where := "an unknown place"
	for {
		f, more := frames.Next()
		if !strings.HasPrefix(f.Function, "runtime.") {
			where = fmt.Sprintf("%s:%d", filepath.Base(f.File), f.Line)
			break
		}
		if !more {
			break
		}
	}
	return fmt.Errorf("internal error in Tenon at %s: %v", where, v)
}
