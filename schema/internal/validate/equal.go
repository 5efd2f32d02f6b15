package validate

import (
	"hash/maphash"
)

// A place is a value in a document.
type place struct {
	doc *document
	at  int32
}

// equal compares two values the way JSON Schema does: numbers by their value,
// objects whatever the order. It pays for what it looks at.
func (r *run) equal(a, b place) bool {
	x, y := &a.doc.items[a.at], &b.doc.items[b.at]
	if x.kind != y.kind || x.count != y.count {
		return false
	}
	switch x.kind {
	case isBool:
		return a.doc.isTrue(a.at) == b.doc.isTrue(b.at)
	case isNumber:
		s, t := a.doc.raw(a.at), b.doc.raw(b.at)
		return string(s) == string(t) || decimalOf(s) == decimalOf(t)
	case isString:
		r.spend(int(x.end-x.at) / bytesPerStep)
		return string(a.doc.bytes(a.at)) == string(b.doc.bytes(b.at))
	case isArray:
		r.spend(int(x.count))
		for i, j := a.at+1, b.at+1; i < x.next; i, j = a.doc.items[i].next, b.doc.items[j].next {
			if !r.equal(place{a.doc, i}, place{b.doc, j}) {
				return false
			}
		}
	case isObject:
		r.spend(int(x.count) * max(1, int(x.count)/8))
		for i := a.at + 1; i < x.next; i = a.doc.items[i+1].next {
			j := b.doc.member(b.at, a.doc.string(i))
			if j < 0 || !r.equal(place{a.doc, i + 1}, place{b.doc, j}) {
				return false
			}
		}
	}
	return true
}

// hash is the same for values that are equal.
func hash(seed maphash.Seed, p place) uint64 {
	it := &p.doc.items[p.at]
	switch it.kind {
	case isBool:
		if p.doc.isTrue(p.at) {
			return 1
		}
		return 2
	case isNumber:
		return maphash.Comparable(seed, decimalOf(p.doc.raw(p.at)))
	case isString:
		return maphash.Bytes(seed, p.doc.bytes(p.at))
	case isArray:
		sum := uint64(it.count)
		for i := p.at + 1; i < it.next; i = p.doc.items[i].next {
			sum = maphash.Comparable(seed, [2]uint64{sum, hash(seed, place{p.doc, i})})
		}
		return sum
	case isObject:
		sum := uint64(it.count) << 32
		for i := p.at + 1; i < it.next; i = p.doc.items[i+1].next {
			sum += maphash.Comparable(seed, [2]uint64{hash(seed, place{p.doc, i}), hash(seed, place{p.doc, i + 1})})
		}
		return sum
	}
	return 3
}

// A choice holds the values of an enum.
type choice struct {
	values []place
	seed   maphash.Seed
	byHash map[uint64][]int32 // where there are many
}

const fewValues = 8

func newChoice(doc *document, list int32) *choice {
	c := &choice{}
	it := &doc.items[list]
	for i := list + 1; i < it.next; i = doc.items[i].next {
		c.values = append(c.values, place{doc, i})
	}
	if len(c.values) > fewValues {
		c.seed, c.byHash = maphash.MakeSeed(), make(map[uint64][]int32, len(c.values))
		for n, v := range c.values {
			h := hash(c.seed, v)
			c.byHash[h] = append(c.byHash[h], int32(n))
		}
	}
	return c
}

// has says whether a value is among those of an enum.
func (r *run) has(c *choice, v place) bool {
	if c.byHash == nil {
		for _, want := range c.values {
			if r.equal(v, want) {
				return true
			}
		}
		return false
	}
	r.spend(r.size(v.at))
	for _, n := range c.byHash[hash(c.seed, v)] {
		if r.spend(1); r.equal(v, c.values[n]) {
			return true
		}
	}
	return false
}

// twins calls found with the numbers of an element that is equal to an earlier
// one and of that one, for all such elements or until found wants no more.
func (r *run) twins(array int32, found func(a, b int32) (more bool)) {
	it := &r.doc.items[array]
	if it.count < 2 {
		return
	}
	if it.count <= fewValues {
		r.fewTwins(array, found)
		return
	}
	seed := maphash.MakeSeed()
	type element struct{ number, at int32 }
	seen := make(map[uint64][]element, it.count)
	n := int32(0)
next:
	for i := array + 1; i < it.next; i = r.doc.items[i].next {
		r.spend(r.size(i))
		h := hash(seed, place{&r.doc, i})
		for _, other := range seen[h] {
			if r.spend(1); r.equal(place{&r.doc, i}, place{&r.doc, other.at}) {
				if !found(other.number, n) {
					return
				}
				n++
				continue next
			}
		}
		seen[h] = append(seen[h], element{n, i})
		n++
	}
}

// fewTwins is twins where every element can be compared with every other.
func (r *run) fewTwins(array int32, found func(a, b int32) (more bool)) {
	var at [fewValues]int32
	n := int32(0)
	for i := array + 1; i < r.doc.items[array].next; i = r.doc.items[i].next {
		for k := range n {
			if r.equal(place{&r.doc, i}, place{&r.doc, at[k]}) {
				if !found(k, n) {
					return
				}
				break
			}
		}
		at[n] = i
		n++
	}
}
