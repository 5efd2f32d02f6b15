package term

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"github.com/tenon-mcp/tenon/internal/visible"
)

// An editor is a text of one or more lines that the user edits. The cursor moves
// by what people see as a character.
type editor struct {
	text   string
	at     int  // the cursor, in bytes
	single bool // one line only
}

// set replaces the text and moves the cursor to its end.
func (e *editor) set(s string) { e.text, e.at = s, len(s) }

// insert inserts text at the cursor. Hidden characters of pasted text are made
// visible.
func (e *editor) insert(s string) {
	s = strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n")
	s = strings.ReplaceAll(visible.Terminal(s), "\t", "    ")
	if e.single {
		s = strings.ReplaceAll(s, "\n", " ")
	}
	e.text = e.text[:e.at] + s + e.text[e.at:]
	e.at += len(s)
}

// key handles an editing key, and reports whether it was one.
func (e *editor) key(stroke, text string) bool {
	switch stroke {
	case "left", "ctrl+b":
		e.at = e.before()
	case "right", "ctrl+f":
		e.at = e.after()
	case "home", "ctrl+a":
		e.at = e.lineStart()
	case "end", "ctrl+e":
		e.at = e.lineEnd()
	case "ctrl+left", "alt+b", "alt+left":
		e.at = e.wordBefore()
	case "ctrl+right", "alt+f", "alt+right":
		e.at = e.wordAfter()
	case "backspace", "ctrl+h":
		e.remove(e.before(), e.at)
	case "delete":
		e.remove(e.at, e.after())
	case "ctrl+w", "alt+backspace":
		e.remove(e.wordBefore(), e.at)
	case "alt+d":
		e.remove(e.at, e.wordAfter())
	case "ctrl+u":
		e.remove(e.lineStart(), e.at)
	case "ctrl+k":
		e.remove(e.at, e.lineEnd())
	case "alt+enter", "shift+enter", "ctrl+j":
		if e.single {
			return false
		}
		e.insert("\n")
	case "up":
		return e.vertical(-1)
	case "down":
		return e.vertical(1)
	default:
		if text == "" {
			return false
		}
		e.insert(text)
	}
	return true
}

func (e *editor) remove(from, to int) {
	e.text = e.text[:from] + e.text[to:]
	e.at = from
}

func (e *editor) lineStart() int { return strings.LastIndexByte(e.text[:e.at], '\n') + 1 }

func (e *editor) lineEnd() int {
	if i := strings.IndexByte(e.text[e.at:], '\n'); i >= 0 {
		return e.at + i
	}
	return len(e.text)
}

// before returns the start of the character before the cursor.
func (e *editor) before() int {
	start := e.lineStart()
	if start == e.at {
		return max(0, e.at-1) // the end of the line before
	}
	last := start
	for at := start; at < e.at; {
		last = at
		at += len(cluster(e.text[at:]))
	}
	return last
}

// after returns the end of the character at the cursor.
func (e *editor) after() int {
	if e.at == len(e.text) {
		return e.at
	}
	return e.at + len(cluster(e.text[e.at:]))
}

// cluster returns the first character of a text as people see it.
func cluster(s string) string {
	if s[0] == '\n' {
		return s[:1]
	}
	c, _ := ansi.FirstGraphemeCluster(s, ansi.GraphemeWidth)
	if c == "" {
		_, n := utf8.DecodeRuneInString(s)
		return s[:n]
	}
	return c
}

func (e *editor) wordBefore() int {
	s := strings.TrimRightFunc(e.text[:e.at], unicode.IsSpace)
	return strings.LastIndexFunc(s, unicode.IsSpace) + 1
}

func (e *editor) wordAfter() int {
	rest := e.text[e.at:]
	word := strings.TrimLeftFunc(rest, unicode.IsSpace)
	skipped := len(rest) - len(word)
	if i := strings.IndexFunc(word, unicode.IsSpace); i >= 0 {
		return e.at + skipped + i
	}
	return len(e.text)
}

// vertical moves a line up or down, and returns false at the first or last.
func (e *editor) vertical(by int) bool {
	column := columns(e.text[e.lineStart():e.at])
	if by < 0 {
		start := e.lineStart()
		if start == 0 {
			return false
		}
		e.at = start - 1
		e.at = e.column(e.lineStart(), column)
		return true
	}
	end := e.lineEnd()
	if end == len(e.text) {
		return false
	}
	e.at = e.column(end+1, column)
	return true
}

// column returns the position in the line at start that is want columns from it.
func (e *editor) column(start, want int) int {
	at, used := start, 0
	for at < len(e.text) && e.text[at] != '\n' && used < want {
		c := cluster(e.text[at:])
		used += columns(c)
		at += len(c)
	}
	return at
}

// rows lays the text out in at most most rows of width columns around the cursor,
// and returns the position of the cursor.
func (e *editor) rows(width, most int) (rows []string, x, y int) {
	width = max(width, 2)
	var row strings.Builder
	used := 0
	next := func() {
		rows = append(rows, row.String())
		row.Reset()
		used = 0
	}
	for at := 0; ; {
		if at == e.at {
			if used >= width {
				next()
			}
			x, y = used, len(rows)
		}
		if at >= len(e.text) {
			break
		}
		c := cluster(e.text[at:])
		at += len(c)
		if c == "\n" {
			next()
			continue
		}
		if w := columns(c); used+w > width {
			if at-len(c) == e.at {
				x, y = 0, len(rows)+1
			}
			next()
			row.WriteString(c)
			used = w
		} else {
			row.WriteString(c)
			used += w
		}
	}
	next()
	if len(rows) > most {
		from := min(max(0, y-most+1), len(rows)-most)
		rows, y = rows[from:from+most], y-from
	}
	return rows, x, y
}
