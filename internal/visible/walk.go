package visible

import (
	"unicode"
	"unicode/utf8"
)

// A class is the reason for not showing a character as it is.
type class int

const (
	shown    class = iota
	control        // C0, DEL, C1, line and paragraph separators
	bidi           // changes the direction of text
	tag            // hidden ASCII
	width          // has no width
	selector       // misplaced or repeated variation selector
	stacked        // more marks on one letter than any language uses
	odd            // not a character
)

// maxMarks is the maximum number of combining marks on one letter.
const maxMarks = 8

// A walker iterates over the runes of a text and tracks the preceding ones: a
// joiner or selector is valid after some characters and hidden after others.
type walker struct {
	s    string
	at   int  // offset of r
	size int  // of r in bytes
	r    rune // the current rune
	prev rune // the one before
	base rune // the last one before that is neither selector nor modifier
	mark int  // combining marks since the last base, including r
}

func (w *walker) next() bool {
	if w.size > 0 {
		w.prev = w.r
		if !isSelector(w.r) && !isSkinTone(w.r) {
			w.base = w.r
		}
	}
	w.at += w.size
	if w.at >= len(w.s) {
		return false
	}
	w.r, w.size = rune(w.s[w.at]), 1
	if w.r >= utf8.RuneSelf {
		w.r, w.size = utf8.DecodeRuneInString(w.s[w.at:])
	}
	if w.r >= 0x300 && !ordinary(w.r) && unicode.Is(unicode.M, w.r) && !isSelector(w.r) {
		w.mark++
	} else {
		w.mark = 0
	}
	return true
}

// peek returns the next rune, or -1.
func (w *walker) peek() rune {
	if w.at+w.size >= len(w.s) {
		return -1
	}
	r, _ := utf8.DecodeRuneInString(w.s[w.at+w.size:])
	return r
}

// verdict returns the class of the current rune in its context.
func (w *walker) verdict() class {
	r := w.r
	switch {
	case r >= 0x20 && r < 0x7f, r >= 0xa0 && r < 0x300 && r != 0xad, ordinary(r):
		return shown
	case r == 0x200c || r == 0x200d:
		return w.joiner()
	case isSelector(r):
		return w.variant()
	}
	if c := always(r); c != shown {
		return c
	}
	if w.mark > maxMarks {
		return stacked
	}
	return shown
}

// joiner allows U+200C and U+200D between two letters of a script that needs them,
// and U+200D between two emoji.
func (w *walker) joiner() class {
	next := w.peek()
	if joining(w.prev) && joining(next) {
		return shown
	}
	if w.r == 0x200d && isEmoji(next) && isEmoji(w.base) && w.prev != 0x200d {
		return shown
	}
	return width
}

// variant allows one variation selector after a character that has variants. A
// sequence of them can hide bytes.
func (w *walker) variant() class {
	keycap := w.prev >= '0' && w.prev <= '9' || w.prev == '#' || w.prev == '*'
	switch r := w.r; {
	case r == 0xfe0e || r == 0xfe0f:
		if isEmoji(w.prev) || keycap && w.peek() == 0x20e3 {
			return shown
		}
	case r >= 0xfe00 && r <= 0xfe02, r >= 0xe0100 && r <= 0xe010f:
		if unicode.Is(unicode.Han, w.prev) {
			return shown
		}
	case r >= 0x180b && r <= 0x180d, r == 0x180f:
		if unicode.Is(unicode.Mongolian, w.prev) && unicode.IsLetter(w.prev) {
			return shown
		}
	}
	return selector
}
