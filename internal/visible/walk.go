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

// always returns the class of a character regardless of its context; shown for
// joiners and selectors.
func always(r rune) class {
	switch {
	case r == '\n' || r == '\t':
		return shown
	case r < 0x20, r >= 0x7f && r < 0xa0, r == 0x2028, r == 0x2029:
		return control
	case r < 0xad:
		return shown
	case r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069, r == 0x200e, r == 0x200f, r == 0x061c:
		return bidi
	case r >= 0xe0000 && r <= 0xe0fff:
		return tag // including unassigned code points around the tags
	case unicode.Is(blanks, r):
		return width
	case unicode.Is(unicode.Cf, r) && !unicode.Is(unicode.Prepended_Concatenation_Mark, r):
		return width
	case unicode.Is(unicode.Noncharacter_Code_Point, r), r >= 0xfff0 && r <= 0xfff8, r > 0xe0fff && r < 0xf0000:
		return odd
	}
	return shown
}

// ordinary reports whether r is in a block of letters or punctuation without
// hidden and combining characters. It avoids table lookups for most text.
func ordinary(r rune) bool {
	return r >= 0x370 && r < 0x483 || r >= 0x2010 && r < 0x2028 || r >= 0x3040 && r < 0x3099 || r >= 0x4e00 && r < 0xa000 || r >= 0xac00 && r < 0xd7a4
}

// blanks are invisible letters and marks outside category Cf.
var blanks = &unicode.RangeTable{
	R16: []unicode.Range16{
		{Lo: 0x034f, Hi: 0x034f, Stride: 1}, // grapheme joiner
		{Lo: 0x115f, Hi: 0x1160, Stride: 1}, // Hangul fillers
		{Lo: 0x17b4, Hi: 0x17b5, Stride: 1}, // Khmer inherent vowels
		{Lo: 0x2065, Hi: 0x2065, Stride: 1}, // unassigned among the format characters
		{Lo: 0x3164, Hi: 0x3164, Stride: 1}, // Hangul filler
		{Lo: 0xffa0, Hi: 0xffa0, Stride: 1}, // half width Hangul filler
	},
}

func isSelector(r rune) bool {
	return r >= 0xfe00 && r <= 0xfe0f || r >= 0xe0100 && r <= 0xe01ef || r >= 0x180b && r <= 0x180d || r == 0x180f
}

func isSkinTone(r rune) bool { return r >= 0x1f3fb && r <= 0x1f3ff }

// isEmoji reports whether r may be an emoji. It accepts more than Unicode's list,
// which is not in the standard library; other symbols are visible and harmless.
func isEmoji(r rune) bool {
	switch {
	case r >= 0x1f000 && r <= 0x1faff, r >= 0x2190 && r <= 0x21ff, r >= 0x2300 && r <= 0x23ff,
		r >= 0x25a0 && r <= 0x27bf, r >= 0x2900 && r <= 0x297f, r >= 0x2b00 && r <= 0x2bff:
		return true
	}
	switch r {
	case 0xa9, 0xae, 0x203c, 0x2049, 0x2122, 0x2139, 0x24c2, 0x3030, 0x303d, 0x3297, 0x3299:
		return true
	}
	return false
}

// joining reports whether r is a letter or mark of a script in which a joiner
// between letters changes the text.
func joining(r rune) bool {
	return r >= 0x600 && unicode.In(r, joiningScripts...) && unicode.In(r, unicode.L, unicode.M)
}

var joiningScripts = []*unicode.RangeTable{
	unicode.Arabic, unicode.Devanagari, unicode.Bengali, unicode.Gurmukhi, unicode.Gujarati, unicode.Oriya,
	unicode.Tamil, unicode.Telugu, unicode.Kannada, unicode.Malayalam, unicode.Sinhala, unicode.Khmer,
	unicode.Myanmar, unicode.Mongolian, unicode.Syriac, unicode.Nko, unicode.Mandaic, unicode.Tibetan,
	unicode.Balinese, unicode.Javanese, unicode.Sundanese, unicode.Tai_Tham, unicode.Chakma, unicode.Newa,
}
