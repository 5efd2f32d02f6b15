package host

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/app/llm"
	"github.com/tenon-mcp/tenon/app/permit"
	"github.com/tenon-mcp/tenon/internal/rawjson"
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
	turn := answersOf(ctx)
	before := turn.about(e, call)
	if ok, decided := before.repeated(e, call, v); decided {
		return ok, nil
	}
	call.Phase = CallWaiting
	h.emitCall(session, call)
	shown := *call
	proposals, folder := h.proposals(e, call, v)
	diff := h.diffOf(e, call)
	if diff != nil && call.seen != nil {
		v.Warnings = append(slices.Clone(v.Warnings), "The file has changed since you allowed this call. This is the difference now")
	}
	answer, err := h.ask(ctx, Ask{
		Proposals: proposals, Folder: folder, Diff: diff, preview: h.previewer(e, call),
		Kind: AskApproval, Session: session, Server: e.server.name, Call: &shown, Tool: e.tool,
		Skill: e.skill, Loud: v.Loud, EachTime: v.EachTime, First: v.First, Changes: v.Changes, Warnings: v.Warnings, Message: v.Why,
		Repeat: before.asked, checkArgs: h.checkArgs(session, e),
	})
	if err != nil {
		return false, err
	}
	ok := h.decided(session, e, call, v, answer, proposals)
	turn.answered(e, call, answer)
	h.saw(e, call, answer, diff)
	return ok, nil
}

// decided carries out the user's answer about a call, and reports whether the call
// may be made. Changed arguments are judged again: a rule that denies them takes
// precedence over the answer.
func (h *Host) decided(session string, e *toolEntry, call *ToolCall, v permit.Verdict, answer Reply, proposals []permit.Proposal) bool {
	if v.EachTime && slices.Contains([]string{permit.Session, permit.Project, permit.Always}, answer.Action) {
		answer.Action, answer.Proposal = permit.Once, "" // the rule asks again each time
	}
	call.Rule = answer.By
	if answer.By == person {
		call.Rule = answerTexts[answer.Action]
		var err error
		if answer.Proposal != "" || answer.Action == permit.Project {
			call.Rule, err = h.allowSimilar(session, e, answer, proposals)
		} else {
			err = h.opts.Book.Answer(e.server.name, e.tool, session, answer.Action)
		}
		if err != nil {
			h.emit(Event{Kind: EventNotice, Session: session, Text: err.Error() + ". It applies until this program ends"})
		}
		h.settle()
	}
	switch answer.Action {
	case permit.Once, permit.Session, permit.Project, permit.Always:
	default:
		h.because(call, answer.Reason)
		return false
	}
	if answer.Arguments != nil && !sameJSON(call.Arguments, answer.Arguments) {
		call.Proposed, call.Arguments = call.Arguments, answer.Arguments
		call.Rule += ", with arguments that you changed"
		if again := h.opts.Book.Judge(e.server.name, e.tool, call.Arguments, session); again.Effect == config.Deny {
			call.Rule = again.Why
			return false
		}
	}
	return true
}

// proposals returns the patterns that the user can allow instead of this call, and
// the folder of the project. There are none for skills and views, and where a rule
// asks each time.
func (h *Host) proposals(e *toolEntry, call *ToolCall, v permit.Verdict) (all []permit.Proposal, folder string) {
	if e.skill || v.EachTime || call.View != "" {
		return nil, ""
	}
	var p permit.Places
	if filepath.IsAbs(h.opts.Folder) {
		p.Folder, p.Repo = h.opts.Folder, repositoryOf(h.opts.Folder)
	}
	p.Home, _ = os.UserHomeDir()
	return permit.Propose(call.Arguments, p), p.Folder
}

// allowSimilar stores that calls like this one are allowed, and returns the text for
// the card.
func (h *Host) allowSimilar(session string, e *toolEntry, answer Reply, proposals []permit.Proposal) (string, error) {
	label := "all calls"
	var chosen *permit.Proposal
	if i := slices.IndexFunc(proposals, func(p permit.Proposal) bool { return p.ID == answer.Proposal }); i >= 0 {
		chosen, label = &proposals[i], proposals[i].Label
	}
	text := map[string]string{
		permit.Session: "Allowed " + label + " for this session",
		permit.Project: "Allowed " + label + " for the project " + h.opts.Folder,
		permit.Always:  "Always allowed " + label,
	}[answer.Action]
	return h.redact(text), h.opts.Book.Allow(e.server.name, e.tool, session, answer.Action, chosen)
}

// because records why the user denied a call. A view does not get the reason: it
// is for the model.
func (h *Host) because(call *ToolCall, reason string) {
	if reason == "" || call.View != "" {
		return
	}
	call.reason = reason
	call.Rule += ": " + h.redact(reason)
}

// checkArgs returns a function that checks arguments that the user changed. It is
// nil for a skill, which has none.
func (h *Host) checkArgs(session string, e *toolEntry) func(json.RawMessage) error {
	if e.skill {
		return nil
	}
	return func(arguments json.RawMessage) error {
		switch {
		case len(arguments) > maxArguments:
			return fmt.Errorf("the arguments have %d bytes; at most %d are possible", len(arguments), maxArguments)
		case rawjson.Check(arguments) != nil:
			return fmt.Errorf("the arguments are not valid JSON: %w", rawjson.Check(arguments))
		case !rawjson.IsObject(arguments):
			return errors.New("the arguments are not a JSON object")
		}
		if v := h.opts.Book.Judge(e.server.name, e.tool, arguments, session); v.Effect == config.Deny {
			return fmt.Errorf("these arguments are not possible. %s", v.Why)
		}
		return nil
	}
}

// audited returns arguments for the audit log, without secrets.
func (h *Host) audited(arguments json.RawMessage) json.RawMessage {
	if arguments == nil {
		return nil
	}
	return json.RawMessage(h.known.JSON(arguments))
}

// changedNote tells the model that the user changed the arguments of a call; nil if
// not. The model's own message stays as it is.
func (h *Host) changedNote(call *ToolCall) []llm.Part {
	if call.Proposed == nil {
		return nil
	}
	const most = 4 << 10
	text := string(h.audited(call.Arguments))
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + " … (cut)"
	}
	return []llm.Part{llm.Text("Note of the host: the person changed the arguments to " + text + ".\n")}
}

// denied is the text for the model about a denied call.
func denied(call *ToolCall) string {
	rule := call.Rule
	if call.reason != "" {
		rule, _, _ = strings.Cut(rule, ": ")
	}
	why := rule + "."
	switch {
	case strings.HasPrefix(why, "Denied"):
	case strings.HasPrefix(why, "No "), strings.HasPrefix(why, "You "):
		why = "Denied: " + strings.ToLower(why[:1]) + why[1:]
	default: // it begins with a name
		why = "Denied: " + why
	}
	switch rule {
	case answerTexts[permit.Deny]:
		why = "The person denied this call."
	case answerTexts[permit.Never]:
		why = "The person always denies this tool."
	case alreadyDenied:
		why = "The person already denied this call in this turn."
	}
	if call.reason != "" {
		return strings.TrimSuffix(why, ".") + " and says: \"" + call.reason + "\". Follow that; do not repeat the call."
	}
	return why + " Do not try it again without asking the person."
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
			s.host.because(call, answer.Reason)
			return false, nil
		}
	}
	return true, nil
}

// emitCall emits the state of a call.
func (h *Host) emitCall(session string, call *ToolCall) {
	if call.View != "" { // it belongs to a view, not to a turn
		return
	}
	shown := *call
	h.emit(Event{Kind: EventTool, Session: session, Server: call.Server, Call: &shown})
}

// sameJSON reports whether two JSON values differ at most in spaces, escapes and
// the order of members.
func sameJSON(a, b json.RawMessage) bool {
	return bytes.Equal(rawjson.AppendCanonical(nil, a), rawjson.AppendCanonical(nil, b))
}
