// Package visible makes text from others safe to show to a user: nothing in it
// moves the cursor, hides, reorders or imitates other text. Invisible characters
// are written as escapes such as \u{202e}.
//
// Ordinary text of every script is not changed, including joined emoji and the
// joiners that Persian and Indic scripts need. Backslashes of the text are not
// doubled: the escapes are for reading, not for decoding.
package visible

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Text returns s with all invisible characters escaped. Line ends and tabs
// are kept, and CR LF becomes LF. Text without such characters is returned
// without allocation.
func Text(s string) string { return escape(s, false) }

// Line is like Text for a single line, such as a log record, a name or a
// table cell: it also escapes line ends and tabs.
func Line(s string) string { return escape(s, true) }

// Terminal is like Text for terminal output: it removes complete control
// sequences (colors, cursor movement, titles, hyperlinks) instead of
// escaping them. The text of a hyperlink is kept. An unterminated sequence
// does not hide the text after it.
func Terminal(s string) string { return escape(strip(s), false) }

func escape(s string, line bool) string {
	n := plain(s, line)
	if n == len(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + 16)
	w := walker{s: s}
	for w.next() {
		switch {
		case w.size == 1 && w.r == utf8.RuneError:
			fmt.Fprintf(&b, `\x{%02x}`, s[w.at])
		case w.r == '\n' && !line, w.r == '\t' && !line:
			b.WriteByte(byte(w.r))
		case w.r == '\n':
			b.WriteString(`\n`)
		case w.r == '\t':
			b.WriteString(`\t`)
		case w.r == '\r':
			if line || w.peek() != '\n' {
				b.WriteString(`\r`)
			}
		case w.verdict() != shown:
			fmt.Fprintf(&b, `\u{%x}`, w.r)
		default:
			b.WriteString(s[w.at : w.at+w.size])
		}
	}
	return b.String()
}

// plain returns the number of bytes at the start of s that are printable ASCII or
// permitted white space.
func plain(s string, line bool) int {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= 0x20 && c < 0x7f || !line && (c == '\n' || c == '\t') {
			continue
		}
		if c < utf8.RuneSelf {
			return i
		}
		w := walker{s: s}
		for w.next() {
			if w.size == 1 && w.r == utf8.RuneError || w.r == '\r' || line && (w.r == '\n' || w.r == '\t') ||
				w.r != '\n' && w.r != '\t' && w.verdict() != shown {
				return w.at
			}
		}
		break
	}
	return len(s)
}
