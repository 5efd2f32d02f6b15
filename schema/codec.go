package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"sync"
)

// codecs holds what [Marshal] and [Unmarshal] use, by Go type.
var codecs sync.Map

// A codec is a type as it is written and read where no schema is made.
type codec struct {
	*node
	unreadable, unwritable error
}

// codecOf returns the codec of t, built once. Tags of other libraries are no
// error here: they lose nothing where no schema is made.
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

// Marshal encodes v as the [Plan] of its type does, so that a Plan of the same
// type reads it back: a duration is text, a nil pointer is left out. It is for
// values whose type is known only at run time, such as the arguments of a call.
// A nil v, and a v that is a nil pointer, is null.
//
// The error names the field that has no JSON form. Rules of tags are not
// checked.
func Marshal(v any) (json.RawMessage, error) {
	var e encoder
	if bad := e.dynamic(reflect.ValueOf(v)); bad != nil {
		return nil, bad
	}
	return e.out, nil
}

// Unmarshal decodes data into what v points to, as the [Plan] of its type does,
// with the tolerance that data of another program needs: unknown properties are
// ignored, properties that are missing or null leave their field zero, and
// defaults are not filled in. What is there must fit its field and the rules of
// its tags.
//
// Data must be strict JSON, as for [Plan.Decode]. The error is a [*Problems] with
// everything that is wrong, or says that the type of v has no JSON form.
func Unmarshal(data []byte, v any) error {
	target, c, err := targetOf(v)
	if err != nil {
		return err
	}
	d := decoder{tolerant: true}
	decodeInto(&d, c.node, trim(data), target)
	return d.result()
}

// CanUnmarshal reports why [Unmarshal] could not decode anything into v, such as
// a field that has no JSON form. A caller can find out before it makes a call
// whose result would be lost.
func CanUnmarshal(v any) error {
	_, _, err := targetOf(v)
	return err
}

// targetOf returns what v points to, and its codec.
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

// decodeInto decodes data into target, which it overwrites. It makes what
// pointers around the type of n need.
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

// dynamic writes a value by its own type, such as one inside an any.
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

// addressable returns v, or a copy of it that has an address: methods may be
// on the pointer.
func addressable(v reflect.Value) reflect.Value {
	if v.CanAddr() {
		return v
	}
	c := reflect.New(v.Type()).Elem()
	c.Set(v)
	return c
}

// A buildError says which field of a type has no JSON form, or a tag that does
// not fit.
type buildError struct{ err error }

func (e *buildError) Error() string { return "schema: " + e.err.Error() }
func (e *buildError) Unwrap() error { return e.err }

// withoutPrefix is the text of an error of build where "schema: " is said
// already.
func withoutPrefix(err error) string {
	if b, ok := errors.AsType[*buildError](err); ok {
		return b.err.Error()
	}
	return fmt.Sprint(err)
}
