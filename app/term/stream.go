package term

import (
	"strings"

	"github.com/tenon-mcp/tenon/app/show"
)

// streamed is Markdown that arrives in pieces. The part before the last empty
// line outside of a code block is laid out once; only the rest is laid out again
// with each piece, so that a long answer does not become slower.
type streamed struct {
	open  strings.Builder // the part that may still change
	whole strings.Builder // everything, for another width

	settled []string
	width   int
	color   bool
}

func (b *streamed) add(piece string) {
	b.open.WriteString(piece)
	b.whole.WriteString(piece)
}

func (b *streamed) lines(width int, th *theme) []string {
	if b.width != width || b.color != th.color {
		b.settled, b.width, b.color = nil, width, th.color
		b.open.Reset()
		b.open.WriteString(b.whole.String())
	}
	text := b.open.String()
	if n := settles(text); n > 0 {
		b.settled = append(b.settled, markdown(text[:n], width, th.color)...)
		b.settled = append(b.settled, "")
		text = text[n:]
		b.open.Reset()
		b.open.WriteString(text)
	}
	out := append([]string{""}, b.settled...)
	if strings.TrimSpace(text) != "" {
		out = append(out, markdown(text, width, th.color)...)
	}
	for len(out) > 1 && out[len(out)-1] == "" {
		out = out[:len(out)-1]
	}
	if len(out) == 1 {
		return nil // nothing yet
	}
	return out
}

func markdown(text string, width int, color bool) []string {
	return printed(width, color, func(p *show.Printer) { p.Markdown(strings.Trim(text, "\n")) })
}

// settles returns the length of the part that cannot change: up to the last empty
// line outside of a code block.
func settles(text string) int {
	over, at, fence := 0, 0, ""
	for {
		end := strings.IndexByte(text[at:], '\n')
		if end < 0 {
			return over
		}
		s := strings.TrimSpace(text[at : at+end])
		at += end + 1
		switch {
		case fence != "":
			if strings.HasPrefix(s, fence) && strings.Trim(s, fence[:1]) == "" {
				fence = ""
			}
		case strings.HasPrefix(s, "```"), strings.HasPrefix(s, "~~~"):
			fence = s[:3]
		case s == "":
			over = at
		}
	}
}
