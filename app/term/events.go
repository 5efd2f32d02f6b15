package term

import (
	"maps"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/tenon-mcp/tenon/app/connect"
	"github.com/tenon-mcp/tenon/app/host"
)

// handle handles an event or a state of the workspace.
func (s *screen) handle(v any) tea.Cmd {
	switch v := v.(type) {
	case connect.State:
		s.state(v)
		if s.welcome != nil {
			s.welcome.width = 0
		}
		return s.askOffers(v.Server)
	case host.Event:
		return s.event(v)
	}
	return nil
}

func (s *screen) state(st connect.State) {
	s.t.forget(st.Server)
	switch st.Phase {
	case connect.Failed:
		s.note("?", st.Server+": "+st.Why+" (/servers)")
	case connect.NeedsLogin:
		s.note("?", st.Server+" needs you to log in at "+st.Page+" (/login "+st.Server+" opens it)")
	}
}

func (s *screen) event(e host.Event) tea.Cmd {
	if e.Kind == host.EventChanged {
		s.t.forget(e.Server)
		return s.askOffers(e.Server)
	}
	mine := e.Session == "" || e.Session == s.t.now().ID
	switch e.Kind {
	case host.EventAsk: // of any session: the user is here
		return s.ask(*e.Ask)
	case host.EventReplied:
		return s.answered(e.Ask)
	}
	if !mine {
		return nil
	}
	if s.at = e.At; s.at.IsZero() {
		s.at = time.Now()
	}
	switch e.Kind {
	case host.EventStep:
		s.stepped(e)
	case host.EventTurn:
		s.add(userMessage{text: e.Text})
		s.above = 0
	case host.EventQueue:
		s.queue = e.Queue
	case host.EventMessage:
		s.add(userMessage{text: e.Text})
	case host.EventStopped:
		s.note("", stoppedNote)
		s.stopped()
	case host.EventPrompt:
		s.add(promptSays{e.Server, e.Text})
	case host.EventText:
		s.text(e.Text)
	case host.EventThinking:
		s.thinks(e.Text)
	case host.EventRetract:
		s.talked.retract()
		s.above, s.chosen = 0, nil
	case host.EventTool:
		s.tool(e.Call)
	case host.EventUsage:
		s.usage, s.context = *e.Usage, s.t.now().ContextUsed()
	case host.EventTask:
		s.note("", e.Text)
	case host.EventNotice:
		s.note("?", from(e.Server, e.Text))
	case host.EventLog:
		s.note("", from(e.Server, e.Level+": "+e.Text))
	case host.EventError:
		s.note("!", e.Text)
	case host.EventDone:
		s.ended(e.Stop)
	}
	return nil
}

// stoppedNote marks what the user stopped.
const stoppedNote = "Stopped"

// stoppingHint is shown from Esc or Ctrl-C until what runs has ended.
const stoppingHint = "stopping"

func from(server, text string) string {
	if server == "" {
		return text
	}
	return server + ": " + text
}

func (s *screen) text(piece string) {
	e := s.talked.last()
	if e != nil {
		if b, ok := e.block.(*streamed); ok {
			b.add(piece)
			e.width = 0
			return
		}
	}
	b := &streamed{}
	b.add(piece)
	s.add(b)
}

func (s *screen) thinks(piece string) {
	e := s.talked.last()
	if e != nil {
		if b, ok := e.block.(*thinking); ok && !b.over {
			b.text.WriteString(piece)
			e.width = 0
			return
		}
	}
	b := &thinking{began: s.at}
	b.text.WriteString(piece)
	s.add(b)
}

func (s *screen) tool(c *host.ToolCall) {
	if e := s.cards[c.ID]; e != nil {
		known := e.block.(*card)
		if !over(known.call.Phase) || known.call.Rule != "in an earlier run" {
			known.call = *c
			e.width = 0
			return
		}
	}
	s.cards[c.ID] = s.add(&card{call: *c})
}

func over(p host.CallPhase) bool {
	return p == host.CallDone || p == host.CallFailed || p == host.CallDenied || p == host.CallCancelled
}

// ended shows how a turn ended, unless normally. Ids of calls may be used again
// in the next turn.
func (s *screen) ended(stop string) {
	s.act.step = nil
	if e := s.talked.last(); e != nil {
		if t, ok := e.block.(*thinking); ok {
			t.end(s.at)
			e.width = 0
		}
	}
	maps.DeleteFunc(s.cards, func(_ string, e *entry) bool { return over(e.block.(*card).call.Phase) })
	switch stop {
	case "cancelled":
		if e := s.talked.last(); e == nil || e.block != (note{text: stoppedNote}) {
			s.note("", stoppedNote)
		}
	case "length":
		s.note("?", "The answer was cut off at the token limit")
	case "refusal":
		s.note("?", "The model refused to answer")
	}
}

// ask shows a question. It takes no keys until the user goes to it.
func (s *screen) ask(a host.Ask) tea.Cmd {
	s.questions = append(s.questions, s.t.question(a))
	return nil
}

// answered removes a question that was answered here or elsewhere.
func (s *screen) answered(a *host.Ask) tea.Cmd {
	if a.Reply != nil && a.Kind != host.AskApproval && a.Kind != host.AskFlow { // the card shows those
		over := question{ask: *a}
		s.note("", a.Reply.Action+": "+over.title())
	}
	for i, q := range s.questions {
		if q.ask.ID != a.ID {
			continue
		}
		s.questions = append(s.questions[:i:i], s.questions[i+1:]...)
		if i == 0 {
			s.withdraw()
			s.focused = false // the user has to go to the next one
		}
		break
	}
	return nil
}

// withdraw locks the keyboard if a question ends while the user types into it:
// the rest of a secret must not go to the chat line.
func (s *screen) withdraw() {
	if s.focused && s.pane == nil {
		s.withdrawn = true
		s.hint = withdrawnHint
	}
}
