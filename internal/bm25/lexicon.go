package bm25

import (
	"bytes"
	"cmp"
	"hash/maphash"
	"math"
	"slices"
	"sort"
	"sync"
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

// An alphabet finds the words with a prefix. Most words are sorted; recent
// ones are searched linearly until there are many.
type alphabet struct {
	mu    sync.Mutex
	order []uint32 // numbers of entries
}

const maxUnsorted = 1024

func (a *alphabet) forget() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.order = nil
}

// sortedUp returns the sorted words, updated if many are missing. The caller
// holds the lock of the index.
func (a *alphabet) sortedUp(l *lexicon) []uint32 {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(l.entries)-len(a.order) > maxUnsorted {
		order := make([]uint32, len(l.entries)) // others may be reading the old one
		for i := range order {
			order[i] = uint32(i)
		}
		slices.SortFunc(order, l.compare)
		a.order = order
	}
	return a.order
}

// compare orders two entries by their words.
func (l *lexicon) compare(i, j uint32) int {
	return bytes.Compare(l.text(&l.entries[i]), l.text(&l.entries[j]))
}

// A spread is a word with the number of documents that have it.
type spread struct {
	*entry
	count int
}

// beginningWith returns the most frequent words that are longer than prefix
// and begin with it. count returns the frequency of a word; unused words are
// left out.
func (a *alphabet) beginningWith(l *lexicon, prefix string, limit int, count func(*entry) int) []spread {
	order := a.sortedUp(l)
	p := []byte(prefix)
	var found []spread
	add := func(e *entry) {
		if n := count(e); n > 0 {
			found = append(found, spread{e, n})
		}
	}
	first := sort.Search(len(order), func(i int) bool { return bytes.Compare(l.text(&l.entries[order[i]]), p) > 0 })
	for _, n := range order[first:] {
		e := &l.entries[n]
		if !bytes.HasPrefix(l.text(e), p) {
			break
		}
		add(e)
	}
	for n := len(order); n < len(l.entries); n++ {
		if e := &l.entries[n]; int(e.size) > len(p) && bytes.HasPrefix(l.text(e), p) {
			add(e)
		}
	}
	slices.SortFunc(found, func(x, y spread) int {
		return cmp.Or(cmp.Compare(y.count, x.count), bytes.Compare(l.text(x.entry), l.text(y.entry)))
	})
	return found[:min(limit, len(found))]
}
