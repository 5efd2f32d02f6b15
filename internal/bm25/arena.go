package bm25

import (
	"runtime"
	"sync"
)

// An arena gives out blocks of memory that the garbage collector does not
// know of, where the system lets us. An index lives long and only grows; if it
// were on the heap, as much garbage again would be allowed to gather before
// anything is collected.
//
// The blocks are given back when the arena is: by free, or when nobody has it
// any more. Who reads a block keeps the index, and thereby the arena.
type arena struct {
	regions *regions
	rest    []byte // of the last region
}

// regions are what has to be given back.
type regions struct {
	mu   sync.Mutex
	from [][]byte
}

const regionSize = 1 << 20

func newArena() *arena {
	a := &arena{regions: new(regions)}
	runtime.AddCleanup(a, (*regions).free, a.regions)
	return a
}

// block returns blockSize bytes of zeros.
func (a *arena) block() []byte {
	if len(a.rest) == 0 {
		if a.rest = mapRegion(regionSize); a.rest == nil {
			return make([]byte, blockSize)
		}
		a.regions.mu.Lock()
		a.regions.from = append(a.regions.from, a.rest)
		a.regions.mu.Unlock()
	}
	b := a.rest[:blockSize:blockSize]
	a.rest = a.rest[blockSize:]
	return b
}

// free gives the memory back; it may be called more than once.
func (r *regions) free() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, b := range r.from {
		unmapRegion(b)
	}
	r.from = nil
}
