package recording

import (
	"bytes"
	"strconv"

	"github.com/tenon-mcp/tenon/internal/rawjson"
)

// A Difference is one place where two JSON values differ. A and B are the values
// at Pointer; nil means that the side has none.
type Difference struct {
	Pointer string
	A, B    []byte
}

// maxDifferences bounds a comparison of values that have nothing in common.
const maxDifferences = 10_000

// Diff compares two JSON values by structure: the order of members, white space
// and the escaping of strings do not count, the order of array elements does.
// Numbers are compared as written, except that 1, 1.0 and 1e0 are equal. Input
// that is not JSON is compared as bytes.
func Diff(a, b []byte) []Difference {
	return diff(a, b, nil)
}

// diff is Diff without the places for which skip returns true.
func diff(a, b []byte, skip func(pointer string, a, b []byte) bool) []Difference {
	d := differ{skip: skip}
	if rawjson.Check(a) != nil || rawjson.Check(b) != nil {
		if !bytes.Equal(a, b) {
			d.add("", a, b)
		}
		return d.found
	}
	d.compare("", bytes.TrimSpace(a), bytes.TrimSpace(b))
	return d.found
}

type differ struct {
	skip  func(pointer string, a, b []byte) bool
	found []Difference
}

func (d *differ) add(pointer string, a, b []byte) {
	if len(d.found) < maxDifferences && (d.skip == nil || !d.skip(pointer, a, b)) {
		d.found = append(d.found, Difference{pointer, a, b})
	}
}

func (d *differ) compare(pointer string, a, b []byte) {
	switch {
	case bytes.Equal(a, b) || d.skip != nil && d.skip(pointer, a, b):
	case rawjson.IsObject(a) && rawjson.IsObject(b):
		d.objects(pointer, a, b)
	case rawjson.IsArray(a) && rawjson.IsArray(b):
		d.arrays(pointer, a, b)
	case !sameScalar(a, b):
		d.add(pointer, a, b)
	}
}

// objects compares the members of a in order, then those that only b has. The
// members of b are indexed once, so that large objects take linear time.
func (d *differ) objects(pointer string, a, b []byte) {
	others := map[string][]byte{}
	for m := rawjson.Object(b); m.Next(); {
		others[string(m.Name)] = m.Value
	}
	for m := rawjson.Object(a); m.Next(); {
		at := pointer + "/" + rawjson.EscapePointer(string(m.Name))
		other, ok := others[string(m.Name)]
		if !ok {
			d.add(at, m.Value, nil)
			continue
		}
		delete(others, string(m.Name))
		d.compare(at, m.Value, other)
	}
	for m := rawjson.Object(b); m.Next(); {
		if _, left := others[string(m.Name)]; left {
			d.add(pointer+"/"+rawjson.EscapePointer(string(m.Name)), nil, m.Value)
		}
	}
}

func (d *differ) arrays(pointer string, a, b []byte) {
	x, y := rawjson.Array(a), rawjson.Array(b)
	for i := 0; ; i++ {
		at := pointer + "/" + strconv.Itoa(i)
		left, right := x.Next(), y.Next()
		switch {
		case left && right:
			d.compare(at, x.Value, y.Value)
		case left:
			d.add(at, x.Value, nil)
		case right:
			d.add(at, nil, y.Value)
		default:
			return
		}
	}
}

// sameScalar reports whether two values that are not both objects or both arrays
// are equal.
func sameScalar(a, b []byte) bool {
	if rawjson.IsString(a) && rawjson.IsString(b) {
		s, _ := rawjson.String(a)
		return rawjson.EqualString(b, s)
	}
	if !isNumber(a) || !isNumber(b) {
		return bytes.Equal(a, b)
	}
	if !bytes.ContainsAny(a, ".eE") && !bytes.ContainsAny(b, ".eE") {
		return bytes.Equal(a, b) // exact, unlike a float
	}
	x, err1 := strconv.ParseFloat(string(a), 64)
	y, err2 := strconv.ParseFloat(string(b), 64)
	return err1 == nil && err2 == nil && x == y
}

func isNumber(raw []byte) bool {
	return len(raw) > 0 && (raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9')
}
