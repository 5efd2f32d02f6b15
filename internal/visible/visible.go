// Package visible makes text from others safe to show to a person: nothing in
// it moves a cursor, hides, reorders or looks like something that it is not
// made of. What cannot be seen is written so that it can, as \u{202e}.
//
// Ordinary writing passes unchanged in every script, which includes emoji that
// are joined of several, and the joiners that Persian and the scripts of India
// need between letters. Backslashes of the text itself are not doubled: the
// escapes are for reading, not for turning back.
package visible

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Text returns s with everything that a person would not see made visible.
// Line ends and tabs stay, and CR LF becomes LF. Text that needs no change is
// returned as it is, without allocation.
func Text(s string) string { return escape(s, false) }

// Line is Text for a place where only one line belongs, such as a log record,
// a name or a table cell: line ends and tabs are escaped as well.
func Line(s string) string { return escape(s, true) }

// Terminal is Text for output that was made for a terminal: whole control
// sequences (colours, cursor movement, titles, hyperlinks) are left out
// instead of written out. The text of a hyperlink stays. A sequence that never
// ends cannot swallow what follows it.
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

// plain is the number of bytes at the start of s that are printable ASCII or
// permitted white space. Text in other scripts goes the long way round.
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
