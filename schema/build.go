package schema

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/tenon-mcp/tenon/internal/rawjson"
)

// A provider is a type that supplies its own schema.
type provider interface{ JSONSchema() json.RawMessage }

var (
	timeType     = reflect.TypeFor[time.Time]()
	durationType = reflect.TypeFor[time.Duration]()
	numberType   = reflect.TypeFor[json.Number]()
	rawType      = reflect.TypeFor[json.RawMessage]()
	valueType    = reflect.TypeFor[jsontext.Value]()
	byteType     = reflect.TypeFor[byte]()

	providerType = reflect.TypeFor[provider]()
	textWriter   = reflect.TypeFor[encoding.TextMarshaler]()
	textReader   = reflect.TypeFor[encoding.TextUnmarshaler]()
	customTypes  = []reflect.Type{
		reflect.TypeFor[jsonv2.Marshaler](), reflect.TypeFor[jsonv2.MarshalerTo](),
		reflect.TypeFor[jsonv2.Unmarshaler](), reflect.TypeFor[jsonv2.UnmarshalerFrom](),
	}
)

// A builder creates the nodes of one type.
type builder struct {
	done        map[reflect.Type]*node // composite types without rules of a tag
	later       []func() error         // checks that need all nodes
	ruled       bool                   // a rule of a tag or of a supplied schema was applied
	unreadable  error                  // a type that can only be encoded, or nil
	unwritable  error                  // a type that can only be decoded, or nil
	foreignTags bool                   // ignore tags of other schema libraries
}

// build creates the nodes of t. The builder holds further results. Errors have
// the path from t to the problem.
func build(t reflect.Type) (*node, *builder, error) {
	b := &builder{done: map[reflect.Type]*node{}}
	n, err := b.build(t)
	return n, b, err
}

func (b *builder) build(t reflect.Type) (*node, error) {
	if t == nil {
		return nil, fmt.Errorf("schema: the type is nil")
	}
	n, err := b.node(t, nil, t.String())
	for i := 0; err == nil && i < len(b.later); i++ {
		err = b.later[i]()
	}
	if err != nil {
		return nil, &buildError{err}
	}
	for n.kind == kindPointer {
		n = n.elem
	}
	return n, nil
}

// under says where an error is.
func under(path string, err error) error { return fmt.Errorf("%s: %w", path, err) }

// node makes the node of t at a place, with the rules of the tag there.
func (b *builder) node(t reflect.Type, rules []rule, path string) (*node, error) {
	if t.Kind() == reflect.Pointer {
		elem, err := b.node(t.Elem(), rules, path)
		if err != nil {
			return nil, err
		}
		n := newNode(kindPointer, t)
		n.elem = elem
		return n, nil
	}
	if n := b.done[t]; n != nil && len(rules) == 0 {
		return n, nil
	}
	k, err := kindOf(t)
	if err != nil {
		return nil, under(path, err)
	}
	if k == kindText {
		b.oneWay(t, path)
	}
	n := newNode(k, t)
	if len(rules) == 0 || k == kindStruct {
		b.done[t] = n
	}
	rules, inner := splitRules(k, rules)
	switch k {
	case kindOwn:
		err = n.useOwn()
		if err != nil {
			err = under(path, err)
		}
	case kindStruct:
		err = b.structFields(n, path)
	case kindSlice, kindArray:
		n.elem, err = b.element(t.Elem(), inner, path+"[]")
	case kindMap:
		if n.key, err = b.key(t.Key(), path); err == nil {
			n.elem, err = b.element(t.Elem(), nil, path+"[]")
		}
	}
	if err != nil {
		return nil, err
	}
	for _, r := range rules {
		if err := n.apply(r); err != nil {
			return nil, under(path, err)
		}
	}
	if n.above != nil || n.below != nil {
		if err := n.checkRange(); err != nil {
			return nil, under(path, err)
		}
	}
	b.ruled = b.ruled || len(rules) > 0 || k == kindOwn
	return n, nil
}

// element is a node inside a slice or map, where a pointer cannot mean
// "left out" and so means "or null".
func (b *builder) element(t reflect.Type, rules []rule, path string) (*node, error) {
	n, err := b.node(t, rules, path)
	if err == nil && n.kind == kindPointer {
		n.nullable = true
	}
	return n, err
}

// key makes the node of a map's keys, which are strings in JSON.
func (b *builder) key(t reflect.Type, path string) (*node, error) {
	if k, err := kindOf(t); err == nil {
		switch k {
		case kindText:
			b.oneWay(t, path)
			return newNode(k, t), nil
		case kindString, kindInt, kindUint, kindTime, kindDuration:
			return newNode(k, t), nil
		}
	}
	return nil, under(path, fmt.Errorf("a map with keys of type %s has no JSON form; keys must be strings, integers or encoding.TextMarshalers", t))
}

// oneWay notes a type that is text in one direction only. Text is no value of
// the Go kind below it then, unless that is a string.
func (b *builder) oneWay(t reflect.Type, path string) {
	switch {
	case t.Kind() == reflect.String:
	case b.unreadable == nil && !implements(t, textReader):
		b.unreadable = &buildError{under(path, fmt.Errorf("the type %s has MarshalText and no UnmarshalText: it cannot be decoded", t))}
	case b.unwritable == nil && !implements(t, textWriter):
		b.unwritable = &buildError{under(path, fmt.Errorf("the type %s has UnmarshalText and no MarshalText: it cannot be encoded", t))}
	}
}

// splitRules keeps for a slice what is about a slice, and gives the rest to
// its items.
func splitRules(k kind, rules []rule) (own, inner []rule) {
	if k != kindSlice && k != kindArray {
		return rules, nil
	}
	for _, r := range rules {
		if strings.HasSuffix(r.key, "Items") {
			own = append(own, r)
		} else {
			inner = append(inner, r)
		}
	}
	return own, inner
}

// implements reports whether t or a pointer to it, which has the methods of
// both, implements one of the interfaces.
func implements(t reflect.Type, any ...reflect.Type) bool {
	p := reflect.PointerTo(t)
	if p.NumMethod() == 0 {
		return false
	}
	for _, i := range any {
		if p.Implements(i) {
			return true
		}
	}
	return false
}

func kindOf(t reflect.Type) (kind, error) {
	switch {
	case t.Kind() == reflect.Interface:
		if t.NumMethod() == 0 {
			return kindAny, nil
		}
		return 0, fmt.Errorf("the interface %s has no JSON form; use a concrete type, any or json.RawMessage", t)
	case implements(t, providerType):
		return kindOwn, nil
	case t == timeType:
		return kindTime, nil
	case t == durationType:
		return kindDuration, nil
	case t == rawType || t == valueType:
		return kindRaw, nil
	case t == numberType:
		return kindNumber, nil
	case implements(t, customTypes...):
		return kindAny, nil
	case implements(t, textWriter, textReader):
		return kindText, nil
	}
	switch t.Kind() {
	case reflect.Bool:
		return kindBool, nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return kindInt, nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return kindUint, nil
	case reflect.Float32, reflect.Float64:
		return kindFloat, nil
	case reflect.String:
		return kindString, nil
	case reflect.Struct:
		return kindStruct, nil
	case reflect.Slice, reflect.Array:
		if t.Elem() == byteType {
			return kindBytes, nil
		}
		if t.Kind() == reflect.Array {
			return kindArray, nil
		}
		return kindSlice, nil
	case reflect.Map:
		return kindMap, nil
	}
	return 0, fmt.Errorf("the type %s has no JSON form", t)
}

// useOwn asks the type for its schema.
func (n *node) useOwn() (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic in JSONSchema of a zero %s: %v", n.typ, p)
		}
	}()
	n.own = reflect.New(n.typ).Interface().(provider).JSONSchema()
	if n.check, err = NewValidator(n.own, nil); err != nil {
		return fmt.Errorf("invalid result of JSONSchema: %w", err)
	}
	n.own = rawjson.AppendCompact(nil, n.own)
	return nil
}

// foreignTag refuses a tag that other Go libraries read a schema from. To
// ignore it would lose what it says without a word.
func (b *builder) foreignTag(tag reflect.StructTag) error {
	for _, key := range []string{"jsonschema", "jsonschema_description", "jsonschema_extras"} {
		if _, ok := tag.Lookup(key); ok && !b.foreignTags {
			return fmt.Errorf("the tag %s belongs to another library and is not read: put the description into doc:\"…\" and the rules into schema:\"…\"", key)
		}
	}
	return nil
}

// fewFields is up to how many fields are found by comparing one after another.
const fewFields = 8

func (b *builder) structFields(n *node, path string) error {
	found, err := goFields(n.typ)
	if err != nil {
		return fmt.Errorf("%s.%w", path, err)
	}
	n.fields = make([]field, len(found))
	for i, g := range found {
		at := path + "." + g.Name
		f := &n.fields[i]
		if err := b.foreignTag(g.Tag); err != nil {
			return under(at, err)
		}
		f.name, f.index, f.omitEmpty, f.omitZero = g.name, g.index, g.omitEmpty, g.omitZero
		f.key = append(rawjson.AppendString(nil, g.name), ':')
		rules, err := parseTag(g.Tag.Get("schema"))
		if err != nil {
			return under(at, err)
		}
		rules, noted := takeNotes(rules)
		if f.node, err = b.node(g.Type, rules, at); err != nil {
			return err
		}
		f.notes.description = g.Tag.Get("doc")
		if err := f.note(noted); err != nil {
			return under(at, err)
		}
		f.optional = g.Type.Kind() == reflect.Pointer || g.omitEmpty || g.omitZero || g.viaPointer || f.notes.fallback != nil
		b.later = append(b.later, func() error { return f.checkNotes(at) })
	}
	if len(n.fields) > fewFields {
		n.byName = make(map[string]int, len(n.fields))
		for i := range n.fields {
			n.byName[n.fields[i].name] = i
		}
	}
	return nil
}
