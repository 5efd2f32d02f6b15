package term

import (
	"context"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/tenon-mcp/tenon/app/wirelog"
)

// A pane covers the conversation until it is closed.
type pane interface {
	title() string
	keys() string

	// view lays the pane out in height lines.
	view(width, height int, th *theme) []string

	// key handles a key. closed reports that the pane wants to close.
	key(stroke, text string) (cmd tea.Cmd, closed bool)
}

// A list is rows of which one is chosen.
type list struct {
	at, top int
}

// key moves the choice among n rows, of which seen are visible, and reports
// whether the key did that.
func (l *list) key(stroke string, n, seen int) bool {
	switch stroke {
	case "up", "k":
		l.at--
	case "down", "j":
		l.at++
	case "pgup":
		l.at -= max(1, seen-1)
	case "pgdown", "space":
		l.at += max(1, seen-1)
	case "home", "g":
		l.at = 0
	case "end", "shift+g":
		l.at = n - 1
	default:
		return false
	}
	l.at = max(0, min(l.at, n-1))
	return true
}

// window returns the visible rows.
func (l *list) window(n, height int) (from, to int) {
	l.at = max(0, min(l.at, n-1))
	l.top = max(0, min(l.top, l.at))
	if l.at >= l.top+height {
		l.top = l.at - height + 1
	}
	l.top = max(0, min(l.top, n-height))
	return l.top, min(n, l.top+height)
}

// A textPane is text to read.
type textPane struct {
	name  string
	write func(width int, color bool) []string
	top   int
	seen  int
	total int
	wide  int
	color bool
	lines []string
}

func (p *textPane) title() string { return p.name }
func (p *textPane) keys() string  { return "↑↓ pgup pgdn scroll · esc close" }

func (p *textPane) view(width, height int, th *theme) []string {
	if p.lines == nil || p.wide != width || p.color != th.color {
		p.lines, p.wide, p.color = p.write(width, th.color), width, th.color
	}
	p.seen, p.total = height, len(p.lines)
	p.top = max(0, min(p.top, p.total-height))
	return p.lines[p.top:min(p.total, p.top+height)]
}

func (p *textPane) key(stroke, _ string) (tea.Cmd, bool) {
	switch stroke {
	case "esc", "q":
		return nil, true
	case "up", "k":
		p.top--
	case "down", "j", "enter":
		p.top++
	case "pgup":
		p.top -= max(1, p.seen-1)
	case "pgdown", "space":
		p.top += max(1, p.seen-1)
	case "home", "g":
		p.top = 0
	case "end", "shift+g":
		p.top = p.total
	}
	p.top = max(0, min(p.top, p.total-p.seen))
	return nil, false
}

// watchLog calls wake after messages were added, at a limited rate.
func watchLog(ctx context.Context, log *wirelog.Log, wake func()) {
	added, stop := log.Watch()
	defer stop()
	for {
		select {
		case <-added:
		case <-ctx.Done():
			return
		}
		wake()
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return
		}
	}
}
