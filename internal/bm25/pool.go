package bm25

import (
	"encoding/binary"
	"runtime"
	"sync"
)

// A pool holds the postings of all words in blocks of 64 KiB. The postings
// of one word are a chain of chunks of growing size: rare words cost little,
// and frequent ones need few jumps.
//
// A posting is the distance from the previous document and the weight of the
// word in quarters; a weight of 1 takes no extra byte.
type pool struct {
	arena  *arena
	blocks [][]byte
	used   uint32 // of the last block
}

const (
	blockBits = 16
	blockSize = 1 << blockBits
	linkSize  = 4 // at the end of a chunk: the address of the next
	maxLevel  = 8
	quarters  = 4
)

// chunkSize is how many bytes of postings a chunk holds.
func chunkSize(level uint8) uint16 { return 4 << level }

func (p *pool) alloc(size uint32) (address uint32) {
	if len(p.blocks) == 0 || p.used+size > blockSize {
		if p.arena == nil {
			p.arena = newArena()
		}
		p.blocks = append(p.blocks, p.arena.block())
		p.used = 0
	}
	address = uint32(len(p.blocks)-1)<<blockBits | p.used
	p.used += size
	return address
}

func (p *pool) at(address uint32) []byte { return p.blocks[address>>blockBits][address&(blockSize-1):] }

// add adds a posting. Documents must come in ascending order.
func (p *pool) add(e *entry, number uint32, weight float32) {
	var buf [2 * binary.MaxVarintLen32]byte
	w := uint64(min(max(1, weight*quarters+0.5), 1<<30))
	gap := uint64(number-e.last) << 1
	n := 0
	if w == quarters {
		n = binary.PutUvarint(buf[:], gap|1)
	} else {
		n = binary.PutUvarint(buf[:], gap)
		n += binary.PutUvarint(buf[n:], w)
	}
	for _, b := range buf[:n] {
		if e.room == 0 {
			p.extend(e)
		}
		p.at(e.write)[0] = b
		e.write++
		e.room--
	}
	e.count++
	e.last = number
}

// extend gives a word one more chunk.
func (p *pool) extend(e *entry) {
	if e.head != none {
		e.level = min(e.level+1, maxLevel)
	}
	size := chunkSize(e.level)
	next := p.alloc(uint32(size) + linkSize)
	if e.head == none {
		e.head = next
	} else {
		binary.LittleEndian.PutUint32(p.at(e.write), next)
	}
	e.write, e.room = next, size
}

// each calls see for the postings of a word.
func (p *pool) each(e *entry, see func(number uint32, weight float32)) {
	if e.count == 0 {
		return
	}
	r := reader{pool: p, chunk: p.at(e.head)[:chunkSize(0)+linkSize]}
	number := uint32(0)
	for range e.count {
		v := r.next()
		number += v >> 1
		weight := float32(1)
		if v&1 == 0 {
			weight = float32(r.next()) / quarters
		}
		see(number, weight)
	}
}

// A reader reads the numbers in a chain of chunks.
type reader struct {
	pool  *pool
	chunk []byte // with the link at its end
	i     int
	level uint8
}

func (r *reader) next() uint32 {
	// Most numbers have one byte, which is in this chunk.
	if r.i < len(r.chunk)-linkSize && r.chunk[r.i] < 0x80 {
		v := r.chunk[r.i]
		r.i++
		return uint32(v)
	}
	return r.long()
}

func (r *reader) long() uint32 {
	var v uint32
	for shift := uint(0); ; shift += 7 {
		if r.i == len(r.chunk)-linkSize {
			r.level = min(r.level+1, maxLevel)
			r.chunk = r.pool.at(binary.LittleEndian.Uint32(r.chunk[r.i:]))[:chunkSize(r.level)+linkSize]
			r.i = 0
		}
		b := r.chunk[r.i]
		r.i++
		v |= uint32(b&0x7f) << shift
		if b < 0x80 {
			return v
		}
	}
}

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
