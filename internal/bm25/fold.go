package bm25

import (
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

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
