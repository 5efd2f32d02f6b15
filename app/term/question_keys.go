package term

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"

	tea "charm.land/bubbletea/v2"

	"github.com/tenon-mcp/tenon/app/host"
	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/internal/visible"
	"github.com/tenon-mcp/tenon/mcp"
)

// How a question is answered, so that nothing typed ahead answers it:
//
//	a question appears    keys still go to the input
//	Enter on an empty
//	line, or Ctrl-G       the question gets the focus; nothing is picked
//	right, left           pick an option
//	Enter                 takes the picked option
//	a letter              goes back to the input, and is typed there
//
// No letter ever answers. The next question does not get the focus by itself.

// goToQuestion moves the focus to the first question, or opens what waits for the
// user.
func (s *screen) goToQuestion() tea.Cmd {
	switch {
	case len(s.questions) > 0:
		s.pane, s.focused = nil, true
		s.questions[0].picked = -1
	case s.waiting != nil:
		open := s.waiting
		s.waiting = nil
		open()
	case s.pane == nil && s.sheet == nil:
		return s.openEditor()
	}
	return nil
}

// leaveQuestion moves the focus to the input. Filled-in fields stay.
func (s *screen) leaveQuestion() {
	s.focused = false
	if len(s.questions) > 0 {
		s.questions[0].inside = false
		s.questions[0].leaveSimilar()
	}
}

// questionKey handles keys for the first question.
func (s *screen) questionKey(stroke, text string) tea.Cmd {
	q := s.questions[0]
	q.wrong = ""
	if q.readKey(stroke) {
		return nil
	}
	switch {
	case q.inside && q.edit != nil:
		return s.writeKey(q, stroke, text)
	case q.inside:
		return s.formKey(q, stroke, text)
	}
	switch stroke {
	case "right", "tab":
		q.pick(1)
	case "left", "shift+tab":
		q.pick(-1)
	case "up":
		q.scroll = max(0, q.scroll-1)
	case "down":
		q.scroll++ // the view bounds it
	case "esc":
		if q.similar {
			q.leaveSimilar()
			return nil
		}
		s.leaveQuestion()
	case "enter":
		if q.picked >= 0 {
			return s.take(q, q.options()[q.picked].action)
		}
	default:
		s.leaveQuestion()
		return s.key(stroke, text)
	}
	return nil
}

// readKey handles the keys that only show more of the question, with and without
// focus.
func (q *question) readKey(stroke string) bool {
	switch stroke {
	case "pgup":
		q.scroll = max(0, q.scroll-5)
	case "pgdown":
		q.scroll += 5
	case "ctrl+o":
		q.full = !q.full
	default:
		return false
	}
	return true
}

// take carries out an option.
func (s *screen) take(q *question, action string) tea.Cmd {
	switch {
	case action == doFill:
		q.inside = true
	case action == doEdit:
		q.startWriting(doEdit, visible.Terminal(blocksText(q.ask.Draft.Content.Blocks)))
	case action == doReason:
		q.startWriting(doReason, "")
	case action == doChange:
		q.startWriting(doChange, editable(q.arguments()))
	case action == doRevert:
		q.changed, q.diff, q.picked = nil, q.ask.Diff, -1
	case action == doOpen:
		return s.openPage(q)
	case action == "accept" && q.ask.Kind == host.AskForm:
		return s.sendForm(q)
	case action == doSimilar:
		q.similar, q.picked = true, -1
	case action == doBack:
		q.leaveSimilar()
	case strings.HasPrefix(action, doPropose):
		q.scope, q.picked = true, -1
		if i, err := strconv.Atoi(action[len(doPropose):]); err == nil {
			q.chosen = &q.ask.Proposals[i]
		}
	case q.scope:
		r := host.Reply{Action: action}
		if q.chosen != nil {
			r.Proposal = q.chosen.ID
		}
		return s.replyWith(r)
	case action == "once":
		return s.replyWith(host.Reply{Action: action, Arguments: q.changed})
	default:
		return s.reply(action, nil)
	}
	return nil
}

// startWriting opens the editor of the question with a text.
func (q *question) startWriting(what, text string) {
	q.inside, q.edit, q.write = true, &editor{}, what
	q.edit.set(text)
}

// stopWriting goes back to the options. Nothing is picked.
func (q *question) stopWriting() { q.inside, q.edit, q.picked = false, nil, -1 }

// reply answers the first question.
func (s *screen) reply(action string, content json.RawMessage) tea.Cmd {
	return s.replyWith(host.Reply{Action: action, Content: content})
}

func (s *screen) replyWith(r host.Reply) tea.Cmd {
	q := s.questions[0]
	if err := s.t.w.Host.Reply(q.ask.ID, r); err != nil {
		q.wrong = err.Error()
		return nil
	}
	s.questions = s.questions[1:]
	s.focused = false
	return nil
}

// openPage opens the page of a question, and accepts it.
func (s *screen) openPage(q *question) tea.Cmd {
	if why := visible.AddressOf(q.ask.URL).Refused; why != "" {
		q.wrong = "The page is not opened: " + why + "."
		return nil
	}
	if s.t.o.OpenPage == nil {
		q.wrong = "No browser found. Open the page yourself, then select \"I have opened it\"."
		return nil
	}
	if err := s.t.o.OpenPage(q.ask.URL); err != nil {
		q.wrong = "No browser opened: " + err.Error() + ". Open the page yourself, then select \"I have opened it\"."
		return nil
	}
	return s.reply("accept", nil)
}

// formKey handles keys for the fields of a form. Enter in the last field goes to
// the options; it does not send.
func (s *screen) formKey(q *question, stroke, text string) tea.Cmd {
	switch stroke {
	case "ctrl+s":
		return s.sendForm(q)
	case "ctrl+x":
		return s.reply("decline", nil)
	case "esc":
		q.sheet.leave()
		q.inside = false
	default:
		if q.sheet.key(stroke, text) && q.sheet.complete() {
			q.inside, q.ready, q.picked = false, true, -1
		}
	}
	return nil
}

func (s *screen) sendForm(q *question) tea.Cmd {
	if !q.sheet.complete() {
		q.inside = true
		return nil
	}
	content, err := q.sheet.content()
	if err != nil {
		q.wrong = err.Error()
		return nil
	}
	return s.reply("accept", content)
}

// writeKey handles keys for what the user writes: the model's draft, a reason or
// arguments. Only a reason is sent by Enter: it denies.
func (s *screen) writeKey(q *question, stroke, text string) tea.Cmd {
	switch {
	case stroke == "esc":
		q.stopWriting()
	case stroke == "ctrl+s" && q.write == doEdit:
		content, err := mcp.Marshal(q.edit.text)
		if err != nil {
			q.wrong = err.Error()
			return nil
		}
		return s.reply("accept", content)
	case stroke == "ctrl+s" && q.write == doChange:
		if q.change() {
			q.diff = s.t.w.Host.Preview(q.ask.ID, q.changed)
		}
	case (stroke == "ctrl+s" || stroke == "enter") && q.write == doReason:
		if strings.TrimSpace(q.edit.text) == "" {
			q.wrong = "Write why, or press Esc and select Deny."
			return nil
		}
		return s.replyWith(host.Reply{Action: "deny", Reason: q.edit.text})
	case stroke == "enter":
		q.edit.insert("\n")
	default:
		q.edit.key(stroke, text)
	}
	return nil
}

// arguments returns the arguments of the call as they would run.
func (q *question) arguments() json.RawMessage {
	if q.changed != nil {
		return q.changed
	}
	return q.ask.Call.Arguments
}

// change takes the written arguments, and reports whether they are possible; the
// user still has to allow the call.
func (q *question) change() bool {
	raw := json.RawMessage(q.edit.text)
	if err := rawjson.Check(raw); err != nil {
		q.wrong = "This is not valid JSON: " + err.Error()
		return false
	}
	if !rawjson.IsObject(raw) {
		q.wrong = "The arguments must be a JSON object: {…}"
		return false
	}
	q.changed = raw
	q.stopWriting()
	return true
}

// editable returns JSON for the editor, with all invisible characters escaped.
func editable(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Indent(&b, raw, "", "  ") != nil {
		return "{}"
	}
	var out strings.Builder
	for _, r := range b.String() {
		switch {
		case r == '\n' || visible.Text(string(r)) == string(r) && r != '\t':
			out.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&out, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&out, `\u%04x`, r)
		}
	}
	return out.String()
}
