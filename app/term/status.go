package term

import (
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/tenon-mcp/tenon/app/connect"
	"github.com/tenon-mcp/tenon/app/host"
)

// An activity is what the program waits for.
type activity struct {
	began time.Time  // of the turn or command
	step  *host.Step // of the turn; nil before its first request, and without one
	since time.Time  // when the step reached its state
}

// frames are the pictures of the spinner, each shown for frameTime.
var frames = []string{"⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"}

const frameTime = 100 * time.Millisecond

// A tickMsg draws the next picture of the spinner.
type tickMsg struct{}

// tick requests the next picture while something runs.
func (s *screen) tick() tea.Cmd {
	if s.ticking || s.turns == 0 && s.starting() == "" {
		return nil
	}
	s.ticking = true
	return tea.Tick(frameTime, func(time.Time) tea.Msg { return tickMsg{} })
}

// began records that a turn or command runs.
func (s *screen) began() tea.Cmd {
	if s.turns == 0 {
		s.act = activity{began: s.now()}
	}
	s.turns++
	return s.tick()
}

func (s *screen) stepped(e host.Event) {
	step := *e.Step
	s.act.step, s.act.since = &step, s.now()
}

// starting returns the names of servers that are not ready yet.
func (s *screen) starting() string {
	var names []string
	for _, server := range s.t.w.Fleet.All() {
		if p := server.State().Phase; p == connect.Starting || p == connect.Restarting {
			names = append(names, line(server.Name()))
		}
	}
	return strings.Join(names, ", ")
}

// waitsFor says what the program waits for; "" if for nothing.
func (s *screen) waitsFor() string {
	if s.turns == 0 {
		if names := s.starting(); names != "" {
			return "starting " + names
		}
		return ""
	}
	now := s.now()
	if len(s.questions) > 0 {
		return "waiting for your answer"
	}
	if text := s.runningCalls(now); text != "" {
		return text
	}
	text, from := "working", s.act.began
	if step := s.act.step; step != nil {
		text, from = stepText(step, s.act.since, now), s.act.since
		if text == "" {
			text, from = "waiting for "+s.modelName(), s.act.since
		}
		if step.State == host.StepRetrying && step.Wait > 0 {
			return text // it counts down
		}
	}
	return text + clock(now.Sub(from))
}

// stepText describes the state of a step; "" if the model has to begin.
func stepText(step *host.Step, since, now time.Time) string {
	switch step.State {
	case host.StepThinking:
		return "thinking"
	case host.StepWriting:
		return "writing"
	case host.StepCalling:
		return "calling tools"
	case host.StepCompacting:
		return "summarizing the conversation"
	case host.StepRetrying:
		left := since.Add(time.Duration(step.Wait)).Sub(now)
		if step.Wait > 0 && left > 0 {
			return fmt.Sprintf("asking again in %d s", int((left+time.Second-1)/time.Second))
		}
		return "asking again"
	}
	return ""
}

// runningCalls names the calls that run, with the time of the longest and its
// progress.
func (s *screen) runningCalls(now time.Time) string {
	var running []*host.ToolCall
	for _, e := range s.cards {
		if c := &e.block.(*card).call; c.Phase == host.CallRunning {
			running = append(running, c)
		}
	}
	if len(running) == 0 {
		return ""
	}
	slices.SortFunc(running, func(a, b *host.ToolCall) int { return a.Sent.Compare(b.Sent) })
	first := running[0]
	text := callName(first)
	if n := len(running) - 1; n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	if first.Total > 0 {
		text += fmt.Sprintf(" %.0f %%", 100*max(0, min(1, first.Progress/first.Total)))
	}
	if first.Sent.IsZero() {
		return text
	}
	return text + clock(now.Sub(first.Sent))
}

// clock formats the seconds of something that takes longer than one.
func clock(d time.Duration) string {
	switch s := int(d.Seconds()); {
	case s < 1:
		return ""
	case s < 60:
		return fmt.Sprintf(" · %d s", s)
	default:
		return fmt.Sprintf(" · %d:%02d min", s/60, s%60)
	}
}

// modelName returns the name of the model without its provider.
func (s *screen) modelName() string {
	m := s.t.w.Host.Model()
	if m == nil {
		return "the model"
	}
	if info := m.Info(); info.Provider != "none" && info.Name != "" {
		return line(info.Name)
	}
	return "an answer"
}

// spinner returns the current picture.
func spinner(now time.Time) string {
	return frames[int(now.UnixMilli()/frameTime.Milliseconds())%len(frames)]
}

// A segment is a part of the status line.
type segment struct {
	long, short string // short is used if long does not fit; it may be empty
	style       func(*theme, string) string
	rank        int // segments with a lower rank stay longer
}

func dimmed(th *theme, text string) string { return th.dim.Render(text) }
func warned(th *theme, text string) string { return th.warn.Render(text) }
func strong(th *theme, text string) string { return th.bold.Render(text) }

const statusGap = " │ "

// status returns the line at the bottom: the model, the servers, the context, the
// cost, the time of the running turn and the session. What matters least is left
// out where it does not fit.
func (s *screen) status() string {
	all := s.segments()
	chosen := make([]string, len(all))
	room := s.width - 2
	for rank := range 10 {
		for i, g := range all {
			if g.rank != rank {
				continue
			}
			for _, text := range []string{g.long, g.short} {
				need := columns(text)
				if rank > 0 {
					need += columns(statusGap)
				}
				if text != "" && need <= room {
					chosen[i], room = text, room-need
					break
				}
			}
			if rank == 0 && chosen[i] == "" {
				chosen[i], room = cut(g.long, room), 0
			}
			if g.rank == lastRank && chosen[i] == "" && room > 12 {
				chosen[i], room = cut(g.long, room-columns(statusGap)), 0
			}
		}
	}
	var parts []string
	for i, text := range chosen {
		if text != "" {
			parts = append(parts, all[i].style(&s.theme, text))
		}
	}
	return " " + strings.Join(parts, s.theme.faint.Render(statusGap))
}

// lastRank is the rank of the title of the session, which may be cut.
const lastRank = 7

func (s *screen) segments() []segment {
	model := segment{style: strong}
	more := ""
	if m := s.t.w.Host.Model(); m == nil {
		model.long = "No model connected"
	} else if info := m.Info(); info.Label != "" {
		model.long = line(info.Label)
		if info.Provider != "none" {
			more = line(info.String())
		}
	} else {
		model.long, model.short = line(info.String()), line(info.Name)
	}
	all := []segment{model}
	add := func(rank int, style func(*theme, string) string, long, short string) {
		if long != "" {
			all = append(all, segment{long, short, style, rank})
		}
	}
	add(6, dimmed, more, "")
	ready, failed, waiting := 0, []string(nil), []string(nil)
	servers := s.t.w.Fleet.All()
	for _, server := range servers {
		switch st := server.State(); {
		case st.Usable():
			ready++
		case st.Phase == connect.Failed:
			failed = append(failed, line(server.Name())+" failed")
		case st.Phase == connect.NeedsLogin:
			failed = append(failed, line(server.Name())+" needs login")
		case st.Phase != connect.Disabled && st.Phase != connect.Closed:
			waiting = append(waiting, line(server.Name()))
		}
	}
	text := count(ready, "server", "servers")
	if ready < len(servers) {
		text = fmt.Sprintf("%d/%d servers", ready, len(servers))
	}
	add(4, dimmed, text, "")
	add(1, warned, strings.Join(failed, ", "), shortFailure(failed))
	if len(waiting) > 0 {
		add(5, dimmed, "starting "+strings.Join(waiting, ", "), "")
	}
	add(2, contextStyle(s.contextShare()), s.contextText("context "), s.contextText(""))
	if s.usage.Cost > 0 {
		add(3, dimmed, money(s.usage.Cost), "")
	}
	if s.turns > 0 {
		if d := s.now().Sub(s.act.began); d >= time.Second {
			add(5, dimmed, strings.TrimPrefix(clock(d), " · "), "")
		}
	}
	name := line(s.t.now().Summary().Title)
	add(lastRank, dimmed, name, "")
	return all
}

func shortFailure(failed []string) string {
	if len(failed) < 2 {
		return ""
	}
	return fmt.Sprintf("%d servers failed", len(failed))
}

// contextShare returns how much of the model's context is used, in percent; -1 if
// unknown.
func (s *screen) contextShare() int {
	m := s.t.w.Host.Model()
	if m == nil || m.Info().Context <= 0 || s.context == 0 {
		return -1
	}
	return min(100, (100*s.context+m.Info().Context-1)/m.Info().Context)
}

func (s *screen) contextText(before string) string {
	if share := s.contextShare(); share >= 0 {
		return fmt.Sprintf("%s%d %%", before, share)
	}
	if n := s.usage.Read() + s.usage.Output; n > 0 {
		return thousands(n) + " tokens"
	}
	return ""
}

// contextStyle warns when the context is nearly full.
func contextStyle(share int) func(*theme, string) string {
	if share >= 80 {
		return warned
	}
	return dimmed
}

// money formats a cost in USD.
func money(cost float64) string {
	if cost < 0.1 {
		return fmt.Sprintf("$%.4f", cost)
	}
	return fmt.Sprintf("$%.2f", cost)
}
