package notes

import (
	"bytes"
	"math/bits"
	"slices"
	"strings"
	"unicode/utf8"
	"unsafe"

	"github.com/tenon-mcp/tenon/internal/bm25"
)

const (
	snippetSize = 220      // bytes, about
	snippetText = 64 << 10 // bytes of a note that are searched
)

// A snipper finds the line of a note that best matches the query.
type snipper struct {
	words   []string
	phrases []string
}

func newSnipper(query string, phrases []string) *snipper {
	s := &snipper{phrases: phrases}
	bm25.Scan(query, func(word []byte, _, _ int) bool {
		if !slices.Contains(s.words, string(word)) {
			s.words = append(s.words, string(word))
		}
		return len(s.words) < 32
	})
	return s
}

// snippet returns an excerpt of the text around the words.
func (s *snipper) snippet(b []byte) string {
	if isText(b) != nil {
		return ""
	}
	whole := unsafe.String(unsafe.SliceData(b), len(b)) // the result is a copy
	_, start := splitFront(whole)
	text := whole[start:min(len(whole), start+snippetText)]
	best, bestAt := 0, 0
	lineEnd, first := strings.IndexByte(text, '\n'), -1
	if lineEnd < 0 {
		lineEnd = len(text)
	}
	var seen uint32
	bm25.Scan(text, func(word []byte, at, _ int) bool {
		if at >= lineEnd {
			seen, first = 0, -1
			if i := strings.IndexByte(text[at:], '\n'); i >= 0 {
				lineEnd = at + i
			} else {
				lineEnd = len(text)
			}
		}
		for i, w := range s.words {
			if len(word) < len(w) || word[0] != w[0] || string(word[:len(w)]) != w {
				continue
			}
			if seen |= 1 << i; first < 0 {
				first = at
			}
			score := 2 * bits.OnesCount32(seen)
			if len(word) == len(w) {
				score++
			}
			if score > best {
				best, bestAt = score, first
			}
		}
		return best < 2*len(s.words)+1
	})
	return strings.Clone(around(text, bestAt))
}

// around returns a part of a text that begins a little before a position, as
// one line.
func around(text string, at int) string {
	from := max(0, at-snippetSize/4)
	if i := strings.LastIndexByte(text[from:at], '\n'); i >= 0 {
		from += i + 1 // begin at the line
	} else if i := strings.IndexAny(text[from:at], " \t"); from > 0 && i >= 0 {
		from += i + 1
	}
	to := min(len(text), from+snippetSize)
	for to < len(text) && !utf8.RuneStart(text[to]) {
		to--
	}
	for from < to && !utf8.RuneStart(text[from]) {
		from++
	}
	if i := strings.LastIndexAny(text[from:to], " \n\t"); to < len(text) && i > snippetSize/2 {
		to = from + i
	}
	piece := oneSpace(strings.ToValidUTF8(text[from:to], "\ufffd"))
	if piece == "" {
		return ""
	}
	if from > 0 && text[from-1] != '\n' {
		piece = "…" + piece
	}
	if to < len(text) {
		piece += "…"
	}
	return piece
}

// oneSpace collapses white space.
func oneSpace(s string) string { return strings.Join(strings.Fields(s), " ") }

// hasPhrases reports whether a note contains all phrases.
func (s *snipper) hasPhrases(b []byte) bool {
	if len(s.phrases) == 0 {
		return true
	}
	has := finder(b)
	return !slices.ContainsFunc(s.phrases, func(p string) bool { return !has(p) })
}

// finder returns a function that searches a note for phrases.
func finder(b []byte) func(phrase string) bool {
	text := strings.ToLower(oneSpace(string(bytes.ToValidUTF8(b, nil))))
	return func(phrase string) bool { return strings.Contains(text, phrase) }
}
