package uritemplate

import "strings"

// A Value is the value of a variable: a string, a list of strings, or pairs of a
// name and a string. The zero Value is undefined, as are an empty list and no
// pairs.
type Value struct {
	kind  kind
	text  string
	list  []string
	pairs []Pair
}

type kind uint8

const (
	undefined kind = iota
	text
	list
	pairs
)

// A Pair is one entry of an associative value.
type Pair struct{ Name, Value string }

// String returns the Value of a string, which may be empty.
func String(s string) Value { return Value{kind: text, text: s} }

// List returns the Value of a list. It keeps the slice.
func List(items ...string) Value {
	if len(items) == 0 {
		return Value{}
	}
	return Value{kind: list, list: items}
}

// Pairs returns the Value of pairs in order. It keeps the slice.
func Pairs(entries ...Pair) Value {
	if len(entries) == 0 {
		return Value{}
	}
	return Value{kind: pairs, pairs: entries}
}

// Text returns the string; ok is false if the Value is not one.
func (v Value) Text() (s string, ok bool) { return v.text, v.kind == text }

// Items returns the list, or nil if the Value is not one.
func (v Value) Items() []string { return v.list }

// Entries returns the pairs, or nil if the Value has none.
func (v Value) Entries() []Pair { return v.pairs }

// join returns a Value as one string.
func (v Value) join(sep string) string {
	switch v.kind {
	case list:
		return strings.Join(v.list, sep)
	case pairs:
		var b strings.Builder
		for i, p := range v.pairs {
			if i > 0 {
				b.WriteString(sep)
			}
			b.WriteString(p.Name + "=" + p.Value)
		}
		return b.String()
	}
	return v.text
}
