package schema

import (
	"bytes"
	"encoding/json"
	"reflect"
)

// A Plan is the compiled form of T: its schema, decoder and encoder. It is safe
// for concurrent use.
type Plan[T any] struct {
	root   *node
	ruled  bool // see Check
	schema json.RawMessage

	unreadable, unwritable error
}

// Compile returns the Plan of T. The error names the type and the field that
// has no JSON form or an invalid tag. Call it once for each type, when the
// program starts.
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

// Schema returns the JSON Schema of T. The caller must not modify it.
func (p *Plan[T]) Schema() json.RawMessage { return p.schema }

// CanDecode returns an error that names the first type inside T that can only
// be encoded, because it has MarshalText and no UnmarshalText.
func (p *Plan[T]) CanDecode() error { return p.unreadable }

// CanEncode returns an error that names the first type inside T that can only
// be decoded, because it has UnmarshalText and no MarshalText.
func (p *Plan[T]) CanEncode() error { return p.unwritable }

// Decode decodes data into the value, which it overwrites. Absent properties
// get their default, or are zero.
//
// data must be strict JSON, as every message is that Tenon receives: Decode
// checks values, not syntax. Empty data counts as {}. Decode does not retain
// data.
//
// A non-nil error is a [*Problems] with all problems; the value is zero then.
func (p *Plan[T]) Decode(data []byte, into *T) error {
	data = trim(data)
	if len(data) == 0 {
		data = []byte("{}")
	}
	var d decoder
	decodeInto(&d, p.root, data, reflect.ValueOf(into).Elem())
	return d.result()
}

// Append appends the JSON of v to dst. The error has the path of the value that
// has no JSON form: NaN or an infinite float, invalid UTF-8, a nil pointer as
// the whole value, or nesting beyond the limit.
//
// Nil slices are encoded as [], nil maps as {}, and nil pointer fields are
// omitted, so that the output fits the schema. Fields with omitempty are
// omitted if they are false, 0, nil or empty, as in encoding/json. Map keys are
// sorted. Append does not check the rules of tags; see [Plan.Check].
func (p *Plan[T]) Append(dst []byte, v *T) ([]byte, error) {
	e := encoder{out: dst}
	if err := e.root(p.root, reflect.ValueOf(v).Elem()); err != nil {
		return dst, err
	}
	return e.out, nil
}

// Check checks data written by [Plan.Append] against the rules of the tags of T
// and the schemas that types inside T supply. It costs nothing if there are
// none. A non-nil error is a [*Problems].
func (p *Plan[T]) Check(data []byte) error {
	if !p.ruled {
		return nil
	}
	d := decoder{rulesOnly: true}
	d.value(p.root, data, reflect.New(p.root.typ).Elem())
	return d.result()
}

// trim removes white space from both ends.
func trim(data []byte) []byte { return bytes.Trim(data, " \n\r\t") }
