// Package toolschema adapts the JSON Schema of a tool's arguments to what a
// provider supports. Sentences in descriptions replace unsupported keywords.
package toolschema

import (
	"bytes"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/tenon-mcp/tenon/internal/rawjson"
)

// An object is a JSON object that preserves the order of its members, which
// matters to models and to prompt caches.
type object struct{ members []member }

type member struct {
	name  string
	value any // *object, []any, or jsontext.Value for everything else
}

// parse returns the tree of a valid JSON value.
func parse(raw []byte) any {
	switch {
	case rawjson.IsObject(raw):
		o := &object{}
		for m := rawjson.Object(raw); m.Next(); {
			o.members = append(o.members, member{string(m.Name), parse(m.Value)})
		}
		return o
	case rawjson.IsArray(raw):
		list := []any{}
		for e := rawjson.Array(raw); e.Next(); {
			list = append(list, parse(e.Value))
		}
		return list
	}
	return jsontext.Value(bytes.TrimSpace(raw))
}

// render returns the compact JSON of a tree.
func render(v any) []byte { return appendValue(nil, v) }

func appendValue(dst []byte, v any) []byte {
	switch v := v.(type) {
	case *object:
		dst = append(dst, '{')
		for i, m := range v.members {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(rawjson.AppendString(dst, m.name), ':')
			dst = appendValue(dst, m.value)
		}
		return append(dst, '}')
	case []any:
		dst = append(dst, '[')
		for i, e := range v {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendValue(dst, e)
		}
		return append(dst, ']')
	case jsontext.Value:
		return append(dst, v...)
	}
	return append(dst, "null"...)
}

func equal(a, b any) bool {
	return bytes.Equal(rawjson.AppendCanonical(nil, render(a)), rawjson.AppendCanonical(nil, render(b)))
}

func str(s string) jsontext.Value { return rawjson.AppendString(nil, s) }

func (o *object) get(name string) any {
	if i := o.index(name); i >= 0 {
		return o.members[i].value
	}
	return nil
}

func (o *object) index(name string) int {
	if o == nil {
		return -1
	}
	return slices.IndexFunc(o.members, func(m member) bool { return m.name == name })
}

func (o *object) has(name string) bool { return o.index(name) >= 0 }

func (o *object) set(name string, value any) {
	if i := o.index(name); i >= 0 {
		o.members[i].value = value
		return
	}
	o.members = append(o.members, member{name, value})
}

func (o *object) remove(name string) any {
	i := o.index(name)
	if i < 0 {
		return nil
	}
	v := o.members[i].value
	o.members = slices.Delete(o.members, i, i+1)
	return v
}

// copy returns a shallow copy.
func (o *object) copy() *object {
	if o == nil {
		return &object{}
	}
	return &object{slices.Clone(o.members)}
}

// text returns the string member with this name, or "".
func (o *object) text(name string) string {
	v, _ := o.get(name).(jsontext.Value)
	s, _ := rawjson.String(v)
	return s
}

// object returns the object member with this name, or nil.
func (o *object) object(name string) *object {
	v, _ := o.get(name).(*object)
	return v
}

func (o *object) list(name string) []any {
	v, _ := o.get(name).([]any)
	return v
}

// strings returns the strings in the list member with this name.
func (o *object) strings(name string) []string {
	var all []string
	for _, v := range o.list(name) {
		raw, _ := v.(jsontext.Value)
		if s, ok := rawjson.String(raw); ok {
			all = append(all, s)
		}
	}
	return all
}

func (o *object) setStrings(name string, values []string) {
	if len(values) == 0 {
		o.remove(name)
		return
	}
	list := make([]any, len(values))
	for i, s := range values {
		list[i] = str(s)
	}
	o.set(name, list)
}

// require adds names to the list of required properties.
func (o *object) require(names []string) {
	required := o.strings("required")
	for _, name := range names {
		if !slices.Contains(required, name) {
			required = append(required, name)
		}
	}
	o.setStrings("required", required)
}

// asNote returns a sentence with the schema o, or nothing if o is empty.
func (o *object) asNote(subject string) []string {
	if len(o.members) == 0 {
		return nil
	}
	return []string{subject + " must also match this JSON Schema: " + string(render(o))}
}

// describe adds sentences to the description.
func (o *object) describe(sentences ...string) {
	if len(sentences) == 0 {
		return
	}
	all := strings.Join(sentences, " ")
	if d := strings.TrimSpace(o.text("description")); d != "" {
		if !strings.HasSuffix(d, ".") && !strings.HasSuffix(d, "!") && !strings.HasSuffix(d, "?") {
			d += "."
		}
		all = d + " " + all
	}
	o.set("description", str(all))
}

func is(v any, literal string) bool {
	raw, ok := v.(jsontext.Value)
	return ok && string(raw) == literal
}

// sentences explain keywords to the model; %s is the value.
var sentences = map[string]string{
	"minimum":          "At least %s.",
	"maximum":          "At most %s.",
	"exclusiveMinimum": "More than %s.",
	"exclusiveMaximum": "Less than %s.",
	"multipleOf":       "A multiple of %s.",
	"minLength":        "At least %s characters.",
	"maxLength":        "At most %s characters.",
	"minItems":         "At least %s items.",
	"maxItems":         "At most %s items.",
	"minProperties":    "At least %s members.",
	"maxProperties":    "At most %s members.",
	"pattern":          "Must match the regular expression %s.",
	"format":           "Format: %s.",
	"default":          "Default: %s.",
	"const":            "Always %s.",
	"enum":             "One of: %s.",
	"examples":         "For example: %s.",
	"example":          "For example: %s.",
	"contentMediaType": "Content type: %s.",
	"contentEncoding":  "Encoded as %s.",
}

// ignored are keywords that do not help to write arguments.
var ignored = map[string]bool{
	"$schema": true, "$id": true, "id": true, "$anchor": true, "$dynamicAnchor": true, "$vocabulary": true,
	"$comment": true, "$defs": true, "definitions": true, "readOnly": true, "writeOnly": true, "propertyOrdering": true,
}

// sentencesFor explains a keyword. It returns false for one that needs a schema.
func sentencesFor(m member, o *object) ([]string, bool) {
	if ignored[m.name] || strings.HasPrefix(m.name, "x-") {
		return nil, true
	}
	switch m.name {
	case "title":
		if o.text("description") == "" && o.text("title") != "" {
			return []string{o.text("title") + "."}, true
		}
		return nil, true
	case "uniqueItems", "deprecated":
		if !is(m.value, "true") {
			return nil, true
		}
		return []string{map[string]string{"uniqueItems": "No item twice.", "deprecated": "Deprecated."}[m.name]}, true
	case "additionalProperties", "unevaluatedProperties":
		if is(m.value, "false") {
			return []string{"No other members."}, true
		}
		if inner, ok := m.value.(*object); !ok || len(inner.members) == 0 {
			return nil, true
		}
		return nil, false
	case "enum", "examples":
		var all []string
		for _, v := range o.list(m.name) {
			all = append(all, quoted(v))
		}
		return []string{strings.Replace(sentences[m.name], "%s", strings.Join(all, ", "), 1)}, true
	}
	if s, ok := sentences[m.name]; ok {
		return []string{strings.Replace(s, "%s", quoted(m.value), 1)}, true
	}
	return nil, false
}
