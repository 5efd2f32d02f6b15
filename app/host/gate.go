package host

import (
	"context"
	"fmt"
	"strings"

	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/app/permit"
)

// allowed decides whether a call may be made, and asks the user if no rule
// decides. Then the call's Rule says why.
func (h *Host) allowed(ctx context.Context, session string, e *toolEntry, call *ToolCall) (bool, error) {
	v := h.opts.Book.Judge(e.server.name, e.tool, call.Arguments, session)
	if v.Warnings = append(v.Warnings, e.warnings...); e.eachTime != "" && v.Effect != config.Deny {
		v.Effect, v.EachTime, v.Why = config.Ask, true, e.eachTime
	}
	call.Rule, call.Warnings = v.Why, v.Warnings
	switch v.Effect {
	case config.Deny:
		return false, nil
	case config.Allow:
		h.passed(session, e, v)
		return true, nil
	}
	if h.opts.Unattended {
		call.Rule = unallowed(e, v)
		return false, nil
	}
	call.Phase = CallWaiting
	h.emitCall(session, call)
	shown := *call
	answer, err := h.ask(ctx, Ask{
		Kind: AskApproval, Session: session, Server: e.server.name, Call: &shown, Tool: e.tool,
		Skill: e.skill, Loud: v.Loud, EachTime: v.EachTime, First: v.First, Changes: v.Changes, Warnings: v.Warnings, Message: v.Why,
	})
	if err != nil {
		return false, err
	}
	if v.EachTime && (answer.Action == permit.Session || answer.Action == permit.Always) {
		answer.Action = permit.Once // the rule asks again each time
	}
	call.Rule = answer.By
	if answer.By == person {
		call.Rule = answerTexts[answer.Action]
		if err := h.opts.Book.Answer(e.server.name, e.tool, session, answer.Action); err != nil {
			h.emit(Event{Kind: EventNotice, Session: session, Text: err.Error() + ". It applies until this program ends"})
		}
		h.settle()
	}
	switch answer.Action {
	case permit.Once, permit.Session, permit.Always:
		return true, nil
	}
	return false, nil
}

// answerTexts describes the answers of the user, for the card of the call.
var answerTexts = map[string]string{
	permit.Once:    "Allowed once",
	permit.Session: "Allowed for this session",
	permit.Always:  "Always allowed",
	permit.Deny:    "You denied it",
	permit.Never:   "You always deny this tool",
}

// passed records a call that is allowed without a question. A rule of the
// configuration pins the definition; one of the command line does not, and the
// user is told what has changed.
func (h *Host) passed(session string, e *toolEntry, v permit.Verdict) {
	if !v.Typed {
		if err := h.opts.Book.Pin(e.server.name, e.tool); err != nil {
			h.emit(Event{Kind: EventNotice, Session: session, Text: err.Error()})
		}
		return
	}
	if len(v.Changes) > 0 {
		h.emit(Event{Kind: EventNotice, Session: session, Text: fmt.Sprintf("%s/%s has changed since you approved it (%s). It runs because --allow allows it.", e.server.name, h.safe(e.tool.Name), h.safe(whatChanged(v.Changes)))})
	}
}

func whatChanged(all []config.Change) string {
	var what []string
	for _, c := range all {
		what = append(what, c.What)
	}
	return strings.Join(what, ", ")
}

// unallowed says why a call is denied in an unattended host, and what to do.
func unallowed(e *toolEntry, v permit.Verdict) string {
	name := e.server.name + "/" + e.tool.Name
	if e.eachTime != "" {
		return e.eachTime + ", and there is no person to ask"
	}
	if len(v.Changes) > 0 && e.skill {
		return fmt.Sprintf("%s has changed since it was approved (%s). Use --allow %s, or load it in tenon chat and approve it there", name, whatChanged(v.Changes), name)
	}
	if len(v.Changes) > 0 {
		return fmt.Sprintf("%s has changed since it was approved (%s). Use --allow %s, or approve it: tenon tools approve %s %s", name, whatChanged(v.Changes), name, e.server.name, e.tool.Name)
	}
	return fmt.Sprintf("No rule allows %s. Use --allow %s", name, name)
}

// settle answers open approvals that the reply to another one has decided: a
// model may call a tool several times at once, and the user allows it always.
func (h *Host) settle() {
	for _, a := range h.Asks() {
		if a.Kind != AskApproval {
			continue
		}
		switch v := h.opts.Book.Judge(a.Server, a.Tool, a.Call.Arguments, a.Session); v.Effect {
		case config.Allow:
			if !a.EachTime {
				h.Reply(a.ID, Reply{Action: permit.Once, By: v.Why}) // it fails if the user was faster
			}
		case config.Deny:
			h.Reply(a.ID, Reply{Action: permit.Deny, By: v.Why})
		}
	}
}

// flows decides whether a conversation with data of some servers may call another
// one, if the pair is marked sensitive.
func (s *Session) flows(ctx context.Context, to string, call *ToolCall) (bool, error) {
	for _, from := range s.sources() {
		if !s.host.opts.Book.Sensitive(from, to) || s.flowAllowed(from, to) {
			continue
		}
		shown := *call
		answer, err := s.host.ask(ctx, Ask{
			Kind: AskFlow, Session: s.ID, Server: to, From: from, Call: &shown, Loud: true,
			Message: fmt.Sprintf("This conversation contains data from %s, which you marked as sensitive, and this call goes to %s.", from, to),
		})
		if err != nil {
			return false, err
		}
		switch answer.Action {
		case permit.Once:
		case permit.Session:
			s.allowFlow(from, to)
		default:
			call.Rule = fmt.Sprintf("A rule forbids sending data from %s to %s", from, to)
			return false, nil
		}
	}
	return true, nil
}

// emitCall emits the state of a call.
func (h *Host) emitCall(session string, call *ToolCall) {
	shown := *call
	h.emit(Event{Kind: EventTool, Session: session, Server: call.Server, Call: &shown})
}
