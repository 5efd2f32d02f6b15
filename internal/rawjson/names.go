package rawjson

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"
	"slices"
	"sync"
)

// A checker is the state of checking one value: the open objects and arrays, and
// the names of the open objects. All of it are stacks, because an object gets its
// next name only after all values inside it are closed.
type checker struct {
	levels []level
	names  []name
	// slots holds the hash tables of those open objects that have many names.
	// A slot is the number of a name within its object plus one, or 0.
	slots []uint32
	// text holds the names that were written with escapes, decoded.
	text []byte
}

// A level is an open object or array with the start of its part of each stack.
type level struct {
	names, slots, text int32
	object             bool
}

// A name lies in the data or, when decoded is set, in the checker's text.
type name struct {
	start  uint32
	length uint32 // shifted left by one; the lowest bit says decoded
	tag    uint32 // differs for most names that differ
}

// fewNames is the number of names that are compared one by one; an object with
// more gets a hash table.
const fewNames = 16

// seed is random in each process, so that a client cannot choose names that
// collide.
var seed = maphash.MakeSeed()

var checkers = sync.Pool{New: func() any {
	return &checker{levels: make([]level, 0, 16), names: make([]name, 0, 64)}
}}

func takeChecker() *checker { return checkers.Get().(*checker) }

// release returns the checker to the pool, unless an unusual message made it
// large.
func (c *checker) release() {
	if cap(c.names) > 4096 || cap(c.slots) > 8192 || cap(c.text) > 16<<10 {
		return
	}
	c.levels, c.names, c.slots, c.text = c.levels[:0], c.names[:0], c.slots[:0], c.text[:0]
	checkers.Put(c)
}

func (c *checker) open(object bool) {
	c.levels = append(c.levels, level{int32(len(c.names)), int32(len(c.slots)), int32(len(c.text)), object})
}

func (c *checker) close() {
	last := len(c.levels) - 1
	l := &c.levels[last]
	c.names, c.slots, c.text = c.names[:l.names], c.slots[:l.slots], c.text[:l.text]
	c.levels = c.levels[:last]
}

// name reads a name and the colon after it. A duplicate name in the innermost
// object is an error.
func (c *checker) name(data []byte, i int) (int, *SyntaxError) {
	if i >= len(data) || data[i] != '"' {
		return i, fault(i, "%s instead of a name in quotes", shown(data, i))
	}
	end, escaped, bad := stringEnd(data, i+1)
	if bad != nil {
		return end, bad
	}
	n := name{start: uint32(i + 1), length: uint32(end-i-2) << 1}
	if escaped {
		n.start = uint32(len(c.text))
		c.text = appendUnescaped(c.text, data[i+1:end-1])
		n.length = (uint32(len(c.text))-n.start)<<1 | 1
	}
	if text := c.textOf(data, n); !c.add(data, n, text) {
		return i, fault(i, "duplicate name %s in one object", Quote(text))
	}
	i = space(data, end)
	if i >= len(data) || data[i] != ':' {
		return i, fault(i, "%s instead of the colon after a name", shown(data, i))
	}
	return i + 1, nil
}

func (c *checker) textOf(data []byte, n name) []byte {
	from := data
	if n.length&1 != 0 {
		from = c.text
	}
	return from[n.start : n.start+n.length>>1]
}

// latest returns the last name.
func (c *checker) latest(data []byte) []byte { return c.textOf(data, c.names[len(c.names)-1]) }

// add adds a name to the innermost object; it returns false for a duplicate.
func (c *checker) add(data []byte, n name, text []byte) bool {
	l := &c.levels[len(c.levels)-1]
	names := c.names[l.names:]
	if len(names) >= fewNames {
		return c.addHashed(data, l, n, text)
	}
	n.tag = quickTag(text)
	for k := range names {
		if names[k].tag == n.tag && bytes.Equal(c.textOf(data, names[k]), text) {
			return false
		}
	}
	c.names = append(c.names, n)
	return true
}

// quickTag mixes the length and both ends of a name. Collisions are harmless with
// at most fewNames names.
func quickTag(text []byte) uint32 {
	n := len(text)
	if n >= 4 {
		return binary.LittleEndian.Uint32(text) + binary.LittleEndian.Uint32(text[n-4:])*0x9E3779B1 + uint32(n)
	}
	tag := uint32(n)
	for _, b := range text {
		tag = tag<<8 | uint32(b)
	}
	return tag
}

// addHashed is add for an object with many names. Its table is the top of
// slots; the tags of its names are their hashes.
func (c *checker) addHashed(data []byte, l *level, n name, text []byte) bool {
	names := c.names[l.names:]
	table := c.slots[l.slots:]
	switch {
	case len(table) == 0:
		for k := range names {
			names[k].tag = hash(c.textOf(data, names[k]))
		}
		table = c.grow(l, names, 4*fewNames)
	case 4*len(names) >= 3*len(table):
		table = c.grow(l, names, 2*len(table))
	}
	n.tag = hash(text)
	mask := uint32(len(table) - 1)
	at := n.tag & mask
	for ; table[at] != 0; at = (at + 1) & mask {
		if o := names[table[at]-1]; o.tag == n.tag && bytes.Equal(c.textOf(data, o), text) {
			return false
		}
	}
	table[at] = uint32(len(names) + 1)
	if len(c.names) == cap(c.names) {
		c.names = slices.Grow(c.names, len(c.names)) // twice as many at once: fewer copies to leave behind
	}
	c.names = append(c.names, n)
	return true
}

func hash(text []byte) uint32 { return uint32(maphash.Bytes(seed, text)) }

// grow gives the innermost object a table of size slots, a power of two.
func (c *checker) grow(l *level, names []name, size int) []uint32 {
	base := int(l.slots)
	c.slots = slices.Grow(c.slots[:base], size)[:base+size]
	table := c.slots[base:]
	clear(table)
	mask := uint32(size - 1)
	for k := range names {
		at := names[k].tag & mask
		for table[at] != 0 {
			at = (at + 1) & mask
		}
		table[at] = uint32(k + 1)
	}
	return table
}
