package host

import (
	"context"
	"fmt"
	"strings"

	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/app/permit"
)

// allowed decides whether a call may be made, asking the person where nothing
// else decides. The call's Rule says why afterwards.
func (h *Host) allowed(ctx context.Context, session string, e *toolEntry, call *ToolCall) (bool, error) {
	v := h.opts.Book.Judge(e.server.name, e.tool, call.Arguments, session)
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
	h.emitted(session, call)
	shown := *call
	answer, err := h.ask(ctx, Ask{
		Kind: AskApproval, Session: session, Server: e.server.name, Call: &shown, Tool: e.tool,
		Loud: v.Loud, EachTime: v.EachTime, First: v.First, Changes: changes(v.Changes), Warnings: v.Warnings, Message: v.Why,
	})
	if err != nil {
		return false, err
	}
	if v.EachTime && (answer.Action == permit.Session || answer.Action == permit.Always) {
		answer.Action = permit.Once // the rule would ask again all the same
	}
	call.Rule = answer.By
	if answer.By == person {
		call.Rule = decided[answer.Action]
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

// decided says what a person's answer means, for the card of the call.
var decided = map[string]string{
	permit.Once:    "Allowed once",
	permit.Session: "Allowed for this session",
	permit.Always:  "Always allowed",
	permit.Deny:    "You denied it",
	permit.Never:   "You always deny this tool",
}

// passed takes note of a call that is allowed without a question. A rule of the
// configuration pins the definition. One of the command line does not, and what
// has changed is told.
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

func whatChanged(all []permit.Change) string {
	var what []string
	for _, c := range all {
		what = append(what, c.What)
	}
	return strings.Join(what, ", ")
}

// unallowed says why a call is denied where nobody can be asked, and what to do.
func unallowed(e *toolEntry, v permit.Verdict) string {
	name := e.server.name + "/" + e.tool.Name
	if len(v.Changes) > 0 {
		return fmt.Sprintf("%s has changed since it was approved (%s). Use --allow %s, or approve it: tenon tools approve %s %s", name, whatChanged(v.Changes), name, e.server.name, e.tool.Name)
	}
	return fmt.Sprintf("No rule allows %s. Use --allow %s", name, name)
}

// settle answers open questions about tools that an answer to another question
// has just decided, as when a model calls a tool several times at once and the
// person says always to the first.
func (h *Host) settle() {
	for _, a := range h.Asks() {
		if a.Kind != AskApproval {
			continue
		}
		switch v := h.opts.Book.Judge(a.Server, a.Tool, a.Call.Arguments, a.Session); v.Effect {
		case config.Allow:
			h.Reply(a.ID, Reply{Action: permit.Once, By: v.Why}) // an error says that the person was faster
		case config.Deny:
			h.Reply(a.ID, Reply{Action: permit.Deny, By: v.Why})
		}
	}
}

func changes(all []permit.Change) []Change {
	var out []Change
	for _, c := range all {
		out = append(out, Change(c))
	}
	return out
}

// flows decides whether a conversation that holds data of some servers may
// call another, where a pair is marked sensitive.
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

// told passes on how a call is doing.
func (h *Host) emitted(session string, call *ToolCall) {
	shown := *call
	h.emit(Event{Kind: EventTool, Session: session, Server: call.Server, Call: &shown})
}
