package bm25

import "sync"

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
