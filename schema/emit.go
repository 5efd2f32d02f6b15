package schema

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/tenon-mcp/tenon/internal/rawjson"
)

// For returns the JSON Schema of T; the package documentation has the rules.
// The output is deterministic.
func For[T any]() (json.RawMessage, error) { return Of(reflect.TypeFor[T]()) }

// Of is [For] for a type that is known only at run time.
func Of(t reflect.Type) (json.RawMessage, error) {
	n, _, err := build(t)
	if err != nil {
		return nil, err
	}
	return emit(n)
}

// An emitter writes the schema of a tree of nodes. Recursive types are written
// once, under $defs; the root refers to itself as "#".
type emitter struct {
	out   []byte
	root  *node
	names map[*node]string // the types that contain themselves
	defs  []*node          // in the order of their names
}

func emit(root *node) (json.RawMessage, error) {
	e := &emitter{root: root, names: map[*node]string{}}
	e.findRecursive(root, map[*node]bool{}, map[*node]bool{})
	e.object(root, nil)
	if hasHeader(root, map[*node]bool{}) {
		if _, err := Headers(e.out); err != nil {
			return nil, fmt.Errorf("schema: %s: %w", root.typ, err)
		}
	}
	return e.out, nil
}

// findRecursive names the nodes that can be reached from themselves by way of
// an open node.
func (e *emitter) findRecursive(n *node, open, done map[*node]bool) {
	if open[n] {
		if _, ok := e.names[n]; !ok {
			e.names[n] = "#"
			if n != e.root {
				e.names[n] = "#/$defs/" + e.freeName(n.typ)
				e.defs = append(e.defs, n)
			}
		}
		return
	}
	if done[n] {
		return
	}
	open[n] = true
	if n.elem != nil {
		e.findRecursive(n.elem, open, done)
	}
	for i := range n.fields {
		e.findRecursive(n.fields[i].node, open, done)
	}
	delete(open, n)
	done[n] = true
}

// freeName makes a name for $defs out of a type, such as Tree or List_int.
func (e *emitter) freeName(t reflect.Type) string {
	name := strings.Trim(strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' {
			return r
		}
		return '_'
	}, t.Name()), "_")
	taken := func(s string) bool {
		for _, d := range e.names {
			if d == "#/$defs/"+s {
				return true
			}
		}
		return false
	}
	free := name
	for i := 2; taken(free) || free == ""; i++ {
		free = fmt.Sprintf("%s%d", name, i)
	}
	return free
}

func hasHeader(n *node, done map[*node]bool) bool {
	if n == nil || done[n] {
		return false
	}
	done[n] = true
	for i := range n.fields {
		if n.fields[i].notes.header != "" || hasHeader(n.fields[i].node, done) {
			return true
		}
	}
	return hasHeader(n.elem, done)
}

// key begins a member of the object that is open.
func (e *emitter) key(name string) {
	if e.out[len(e.out)-1] != '{' {
		e.out = append(e.out, ',')
	}
	e.out = append(rawjson.AppendString(e.out, name), ':')
}

func (e *emitter) raw(name string, value string) {
	e.key(name)
	e.out = append(e.out, value...)
}

func (e *emitter) text(name, value string) {
	e.key(name)
	e.out = rawjson.AppendString(e.out, value)
}

func (e *emitter) list(name string, values []string) {
	e.raw(name, "["+strings.Join(values, ",")+"]")
}

// schema writes a node where it is used, with the notes of that place.
func (e *emitter) schema(n *node, notes *notes) {
	for n.kind == kindPointer && !n.nullable {
		n = n.elem
	}
	ref, recursive := e.names[n]
	switch {
	case recursive:
		e.out = append(e.out, '{')
		e.text("$ref", ref)
		e.notes(notes)
		e.out = append(e.out, '}')
	case n.kind == kindPointer:
		e.out = append(e.out, `{"anyOf":[`...)
		e.schema(n.elem, nil)
		e.out = append(e.out, `,{"type":"null"}]}`...)
	default:
		e.object(n, notes)
	}
}

// object writes the schema of a node itself.
func (e *emitter) object(n *node, notes *notes) {
	if n.kind == kindOwn {
		e.ownSchema(n, notes)
		return
	}
	e.out = append(e.out, '{')
	if t := typeName(n.kind); t != "" {
		e.text("type", t)
	}
	e.notes(notes)
	e.rules(n)
	switch n.kind {
	case kindStruct:
		e.properties(n)
	case kindMap:
		e.keys(n.key)
		if n.elem.kind != kindAny && n.elem.kind != kindRaw {
			e.key("additionalProperties")
			e.schema(n.elem, nil)
		}
	case kindSlice, kindArray:
		e.key("items")
		e.schema(n.elem, nil)
	}
	if n == e.root && len(e.defs) > 0 {
		e.key("$defs")
		e.out = append(e.out, '{')
		for _, d := range e.defs {
			e.key(strings.TrimPrefix(e.names[d], "#/$defs/"))
			e.object(d, nil)
		}
		e.out = append(e.out, '}')
	}
	e.out = append(e.out, '}')
}

// keys writes what the keys of a map must look like, unless any text will do.
func (e *emitter) keys(key *node) {
	var name, value string
	switch key.kind {
	case kindInt, kindUint:
		name, value = "pattern", integerKey(key).String()
	case kindTime:
		name, value = "format", key.format
	case kindDuration:
		name, value = "pattern", key.pattern.String()
	default:
		return
	}
	e.key("propertyNames")
	e.out = append(e.out, '{')
	e.text(name, value)
	e.out = append(e.out, '}')
}

// ownSchema writes a supplied schema, with the notes of the place that it does
// not have itself.
func (e *emitter) ownSchema(n *node, notes *notes) {
	if notes == nil || !rawjson.IsObject(n.own) {
		e.out = append(e.out, n.own...)
		return
	}
	start := len(e.out)
	e.out = append(e.out, '{')
	e.notes(notes)
	added := string(e.out[start:]) + "}"
	for m := rawjson.Object(n.own); m.Next(); {
		if rawjson.Lookup([]byte(added), string(m.Name)) == nil {
			e.raw(string(m.Name), string(m.Value))
		}
	}
	e.out = append(e.out, '}')
}

func typeName(k kind) string {
	switch k {
	case kindBool:
		return "boolean"
	case kindInt, kindUint:
		return "integer"
	case kindFloat, kindNumber:
		return "number"
	case kindString, kindText, kindBytes, kindTime, kindDuration:
		return "string"
	case kindStruct, kindMap:
		return "object"
	case kindSlice, kindArray:
		return "array"
	}
	return ""
}

func (e *emitter) notes(n *notes) {
	if n == nil {
		return
	}
	if n.title != "" {
		e.text("title", n.title)
	}
	if n.description != "" {
		e.text("description", n.description)
	}
	if n.header != "" {
		e.text("x-mcp-header", n.header)
	}
	if n.fallback != nil {
		e.raw("default", string(n.fallback))
	}
	if len(n.examples) > 0 {
		all := make([]string, len(n.examples))
		for i, x := range n.examples {
			all[i] = string(x)
		}
		e.list("examples", all)
	}
}

func (e *emitter) rules(n *node) {
	switch {
	case n.isConst:
		e.raw("const", n.enum[0])
	case n.enum != nil:
		e.list("enum", n.enum)
	}
	if n.minimum != "" {
		e.raw("minimum", n.minimum)
	}
	if n.maximum != "" {
		e.raw("maximum", n.maximum)
	}
	e.exact("exclusiveMinimum", n.above)
	e.exact("exclusiveMaximum", n.below)
	e.exact("multipleOf", n.multiple)
	if n.minLength > 0 {
		e.raw("minLength", fmt.Sprint(n.minLength))
	}
	if n.maxLength >= 0 {
		e.raw("maxLength", fmt.Sprint(n.maxLength))
	}
	if n.pattern != nil {
		e.text("pattern", n.pattern.String())
	}
	if n.format != "" {
		e.text("format", n.format)
	}
	if n.kind == kindBytes {
		e.text("contentEncoding", "base64")
	}
	if n.minItems > 0 {
		e.raw("minItems", fmt.Sprint(n.minItems))
	}
	if n.maxItems >= 0 {
		e.raw("maxItems", fmt.Sprint(n.maxItems))
	}
	if n.unique {
		e.raw("uniqueItems", "true")
	}
}

func (e *emitter) exact(name string, value *exact) {
	if value != nil {
		e.raw(name, value.text)
	}
}

func (e *emitter) properties(n *node) {
	var required []string
	if len(n.fields) > 0 {
		e.key("properties")
		e.out = append(e.out, '{')
		for i := range n.fields {
			f := &n.fields[i]
			e.key(f.name)
			e.schema(f.node, &f.notes)
			if !f.optional {
				required = append(required, string(f.key[:len(f.key)-1]))
			}
		}
		e.out = append(e.out, '}')
	}
	if len(required) > 0 {
		e.list("required", required)
	}
	e.raw("additionalProperties", "false")
}
