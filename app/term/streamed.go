package term

import (
	"strings"
	"unicode/utf8"

	"github.com/tenon-mcp/tenon/app/show"
)

// mostOpen bounds the bytes of a text that are laid out again with each piece.
const mostOpen = 8 << 10

// streamed is Markdown that arrives in pieces. Its lines are laid out once, except
// the last one and an open table, which are laid out again with each piece. If
// these become longer than mostOpen, their beginning is fixed too, so that an answer
// of any form and length costs the same for each piece.
type streamed struct {
	whole strings.Builder // everything, for another width
	open  strings.Builder // the part that may still change
	fence string          // the code block that open is in
	table string          // the head of the table that open continues

	laid  []string // an empty line, the fixed lines, and those of open
	fixed int
	width int
	color bool
}

func (b *streamed) add(piece string) {
	b.open.WriteString(piece)
	b.whole.WriteString(piece)
}

func (b *streamed) lines(width int, th *theme) []string {
	if b.width != width || b.color != th.color {
		b.width, b.color, b.fence, b.table = width, th.color, "", ""
		b.laid, b.fixed = []string{""}, 1
		b.open.Reset()
		b.open.WriteString(b.whole.String())
	}
	text := b.open.String()
	rest := text
	if n := settles(rest, b.fence); n > 0 {
		b.fix(rest[:n], false)
		rest = rest[n:]
	}
	for len(rest) > mostOpen {
		n := splitAt(rest)
		b.fix(rest[:n], true)
		rest = rest[n:]
	}
	if len(rest) < len(text) {
		b.open.Reset()
		b.open.WriteString(rest)
	}
	b.laid = append(b.laid[:b.fixed], b.render(rest)...)
	out := b.laid
	for len(out) > 1 && out[len(out)-1] == "" {
		out = out[:len(out)-1]
	}
	if len(out) == 1 {
		return nil // nothing yet
	}
	return out
}

// fix lays out a part that does not change any more. If it is split, a table may go
// on after it.
func (b *streamed) fix(text string, split bool) {
	b.laid = append(b.laid[:b.fixed], b.render(text)...)
	b.fixed = len(b.laid)
	head := b.table
	b.table = ""
	rows := 0
	for l := range strings.Lines(text) {
		if s := strings.TrimSpace(l); isRow(s, b.fence) {
			if rows++; rows <= 2 && head == "" {
				b.table += s + "\n"
			}
		} else {
			b.fence = fenceAfter(s, b.fence)
			b.table, head, rows = "", "", 0
		}
	}
	if head != "" {
		b.table = head
	}
	if !split || rows == 0 {
		b.table = ""
	}
}

// render lays out a part.
func (b *streamed) render(text string) []string {
	if b.fixed == 1 {
		text = strings.TrimLeft(text, "\n")
	}
	body := strings.TrimRight(text, "\n")
	blank := max(0, len(text)-len(body)-1) // empty lines at the end
	if body == "" {
		blank = len(text)
	}
	var out []string
	if b.fence == "" && body != "" {
		for ; body[0] == '\n'; body = body[1:] {
			out = append(out, "")
		}
	}
	fence := b.fence
	if body != "" {
		head, skip := "", 0
		if b.fence != "" {
			head = b.fence + "\n"
		} else if first, _, _ := strings.Cut(body, "\n"); b.table != "" && isRow(strings.TrimSpace(first), "") {
			head, skip = b.table, len(b.markdown(b.table))
		}
		laid := b.markdown(head + body)
		out = append(out, laid[min(skip, len(laid)):]...)
		for l := range strings.Lines(body) {
			fence = fenceAfter(strings.TrimSpace(l), fence)
		}
	}
	for range blank {
		if fence != "" {
			out = append(out, "    ") // as in the middle of a code block
		} else {
			out = append(out, "")
		}
	}
	return out
}

// markdown lays a text out, with the empty lines at its end.
func (b *streamed) markdown(text string) []string {
	var out strings.Builder
	p := show.Printer{W: &out, Width: b.width, Color: b.color}
	p.Markdown(text)
	shown := strings.TrimRight(out.String(), "\n")
	var lines []string
	blank := out.Len() - len(shown)
	if shown != "" {
		lines = lay(shown, b.width)
		blank--
	}
	for range blank {
		lines = append(lines, "")
	}
	return lines
}

// settles returns the length of the part of a text that cannot change: its whole
// lines, without a table at the end, which may go on.
func settles(text, fence string) int {
	fixed, at := 0, 0
	for {
		end := strings.IndexByte(text[at:], '\n')
		if end < 0 {
			return fixed
		}
		s := strings.TrimSpace(text[at : at+end])
		at += end + 1
		if !isRow(s, fence) {
			fence = fenceAfter(s, fence)
			fixed = at
		}
	}
}

// isRow reports whether a trimmed line outside of a code block is the row of a
// table.
func isRow(s, fence string) bool {
	return fence == "" && len(s) > 1 && strings.HasPrefix(s, "|") && strings.HasSuffix(s, "|")
}

// fenceAfter returns the open code block after a trimmed line.
func fenceAfter(s, fence string) string {
	switch {
	case fence != "" && strings.HasPrefix(s, fence) && strings.Trim(s, fence[:1]) == "":
		return ""
	case fence == "" && (strings.HasPrefix(s, "```") || strings.HasPrefix(s, "~~~")):
		return s[:3]
	}
	return fence
}

// splitAt returns where a text longer than mostOpen is split: after a line, else
// after a space, else after a character.
func splitAt(text string) int {
	part := text[:mostOpen]
	if i := strings.LastIndexByte(part, '\n'); i >= 0 {
		return i + 1
	}
	if i := strings.LastIndexByte(part, ' '); i >= 0 {
		return i + 1
	}
	n := mostOpen
	for n > mostOpen-utf8.UTFMax && !utf8.RuneStart(text[n]) {
		n--
	}
	return n
}
