package schema

import (
	"reflect"

	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/schema/internal/words"
)

// maxNesting is the maximum depth of a value of a recursive type.
const maxNesting = 100

// A decoder walks once over strict JSON, in step with the nodes of a type. It
// sets valid values and records problems:
//
//	value   by kind of node
//	├ object   members → fields; unknown, missing, defaults
//	├ members  members → map
//	├ array    elements → slice or array
//	├ text     strings and what is encoded as a string
//	└ int, uint, float, bool
//
// The target is zero at the start. Paths are added on the way back, see
// [Problems.under].
type decoder struct {
	problems Problems
	depth    int
	tolerant bool // see [Unmarshal]

	// rulesOnly is set if a Plan wrote the value: only rules are checked, and
	// types that decode themselves are skipped.
	rulesOnly bool
}

// result is the error of what was decoded, or nil.
func (d *decoder) result() error {
	if d.problems.count() == 0 {
		return nil
	}
	return &Problems{List: d.problems.List, More: d.problems.More}
}

func (d *decoder) value(n *node, raw []byte, v reflect.Value) {
	if len(raw) == 0 { // data was never checked
		d.mismatch(n, raw)
		return
	}
	if d.tolerant && raw[0] == 'n' && n.kind != kindRaw && n.kind != kindAny && n.kind != kindOwn {
		v.SetZero()
		return
	}
	switch n.kind {
	case kindInt:
		d.int(n, raw, v)
	case kindUint:
		d.uint(n, raw, v)
	case kindFloat:
		d.float(n, raw, v)
	case kindNumber:
		if !isNumber(raw) {
			d.mismatch(n, raw)
			return
		}
		v.SetString(string(raw))
	case kindBool:
		if c := raw[0]; c != 't' && c != 'f' {
			d.mismatch(n, raw)
			return
		}
		if n.isConst && string(raw) != n.enum[0] {
			d.notInEnum(n, raw)
			return
		}
		v.SetBool(raw[0] == 't')
	case kindString, kindText, kindBytes, kindTime, kindDuration:
		d.text(n, raw, v)
	case kindStruct, kindMap, kindSlice, kindArray:
		d.nested(n, raw, v)
	case kindPointer:
		if n.nullable && raw[0] == 'n' {
			v.SetZero()
			return
		}
		target := reflect.New(n.elem.typ)
		d.value(n.elem, raw, target.Elem())
		v.Set(target)
	default:
		d.foreign(n, raw, v)
	}
}

// nested decodes what can contain other values.
func (d *decoder) nested(n *node, raw []byte, v reflect.Value) {
	open := byte('[')
	if n.kind == kindStruct || n.kind == kindMap {
		open = '{'
	}
	if raw[0] != open {
		d.mismatch(n, raw)
		return
	}
	most := maxNesting
	if d.rulesOnly {
		most = maxWritten
	}
	if d.depth++; d.depth > most {
		d.problems.addf("", "is nested too deep; at most %d levels are allowed", most)
	} else {
		switch n.kind {
		case kindStruct:
			d.object(n, raw, v)
		case kindMap:
			d.members(n, raw, v)
		default:
			d.array(n, raw, v)
		}
	}
	d.depth--
}

func (d *decoder) object(n *node, raw []byte, v reflect.Value) {
	var few [32]bool
	seen := few[:]
	if len(n.fields) > len(few) {
		seen = make([]bool, len(n.fields))
	}
	at := 0
	for m := rawjson.Object(raw); m.Next(); {
		i := n.find(m.Name, at)
		if i < 0 {
			d.unknown(n, m.Name)
			continue
		}
		at = i + 1
		f := &n.fields[i]
		if f.optional && rawjson.IsNull(m.Value) && !f.takesNull() {
			continue
		}
		seen[i] = true
		before := len(d.problems.List)
		d.value(f.node, m.Value, f.in(v))
		if len(d.problems.List) > before {
			d.problems.under(words.Member(f.name), before)
		}
	}
	for i := range n.fields {
		if !seen[i] {
			d.absent(&n.fields[i], v)
		}
	}
}

// find gives the number of the field with a name, or -1. It looks first at
// the field that is next in order.
func (n *node) find(name []byte, next int) int {
	if next < len(n.fields) && n.fields[next].name == string(name) {
		return next
	}
	if n.byName != nil {
		if i, ok := n.byName[string(name)]; ok {
			return i
		}
		return -1
	}
	for i := range n.fields {
		if n.fields[i].name == string(name) {
			return i
		}
	}
	return -1
}

// takesNull says that null is a value of the field's own type.
func (f *field) takesNull() bool {
	n := f.node
	for n.kind == kindPointer {
		n = n.elem
	}
	return n.kind == kindRaw
}

// in returns the field of a struct, making embedded structs on the way.
func (f *field) in(v reflect.Value) reflect.Value {
	v = v.Field(f.index[0])
	for _, i := range f.index[1:] {
		if v.Kind() == reflect.Pointer {
			if v.IsNil() {
				v.Set(reflect.New(v.Type().Elem()))
			}
			v = v.Elem()
		}
		v = v.Field(i)
	}
	return v
}

// absent fills in the default of a field, or notes that it is missing.
func (d *decoder) absent(f *field, v reflect.Value) {
	switch {
	case d.tolerant:
	case f.notes.fallback != nil:
		d.value(f.node, f.notes.fallback, f.in(v))
	case !f.optional:
		d.problems.addf(words.Member(f.name), "is required but missing; expected %s", f.node.expects())
	}
}

func (d *decoder) unknown(n *node, name []byte) {
	if d.tolerant {
		return
	}
	if len(d.problems.List) >= maxProblems {
		d.problems.More++
		return
	}
	known := make([]string, len(n.fields))
	for i := range n.fields {
		known[i] = n.fields[i].name
	}
	hint := didYouMean(string(name), known)
	if hint == "" {
		hint = "; " + allowed(known)
	}
	d.problems.addf(words.Member(string(name)), "unknown property%s", hint)
}

func (d *decoder) members(n *node, raw []byte, v reflect.Value) {
	v.Set(reflect.MakeMap(n.typ))
	key, elem := reflect.New(n.typ.Key()).Elem(), reflect.New(n.elem.typ).Elem()
	for m := rawjson.Object(raw); m.Next(); {
		elem.SetZero()
		before := len(d.problems.List)
		d.value(n.elem, m.Value, elem)
		if len(d.problems.List) > before {
			d.problems.under(words.Member(string(m.Name)), before)
		}
		if n.key.kind == kindString {
			key.SetString(string(m.Name))
		} else if !d.key(n.key, m.Name, key) {
			continue
		}
		v.SetMapIndex(key, elem)
	}
}

// key decodes the name of a property into the key of a map.
func (d *decoder) key(n *node, name []byte, v reflect.Value) bool {
	raw := name
	switch {
	case n.kind != kindInt && n.kind != kindUint:
		raw = rawjson.AppendString(nil, string(name))
	case !integerKey(n).Match(name):
		d.problems.addf(words.Member(string(name)), "this key must be an integer")
		return false
	}
	before := d.problems.count()
	v.SetZero()
	d.value(n, raw, v)
	if d.problems.count() == before {
		return true
	}
	d.problems.under(words.Member(string(name)), min(before, len(d.problems.List)))
	return false
}

func (d *decoder) array(n *node, raw []byte, v reflect.Value) {
	count := 0
	for e := rawjson.Array(raw); e.Next(); count++ {
		if n.maxItems >= 0 && count >= n.maxItems {
			continue // only counted
		}
		if n.kind == kindSlice {
			if count == v.Cap() {
				v.Grow(max(4, count))
			}
			v.SetLen(count + 1)
		}
		before := len(d.problems.List)
		d.value(n.elem, e.Value, v.Index(count))
		if len(d.problems.List) > before {
			d.problems.under(words.Index(count), before)
		}
	}
	if count == 0 && n.kind == kindSlice {
		v.Set(reflect.MakeSlice(n.typ, 0, 0)) // empty is not nil
	}
	switch {
	case n.maxItems == n.minItems && count != n.minItems:
		d.problems.addf("", "must have exactly %s, not %d", words.Items(n.minItems), count)
	case count < n.minItems:
		d.problems.addf("", "must have at least %s, not %d", words.Items(n.minItems), count)
	case n.maxItems >= 0 && count > n.maxItems:
		d.problems.addf("", "must have at most %s, not %d", words.Items(n.maxItems), count)
	}
	if n.unique {
		d.unique(raw)
	}
}

// unique notes every item of an array that is equal to an earlier one. It looks
// at the JSON, so that items with other problems count too.
func (d *decoder) unique(raw []byte) {
	first := map[string]int{}
	i := 0
	for e := rawjson.Array(raw); e.Next(); i++ {
		key := uniqueKey(e.Value)
		if j, ok := first[key]; ok {
			d.problems.addf("", "must not have equal items, but [%d] and [%d] are", j, i)
			continue
		}
		first[key] = i
	}
}

// uniqueKey is a text that is the same for equal scalars: 1 is 1.0.
func uniqueKey(raw []byte) string {
	if !isNumber(raw) {
		return string(rawjson.AppendCanonical(nil, raw))
	}
	if negative, size, f := parseInt(raw); f == fits {
		if negative && size > 0 {
			return "-" + utoa(size)
		}
		return utoa(size)
	}
	if e, ok := exactly(raw); ok {
		return e.RatString()
	}
	return string(raw)
}
