// Package bm25 ranks documents by the words of a query. It is an inverted index
// in memory, ranked with BM25 over weighted fields.
//
// It stores no texts: a document costs a few bytes for each different word, in
// large blocks that the garbage collector does not scan. Documents can be
// added,
// replaced and removed at any time. All methods are safe for concurrent use.
//
// Words of any script are found: case and accents are ignored, names such as
// readFile and read_file are found by their parts, and scripts without spaces
// between words are split into pairs of characters. See [Scan].
package bm25

import (
	"slices"
	"sync"
)

// An Index ranks documents. Create one with [New].
type Index struct {
	weights []float64

	mu     sync.RWMutex
	words  lexicon
	pool   pool
	docs   []doc             // by number; removed ones stay until compact
	byID   map[string]uint32 // number of each document
	length float64           // total length of all documents

	sorted alphabet
}

// A doc is one document. Its length counts each word by the weight of its
// field.
type doc struct {
	id     string
	length float32
	gone   bool
}

// New returns an empty index whose documents have a field for each weight. A
// word in a field of weight 3 counts like three words in a field of weight
// 1. Without weights there is one field.
func New(weights ...float64) *Index {
	if len(weights) == 0 {
		weights = []float64{1}
	}
	return &Index{weights: slices.Clone(weights), byID: map[string]uint32{}}
}

// Put adds a document or replaces the one with the same id. Missing fields
// are empty; additional fields have the last weight. The index keeps no
// reference to the fields.
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

// Len returns the number of documents.
func (x *Index) Len() int {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return len(x.byID)
}

// drop marks a document as removed. Its postings stay until there are enough
// of them for a compaction.
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

// compact rebuilds the index without removed documents.
func (x *Index) compact() {
	moved := make([]uint32, len(x.docs)) // new number of each document
	docs := make([]doc, 0, len(x.byID))
	for i, d := range x.docs {
		if !d.gone {
			moved[i] = uint32(len(docs))
			x.byID[d.id] = moved[i]
			docs = append(docs, d)
		}
	}
	var words lexicon
	var postings pool
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
			postings.add(now, moved[number], weight)
		})
	}
	if x.pool.arena != nil {
		x.pool.arena.regions.free()
	}
	x.docs, x.words, x.pool = docs, words, postings
	x.sorted.forget()
}

// A scratch counts the words of one document. It is reused, so that indexing
// produces little garbage.
type scratch struct {
	table  []uint32 // number of the word + 1
	words  []counted
	text   []byte // of the words
	length float32
}

type counted struct {
	hash   uint64
	at     uint32
	size   uint8
	weight float32
}

var scratches = sync.Pool{New: func() any { return &scratch{table: make([]uint32, 1024)} }}

// maxKept is the maximum number of words that a scratch keeps room for after
// a huge document.
const maxKept = 1 << 16

func (s *scratch) reset() {
	if len(s.words) > maxKept {
		*s = scratch{table: make([]uint32, 1024)}
	}
	clear(s.table)
	s.words, s.text, s.length = s.words[:0], s.text[:0], 0
}

// count adds the words of a field.
func (s *scratch) count(text string, weight float32) {
	Scan(text, func(word []byte, _, _ int) bool {
		s.add(word, weight)
		return true
	})
}

func (s *scratch) add(word []byte, weight float32) {
	s.length += weight
	if 2*len(s.words) >= len(s.table) {
		s.grow()
	}
	hash := hashOf(word)
	mask := uint32(len(s.table) - 1)
	slot := uint32(hash) & mask
	for ; s.table[slot] != 0; slot = (slot + 1) & mask {
		w := &s.words[s.table[slot]-1]
		if w.hash == hash {
			w.weight += weight
			return
		}
	}
	s.words = append(s.words, counted{hash, uint32(len(s.text)), uint8(len(word)), weight})
	s.text = append(s.text, word...)
	s.table[slot] = uint32(len(s.words))
}

func (s *scratch) grow() {
	s.table = make([]uint32, 2*len(s.table))
	mask := uint32(len(s.table) - 1)
	for i := range s.words {
		slot := uint32(s.words[i].hash) & mask
		for s.table[slot] != 0 {
			slot = (slot + 1) & mask
		}
		s.table[slot] = uint32(i + 1)
	}
}
