package term

import (
	"strings"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"
)

// A choicePane is a list to choose from.
type choicePane struct {
	list
	name   string
	empty  string
	items  []listItem
	seen   int
	chosen func(value string) tea.Cmd

	filters bool           // typed text selects items
	typed   string         // the text
	refused func(listItem) // the user has chosen an item that cannot be chosen
}

func (p *choicePane) title() string {
	if p.typed != "" {
		return p.name + ": " + line(p.typed)
	}
	return p.name
}

func (p *choicePane) keys() string {
	if p.filters {
		return "type to filter · ↑↓ select · enter confirm · esc close"
	}
	return "↑↓ select · enter confirm · esc close"
}

// shown returns the items that contain all typed words.
func (p *choicePane) shown() []listItem {
	words := strings.Fields(strings.ToLower(p.typed))
	if len(words) == 0 {
		return p.items
	}
	var out []listItem
	for _, i := range p.items {
		text, all := strings.ToLower(i.text+" "+i.about), true
		for _, w := range words {
			all = all && strings.Contains(text, w)
		}
		if all {
			out = append(out, i)
		}
	}
	return out
}

func (p *choicePane) view(width, height int, th *theme) []string {
	p.seen = height
	if len(p.items) == 0 {
		return wrap(p.empty, width)
	}
	items := p.shown()
	if len(items) == 0 {
		return []string{" " + th.dim.Render(cut("Nothing matches. Backspace widens the search.", width-1))}
	}
	from, to := p.window(len(items), height)
	var out []string
	for i := from; i < to; i++ {
		row := items[i].row(width)
		switch {
		case i == p.at:
			row = th.pick.Render("▶" + strings.TrimPrefix(row, " "))
		case items[i].off:
			row = th.dim.Render(row)
		}
		out = append(out, row)
	}
	return out
}

func (i listItem) row(width int) string {
	if i.off { // the reason matters more than a straight edge
		return pad(cut(" "+i.text+"  "+i.about, width), width)
	}
	row := " " + cut(i.text, max(10, width-2-columns(i.about)-2))
	if i.about != "" {
		row += strings.Repeat(" ", max(2, width-1-columns(row)-columns(i.about))) + i.about
	}
	return pad(cut(row, width), width)
}

func (p *choicePane) key(stroke, text string) (tea.Cmd, bool) {
	items := p.shown()
	switch {
	case stroke == "esc", stroke == "q" && !p.filters:
		return nil, true
	case stroke == "enter":
		if p.at >= len(items) {
			return nil, len(p.items) == 0
		}
		if i := items[p.at]; i.off {
			if p.refused != nil {
				p.refused(i)
			}
			return nil, true
		}
		return p.chosen(items[p.at].value), true
	case p.filters && stroke == "backspace":
		_, n := utf8.DecodeLastRuneInString(p.typed)
		p.typed, p.at = p.typed[:len(p.typed)-n], 0
		return nil, false
	case p.filters && text != "":
		p.typed, p.at = p.typed+text, 0
		return nil, false
	}
	p.list.key(stroke, len(items), p.seen)
	return nil, false
}
