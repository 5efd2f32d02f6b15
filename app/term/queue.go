package term

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/tenon-mcp/tenon/app/host"
	"github.com/tenon-mcp/tenon/app/show"
	"github.com/tenon-mcp/tenon/internal/visible"
)

// mostQueued bounds the waiting messages that are shown.
const mostQueued = 3

// say sends a message: at once, or when what runs allows it. Messages that wait
// already go first.
func (s *screen) say(text string) tea.Cmd {
	if s.turns == 0 && len(s.queue) == 0 {
		return s.turn(text)
	}
	if !s.enqueue(text) {
		return nil
	}
	s.held = s.held && s.turns > 0
	return s.sendQueue()
}

// enqueue adds a message to those that wait. If that fails, it goes back to the
// input.
func (s *screen) enqueue(text string) bool {
	if _, err := s.t.now().Queue(host.Input{Typed: text}); err != nil {
		s.note("!", err.Error())
		s.input.set(text)
		return false
	}
	s.queue = s.t.now().Queued()
	return true
}

// sendQueue sends the messages that wait, unless something runs.
func (s *screen) sendQueue() tea.Cmd {
	if s.turns > 0 || len(s.t.now().Queued()) == 0 {
		return nil
	}
	s.held = false
	return s.sends("", (*host.Session).SendQueued)
}

// goOn sends the messages that wait when something has ended, if nothing speaks
// against it.
func (s *screen) goOn() tea.Cmd {
	if s.held || !s.t.now().NextQueued() {
		return nil
	}
	return s.sendQueue()
}

// sends runs a turn. The text goes back to the input if it was not sent.
func (s *screen) sends(text string, send func(*host.Session, context.Context, *host.SendOptions) (*host.TurnResult, error)) tea.Cmd {
	tick, now := s.began(), s.t.now()
	return tea.Batch(tick, func() tea.Msg {
		m := doneMsg{turn: true}
		err := s.t.do(func(ctx context.Context) error { // events report the outcome
			_, err := send(now, ctx, nil)
			return err
		})
		if _, unsent := errors.AsType[*host.UnsentError](err); unsent {
			m.back = text
		}
		m.failed = err != nil
		return m
	})
}

// turnOver handles the end of a turn: after one that ended normally, the messages
// that wait follow.
func (s *screen) turnOver(m doneMsg) tea.Cmd {
	switch {
	case m.back == "":
	case s.input.text == "":
		s.input.set(m.back)
	default: // the user has typed something else meanwhile
		s.enqueue(m.back)
	}
	s.held = m.failed
	return s.goOn()
}

// takeBack puts the last message that waits into the input.
func (s *screen) takeBack() {
	n := len(s.queue) - 1
	q, err := s.t.now().Unqueue(s.queue[n].ID)
	s.queue = s.t.now().Queued()
	if err != nil {
		s.hint = "the model already has that message"
		return
	}
	s.input.set(q.Text())
}

// escape stops the running step. If nothing runs, it clears the line when it is
// pressed twice; Up brings the line back.
func (s *screen) escape() tea.Cmd {
	switch {
	case s.t.busy():
		if !s.t.now().StopStep() {
			s.t.stop() // a command
		}
		s.hint = stoppingHint
	case s.input.text == "":
	case !s.clearing.IsZero() && s.now().Sub(s.clearing) < doublePress:
		s.clearInput()
		s.hint = clearedHint
	default:
		s.clearing = s.now()
		return s.passing(clearHint)
	}
	return nil
}

// clearHint is shown as long as another Esc clears the line.
const clearHint = "Esc again clears the line"

// queueView returns the messages that wait, above the input.
func (s *screen) queueView() []string {
	if len(s.queue) == 0 {
		return nil
	}
	head := fmt.Sprintf("%d queued · ↑ edits the last", len(s.queue))
	if s.turns == 0 {
		head += " · enter on the empty line sends"
	}
	lines := []string{cut(" "+s.theme.dim.Render(head), s.width)}
	from := max(0, len(s.queue)-mostQueued)
	for _, q := range s.queue[from:] {
		text := visible.Line(strings.Join(strings.Fields(q.Text()), " "))
		if q.Problem != "" {
			lines = append(lines, cut(" ↳ "+s.theme.warn.Render("! "+line(q.Problem)+": ")+text, s.width))
			continue
		}
		lines = append(lines, cut(" ↳ "+s.theme.dim.Render(text), s.width))
	}
	return lines
}

// runQueue lists or removes messages that wait.
func runQueue(_ context.Context, t *talk, words []string, out *show.Printer) (outcome, error) {
	now := t.now()
	all := now.Queued()
	if len(words) == 0 {
		for i, q := range all {
			fmt.Fprintf(out.W, "%d  %s\n", i+1, visible.Line(q.Text()))
			if q.Problem != "" {
				fmt.Fprintf(out.W, "   not sent: %s\n", line(q.Problem))
			}
		}
		if len(all) == 0 {
			return outcome{notes: []string{"No message waits."}}, nil
		}
		return outcome{}, out.Err()
	}
	usage := errors.New("usage: /queue lists the messages that wait; /queue remove N removes one, /queue remove all removes all")
	if len(words) != 2 || words[0] != "remove" {
		return outcome{}, usage
	}
	if words[1] != "all" {
		n, err := strconv.Atoi(words[1])
		if err != nil {
			return outcome{}, usage
		}
		if n < 1 || n > len(all) {
			return outcome{}, fmt.Errorf("no message %d waits; /queue lists them", n)
		}
		all = all[n-1 : n]
	}
	var notes []string
	for _, q := range all {
		if _, err := now.Unqueue(q.ID); err != nil {
			return outcome{notes: notes}, fmt.Errorf("the model already has %q", clip(line(q.Text()), 60))
		}
		notes = append(notes, "Removed: "+clip(line(q.Text()), 200))
	}
	return outcome{notes: notes}, nil
}

// typedPause is how often lines that were typed during a turn are queued.
const typedPause = 200 * time.Millisecond

// queueTyped queues the lines that the user has typed while a turn runs, without
// escape sequences. Commands wait for the prompt.
func (p *plain) queueTyped() {
	for _, text := range p.in.complete() {
		c, _, err := p.t.parsed(text)
		if c == nil && err == nil {
			if _, err = p.t.now().Queue(host.Input{Typed: text}); err == nil {
				p.say("  (queued: " + clip(text, 60) + ")")
				continue
			}
			p.say("! " + err.Error())
		}
		p.keep(text)
	}
}
