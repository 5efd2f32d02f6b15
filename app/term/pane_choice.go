package term

import (
	"context"
	"slices"
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
	loading bool           // more items will come
}

func (p *choicePane) title() string {
	name := p.name
	if p.loading {
		name += " · asking providers…"
	}
	if p.typed != "" {
		return name + ": " + line(p.typed)
	}
	return name
}

func (p *choicePane) keys() string {
	if p.filters {
		return "type to filter · ↑↓ enter · esc"
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
		text, all := strings.ToLower(i.text+" "+i.about+" "+i.group), true
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
	if len(p.items) == 0 && p.loading {
		return nil
	}
	if len(p.items) == 0 {
		return wrap(p.empty, width)
	}
	items := p.shown()
	p.at = max(0, min(p.at, len(items)-1))
	if len(items) == 0 {
		return []string{" " + th.dim.Render(cut("Nothing matches. Backspace widens the search.", width-1))}
	}
	var rows []string // with headings
	line, group := 0, ""
	for i, item := range items {
		if item.group != group {
			if group = item.group; len(rows) > 0 {
				rows = append(rows, "")
			}
			rows = append(rows, " "+th.dim.Render(cut(group, width-1)))
		}
		row := item.row(width)
		switch {
		case i == p.at:
			line = len(rows)
			row = th.pick.Render("▶" + strings.TrimPrefix(row, " "))
		case item.off:
			row = th.dim.Render(row)
		}
		rows = append(rows, row)
	}
	if p.at == 0 {
		p.top = 0 // with its heading
	}
	p.top = max(0, min(p.top, line))
	if line >= p.top+height {
		p.top = line - height + 1
	}
	p.top = max(0, min(p.top, len(rows)-height))
	return rows[p.top:min(len(rows), p.top+height)]
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

// A modelsMsg has models for a list, from a channel that has more.
type modelsMsg struct {
	to   *choicePane
	some []listItem
	from <-chan []listItem
	over bool
}

// openModels opens the list of models at once and fills it as providers answer.
func (s *screen) openModels() tea.Cmd {
	s.choose(outcome{list: "models"})
	p := s.pane.(*choicePane)
	p.loading = true
	from := make(chan []listItem, 16)
	go func() { // ends when the providers have answered; fill takes everything
		defer close(from)
		s.t.do(func(ctx context.Context) error {
			s.t.eachOffer(ctx, func(some []listItem) {
				select {
				case from <- some:
				case <-ctx.Done():
				}
			})
			return nil
		})
	}()
	return nextModels(p, from)
}

func nextModels(p *choicePane, from <-chan []listItem) tea.Cmd {
	return func() tea.Msg {
		some, ok := <-from
		return modelsMsg{p, some, from, !ok}
	}
}

// fill adds models. The selected one stays selected.
func (p *choicePane) fill(m modelsMsg) tea.Cmd {
	if m.over {
		p.loading = false
		return nil
	}
	shown, at := p.shown(), listItem{}
	if p.at > 0 && p.at < len(shown) {
		at = shown[p.at]
	}
	p.items = append(p.items, m.some...)
	sortModels(p.items)
	if at.text != "" {
		p.at = max(0, slices.IndexFunc(p.shown(), func(i listItem) bool { return i.text == at.text }))
	}
	return nextModels(p, m.from)
}
