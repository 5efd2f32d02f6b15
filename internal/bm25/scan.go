package bm25

import (
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// maxWord is the maximum number of bytes of a word. Longer ones are keys,
// hashes or embedded files and are skipped.
const maxWord = 64

// Scan calls see for the words of a text in the form in which they are
// compared: lower case, without accents. start and end are the position of
// the word in the text; the word is valid only until see returns. Scan ends
// when see returns false.
//
// A compound word such as readFile is passed as its parts and then as a
// whole. Scripts without spaces between words (Chinese, Japanese, Thai …)
// are passed as overlapping pairs of characters.
func Scan(text string, see func(word []byte, start, end int) bool) {
	var buf [2 * maxWord]byte
	for i := 0; i < len(text); {
		if text[i] < utf8.RuneSelf {
			if lower[text[i]] == 0 {
				i++
				continue
			}
			end, n, camel := scanASCII(text, i, &buf)
			if end == len(text) || text[end] < utf8.RuneSelf {
				if n <= maxWord && !emitWord(text, i, end, camel, buf[:n], see) {
					return
				}
				i = end
				continue
			}
		}
		end, ok := scanOther(text, i, buf[:0], see)
		if !ok {
			return
		}
		i = end
	}
}

// lower maps ASCII letters and digits to lower case, and everything else to 0.
var lower = func() (l [utf8.RuneSelf]byte) {
	for c := range byte(utf8.RuneSelf) {
		switch {
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9':
			l[c] = c
		case 'A' <= c && c <= 'Z':
			l[c] = c + 'a' - 'A'
		}
	}
	return l
}()

func isUpper(c byte) bool { return 'A' <= c && c <= 'Z' }

// scanASCII writes the ASCII part of the word at i into buf. It returns the
// end of the word, its length (maxWord+1 if it is too long) and whether it
// has camelCase boundaries.
func scanASCII(text string, i int, buf *[2 * maxWord]byte) (end, n int, camel bool) {
	capitals := 0 // right before this character
	start := i
	for ; i < len(text) && text[i] < utf8.RuneSelf; i++ {
		c := text[i]
		l := lower[c]
		if l == 0 {
			break
		}
		if n <= maxWord {
			buf[n] = l
			n++
		}
		switch {
		case c != l:
			camel = camel || capitals == 0 && i > start
			capitals++
		default:
			camel = camel || capitals > 1 && c > '9'
			capitals = 0
		}
	}
	return i, n, camel
}

// emitWord passes an ASCII word to see, after its parts if it has any.
func emitWord(text string, start, end int, camel bool, word []byte, see func([]byte, int, int) bool) bool {
	if camel {
		from := start
		for i := start + 1; i <= end; i++ {
			if i == end || boundary(text, i, end) {
				if !see(word[from-start:i-start:i-start], from, i) {
					return false
				}
				from = i
			}
		}
	}
	return see(word, start, end)
}

// boundary reports whether a part of a camelCase word begins at i: a capital
// after something else, or the last of several capitals before a small letter.
func boundary(text string, i, end int) bool {
	if !isUpper(text[i]) {
		return false
	}
	return !isUpper(text[i-1]) || i+1 < end && text[i+1] >= 'a'
}

// scanOther passes the word at i, which has characters beyond ASCII, or
// skips a character that belongs to no word.
func scanOther(text string, i int, buf []byte, see func([]byte, int, int) bool) (end int, ok bool) {
	r, size := utf8.DecodeRuneInString(text[i:])
	if unspaced(r) {
		return scanPairs(text, i, buf, see)
	}
	if r >= utf8.RuneSelf && !inWord(r) {
		return i + size, true
	}
	end = i
	for end < len(text) {
		r, size := utf8.DecodeRuneInString(text[end:])
		if r < utf8.RuneSelf && lower[r] == 0 || r >= utf8.RuneSelf && (!inWord(r) || unspaced(r)) {
			break
		}
		end += size
	}
	if end-i > 2*maxWord {
		return end, true
	}
	word := fold(buf, text[i:end])
	return end, len(word) == 0 || len(word) > maxWord || see(word, i, end)
}

// inWord reports whether a character beyond ASCII is part of words.
func inWord(r rune) bool {
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r))
}

// unspaced reports whether a character belongs to a script without spaces
// between words.
func unspaced(r rune) bool {
	return r >= 0x0e00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

// scanPairs passes a run of characters of scripts without spaces as pairs.
func scanPairs(text string, start int, buf []byte, see func([]byte, int, int) bool) (end int, ok bool) {
	before := -1 // where the character before this one is
	i, n := start, 0
	for i < len(text) {
		r, size := utf8.DecodeRuneInString(text[i:])
		if !unspaced(r) {
			break
		}
		if before >= 0 && !see(append(buf[:0], text[before:i+size]...), before, i+size) {
			return 0, false
		}
		before = i
		i += size
		n++
	}
	if n == 1 && !see(append(buf[:0], text[start:i]...), start, i) {
		return 0, false
	}
	return i, true
}

// fold appends a word in the form in which words are compared: lower case,
// without accents, and with spelling variants unified.
func fold(dst []byte, word string) []byte {
	latin := latinFolds()
	for _, r := range word {
		switch {
		case r < utf8.RuneSelf:
			dst = append(dst, byte(unicode.ToLower(r)))
		case int(r) < len(latin):
			dst = append(dst, latin[r]...)
		case 0x0400 <= r && r < 0x0460: // Cyrillic without historic letters
			dst = utf8.AppendRune(dst, cyrillic(unicode.ToLower(r)))
		default:
			dst = foldRune(dst, r)
		}
	}
	return dst
}

// latinFolds are the folds of Latin letters, the most frequent ones.
var latinFolds = sync.OnceValue(func() (folds [0x250]string) {
	for r := rune(utf8.RuneSelf); int(r) < len(folds); r++ {
		folds[r] = string(foldRune(nil, r))
	}
	return folds
})

func cyrillic(r rune) rune {
	switch r {
	case 'ё':
		return 'е'
	case 'й':
		return 'и'
	case 'ї':
		return 'і'
	case 'ѓ':
		return 'г'
	case 'ќ':
		return 'к'
	case 'ў':
		return 'у'
	}
	return r
}

// letters are letters without a decomposition that are also typed without
// their accent.
var letters = map[rune]string{
	'ß': "ss", 'æ': "ae", 'œ': "oe", 'ø': "o", 'đ': "d", 'ð': "d", 'þ': "th",
	'ł': "l", 'ħ': "h", 'ı': "i", 'ŋ': "n", 'ŧ': "t", 'ς': "σ",
}

func foldRune(dst []byte, r rune) []byte {
	for _, part := range norm.NFKD.String(string(r)) {
		if 0x0300 <= part && part <= 0x036f {
			continue // an accent
		}
		part = unicode.ToLower(part)
		if text, ok := letters[part]; ok {
			dst = append(dst, text...)
		} else {
			dst = utf8.AppendRune(dst, part)
		}
	}
	return dst
}
