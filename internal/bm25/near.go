package bm25

import (
	"cmp"
	"slices"
	"unicode/utf8"

	"github.com/tenon-mcp/tenon/internal/typo"
)

// minCorrected is the minimum number of characters of a word that is
// corrected; shorter ones have too many similar words.
const minCorrected = 4

// Correct returns the words of a query that no document has, each with its
// most likely correction, if there is one. Only documents for which within
// returns true count; nil means all.
func (x *Index) Correct(query string, within func(id string) bool) map[string]string {
	words := queryWords(query)
	x.mu.RLock()
	defer x.mu.RUnlock()
	var corrected map[string]string
	var v view
	for _, w := range words {
		if utf8.RuneCountInString(w) < minCorrected {
			continue
		}
		if v.docs == 0 {
			v = x.view(within)
		}
		if x.has(v, w) {
			continue
		}
		if near := x.near(v, w); near != "" {
			if corrected == nil {
				corrected = map[string]string{}
			}
			corrected[w] = near
		}
	}
	return corrected
}

// has reports whether a search for the word finds anything.
func (x *Index) has(v view, word string) bool {
	if e := x.words.find([]byte(word)); e != nil && x.count(v, e) > 0 {
		return true
	}
	if e := x.words.find([]byte(word[:len(word)-1])); word[len(word)-1] == 's' && e != nil && x.count(v, e) > 0 {
		return true
	}
	return len(x.sorted.beginningWith(&x.words, word, 1, func(e *entry) int { return x.count(v, e) })) > 0
}

// near returns the word with the smallest edit distance, and of those the
// most frequent, or "" if all are too different. It considers words with the
// same first letter, or with the first two letters swapped.
func (x *Index) near(v view, word string) string {
	want := []rune(word)
	most := 1
	if len(want) >= 8 {
		most = 2
	}
	type candidate struct {
		text  string
		far   int
		count int
	}
	var all []candidate
	var m typo.Meter
	for i := range x.words.entries {
		e := &x.words.entries[i]
		if size := int(e.size); size+4*most < len(word) || size > len(word)+4*most {
			continue
		}
		text := x.words.text(e)
		first, _ := utf8.DecodeRune(text)
		if first != want[0] && first != want[1] {
			continue
		}
		if far := m.Distance(want, []rune(string(text)), most); far <= most {
			if n := x.count(v, e); n > 0 {
				all = append(all, candidate{string(text), far, n})
			}
		}
	}
	if len(all) == 0 {
		return ""
	}
	return slices.MinFunc(all, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.far, b.far), cmp.Compare(b.count, a.count), cmp.Compare(a.text, b.text))
	}).text
}
