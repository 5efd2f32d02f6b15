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

// Shorten cuts s after at most n bytes, between two characters, and marks the cut
// with an ellipsis. A text of at most n bytes is returned as it is.
func Shorten(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xc0 == 0x80 {
		n--
	}
	return s[:n] + "…"
}

// strip removes complete terminal control sequences. Incomplete ones are left for
// escape.
func strip(s string) string {
	if !strings.ContainsAny(s, "\x1b\u0090\u0098\u009b\u009d\u009e\u009f") {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); {
		if n := sequence(s[i:]); n > 0 {
			i += n
			continue
		}
		_, size := utf8.DecodeRuneInString(s[i:])
		b.WriteString(s[i : i+size])
		i += size
	}
	return b.String()
}

// sequence returns the length of the control sequence at the start of s, or 0.
// Sequences start with ESC and one more byte, or with that byte as a C1 character.
func sequence(s string) int {
	var kind byte
	head := 2
	switch {
	case len(s) < 2:
		return 0
	case s[0] == 0x1b:
		kind = s[1]
	case s[0] == 0xc2 && s[1] >= 0x80 && s[1] < 0xa0:
		kind = s[1] - 0x40
		if !strings.ContainsRune("PX[]^_", rune(kind)) {
			return 0
		}
	default:
		return 0
	}
	switch {
	case kind == '[':
		return csi(s, head)
	case kind == ']', kind == 'P', kind == 'X', kind == '^', kind == '_':
		return stringSequence(s, head)
	case kind >= 0x20 && kind < 0x30: // such as ESC ( B
		for ; head < len(s) && s[head] >= 0x20 && s[head] < 0x30; head++ {
		}
		if head < len(s) && s[head] >= 0x30 && s[head] < 0x7f {
			return head + 1
		}
		return 0
	case kind >= 0x30 && kind < 0x7f:
		return head
	}
	return 0
}

// csi returns the length of a sequence of parameters, intermediates and a final
// byte, or 0.
func csi(s string, i int) int {
	for ; i < len(s) && s[i] >= 0x30 && s[i] < 0x40; i++ {
	}
	for ; i < len(s) && s[i] >= 0x20 && s[i] < 0x30; i++ {
	}
	if i < len(s) && s[i] >= 0x40 && s[i] < 0x7f {
		return i + 1
	}
	return 0
}

// stringSequence returns the length of a sequence with text up to a terminator. It
// returns 0 for one without a terminator on its line, so that it hides nothing.
func stringSequence(s string, i int) int {
	for ; i < len(s); i++ {
		switch {
		case s[i] == 0x07:
			return i + 1
		case s[i] == 0x1b && i+1 < len(s) && s[i+1] == '\\', s[i] == 0xc2 && i+1 < len(s) && s[i+1] == 0x9c:
			return i + 2
		case s[i] == '\n', s[i] == 0x1b, s[i] == 0xc2 && i+1 < len(s) && s[i+1] >= 0x80 && s[i+1] < 0xa0:
			return 0
		}
	}
	return 0
}
