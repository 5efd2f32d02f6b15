package term

import (
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/tenon-mcp/tenon/app/connect"
	"github.com/tenon-mcp/tenon/app/speccheck"
	"github.com/tenon-mcp/tenon/app/wirelog"
	"github.com/tenon-mcp/tenon/internal/visible"
)

// A serversPane shows the states of the servers, with actions.
type serversPane struct {
	list
	t    *talk
	log  *textPane // the standard error of one server; nil: not open
	seen int
	said string // the outcome of the last key
}

func (p *serversPane) title() string {
	if p.log != nil {
		return p.log.name
	}
	return "Servers"
}

func (p *serversPane) keys() string {
	if p.log != nil {
		return p.log.keys()
	}
	return "r restart · d switch off · l log in · enter log · esc close"
}

func (p *serversPane) view(width, height int, th *theme) []string {
	if p.log != nil {
		return p.log.view(width, height, th)
	}
	all := p.t.w.Fleet.All()
	if len(all) == 0 {
		return wrap("No servers. Add one with tenon config add NAME -- COMMAND, or start with --server.", width)
	}
	rows := min(len(all), max(3, height/2))
	p.seen = rows
	from, to := p.window(len(all), rows)
	var out []string
	for i := from; i < to; i++ {
		out = append(out, p.row(all[i].State(), i == p.at, width, th))
	}
	out = append(out, "")
	details := p.details(all[p.at], width, th)
	if p.said != "" {
		details = append(indented(wrap(visible.Text(p.said), width-2), "! ", "  "), details...)
	}
	return append(out, details[:max(0, min(len(details), height-len(out)))]...)
}

func (p *serversPane) row(s connect.State, chosen bool, width int, th *theme) string {
	mark, style := "○", th.dim
	switch s.Phase {
	case connect.Ready:
		mark, style = "●", th.good
	case connect.Degraded, connect.NeedsLogin, connect.Restarting:
		mark, style = "◐", th.warn
	case connect.Failed:
		mark, style = "✗", th.bad
	}
	latency := "-"
	if s.Latency > 0 {
		latency = elapsed(s.Latency)
	}
	text := fmt.Sprintf("%s %s %s %s %s", pad(line(s.Server), 16), pad(string(s.Phase), 11), pad(string(s.Kind), 8), pad(string(s.Revision), 11), pad(latency, 8))
	if s.Errors > 0 {
		text += " " + count(s.Errors, "error", "errors")
	}
	if chosen {
		return th.pick.Render(pad("▶"+mark+" "+text, width))
	}
	return cut(" "+style.Render(mark)+" "+text, width)
}

func (p *serversPane) details(server *connect.Server, width int, th *theme) []string {
	s, e := server.State(), server.Entry()
	var out []string
	add := func(label, text string) {
		if text == "" {
			return
		}
		out = append(out, indented(wrap(visible.Text(text), width-12), th.dim.Render(pad(label, 11))+" ", strings.Repeat(" ", 12))...)
	}
	add("address", e.Address())
	add("why", s.Why)
	add("log in at", s.Page)
	since := time.Since(s.Since).Round(time.Second)
	state := fmt.Sprintf("%s for %s, %s, %s", s.Phase, since, connected(s.Starts), count(s.Calls, "call", "calls"))
	if s.Pid != 0 {
		state += fmt.Sprintf(", process %d", s.Pid)
	}
	if s.Next > 0 {
		state += ", next attempt in " + elapsed(s.Next)
	}
	add("state", state)
	if words := server.Stderr(); words != "" {
		out = append(out, th.dim.Render("last lines of stderr"))
		for _, l := range wrap(visible.Terminal(words), width-2) {
			out = append(out, "  "+l)
		}
	}
	return out
}

// connected returns how often a server was connected.
func connected(times int) string {
	switch times {
	case 0:
		return "not connected yet"
	case 1:
		return "connected once"
	}
	return fmt.Sprintf("connected %d times", times)
}

func (p *serversPane) key(stroke, text string) (tea.Cmd, bool) {
	if p.log != nil {
		if _, closed := p.log.key(stroke, text); closed {
			p.log = nil
		}
		return nil, false
	}
	all := p.t.w.Fleet.All()
	if stroke == "esc" || stroke == "q" {
		return nil, true
	}
	if p.list.key(stroke, len(all), p.seen) || p.at >= len(all) {
		return nil, false
	}
	s := all[p.at]
	switch stroke {
	case "r":
		return p.act(s.Name()+" is restarting", s.Restart), false
	case "d":
		return p.act(s.Name()+" is switched off", s.Disable), false
	case "l":
		return p.login(s), false
	case "enter":
		p.log = stderrPane(p.t.w.Log, s.Name())
	}
	return nil, false
}

// act runs an action in the background.
func (p *serversPane) act(says string, f func() error) tea.Cmd {
	p.said = says
	return func() tea.Msg {
		if err := f(); err != nil {
			return saidMsg{p, err.Error()}
		}
		return nil
	}
}

// saidMsg is the outcome of a key in the servers pane.
type saidMsg struct {
	p    *serversPane
	text string
}

// login opens the login page of a server, or restarts one that has failed.
func (p *serversPane) login(s *connect.Server) tea.Cmd {
	page := s.State().Page
	switch {
	case page == "":
		return p.act(s.Name()+" is restarting; if it needs a login, press l again", s.Restart)
	case p.t.o.OpenPage == nil:
		p.said = "Open this page: " + page
		return nil
	}
	return p.act("Opening "+page, func() error { return p.t.o.OpenPage(page) })
}

// stderrPane shows the logged standard error of a server's process.
func stderrPane(log *wirelog.Log, server string) *textPane {
	return &textPane{name: "stderr of " + line(server), top: 1 << 30, write: func(width int, _ bool) []string {
		ms, _ := log.Filter(wirelog.Query{Server: server, Kinds: []speccheck.Kind{speccheck.KindStderr, speccheck.KindInvalid, speccheck.KindEvent}}, 0, 2000)
		var out []string
		for i := len(ms) - 1; i >= 0; i-- {
			out = append(out, indented(wrap(visible.Terminal(string(ms[i].Frame)), width-13), ms[i].At.Format("15:04:05.000 "), strings.Repeat(" ", 13))...)
		}
		if out == nil {
			out = []string{"Nothing was written."}
		}
		return out
	}}
}
