package schema

import (
	"encoding"
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/schema/internal/format"
	"github.com/tenon-mcp/tenon/schema/internal/words"
)

// maxWritten is the maximum depth of an encoded value. A value that contains
// itself ends here.
const maxWritten = 500

// An encoder encodes a value in step with the nodes of its type.
type encoder struct {
	out   []byte
	depth int
}

// A writeError has the path of a value without a JSON form.
type writeError struct {
	path   string
	reason string
}

func (e *writeError) Error() string {
	if e.path == "" {
		return "schema: the value has no JSON form: " + e.reason
	}
	return "schema: the value has no JSON form: " + words.Clip(e.path) + ": " + e.reason
}

func unwritable(format string, args ...any) *writeError {
	return &writeError{reason: fmt.Sprintf(format, args...)}
}

func (e *writeError) under(step string) *writeError {
	e.path = words.Path(step, e.path)
	return e
}

// root writes the whole value.
func (e *encoder) root(n *node, v reflect.Value) error {
	for v.Kind() == reflect.Pointer && v.Type() != n.typ {
		if v.IsNil() {
			return unwritable("it is a nil pointer")
		}
		v = v.Elem()
	}
	if bad := e.value(n, v); bad != nil {
		return bad
	}
	return nil
}

func (e *encoder) value(n *node, v reflect.Value) *writeError {
	switch n.kind {
	case kindBool:
		e.out = strconv.AppendBool(e.out, v.Bool())
	case kindInt:
		e.out = strconv.AppendInt(e.out, v.Int(), 10)
	case kindUint:
		e.out = strconv.AppendUint(e.out, v.Uint(), 10)
	case kindFloat:
		f := v.Float()
		if math.IsNaN(f) || math.IsInf(f, 0) {
			return unwritable("%v is not a JSON number", f)
		}
		e.out = words.AppendFloat(e.out, f, n.typ.Bits())
	case kindString:
		return e.text(v.String())
	case kindBytes, kindTime, kindDuration, kindText:
		return e.special(n, v)
	case kindStruct, kindMap, kindSlice, kindArray, kindPointer:
		if e.depth++; e.depth > maxWritten {
			return unwritable("it is nested deeper than %d levels", maxWritten)
		}
		bad := e.nested(n, v)
		e.depth--
		return bad
	case kindNumber:
		return e.number(v.String())
	case kindAny:
		if n.typ.Kind() == reflect.Interface {
			return e.dynamic(v)
		}
		return e.foreign(v)
	default:
		return e.foreign(v)
	}
	return nil
}

// number writes the digits of a json.Number; an empty one is 0, as in
// encoding/json.
func (e *encoder) number(digits string) *writeError {
	if digits == "" {
		digits = "0"
	}
	if !isNumber([]byte(digits)) || rawjson.Check([]byte(digits)) != nil {
		return unwritable("%s is not a JSON number", words.Quote(digits))
	}
	e.out = append(e.out, digits...)
	return nil
}

func (e *encoder) text(s string) *writeError {
	if !utf8.ValidString(s) {
		return unwritable("the text is not valid UTF-8")
	}
	e.out = rawjson.AppendString(e.out, s)
	return nil
}

func (e *encoder) nested(n *node, v reflect.Value) *writeError {
	switch n.kind {
	case kindStruct:
		return e.object(n, v)
	case kindMap:
		return e.members(n, v)
	case kindPointer:
		if v.IsNil() {
			e.out = append(e.out, "null"...)
			return nil
		}
		return e.value(n.elem, v.Elem())
	}
	e.out = append(e.out, '[')
	for i := range v.Len() {
		if i > 0 {
			e.out = append(e.out, ',')
		}
		if bad := e.value(n.elem, v.Index(i)); bad != nil {
			return bad.under(words.Index(i))
		}
	}
	e.out = append(e.out, ']')
	return nil
}

func (e *encoder) object(n *node, v reflect.Value) *writeError {
	e.out = append(e.out, '{')
	first := true
	for i := range n.fields {
		f := &n.fields[i]
		fv, ok := f.from(v)
		if !ok || f.leftOut(fv) {
			continue
		}
		if !first {
			e.out = append(e.out, ',')
		}
		first = false
		e.out = append(e.out, f.key...)
		if bad := e.value(f.node, fv); bad != nil {
			return bad.under(words.Member(f.name))
		}
	}
	e.out = append(e.out, '}')
	return nil
}

// from returns the field of a struct, unless an embedded pointer on the way to
// it is nil.
func (f *field) from(v reflect.Value) (reflect.Value, bool) {
	v = v.Field(f.index[0])
	for _, i := range f.index[1:] {
		if v.Kind() == reflect.Pointer {
			if v.IsNil() {
				return v, false
			}
			v = v.Elem()
		}
		v = v.Field(i)
	}
	return v, true
}

// leftOut says that the field is not written for this value.
func (f *field) leftOut(v reflect.Value) bool {
	switch {
	case f.node.kind == kindPointer && v.IsNil():
		return true
	case f.omitZero:
		return isZero(v)
	case f.omitEmpty:
		switch v.Kind() {
		case reflect.Slice, reflect.Map, reflect.String, reflect.Array:
			return v.Len() == 0
		case reflect.Struct:
			return false
		}
		return v.IsZero()
	}
	return false
}

// isZero reports whether omitzero leaves a value out. A method IsZero counts,
// also one on the pointer, as in encoding/json.
func isZero(v reflect.Value) bool {
	type zeroer interface{ IsZero() bool }
	if v.Type().Implements(zeroerType) {
		return v.Interface().(zeroer).IsZero()
	}
	if reflect.PointerTo(v.Type()).Implements(zeroerType) {
		return addressable(v).Addr().Interface().(zeroer).IsZero()
	}
	return v.IsZero()
}

var zeroerType = reflect.TypeFor[interface{ IsZero() bool }]()

// A member is an entry of a map with its key as it is written.
type member struct {
	name string
	key  reflect.Value
}

func (e *encoder) members(n *node, v reflect.Value) *writeError {
	sorted := make([]member, 0, v.Len())
	for all := v.MapRange(); all.Next(); {
		key := all.Key()
		name, bad := keyText(n.key, key)
		if bad != nil {
			return bad
		}
		sorted = append(sorted, member{name, key})
	}
	slices.SortFunc(sorted, func(a, b member) int { return strings.Compare(a.name, b.name) })
	elem := reflect.New(n.elem.typ).Elem() // methods may need an address
	e.out = append(e.out, '{')
	for i, m := range sorted {
		if i > 0 {
			if m.name == sorted[i-1].name {
				return unwritable("two keys are both encoded as %s", words.Quote(m.name))
			}
			e.out = append(e.out, ',')
		}
		bad := e.text(m.name)
		if bad == nil {
			e.out = append(e.out, ':')
			elem.Set(v.MapIndex(m.key))
			bad = e.value(n.elem, elem)
		}
		if bad != nil {
			return bad.under(words.Member(m.name))
		}
	}
	e.out = append(e.out, '}')
	return nil
}

// keyText is the key of a map as the name of a property.
func keyText(n *node, k reflect.Value) (string, *writeError) {
	if n.kind == kindString {
		return k.String(), nil
	}
	var e encoder
	if bad := e.value(n, k); bad != nil {
		return "", bad
	}
	if s, ok := rawjson.String(e.out); ok {
		return s, nil
	}
	return string(e.out), nil
}

func (e *encoder) special(n *node, v reflect.Value) *writeError {
	switch n.kind {
	case kindBytes:
		e.out = append(e.out, '"')
		if v.Kind() == reflect.Array {
			v = addressable(v)
		}
		e.out = base64.StdEncoding.AppendEncode(e.out, v.Bytes())
		e.out = append(e.out, '"')
	case kindTime:
		t, _ := v.Interface().(time.Time)
		s := t.Format(time.RFC3339Nano)
		if !format.IsDateTime(s) {
			return unwritable("the time %s is not a date-time of RFC 3339", s)
		}
		return e.text(s)
	case kindDuration:
		return e.text(time.Duration(v.Int()).String())
	case kindText:
		m, ok := addressable(v).Addr().Interface().(encoding.TextMarshaler)
		if !ok {
			return e.foreign(v)
		}
		text, err := m.MarshalText()
		if err != nil {
			return unwritable("%s", short(err))
		}
		return e.text(string(text))
	}
	return nil
}

// foreign writes what has its own way of being written.
func (e *encoder) foreign(v reflect.Value) *writeError {
	if t := v.Type(); (t == rawType || t == valueType) && v.Len() == 0 {
		e.out = append(e.out, "null"...)
		return nil
	}
	out, err := jsonv2.Marshal(addressable(v).Addr().Interface(), jsonv2.Deterministic(true))
	if err != nil {
		var semantic *jsonv2.SemanticError
		if errors.As(err, &semantic) && semantic.Err == nil {
			return unwritable("%s", strings.TrimPrefix(err.Error(), "json: "))
		}
		return unwritable("%s", short(err))
	}
	e.out = append(e.out, out...)
	return nil
}
