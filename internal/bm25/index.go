// Package bm25 finds documents by words and puts the best first. It is an
// inverted index in memory, ranked with BM25 over weighted fields.
//
// It keeps none of the texts: a document costs a few bytes for each different
// word in it, in large blocks that a garbage collector need not look into.
// Documents may be put, replaced and removed at any time, and all methods may
// be used by many goroutines at once.
//
// Words are found in any script: case and accents do not count, names such as
// readFile and read_file are found by their parts, and scripts that do not put
// spaces between words are cut into pairs of characters. See [Scan].
package bm25

import (
	"slices"
	"sync"
)

// An Index finds documents. Make one with [New].
type Index struct {
	weights []float64

	mu     sync.RWMutex
	words  lexicon
	pool   pool
	docs   []doc             // by number; those that are gone stay until compact
	byID   map[string]uint32 // the number of each
	length float64           // of all documents together

	sorted alphabet
}

// A doc is one document: its length counts each word as its field weighs.
type doc struct {
	id     string
	length float32
	gone   bool
}

// New returns an empty index whose documents have a field for each weight. A
// word in a field of weight 3 counts as much as three in a field of weight 1.
// Without weights there is one field.
func New(weights ...float64) *Index {
	if len(weights) == 0 {
		weights = []float64{1}
	}
	return &Index{weights: slices.Clone(weights), byID: map[string]uint32{}}
}

// Put adds a document, or takes the place of the one with that id. Fields that
// are left out are empty; more than there are weights count as the last one.
// Nothing of the fields is kept.
func (x *Index) Put(id string, fields ...string) {
	s := scratches.Get().(*scratch)
	defer scratches.Put(s)
	s.reset()
	for i, text := range fields {
		s.count(text, float32(x.weights[min(i, len(x.weights)-1)]))
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.drop(id)
	number := uint32(len(x.docs))
	x.docs = append(x.docs, doc{id: id, length: s.length})
	x.byID[id] = number
	x.length += float64(s.length)
	for i := range s.words {
		w := &s.words[i]
		e := x.words.entry(w.hash, s.text[w.at:w.at+uint32(w.size)])
		x.pool.add(e, number, w.weight)
	}
}

// Remove removes a document and reports whether it was there.
func (x *Index) Remove(id string) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.drop(id)
}

// Len is how many documents there are.
func (x *Index) Len() int {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return len(x.byID)
}

// drop marks a document as gone. Its postings stay until there are so many of
// that kind that going over everything once is worth it.
func (x *Index) drop(id string) bool {
	number, ok := x.byID[id]
	if !ok {
		return false
	}
	d := &x.docs[number]
	x.length -= float64(d.length)
	d.id, d.gone = "", true
	delete(x.byID, id)
	if gone := len(x.docs) - len(x.byID); gone > 256 && gone > len(x.docs)/3 {
		x.compact()
	}
	return true
}

// compact writes the index anew without what is gone.
func (x *Index) compact() {
	moved := make([]uint32, len(x.docs)) // the new number of each
	docs := make([]doc, 0, len(x.byID))
	for i, d := range x.docs {
		if !d.gone {
			moved[i] = uint32(len(docs))
			x.byID[d.id] = moved[i]
			docs = append(docs, d)
		}
	}
	var words lexicon
	var kept pool
	for i := range x.words.entries {
		old := &x.words.entries[i]
		var now *entry
		x.pool.each(old, func(number uint32, weight float32) {
			if x.docs[number].gone {
				return
			}
			if now == nil {
				now = words.entry(old.hash, x.words.text(old))
			}
			kept.add(now, moved[number], weight)
		})
	}
	if x.pool.arena != nil {
		x.pool.arena.regions.free()
	}
	x.docs, x.words, x.pool = docs, words, kept
	x.sorted.forget()
}
