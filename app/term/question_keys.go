package term

import (
	"encoding/json"

	tea "charm.land/bubbletea/v2"

	"github.com/tenon-mcp/tenon/app/host"
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
	}
	return nil
}

// leaveQuestion moves the focus to the input. Filled-in fields stay.
func (s *screen) leaveQuestion() {
	s.focused = false
	if len(s.questions) > 0 {
		s.questions[0].picked, s.questions[0].inside = -1, false
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
		return s.draftKey(q, stroke, text)
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
		q.inside, q.edit = true, &editor{}
		q.edit.set(blocksText(q.ask.Draft.Content.Blocks))
	case action == doOpen:
		return s.openPage(q)
	case action == "accept" && q.ask.Kind == host.AskForm:
		return s.sendForm(q)
	default:
		return s.reply(action, nil)
	}
	return nil
}

// reply answers the first question.
func (s *screen) reply(action string, content json.RawMessage) tea.Cmd {
	q := s.questions[0]
	if err := s.t.w.Host.Reply(q.ask.ID, host.Reply{Action: action, Content: content}); err != nil {
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

// draftKey handles keys for the model's draft.
func (s *screen) draftKey(q *question, stroke, text string) tea.Cmd {
	switch stroke {
	case "esc":
		q.inside, q.edit = false, nil
	case "ctrl+s":
		content, err := mcp.Marshal(q.edit.text)
		if err != nil {
			q.wrong = err.Error()
			return nil
		}
		return s.reply("accept", content)
	case "enter":
		q.edit.insert("\n")
	default:
		q.edit.key(stroke, text)
	}
	return nil
}
