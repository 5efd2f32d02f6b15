package toolschema

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// flatten merges the branches of oneOf, anyOf and allOf at the root into one
// object. It returns sentences that say which properties belong together.
func (a *adapter) flatten(top *object) []string {
	var notes []string
	for _, key := range []string{"allOf", "oneOf", "anyOf"} {
		branches, _ := top.remove(key).([]any)
		if len(branches) == 0 {
			continue
		}
		if key == "allOf" {
			notes = append(notes, a.mergeAll(top, branches)...)
			continue
		}
		notes = append(notes, a.mergeChoice(top, branches, key))
	}
	rest := &object{}
	for _, key := range []string{"not", "enum", "const", "if", "then", "else"} {
		if v := top.remove(key); v != nil {
			rest.set(key, v)
		}
	}
	return append(notes, rest.asNote("The arguments")...)
}

// mergeAll merges the branches of allOf into one object.
func (a *adapter) mergeAll(top *object, branches []any) []string {
	var notes []string
	defer a.leave()
	if !a.enter() {
		return nil // the schema contains itself
	}
	for _, v := range branches {
		b, ok := v.(*object)
		if !ok {
			continue
		}
		b = a.mergeProperties(top, b)
		rest := &object{}
		for _, m := range b.members {
			switch m.name {
			case "properties", "required", "type", "title", "$defs", "definitions", "additionalProperties":
			case "allOf":
				list, _ := m.value.([]any)
				notes = append(notes, a.mergeAll(top, list)...)
			case "oneOf", "anyOf":
				list, _ := m.value.([]any)
				notes = append(notes, a.mergeChoice(top, list, m.name))
			case "description":
				notes = append(notes, b.text("description"))
			default:
				rest.members = append(rest.members, m)
			}
		}
		notes = append(notes, rest.asNote("The arguments")...)
	}
	return notes
}

// mergeChoice merges the properties of the branches of oneOf or anyOf. Properties
// that all branches require stay required.
func (a *adapter) mergeChoice(top *object, branches []any, key string) string {
	var common []string
	var forms []string
	for i, v := range branches {
		b, _ := v.(*object)
		b = a.openRoot(b.copy())
		a.addProperties(top, b)
		of := b.strings("required")
		if i == 0 {
			common = of
		} else {
			common = slices.DeleteFunc(slices.Clone(common), func(n string) bool { return !slices.Contains(of, n) })
		}
		forms = append(forms, form(b))
	}
	top.require(common)
	how := "At least one"
	if key == "oneOf" {
		how = "Exactly one"
	}
	return how + " of these forms of arguments must be given: " + strings.Join(forms, " or ") + "."
}

// form describes a branch of oneOf or anyOf.
func form(b *object) string {
	required := b.strings("required")
	var names []string
	for _, m := range b.object("properties").copy().members {
		name := m.name
		p, _ := m.value.(*object)
		if v := p.get("const"); v != nil {
			name += " = " + quoted(v)
		} else if list := p.list("enum"); len(list) == 1 {
			name += " = " + quoted(list[0])
		}
		if !slices.Contains(required, m.name) {
			name += " (optional)"
		}
		names = append(names, name)
	}
	for _, r := range required {
		if !b.object("properties").has(r) {
			names = append(names, r)
		}
	}
	text := "{" + strings.Join(names, ", ") + "}"
	if d := strings.TrimRight(b.text("description"), ". "); d != "" {
		text += " (" + d + ")"
	} else if t := b.text("title"); t != "" {
		text += " (" + t + ")"
	}
	return text
}

// addProperties adds the properties of b to top. A property that has another
// schema already becomes an anyOf of both.
func (a *adapter) addProperties(top, b *object) {
	props := top.object("properties").copy()
	for _, m := range b.object("properties").copy().members {
		old := props.get(m.name)
		switch {
		case old == nil || is(old, "true"):
			props.set(m.name, m.value)
		case !equal(old, m.value):
			props.set(m.name, either(old, m.value))
		}
	}
	if len(props.members) > 0 {
		top.set("properties", props)
	}
}

func either(a, b any) any {
	if o, ok := a.(*object); ok && len(o.members) == 1 && o.has("anyOf") {
		if slices.ContainsFunc(o.list("anyOf"), func(v any) bool { return equal(v, b) }) {
			return a
		}
		return &object{[]member{{"anyOf", append(slices.Clone(o.list("anyOf")), b)}}}
	}
	return &object{[]member{{"anyOf", []any{a, b}}}}
}

// onlyAnyOf replaces oneOf, allOf and const.
func (a *adapter) onlyAnyOf(o *object) {
	if v := o.remove("const"); v != nil {
		o.set("enum", []any{v})
		if !o.has("type") {
			o.set("type", str(typeOf(v)))
		}
	}
	if all := o.list("allOf"); all != nil {
		o.remove("allOf")
		o.describe(a.mergeInto(o, all)...)
	}
	if list := o.list("oneOf"); list != nil {
		o.remove("oneOf")
		if o.has("anyOf") {
			o.describe("It must also match exactly one of these JSON Schemas: " + string(render(list)))
			return
		}
		o.set("anyOf", list)
		o.describe("Exactly one of the forms.")
	}
}

// mergeProperties adds the properties of a branch and its required names to o. It
// returns the branch with its reference replaced.
func (a *adapter) mergeProperties(o, branch *object) *object {
	b := a.openRoot(branch.copy())
	a.addProperties(o, b)
	o.require(b.strings("required"))
	return b
}

// mergeInto merges the branches of an allOf below the root into o. It returns
// sentences for keywords that conflict.
func (a *adapter) mergeInto(o *object, all []any) []string {
	var notes []string
	for _, v := range all {
		b, ok := v.(*object)
		if !ok {
			continue
		}
		b = a.mergeProperties(o, b)
		rest := &object{}
		for _, m := range b.members {
			switch {
			case m.name == "properties" || m.name == "required":
			case !o.has(m.name):
				o.set(m.name, m.value)
			case !equal(o.get(m.name), m.value) && m.name != "title" && m.name != "description":
				rest.members = append(rest.members, m)
			case m.name == "description" && o.text("description") != b.text("description"):
				notes = append(notes, b.text("description"))
			}
		}
		notes = append(notes, rest.asNote("It")...)
	}
	return notes
}

// oneType replaces a list of types by one type and nullable, or by anyOf.
func oneType(o *object) {
	list := o.strings("type")
	if o.list("type") == nil {
		return
	}
	types := slices.DeleteFunc(slices.Clone(list), func(t string) bool { return t == "null" })
	if len(types) < len(list) {
		o.set("nullable", jsontext.Value("true"))
	}
	switch {
	case len(types) == 0:
		o.remove("type")
	case len(types) == 1:
		o.set("type", str(types[0]))
	default:
		o.remove("type")
		if o.has("anyOf") {
			o.describe("One of the types " + strings.Join(types, ", ") + ".")
			return
		}
		var choices []any
		for _, t := range types {
			choices = append(choices, &object{[]member{{"type", str(t)}}})
		}
		o.set("anyOf", choices)
	}
}

func typeOf(v any) string {
	switch v := v.(type) {
	case *object:
		return "object"
	case []any:
		return "array"
	case jsontext.Value:
		switch v[0] {
		case '"':
			return "string"
		case 't', 'f':
			return "boolean"
		case 'n':
			return "null"
		}
	}
	return "number"
}
