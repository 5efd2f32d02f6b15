package bm25

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/tenon-mcp/tenon/internal/typo"
)

// A Hit is a document that was found. Scores are comparable only within one
// search.
type Hit struct {
	ID    string
	Score float64
}

const (
	k1 = 1.2 // saturation of repeated words
	b  = 0.75

	maxQuery    = 32   // maximum words of a query
	maxPrefixed = 16   // maximum words matched by a prefix
	plenty      = 1000 // with more exact matches, prefixes are not searched
	prefixed    = 0.4  // weight of a prefix match
	singular    = 0.6  // weight of the singular of a word
	allWords    = 0.75 // part of the score that needs all words
)

// Search returns the documents that match best, the best first. A document
// must have at least one word of the query; more words rank higher. A word
// of at least three letters also matches longer words that begin with it,
// with a lower weight, unless it is very frequent itself.
//
// keep decides, in no particular order, whether a document may be returned;
// nil keeps all.
func (x *Index) Search(query string, limit int, keep func(id string) bool) []Hit {
	return x.search(query, limit, keep, nil)
}

// SearchWithin is like Search with only the documents for which within
// returns true: other documents affect neither results, nor scores, nor
// order. It calls within for every document.
func (x *Index) SearchWithin(query string, limit int, within func(id string) bool) []Hit {
	return x.search(query, limit, nil, within)
}

func (x *Index) search(query string, limit int, keep, within func(id string) bool) []Hit {
	words := queryWords(query)
	if len(words) == 0 || limit <= 0 {
		return nil
	}
	x.mu.RLock()
	defer x.mu.RUnlock()
	v := x.view(within)
	if v.docs == 0 {
		return nil
	}
	if within != nil {
		keep = within
	}
	t := tallies.Get().(*tally)
	defer tallies.Put(t)
	t.reset(len(x.docs))
	for i, w := range words {
		x.score(t, v, w, 1<<i)
	}
	return x.best(t, len(words), limit, keep)
}

// queryWords returns the words of a query without duplicates.
func queryWords(query string) []string {
	var words []string
	Scan(query, func(word []byte, _, _ int) bool {
		if !slices.Contains(words, string(word)) {
			words = append(words, string(word))
		}
		return len(words) < maxQuery
	})
	return words
}

// A view selects the documents that count.
type view struct {
	in     []bool  // by number; nil means all
	docs   int     // number of documents
	all    int     // the same, including removed ones if words count them
	length float64 // of all of them
}

func (x *Index) view(within func(id string) bool) view {
	if within == nil {
		return view{docs: len(x.byID), all: len(x.docs), length: x.length}
	}
	v := view{in: make([]bool, len(x.docs))}
	for i := range x.docs {
		if d := &x.docs[i]; !d.gone && within(d.id) {
			v.in[i] = true
			v.docs++
			v.length += float64(d.length)
		}
	}
	v.all = v.docs
	return v
}

// count returns the number of documents that have a word.
func (x *Index) count(v view, e *entry) int {
	if v.in == nil {
		return int(e.count)
	}
	n := 0
	x.pool.each(e, func(number uint32, _ float32) {
		if v.in[number] {
			n++
		}
	})
	return n
}

// score adds the score of one query word to each document.
func (x *Index) score(t *tally, v view, word string, bit uint32) {
	// A longer word is often rarer than the query word, but must not score
	// higher for that.
	most := math.Inf(1)
	if e := x.words.find([]byte(word)); e != nil {
		if n := x.count(v, e); n > 0 {
			most = v.rarity(n)
			x.add(t, v, e, most, bit)
			if n > plenty {
				return
			}
		}
	}
	if short, ok := strings.CutSuffix(word, "s"); ok && len(short) >= 3 {
		if e := x.words.find([]byte(short)); e != nil {
			x.add(t, v, e, singular*min(most, v.rarity(x.count(v, e))), bit)
		}
	}
	if n := utf8.RuneCountInString(word); n >= 3 || n == 1 && len(word) > 2 {
		for _, w := range x.sorted.beginningWith(&x.words, word, maxPrefixed, func(e *entry) int { return x.count(v, e) }) {
			x.add(t, v, w.entry, prefixed*min(most, v.rarity(w.count)), bit)
		}
	}
}

// rarity returns the inverse document frequency for a count. If count
// includes removed documents, so does the total.
func (v view) rarity(count int) float64 {
	n := float64(count)
	return math.Log(1 + (float64(v.all)-n+0.5)/(n+0.5))
}

// add adds the score of one entry to each of its documents.
func (x *Index) add(t *tally, v view, e *entry, rarity float64, bit uint32) {
	worth := float32(rarity * (k1 + 1))
	perLength := float32(k1 * b * float64(v.docs) / max(1, v.length))
	docs, in := x.docs, v.in
	x.pool.each(e, func(number uint32, weight float32) {
		if in != nil && !in[number] {
			return
		}
		if t.seen[number] == 0 {
			t.found = append(t.found, number)
		}
		t.seen[number] |= bit
		t.scores[number] += worth * weight / (weight + k1*(1-b) + perLength*docs[number].length)
	})
}

// best returns the documents with the highest scores.
func (x *Index) best(t *tally, words, limit int, keep func(id string) bool) []Hit {
	hits := make([]Hit, 0, min(limit, len(t.found))+1)
	better := func(a, b Hit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.ID, b.ID))
	}
	var parts [maxQuery + 1]float64 // of a score, by how many words are there
	for n := range words + 1 {
		parts[n] = 1 - allWords + allWords*float64(n)/float64(words)
	}
	least := 0.0 // the score of the last of hits, once there are enough
	for _, number := range t.found {
		score := float64(t.scores[number]) * parts[bits.OnesCount32(t.seen[number])]
		if score < least {
			continue
		}
		d := &x.docs[number]
		hit := Hit{d.id, score}
		full := len(hits) == limit
		if d.gone || full && better(hit, hits[limit-1]) > 0 || keep != nil && !keep(d.id) {
			continue
		}
		i, _ := slices.BinarySearchFunc(hits, hit, better)
		hits = slices.Insert(hits, i, hit)
		if len(hits) >= limit {
			hits = hits[:limit]
			least = hits[limit-1].Score
		}
	}
	return hits
}

// A tally accumulates the scores of a search by document number.
type tally struct {
	scores []float32
	seen   []uint32 // which words of the query, a bit for each
	found  []uint32 // those with any
}

var tallies = sync.Pool{New: func() any { return new(tally) }}

func (t *tally) reset(n int) {
	for _, number := range t.found {
		t.scores[number], t.seen[number] = 0, 0
	}
	t.found = t.found[:0]
	if len(t.scores) < n {
		t.scores, t.seen = make([]float32, n+n/4), make([]uint32, n+n/4)
	}
}

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
