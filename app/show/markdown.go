package show

import (
	"slices"
	"strconv"
	"strings"

	"github.com/tenon-mcp/tenon/internal/visible"
)

func itoa(n int) string { return strconv.Itoa(n) }

// Markdown prints a text that may be Markdown: headings, lists, quotes, code,
// tables, emphasis and links. Other text is printed as it is, with long lines
// wrapped.
func (p *Printer) Markdown(text string) {
	m := &markdown{p: p}
	for line := range strings.SplitSeq(strings.TrimRight(visible.Terminal(text), "\n"), "\n") {
		m.line(line)
	}
	m.flush()
}

// A markdown is the state between lines.
type markdown struct {
	p     *Printer
	fence string     // the end of the open code block
	rows  [][]string // of an open table
}

func (m *markdown) line(s string) {
	trimmed := strings.TrimSpace(s)
	if m.fence != "" {
		if strings.HasPrefix(trimmed, m.fence) && strings.Trim(trimmed, m.fence[:1]) == "" {
			m.fence = ""
			return
		}
		m.p.line("    " + m.p.paint(cyan, s))
		return
	}
	if strings.HasPrefix(trimmed, "|") && strings.HasSuffix(trimmed, "|") && len(trimmed) > 1 {
		m.rows = append(m.rows, cells(trimmed))
		return
	}
	m.flush()
	switch {
	case strings.HasPrefix(trimmed, "```"), strings.HasPrefix(trimmed, "~~~"):
		m.fence = trimmed[:3]
	case trimmed == "":
		m.p.line("")
	case trimmed == "---", trimmed == "***", trimmed == "___":
		m.p.line(m.p.Dim(strings.Repeat("─", min(m.p.width(), 40))))
	case heading(trimmed) > 0:
		m.p.lines(m.p.paint(bold+underline, strings.TrimSpace(strings.TrimRight(trimmed[heading(trimmed):], "#"))), "", "")
	case strings.HasPrefix(trimmed, ">"):
		m.p.lines(m.p.paint(italic, m.inline(strings.TrimSpace(trimmed[1:]))), m.p.Dim("│ "), m.p.Dim("│ "))
	default:
		margin, mark, rest := item(s)
		m.p.lines(m.inline(rest), margin+mark, margin+strings.Repeat(" ", columns(mark)))
	}
}

// heading returns the level of a heading; 0 if it is none.
func heading(s string) int {
	n := len(s) - len(strings.TrimLeft(s, "#"))
	if n == 0 || n > 6 || n == len(s) || s[n] != ' ' {
		return 0
	}
	return n
}

// item splits a line into its margin, the mark of a list, and the rest.
func item(s string) (margin, mark, rest string) {
	rest = strings.TrimLeft(s, " \t")
	margin = strings.ReplaceAll(s[:len(s)-len(rest)], "\t", "  ")
	if len(rest) > 2 && strings.ContainsRune("-*+", rune(rest[0])) && rest[1] == ' ' {
		switch {
		case strings.HasPrefix(rest[2:], "[ ] "):
			return margin, "☐ ", rest[6:]
		case strings.HasPrefix(rest[2:], "[x] "), strings.HasPrefix(rest[2:], "[X] "):
			return margin, "☑ ", rest[6:]
		}
		return margin, "• ", rest[2:]
	}
	digits := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
	if digits > 0 && digits < 4 && len(rest) > digits+2 && (rest[digits] == '.' || rest[digits] == ')') && rest[digits+1] == ' ' {
		return margin, rest[:digits+2], rest[digits+2:]
	}
	return margin, "", rest
}

// inline styles code, strong and emphasized words, and links.
func (m *markdown) inline(s string) string {
	if !strings.ContainsAny(s, "`*_[") {
		return s
	}
	var out strings.Builder
	var missing marks
	for len(s) > 0 {
		switch {
		case s[0] == '`':
			if body, rest, ok := missing.between(s, "`"); ok {
				out.WriteString(m.p.paint(cyan, body))
				s = rest
				continue
			}
		case strings.HasPrefix(s, "**"):
			if body, rest, ok := missing.between(s, "**"); ok {
				out.WriteString(m.p.Bold(body))
				s = rest
				continue
			}
		case s[0] == '*':
			if body, rest, ok := missing.between(s, "*"); ok {
				out.WriteString(m.p.paint(italic, body))
				s = rest
				continue
			}
		case s[0] == '[':
			if text, target, rest, ok := link(s); ok {
				out.WriteString(m.p.paint(underline, text))
				if target != text {
					out.WriteString(m.p.Dim(" (" + target + ")"))
				}
				s = rest
				continue
			}
		}
		n := strings.IndexAny(s[1:], "`*[")
		if n < 0 {
			out.WriteString(s)
			break
		}
		out.WriteString(s[:n+1])
		s = s[n+1:]
	}
	return out.String()
}

// marks are those that do not occur again on the line.
type marks []string

// between returns the text between two equal marks that touch words.
func (m *marks) between(s, mark string) (body, rest string, ok bool) {
	after := s[len(mark):]
	if after == "" || after[0] == ' ' || slices.Contains(*m, mark) {
		return "", "", false
	}
	body, rest, ok = strings.Cut(after, mark)
	if !ok {
		*m = append(*m, mark)
	}
	if !ok || body == "" || body[len(body)-1] == ' ' {
		return "", "", false
	}
	return body, rest, true
}

// link reads [text](target). It searches only to the next bracket, so that a line
// of brackets takes linear time.
func link(s string) (text, target, rest string, ok bool) {
	i := strings.IndexAny(s[1:], "[]") + 1
	if i < 2 || !strings.HasPrefix(s[i:], "](") {
		return "", "", "", false
	}
	text, after := s[1:i], s[i+2:]
	end := strings.IndexAny(after, ")([ ")
	if end < 0 || after[end] != ')' {
		return "", "", "", false
	}
	return text, after[:end], after[end+1:], true
}

func cells(s string) []string {
	var all []string
	for c := range strings.SplitSeq(strings.Trim(s, "|"), "|") {
		all = append(all, strings.TrimSpace(c))
	}
	return all
}

// flush prints a table that has ended.
func (m *markdown) flush() {
	rows := m.rows
	m.rows = nil
	if len(rows) == 0 {
		return
	}
	if len(rows) < 2 || !rule(rows[1]) {
		for _, r := range rows {
			m.p.line("| " + strings.Join(r, " | ") + " |")
		}
		return
	}
	for i, r := range rows { // a row may have more cells than the header
		rows[i] = r[:min(len(r), len(rows[0]))]
	}
	m.p.grid(rows[0], rows[2:])
}

func rule(row []string) bool {
	for _, c := range row {
		if strings.Trim(c, ":-") != "" || !strings.Contains(c, "-") {
			return false
		}
	}
	return true
}
