package bm25

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
)

// saved is the header of the format that Save writes.
const saved = "bm25-1\n"

// errSaved is the error of Load for data that Save cannot have written.
var errSaved = errors.New("not a saved index")

// Limits for Load, so that a damaged file does not cause huge allocations.
const (
	maxSavedWords  = 1 << 26
	maxSavedBlocks = 1 << (32 - blockBits)
	maxSavedID     = 1 << 16
)

const savedEntry = 20 // bytes of an entry

// Save writes the index for [Load]. It adds no checksum: the caller must
// ensure that Load reads what Save wrote.
func (x *Index) Save(w *bufio.Writer) error {
	x.mu.RLock()
	defer x.mu.RUnlock()
	w.WriteString(saved)
	b := binary.AppendUvarint(nil, uint64(len(x.weights)))
	for _, weight := range x.weights {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(weight))
	}
	b = binary.AppendUvarint(b, uint64(len(x.docs)))
	w.Write(b)
	for _, d := range x.docs {
		b = binary.AppendUvarint(b[:0], uint64(len(d.id))<<1|uint64(flag(d.gone)))
		b = append(b, d.id...)
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(d.length))
		w.Write(b)
	}
	b = binary.AppendUvarint(b[:0], uint64(len(x.words.entries)))
	b = binary.AppendUvarint(b, uint64(len(x.words.letters)))
	w.Write(b)
	order := x.alphabetical()
	for _, i := range order {
		w.Write(x.words.entries[i].append(b[:0]))
	}
	for _, i := range order {
		w.Write(x.words.text(&x.words.entries[i]))
	}
	b = binary.AppendUvarint(b[:0], uint64(len(x.pool.blocks)))
	b = binary.AppendUvarint(b, uint64(x.pool.used))
	w.Write(b)
	for _, block := range x.pool.blocks {
		w.Write(block)
	}
	return w.Flush()
}

// alphabetical returns the numbers of all words in alphabetical order, so that
// Load need not sort them.
func (x *Index) alphabetical() []uint32 {
	order := make([]uint32, len(x.words.entries))
	for i := range order {
		order[i] = uint32(i)
	}
	slices.SortFunc(order, x.words.compare)
	return order
}

func flag(on bool) byte {
	if on {
		return 1
	}
	return 0
}

func (e *entry) append(b []byte) []byte {
	b = append(b, e.size, e.level)
	b = binary.LittleEndian.AppendUint16(b, e.room)
	for _, v := range []uint32{e.head, e.write, e.count, e.last} {
		b = binary.LittleEndian.AppendUint32(b, v)
	}
	return b
}

func (e *entry) read(b []byte) {
	e.size, e.level, e.room = b[0], b[1], binary.LittleEndian.Uint16(b[2:])
	for i, v := range []*uint32{&e.head, &e.write, &e.count, &e.last} {
		*v = binary.LittleEndian.Uint32(b[4+4*i:])
	}
}

// Load reads an index that [Save] wrote, with the weights that it must have.
func Load(r *bufio.Reader, weights ...float64) (*Index, error) {
	x := New(weights...)
	l := &loader{r: r}
	if string(l.bytes(uint64(len(saved)), 64)) != saved {
		l.fail()
	}
	same := make([]float64, l.number(64))
	for i := range same {
		if b := l.bytes(8, 8); l.err == nil {
			same[i] = math.Float64frombits(binary.LittleEndian.Uint64(b))
		}
	}
	if l.err != nil || !slices.Equal(same, x.weights) {
		return nil, errors.Join(l.err, errSaved)
	}
	x.loadDocs(l)
	x.loadWords(l)
	x.loadPool(l)
	if l.err != nil {
		return nil, fmt.Errorf("load index: %w", l.err)
	}
	return x, nil
}

func (x *Index) loadDocs(l *loader) {
	n := l.number(maxSavedWords)
	for range n {
		head := l.number(2 * maxSavedID)
		d := doc{id: string(l.bytes(head>>1, maxSavedID)), gone: head&1 == 1}
		length := l.bytes(4, 4)
		if l.err != nil {
			return
		}
		d.length = math.Float32frombits(binary.LittleEndian.Uint32(length))
		if !d.gone {
			x.byID[d.id] = uint32(len(x.docs))
			x.length += float64(d.length)
		}
		x.docs = append(x.docs, d)
	}
}

// loadWords reads the words. Their hashes are those of this process.
func (x *Index) loadWords(l *loader) {
	n, letters := l.number(maxSavedWords), l.number(math.MaxUint32)
	words := &x.words
	at := uint64(0)
	for range n {
		b := l.bytes(savedEntry, savedEntry)
		if l.err != nil {
			return
		}
		var e entry
		e.read(b)
		e.at = uint32(at)
		at += uint64(e.size)
		words.entries = append(words.entries, e)
	}
	if words.letters = slices.Clone(l.bytes(letters, letters)); l.err != nil || at != letters {
		l.fail()
		return
	}
	for i := range words.entries {
		e := &words.entries[i]
		e.hash = hashOf(words.text(e))
	}
	x.sorted.order = make([]uint32, len(words.entries)) // as Save wrote them
	for i := range x.sorted.order {
		x.sorted.order[i] = uint32(i)
	}
	size := 128
	for size*3 <= len(words.entries)*4 {
		size *= 2
	}
	words.table = make([]uint32, size/2)
	words.grow()
}

func (x *Index) loadPool(l *loader) {
	n, used := l.number(maxSavedBlocks), l.number(blockSize)
	for range n {
		if l.err != nil {
			return
		}
		if x.pool.arena == nil {
			x.pool.arena = newArena()
		}
		block := x.pool.arena.block()
		_, err := io.ReadFull(l.r, block)
		l.set(err)
		x.pool.blocks = append(x.pool.blocks, block)
	}
	x.pool.used = uint32(used)
	for i := range x.words.entries {
		e := &x.words.entries[i]
		if last := uint64(n) << blockBits; e.count == 0 || e.level > maxLevel || uint64(e.head) >= last || uint64(e.write) > last || int(e.last) >= len(x.docs) {
			l.fail()
			return
		}
	}
}

// A loader decodes values and keeps the first error.
type loader struct {
	r   *bufio.Reader
	buf []byte
	err error
}

func (l *loader) set(err error) {
	if l.err == nil {
		l.err = err
	}
}

func (l *loader) fail() { l.set(errSaved) }

func (l *loader) number(most uint64) uint64 {
	if l.err != nil {
		return 0
	}
	n, err := binary.ReadUvarint(l.r)
	if l.set(err); err == nil && n > most {
		l.fail()
	}
	if l.err != nil {
		return 0
	}
	return n
}

// bytes reads n bytes, which are valid until the next call. It reads in
// pieces, so that a wrong length costs nothing.
func (l *loader) bytes(n, most uint64) []byte {
	if n > most {
		l.fail()
	}
	l.buf = l.buf[:0]
	for l.err == nil && uint64(len(l.buf)) < n {
		step := int(min(n-uint64(len(l.buf)), 1<<20))
		at := len(l.buf)
		l.buf = slices.Grow(l.buf, step)[:at+step]
		_, err := io.ReadFull(l.r, l.buf[at:])
		l.set(err)
	}
	if l.err != nil {
		return nil
	}
	return l.buf
}
