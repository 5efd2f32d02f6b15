package schema

import (
	"encoding/json"
	"reflect"
)

// A Plan is what [Compile] worked out about T: its schema, and how to decode
// and encode it. It is safe for use by many goroutines.
type Plan[T any] struct {
	root   *node
	ruled  bool // see Check
	schema json.RawMessage

	unreadable, unwritable error
}

// Compile works out the Plan of T. An error names the type and the field that
// has no JSON form or a tag that does not fit. It is meant to be called once
// for each type, at start.
func Compile[T any]() (*Plan[T], error) {
	root, b, err := build(reflect.TypeFor[T]())
	if err != nil {
		return nil, err
	}
	schema, err := emit(root)
	if err != nil {
		return nil, err
	}
	return &Plan[T]{root: root, ruled: b.ruled, schema: schema, unreadable: b.unreadable, unwritable: b.unwritable}, nil
}

// Schema returns the JSON Schema of T. The caller must not change it.
func (p *Plan[T]) Schema() json.RawMessage { return p.schema }

// CanDecode reports the first type inside T that can be written and not read:
// one that has MarshalText and no UnmarshalText. No data would fit it.
func (p *Plan[T]) CanDecode() error { return p.unreadable }

// CanEncode reports the first type inside T that can be read and not written:
// one that has UnmarshalText and no MarshalText. It would not fit its schema.
func (p *Plan[T]) CanEncode() error { return p.unwritable }

// Decode reads data into the value, which it overwrites wholly. Properties that
// data leaves out get their default, or are zero.
//
// Data must have passed a strict check (every message Tenon receives has) already: Decode
// looks for values that do not fit, not for broken JSON. Empty data counts as
// {}. Nothing of data is kept.
//
// If the error is not nil it is a [*Problems] with everything that is wrong,
// and the value is zero.
func (p *Plan[T]) Decode(data []byte, into *T) error {
	data = trim(data)
	if len(data) == 0 {
		data = []byte("{}")
	}
	var d decoder
	decodeInto(&d, p.root, data, reflect.ValueOf(into).Elem())
	return d.result()
}

// Append appends v as JSON. Its error names the path to what has no JSON form:
// a float that is not a number or infinite, text that is not UTF-8, a nil
// pointer as the whole value, nesting deeper than the strict reader takes.
//
// Nil slices are written as [], nil maps as {}, and pointer fields that are nil
// are left out, so that what is written fits the schema. Rules of tags are not
// checked, see [Plan.Check]. Fields with omitempty are left out when they are false, 0, nil or
// empty, as in encoding/json. Map keys are sorted.
func (p *Plan[T]) Append(dst []byte, v *T) ([]byte, error) {
	e := encoder{out: dst}
	if err := e.root(p.root, reflect.ValueOf(v).Elem()); err != nil {
		return dst, err
	}
	return e.out, nil
}

// Check holds data that [Plan.Append] wrote to the rules of the tags of T, and
// to the schemas that types inside T supply themselves. A T without any costs
// nothing. If the error is not nil it is a [*Problems].
func (p *Plan[T]) Check(data []byte) error {
	if !p.ruled {
		return nil
	}
	d := decoder{rulesOnly: true}
	d.value(p.root, data, reflect.New(p.root.typ).Elem())
	return d.result()
}

// trim cuts white space off both ends.
func trim(data []byte) []byte {
	isSpace := func(b byte) bool { return b == ' ' || b == '\n' || b == '\r' || b == '\t' }
	for len(data) > 0 && isSpace(data[0]) {
		data = data[1:]
	}
	for len(data) > 0 && isSpace(data[len(data)-1]) {
		data = data[:len(data)-1]
	}
	return data
}
