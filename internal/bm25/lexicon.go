package bm25

import (
	"hash/maphash"
	"math"
)

var seed = maphash.MakeSeed()

func hashOf(word []byte) uint64 { return maphash.Bytes(seed, word) }

// A lexicon holds the words of an index in a hash table without pointers,
// since there may be a hundred thousand short words. Words with equal hashes
// count as equal: hashes have 64 bits and a random seed, and comparing
// letters would take a third of the time.
type lexicon struct {
	table   []uint32 // entry number + 1, at its hash or behind it
	entries []entry
	letters []byte // of all words, one after another
}

// An entry is one word and where its postings are.
type entry struct {
	hash uint64
	at   uint32 // in letters
	size uint8  // in letters; longer words are not indexed

	level uint8  // the size of the chunk that is being written
	room  uint16 // how much of it is left
	head  uint32 // the first chunk
	write uint32 // where the next byte goes
	count uint32 // how many documents, gone ones included
	last  uint32 // the last of them
}

func (l *lexicon) text(e *entry) []byte { return l.letters[e.at : e.at+uint32(e.size)] }

// find returns the entry of a word, or nil.
func (l *lexicon) find(word []byte) *entry {
	if len(l.table) == 0 {
		return nil
	}
	if n := l.table[l.slot(hashOf(word))]; n != 0 {
		return &l.entries[n-1]
	}
	return nil
}

// entry returns the entry of a word and creates it if necessary. The pointer
// is valid until the next entry is created.
func (l *lexicon) entry(hash uint64, word []byte) *entry {
	if len(l.table)*3 <= len(l.entries)*4 {
		l.grow()
	}
	slot := l.slot(hash)
	if l.table[slot] == 0 {
		l.entries = append(l.entries, entry{hash: hash, at: uint32(len(l.letters)), size: uint8(len(word)), head: none})
		l.letters = append(l.letters, word...)
		l.table[slot] = uint32(len(l.entries))
	}
	return &l.entries[l.table[slot]-1]
}

// slot returns the position of a word in the table, or its free slot.
func (l *lexicon) slot(hash uint64) uint32 {
	mask := uint32(len(l.table) - 1)
	for slot := uint32(hash) & mask; ; slot = (slot + 1) & mask {
		n := l.table[slot]
		if n == 0 || l.entries[n-1].hash == hash {
			return slot
		}
	}
}

func (l *lexicon) grow() {
	l.table = make([]uint32, max(256, 2*len(l.table)))
	mask := uint32(len(l.table) - 1)
	for i := range l.entries {
		slot := uint32(l.entries[i].hash) & mask
		for l.table[slot] != 0 {
			slot = (slot + 1) & mask
		}
		l.table[slot] = uint32(i + 1)
	}
}

// none is an invalid address.
const none = math.MaxUint32
