package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/tenon-mcp/tenon/app/llm"
)

// turn sends requests to the model and makes the calls that it requests, until it
// requests none.
func (s *Session) turn(ctx context.Context, model llm.Model) (stop string, err error) {
	steps := cmp.Or(s.host.opts.MaxSteps, 50)
	compactions := 0
	media := true
	for range steps {
		s.takeDelivered()
		cat := s.host.catalog(ctx, model.Info())
		answer, reason, err := s.request(ctx, model, cat, media)
		if llm.KindOf(err) == llm.ErrContextLength && compactions < maxCompactions {
			compactions++
			if err := s.compact(ctx, model); err != nil {
				return "error", err
			}
			continue
		}
		if media && s.mediaRefused(err) {
			media = false // again, without media
			continue
		}
		if err != nil {
			if answer != nil { // a partial answer stays in the conversation
				s.add(*answer)
			}
			return "error", err
		}
		if !media {
			media = true
			s.dropMedia()
		}
		compactions = 0
		s.add(*answer)
		calls := answer.Calls()
		if len(calls) == 0 {
			return string(reason), nil
		}
		s.save()
		s.runAll(ctx, model.Info(), cat, calls)
		if ctx.Err() != nil {
			return "cancelled", ctx.Err()
		}
	}
	return "limit", fmt.Errorf("the model was called %d times in this turn and still wants to call tools; send a message to let it continue", steps)
}

// maxCompactions bounds the compactions for one request: older results are cut,
// then the older part is summarized, then the remaining results are cut.
const maxCompactions = 3

// request sends one request and emits the answer as it streams in. With an error
// it returns the partial answer, nil if there is none.
func (s *Session) request(ctx context.Context, model llm.Model, cat *catalog, media bool) (*llm.Message, llm.StopReason, error) {
	req := &llm.Request{System: s.system(), Messages: s.messages(), Tools: cat.tools()}
	if !media {
		req.Messages = withoutMedia(req.Messages)
	}
	s.remember(req)
	var partial strings.Builder
	broken := func(err error) (*llm.Message, llm.StopReason, error) {
		if partial.Len() == 0 {
			return nil, "", err
		}
		return &llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{llm.Text(partial.String())}}, "", err
	}
	for e, err := range model.Stream(ctx, req) {
		if err != nil {
			return broken(err)
		}
		switch e.Kind {
		case llm.EventText:
			partial.WriteString(e.Text)
			s.host.emit(Event{Kind: EventText, Session: s.ID, Text: e.Text})
		case llm.EventThinking:
			if e.Text != "" {
				s.host.emit(Event{Kind: EventThinking, Session: s.ID, Text: e.Text})
			}
		case llm.EventRetry:
			s.host.emit(Event{Kind: EventNotice, Session: s.ID, Text: e.Note})
		case llm.EventDone:
			s.spent(e.Usage)
			if e.Message == nil {
				return broken(errors.New("the model returned no answer"))
			}
			return e.Message, e.Stop, nil
		}
	}
	return broken(errors.New("the model returned no answer"))
}

// A plannedCall is a call of an answer before it is made.
type plannedCall struct {
	call     *ToolCall
	entry    *toolEntry // nil: a tool of the host
	readOnly bool       // according to its server
	run      func() llm.ToolResult
}

// runAll makes the calls of an answer. Each result is added to the conversation
// and saved when its call ends. A call that may change something runs alone,
// after the calls before it and before those after it; read-only calls run
// concurrently. The user is asked about one call at a time. All calls are
// announced first, in order.
func (s *Session) runAll(ctx context.Context, info llm.Info, cat *catalog, calls []llm.ToolCall) {
	planned := make([]plannedCall, len(calls))
	for i, c := range calls {
		planned[i] = s.plan(ctx, info, cat, c)
		s.host.emitCall(s.ID, planned[i].call)
	}
	var running sync.WaitGroup
	for _, p := range planned {
		if !p.readOnly {
			running.Wait()
		}
		if p.entry != nil {
			if refused := s.guarded(p.call, func() *llm.ToolResult { return s.approve(ctx, p.entry, p.call) }); refused != nil {
				s.ended(*refused)
				continue
			}
		}
		running.Go(func() {
			s.ended(*s.guarded(p.call, func() *llm.ToolResult { r := p.run(); return &r }))
		})
		if !p.readOnly {
			running.Wait()
		}
	}
	running.Wait()
}

// plan finds the tool of a call.
func (s *Session) plan(ctx context.Context, info llm.Info, cat *catalog, c llm.ToolCall) plannedCall {
	call := &ToolCall{ID: c.ID, Name: c.Name, Tool: c.Name, Arguments: c.Arguments, Phase: CallProposed}
	byHost := func(run func() llm.ToolResult) plannedCall {
		return plannedCall{call: call, readOnly: true, run: run}
	}
	if c.Problem != "" {
		return byHost(func() llm.ToolResult { return s.failCall(call, CallFailed, c.Problem, c.Problem) })
	}
	name, args := c.Name, c.Arguments
	switch name {
	case searchTools:
		return byHost(func() llm.ToolResult {
			text, err := cat.search(args, s.host.budget())
			return s.ownResult(call, text, err)
		})
	case readName:
		return byHost(func() llm.ToolResult {
			text, err := s.read(args)
			return s.ownResult(call, text, err)
		})
	case loadSkillName:
		p := byHost(func() llm.ToolResult { return s.loadSkill(ctx, call, args) })
		p.readOnly = false // the user is asked about one call at a time
		return p
	case readSkillName:
		p := byHost(func() llm.ToolResult { return s.readSkill(ctx, info, call, args) })
		p.readOnly = false
		return p
	case callTool:
		var err error
		if name, args, err = wanted(args); err != nil {
			return byHost(func() llm.ToolResult { return s.ownResult(call, "", err) })
		}
		call.Arguments = args
	}
	e := cat.byName[name]
	if e == nil {
		return byHost(func() llm.ToolResult { return s.unknown(cat, call, name) })
	}
	call.Server, call.Tool, call.Name, call.Title = e.server.name, e.tool.Name, name, s.host.safe(e.tool.DisplayName())
	return plannedCall{call: call, entry: e, readOnly: e.tool.Annotations.ReadOnly(), run: func() llm.ToolResult { return s.perform(ctx, info, e, call) }}
}

// unknown returns the result for a call of an unknown tool, with similar names.
func (s *Session) unknown(cat *catalog, call *ToolCall, name string) llm.ToolResult {
	text := fmt.Sprintf("There is no tool named %q now.", name)
	if near := cat.Find(name, 3); len(near) > 0 {
		text += fmt.Sprintf(" Near it are: %q.", near)
	}
	return s.failCall(call, CallFailed, text, text)
}
