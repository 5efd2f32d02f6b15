package toolschema

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/tenon-mcp/tenon/internal/rawjson"
)

var (
	mapsOfSchemas  = []string{"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"}
	listsOfSchemas = []string{"anyOf", "oneOf", "allOf", "prefixItems"}
	innerSchemas   = []string{"items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames", "unevaluatedItems", "unevaluatedProperties"}
	typeNames      = []string{"object", "array", "string", "number", "integer", "boolean", "null"}
)

// schema adapts one schema and all below it; refs are the references followed on
// the way to it.
func (a *adapter) schema(v any, refs []string, root bool) any {
	o, ok := v.(*object)
	if !ok {
		o = &object{}
		if is(v, "false") {
			o.describe("Must not be given.")
		}
		return o
	}
	defer a.leave()
	if !a.enter() {
		return &object{[]member{{"description", str("Nested further, in the same way.")}}}
	}
	o = o.copy()
	if ref := o.text("$ref"); ref != "" {
		target := a.resolve(ref)
		switch {
		case target == nil:
			o.remove("$ref")
			o.describe("Described by " + ref + ".")
		case a.rules.Inline:
			return a.inline(o, ref, target, refs, root)
		}
	}
	modernize(o)
	if a.rules.AnyOfOnly {
		a.onlyAnyOf(o)
	}
	if a.rules.OneType {
		oneType(o)
	}
	notes := a.filter(o)
	a.below(o, refs)
	if isArray(o) && !o.has("items") && !o.has("prefixItems") {
		o.set("items", &object{})
	}
	if root {
		a.rootNotes = append(a.rootNotes, notes...)
	} else {
		o.describe(notes...)
		if a.rules.NoEmpty && len(o.object("properties").copy().members) == 0 {
			o.remove("properties")
		}
	}
	return o
}

// below adapts the schemas inside a schema.
func (a *adapter) below(o *object, refs []string) {
	for i, m := range o.members {
		switch {
		case slices.Contains(mapsOfSchemas, m.name):
			if inner, ok := m.value.(*object); ok {
				inner = inner.copy()
				for j := range inner.members {
					inner.members[j].value = a.schema(inner.members[j].value, refs, false)
				}
				o.members[i].value = inner
			}
		case slices.Contains(listsOfSchemas, m.name):
			if list, ok := m.value.([]any); ok {
				list = slices.Clone(list)
				for j := range list {
					list[j] = a.schema(list[j], refs, false)
				}
				o.members[i].value = list
			}
		case slices.Contains(innerSchemas, m.name):
			if inner, ok := m.value.(*object); ok {
				o.members[i].value = a.schema(inner, refs, false)
			}
		}
	}
}

// inline replaces a reference by its target. It expands a recursive schema twice
// and then refers to it by name.
func (a *adapter) inline(o *object, ref string, target any, refs []string, root bool) any {
	o.remove("$ref")
	seen := 0
	for _, r := range refs {
		if r == ref {
			seen++
		}
	}
	if t, ok := target.(*object); ok && seen < 2 && len(refs) < 24 && a.left > 0 {
		merged := t.copy()
		for _, m := range o.members {
			merged.set(m.name, m.value)
		}
		return a.schema(merged, append(slices.Clone(refs), ref), root)
	}
	cut := &object{}
	if t, ok := target.(*object); ok && t.has("type") {
		cut.set("type", t.get("type"))
	}
	if o.has("description") {
		cut.set("description", o.get("description"))
	}
	cut.describe("Same form as " + ref[strings.LastIndexByte(ref, '/')+1:] + " above.")
	return a.schema(cut, refs, root)
}

// modernize converts keywords of older drafts to 2020-12, which providers expect.
func modernize(o *object) {
	if list, ok := o.get("items").([]any); ok {
		o.remove("items")
		o.set("prefixItems", list)
		if rest := o.remove("additionalItems"); rest != nil {
			o.set("items", rest)
		}
	}
	for _, k := range [][2]string{{"exclusiveMinimum", "minimum"}, {"exclusiveMaximum", "maximum"}} {
		switch {
		case is(o.get(k[0]), "true") && o.has(k[1]):
			o.set(k[0], o.remove(k[1]))
		case is(o.get(k[0]), "true"), is(o.get(k[0]), "false"):
			o.remove(k[0])
		}
	}
	if is(o.get("nullable"), "true") && o.text("type") != "" {
		o.set("type", []any{o.get("type"), str("null")})
	}
	o.remove("nullable")
	liftRequired(o)
	if t := o.text("type"); t != "" && !slices.Contains(typeNames, t) {
		o.remove("type")
		o.describe("Of type " + t + ".")
	}
	o.remove("$comment")
}

// liftRequired moves "required": true from properties (draft 3) to the object.
func liftRequired(o *object) {
	props := o.object("properties")
	required := o.strings("required")
	changed := false
	for i := range props.copy().members {
		p, ok := props.members[i].value.(*object)
		if !ok || !is(p.get("required"), "true") && !is(p.get("required"), "false") {
			continue
		}
		if name := props.members[i].name; is(p.get("required"), "true") && !slices.Contains(required, name) {
			required, changed = append(required, name), true
		}
	}
	if changed {
		o.setStrings("required", required)
	}
	if _, list := o.get("required").([]any); !list {
		o.remove("required")
	}
}

// filter removes unsupported keywords and returns sentences that replace them.
func (a *adapter) filter(o *object) []string {
	var notes []string
	supported := o.members[:0:0]
	rest := &object{}
	for _, m := range o.members {
		if a.supports(m, o) {
			supported = append(supported, m)
		} else if s, ok := sentencesFor(m, o); ok {
			notes = append(notes, s...)
		} else {
			rest.members = append(rest.members, m)
		}
	}
	o.members = supported
	return append(notes, rest.asNote("It")...)
}

func (a *adapter) supports(m member, o *object) bool {
	r := a.rules
	switch m.name {
	case "format":
		if r.Formats != nil && !slices.Contains(r.Formats, o.text("format")) {
			return false
		}
	case "pattern":
		if p := o.text("pattern"); r.Grammar && (!strings.HasPrefix(p, "^") || !strings.HasSuffix(p, "$")) {
			return false
		}
	case "minLength", "maxLength", "minItems", "maxItems":
		raw, _ := m.value.(jsontext.Value)
		if n, err := strconv.ParseFloat(string(raw), 64); r.Grammar && (err != nil || n > 500) {
			return false
		}
	case "enum":
		if r.Enums && len(o.strings("enum")) != len(o.list("enum")) {
			return false
		}
	case "items": // its meaning depends on prefixItems, and not all providers accept a boolean
		if _, ok := m.value.(*object); r.Keywords != nil && (!ok || o.has("prefixItems")) {
			return false
		}
	case "$defs", "definitions":
		if r.Inline {
			return false
		}
	}
	return r.Keywords == nil || slices.Contains(r.Keywords, m.name)
}

func isArray(o *object) bool {
	return o.text("type") == "array" || slices.Contains(o.strings("type"), "array")
}

func unescape(s string) string {
	if u, err := url.PathUnescape(s); err == nil {
		return u
	}
	return s
}

// quoted returns a value for a sentence.
func quoted(v any) string {
	raw := render(v)
	if s, ok := rawjson.String(raw); ok {
		return fmt.Sprintf("%q", s)
	}
	return string(raw)
}
