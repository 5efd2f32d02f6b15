package term

import (
	"context"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/tenon-mcp/tenon/app/show"
)

// A buffer collects the output of a command.
type buffer struct{ strings.Builder }

func (b *buffer) printer(width int, color bool) *show.Printer {
	return &show.Printer{W: &b.Builder, Width: width, Color: color}
}

// background runs a command that writes output. The user can stop it like a turn.
func (s *screen) background(f func(ctx context.Context, out *buffer) (outcome, error)) tea.Cmd {
	s.turns++
	return func() tea.Msg {
		var out buffer
		var m doneMsg
		m.err = s.t.do(func(ctx context.Context) (err error) {
			m.after, err = f(ctx, &out)
			return err
		})
		if text := out.String(); strings.TrimSpace(text) != "" {
			m.out = func(width int, _ bool) []string { return lay(text, width) }
		}
		return m
	}
}

// helpPane is the pane of /help.
func helpPane() *textPane {
	return &textPane{name: "Help", write: func(width int, color bool) []string {
		lines := printed(width, color, func(p *show.Printer) {
			runHelp(context.Background(), nil, nil, p)
			p.Markdown(keysHelp)
		})
		return lines
	}}
}

const keysHelp = `
| Key | What it does |
|---|---|
| Enter | send; accept the selected completion |
| Alt-Enter, Ctrl-J | a new line |
| Tab | complete; Tab again for the next |
| Up, Down | input history |
| PgUp, PgDn | scroll |
| Ctrl-O | expand or collapse the last card, or the question |
| Enter on an empty line, Ctrl-G | go to the question; Right and Left select, Enter confirms |
| Shift-Tab | browse the cards: Up and Down select, Enter expands or collapses |
| F2, F3 | servers, wire |
| Ctrl-C | leave the question; stop the running turn; twice quits |
| Esc | close a pane |
`
