package term

import (
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/tenon-mcp/tenon/app/speccheck"
	"github.com/tenon-mcp/tenon/app/wirelog"
	"github.com/tenon-mcp/tenon/internal/visible"
)

// mostWire is the number of messages in the wire pane.
const mostWire = 2000

// A wirePane shows the messages of all servers or one.
type wirePane struct {
	list
	t      *talk
	query  wirelog.Query
	all    []speccheck.Message // oldest first
	last   uint64              // the newest in all
	follow bool                // show the newest
	open   *textPane           // one message; nil: not open
	filter *editor             // nil: not being typed
	seen   int
}

func newWirePane(t *talk, server string) *wirePane {
	p := &wirePane{t: t, follow: true}
	p.query.Server = server
	p.load()
	return p
}

// load reads the messages.
func (p *wirePane) load() {
	now := p.t.w.Log.Last()
	if now == p.last && p.all != nil {
		return
	}
	p.last = now
	ms, _ := p.t.w.Log.Filter(p.query, 0, mostWire)
	slices.Reverse(ms)
	p.all = ms
	if p.follow {
		p.at = max(0, len(ms)-1)
	}
}

func (p *wirePane) again() {
	p.all, p.last, p.follow = nil, 0, true
	p.load()
}

func (p *wirePane) title() string {
	if p.open != nil {
		return p.open.name
	}
	text := "Wire"
	if p.query.Server != "" {
		text += " of " + line(p.query.Server)
	}
	if p.query.Problems {
		text += ", with problems"
	}
	if p.query.Text != "" {
		text += ", with " + fmt.Sprintf("%q", line(p.query.Text))
	}
	return fmt.Sprintf("%s (%d)", text, len(p.all))
}

func (p *wirePane) keys() string {
	switch {
	case p.open != nil:
		return p.open.keys()
	case p.filter != nil:
		return "enter filter · esc no filter"
	}
	return "enter open · / filter · s server · p problems · esc"
}

func (p *wirePane) view(width, height int, th *theme) []string {
	if p.open != nil {
		return p.open.view(width, height, th)
	}
	var out []string
	if p.filter != nil {
		height--
	}
	p.seen = height
	if len(p.all) == 0 {
		out = []string{th.dim.Render("No messages yet.")}
	}
	from, to := p.window(len(p.all), height)
	server := columnsFor(p.all[from:to])
	for i := from; i < to; i++ {
		m := &p.all[i]
		row := wireLine(m, server)
		switch {
		case i == p.at:
			row = th.pick.Render(pad(row, width))
		case m.Kind == speccheck.KindError || len(m.Problems) > 0:
			row = th.bad.Render(cut(row, width))
		case !m.Kind.IsJSON():
			row = th.dim.Render(cut(row, width))
		default:
			row = cut(row, width)
		}
		out = append(out, row)
	}
	if p.filter != nil {
		for len(out) < height {
			out = append(out, "")
		}
		rows, _, _ := p.filter.rows(width-8, 1)
		out = append(out, th.accent.Render("filter: ")+rows[0]+"▏")
	}
	return out
}

func (p *wirePane) key(stroke, text string) (tea.Cmd, bool) {
	if p.open != nil {
		if _, closed := p.open.key(stroke, text); closed {
			p.open = nil
		}
		return nil, false
	}
	if p.filter != nil {
		p.filterKey(stroke, text)
		return nil, false
	}
	switch stroke {
	case "esc", "q":
		return nil, true
	case "enter":
		if p.at < len(p.all) {
			p.open = messagePane(p.t.w.Log, p.all[p.at].Seq)
		}
	case "/":
		p.filter = &editor{single: true}
		p.filter.set(p.query.Text)
	case "p":
		p.query.Problems = !p.query.Problems
		p.again()
	case "s":
		p.nextServer()
		p.again()
	default:
		if p.list.key(stroke, len(p.all), p.seen) {
			p.follow = p.at == len(p.all)-1
		}
	}
	return nil, false
}

func (p *wirePane) filterKey(stroke, text string) {
	switch stroke {
	case "enter":
		p.query.Text, p.filter = p.filter.text, nil
		p.again()
	case "esc":
		p.query.Text, p.filter = "", nil
		p.again()
	default:
		p.filter.key(stroke, text)
	}
}

// nextServer selects the next server, or all.
func (p *wirePane) nextServer() {
	var names []string
	for _, s := range p.t.w.Fleet.All() {
		names = append(names, s.Name())
	}
	i := slices.Index(names, p.query.Server) + 1
	if i >= len(names) {
		p.query.Server = ""
		return
	}
	p.query.Server = names[i]
}

// messagePane shows one message in full, with explanations.
func messagePane(log *wirelog.Log, seq uint64) *textPane {
	return &textPane{name: fmt.Sprintf("Message %d", seq), write: func(width int, _ bool) []string {
		m, ok := log.Get(seq)
		if !ok {
			return []string{"This message was dropped: the log holds only the latest messages."}
		}
		about := []string{string(m.Dir), string(m.Kind), line(m.Server), m.At.Format("15:04:05.000000"), count(m.Size, "byte", "bytes")}
		if m.Era != "" {
			about = append(about, strings.TrimSpace(m.Era+" "+string(m.Revision)))
		}
		if m.Duration > 0 {
			about = append(about, "after "+elapsed(m.Duration))
		}
		if m.Joins != 0 {
			about = append(about, fmt.Sprintf("request: %d", m.Joins))
		}
		if m.AnsweredBy != 0 {
			about = append(about, fmt.Sprintf("response: %d", m.AnsweredBy))
		}
		out := wrap(strings.Join(about, " · "), width)
		if what := speccheck.Describe(m.Method, m.Revision); what != "" {
			out = append(out, wrap(m.Method+": "+what, width)...)
		}
		if h := m.HTTP; h != nil {
			out = append(out, wrap(visible.Text(fmt.Sprintf("%s %s → %d %s", h.Method, h.URL, h.Status, h.Error)), width)...)
		}
		for _, b := range m.Problems {
			out = append(out, wrap(visible.Text(fmt.Sprintf("! %s %s %s: %s", b.Severity, b.Rule, b.Pointer, b.Text)), width)...)
		}
		out = append(out, "")
		if m.Kind.IsJSON() {
			return append(out, pretty(m.Frame, width)...)
		}
		return append(out, wrap(visible.Terminal(string(m.Frame)), width)...)
	}}
}
