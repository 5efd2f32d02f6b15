package visible

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Suspicious returns phrases that describe the characters of s that a user
// would not see, and the text that they hide. It returns nil for ordinary
// text. Line ends of any kind are ordinary.
func Suspicious(s string) []string {
	var found [odd + 1]int
	var invalid, sequences, skip int
	var direction []string
	var hidden, bytes strings.Builder
	w := walker{s: s}
	for w.next() {
		if w.at < skip {
			continue // inside a sequence that was counted
		}
		if n := sequence(s[w.at:]); n > 0 {
			sequences++
			skip = w.at + n
			continue
		}
		if w.r == utf8.RuneError && w.size == 1 {
			invalid++
			continue
		}
		if w.r == '\r' && (w.peek() == '\n' || w.peek() == -1) {
			continue
		}
		c := w.verdict()
		found[c]++
		switch c {
		case bidi:
			if name := fmt.Sprintf("U+%04X", w.r); len(direction) < 4 && !strings.Contains(strings.Join(direction, " "), name) {
				direction = append(direction, name)
			}
		case tag:
			if w.r >= 0xe0020 && w.r < 0xe007f {
				hidden.WriteByte(byte(w.r - 0xe0000))
			}
		case selector:
			bytes.WriteByte(selected(w.r))
		}
	}
	var out []string
	add := func(n int, one, many string) {
		switch {
		case n == 1:
			out = append(out, one)
		case n > 1:
			out = append(out, fmt.Sprintf(many, n))
		}
	}
	add(sequences, "a terminal control sequence", "%d terminal control sequences")
	add(found[control], "a control character", "%d control characters")
	if len(direction) > 0 {
		out = append(out, "characters that change the direction of text ("+strings.Join(direction, ", ")+")")
	}
	add(found[tag], "an invisible tag character", "%d invisible tag characters"+says(hidden.String()))
	add(found[width], "a zero-width character", "%d zero-width characters")
	add(found[selector], "a misplaced variation selector", "%d misplaced variation selectors"+says(bytes.String()))
	add(found[stacked], "too many marks on one letter", "too many marks on one letter (%d)")
	add(found[odd], "an invalid character code", "%d invalid character codes")
	add(invalid, "a byte that is not UTF-8", "%d bytes that are not UTF-8")
	if word := mixed(s); word != "" {
		out = append(out, fmt.Sprintf("similar letters of different alphabets in one word (%s)", Line(word)))
	}
	return out
}

// selected returns the byte that a variation selector encodes in the usual way of
// hiding bytes in them.
func selected(r rune) byte {
	if r >= 0xe0100 {
		return byte(r - 0xe0100 + 16)
	}
	return byte(r - 0xfe00)
}

// says quotes hidden text for use in a format, if it is text.
func says(hidden string) string {
	if len(hidden) < 3 || !utf8.ValidString(hidden) || plain(hidden, false) != len(hidden) {
		return ""
	}
	if len(hidden) > 120 {
		hidden = hidden[:120] + "…"
	}
	return " that say " + strings.ReplaceAll(fmt.Sprintf("%q", hidden), "%", "%%")
}

// mixed returns a word that mixes Latin with Cyrillic or Greek letters, or "".
func mixed(s string) string {
	start, latin, other := -1, false, false
	for i, r := range s + " " {
		if unicode.IsLetter(r) || unicode.IsMark(r) {
			if start < 0 {
				start, latin, other = i, false, false
			}
			latin = latin || r < 0x250 && unicode.Is(unicode.Latin, r)
			// µ and Ω of units are allowed beside Latin letters.
			other = other || r > 0x250 && r != 'μ' && r != 'Ω' && unicode.In(r, unicode.Cyrillic, unicode.Greek)
			continue
		}
		if start >= 0 && latin && other {
			return s[start:i]
		}
		start = -1
	}
	return ""
}
