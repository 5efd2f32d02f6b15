package bm25

import (
	"bytes"
	"cmp"
	"slices"
	"sort"
	"sync"
)

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
