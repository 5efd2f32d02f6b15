package bm25

import (
	"runtime"
	"sync"
)

// An arena allocates blocks outside the garbage-collected heap where the
// system supports it. An index lives long and only grows; on the heap it
// would double the memory that may be used before a collection.
//
// The blocks are released with the arena: by free, or when it is no longer
// referenced. A reader of a block references the index and so the arena.
type arena struct {
	regions *regions
	rest    []byte // of the last region
}

// regions are the regions to release.
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

// free releases the memory; it may be called more than once.
func (r *regions) free() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, b := range r.from {
		unmapRegion(b)
	}
	r.from = nil
}
