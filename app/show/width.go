package show

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// columns is how many columns a text takes, without its styles. East Asian wide
// characters and emoji take two, marks that combine none.
func columns(s string) int {
	n := 0
	for i := 0; i < len(s); {
		if s[i] == 0x1b { // a style of ours: ESC [ … m
			if end := strings.IndexByte(s[i:], 'm'); end >= 0 {
				i += end + 1
				continue
			}
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		n += runeColumns(r)
		i += size
	}
	return n
}

func runeColumns(r rune) int {
	switch {
	case r < 0x300:
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me), r == 0x200d, r >= 0xfe00 && r <= 0xfe0f:
		return 0
	case r >= 0x1100 && r <= 0x115f, r >= 0x2e80 && r <= 0xa4cf, r >= 0xac00 && r <= 0xd7a3,
		r >= 0xf900 && r <= 0xfaff, r >= 0xfe30 && r <= 0xfe6f, r >= 0xff00 && r <= 0xff60,
		r >= 0xffe0 && r <= 0xffe6, r >= 0x1f300 && r <= 0x1faff, r >= 0x20000 && r <= 0x3fffd:
		return 2
	}
	return 1
}

// cut shortens a text without styles to a number of columns.
func cut(s string, most int) string {
	if columns(s) <= most {
		return s
	}
	n := 0
	for i, r := range s {
		w := runeColumns(r)
		if n+w > most-1 {
			return s[:i] + "…"
		}
		n += w
	}
	return s
}

func pad(s string, to int) string {
	if n := to - columns(s); n > 0 {
		return s + strings.Repeat(" ", n)
	}
	return s
}

// wrap breaks a text into lines of at most so many columns. Line breaks that
// are there stay; words longer than a line are broken.
func wrap(s string, most int) []string {
	most = max(most, 8)
	var lines []string
	for para := range strings.SplitSeq(s, "\n") {
		line, used := "", 0
		for word := range strings.FieldsSeq(para) {
			w := columns(word)
			if used > 0 && used+1+w > most {
				lines = append(lines, line)
				line, used = "", 0
			}
			for w > most && !strings.Contains(word, "\x1b") {
				head := cut(word, most+1)
				head = strings.TrimSuffix(head, "…")
				if head == "" {
					break
				}
				lines = append(lines, head)
				word = word[len(head):]
				w = columns(word)
			}
			if used > 0 {
				line += " "
				used++
			}
			line += word
			used += w
		}
		lines = append(lines, line)
	}
	return lines
}
