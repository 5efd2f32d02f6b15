package show

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// columns returns the width of a text in columns, without its styles. East Asian
// wide characters and emoji take two, combining marks none.
func columns(s string) int {
	n := 0
	for i := 0; i < len(s); {
		if s[i] < utf8.RuneSelf && s[i] != 0x1b {
			n++
			i++
			continue
		}
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

// wrap breaks a text into lines of at most most columns and calls yield with
// each, until yield returns false. Existing line breaks stay; words longer than a
// line are broken. It takes linear time.
func wrap(s string, most int, yield func(line string) bool) {
	most = max(most, 8)
	for para := range strings.SplitSeq(s, "\n") {
		if len(para) <= most || columns(para) <= most {
			if !yield(para) {
				return
			}
			continue
		}
		line, used := "", 0
		for word := range strings.FieldsSeq(para) {
			w := columns(word)
			if used > 0 && used+1+w > most {
				if !yield(line) {
					return
				}
				line, used = "", 0
			}
			for w > most {
				head, n := head(word, most)
				if head == "" || head == word {
					break
				}
				if !yield(head) {
					return
				}
				word, w = word[len(head):], w-n
			}
			if used > 0 {
				line += " "
				used++
			}
			line += word
			used += w
		}
		if !yield(line) {
			return
		}
	}
}

// wrapped is wrap for short texts.
func wrapped(s string, most int) (lines []string) {
	wrap(s, most, func(l string) bool { lines = append(lines, l); return true })
	return lines
}

// head returns the longest beginning of a word that takes at most most columns,
// and its width. Styles take none, and stay with what they begin.
func head(word string, most int) (string, int) {
	n := 0
	for i := 0; i < len(word); {
		if word[i] < utf8.RuneSelf && word[i] != 0x1b {
			if n == most {
				return word[:i], n
			}
			n++
			i++
			continue
		}
		if word[i] == 0x1b {
			if end := strings.IndexByte(word[i:], 'm'); end >= 0 {
				i += end + 1
				continue
			}
		}
		r, size := utf8.DecodeRuneInString(word[i:])
		w := runeColumns(r)
		if n+w > most {
			return word[:i], n
		}
		n += w
		i += size
	}
	return word, n
}
