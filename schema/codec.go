package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"sync"
)

// codecs holds the codecs of [Marshal] and [Unmarshal], by Go type.
var codecs sync.Map

// A codec is the encoder and decoder of a type without a schema.
type codec struct {
	*node
	unreadable, unwritable error
}

// codecOf returns the codec of t, built once. It ignores tags of other
// libraries, which only matter for a schema.
func codecOf(t reflect.Type) (*codec, error) {
	if c, ok := codecs.Load(t); ok {
		return c.(*codec), nil
	}
	b := &builder{done: map[reflect.Type]*node{}, foreignTags: true}
	n, err := b.build(t)
	if err != nil {
		return nil, err
	}
	c := &codec{n, b.unreadable, b.unwritable}
	codecs.Store(t, c)
	return c, nil
}

// Marshal encodes v like the [Plan] of its type, so that such a Plan can decode
// it: a duration is text, a nil pointer is omitted. It is for values whose type
// is known only at run time, such as the arguments of a call. Nil and nil
// pointers are null.
//
// The error names the field that has no JSON form. Marshal does not check the
// rules of tags.
func Marshal(v any) (json.RawMessage, error) {
	var e encoder
	if bad := e.dynamic(reflect.ValueOf(v)); bad != nil {
		return nil, bad
	}
	return e.out, nil
}

// Unmarshal decodes data into v, a pointer, like the [Plan] of its type, but
// tolerates data of other programs: unknown properties are ignored, missing or
// null properties leave their field zero, and defaults are not filled in. Other
// values must fit their field and the rules of its tags.
//
// data must be strict JSON, as for [Plan.Decode]. The error is a [*Problems]
// with all problems, or says that the type of v has no JSON form.
func Unmarshal(data []byte, v any) error {
	target, c, err := targetOf(v)
	if err != nil {
		return err
	}
	d := decoder{tolerant: true}
	decodeInto(&d, c.node, trim(data), target)
	return d.result()
}

// CanUnmarshal returns an error if [Unmarshal] cannot decode into v, for
// example because a field has no JSON form. Use it before a call whose result
// would be lost.
func CanUnmarshal(v any) error {
	_, _, err := targetOf(v)
	return err
}

// targetOf returns the value that v points to, and its codec.
func targetOf(v any) (reflect.Value, *codec, error) {
	target := reflect.ValueOf(v)
	if target.Kind() != reflect.Pointer || target.IsNil() {
		return target, nil, errors.New("schema: Unmarshal needs a pointer that is not nil")
	}
	target = target.Elem()
	c, err := codecOf(target.Type())
	if err == nil {
		err = c.unreadable
	}
	return target, c, err
}

// decodeInto decodes data into target, which it overwrites. It allocates
// pointers as needed.
func decodeInto(d *decoder, n *node, data []byte, target reflect.Value) {
	whole := target
	whole.SetZero()
	for target.Kind() == reflect.Pointer && target.Type() != n.typ {
		if d.tolerant && len(data) > 0 && data[0] == 'n' {
			return
		}
		target.Set(reflect.New(target.Type().Elem()))
		target = target.Elem()
	}
	d.value(n, data, target)
	if d.problems.count() > 0 {
		whole.SetZero()
	}
}

// dynamic encodes a value by its dynamic type, such as one in an any.
func (e *encoder) dynamic(v reflect.Value) *writeError {
	if v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	if !v.IsValid() {
		e.out = append(e.out, "null"...)
		return nil
	}
	c, err := codecOf(v.Type())
	if err == nil {
		err = c.unwritable
	}
	if err != nil {
		return unwritable("%s", withoutPrefix(err))
	}
	for v.Kind() == reflect.Pointer && v.Type() != c.typ {
		if v.IsNil() {
			e.out = append(e.out, "null"...)
			return nil
		}
		v = v.Elem()
	}
	if e.depth++; e.depth > maxWritten {
		return unwritable("it is nested deeper than %d levels", maxWritten)
	}
	bad := e.value(c.node, v)
	e.depth--
	return bad
}

// addressable returns v, or an addressable copy, because methods may be on the
// pointer.
func addressable(v reflect.Value) reflect.Value {
	if v.CanAddr() {
		return v
	}
	c := reflect.New(v.Type()).Elem()
	c.Set(v)
	return c
}

// A buildError names the field of a type that has no JSON form or an invalid
// tag.
type buildError struct{ err error }

func (e *buildError) Error() string { return "schema: " + e.err.Error() }
func (e *buildError) Unwrap() error { return e.err }

// withoutPrefix returns the text of a build error without "schema: ".
func withoutPrefix(err error) string {
	if b, ok := errors.AsType[*buildError](err); ok {
		return b.err.Error()
	}
	return fmt.Sprint(err)
}
