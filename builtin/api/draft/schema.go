package draft

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// maxDepth bounds the nesting of a parameter: deeper objects are described by
// their type alone.
const maxDepth = 4

// kept are the members of a schema that a tool's parameter keeps, in the order in
// which they are written.
var kept = []string{
	"type", "description", "enum", "const", "default", "format", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum",
	"multipleOf", "minLength", "maxLength", "pattern", "minItems", "maxItems", "uniqueItems", "items", "properties", "additionalProperties", "anyOf", "required",
}

// simplify returns a schema that stands alone and that every model provider
// accepts: without references, allOf, nullable, readOnly and discriminator.
func (d *document) simplify(v any, depth int, within []string) object {
	s, ref := d.resolve(v)
	if s == nil {
		return object{}
	}
	if ref != "" {
		if slices.Contains(within, ref) {
			return object{"type": "object", "description": "Nested as before: " + last(ref)}
		}
		within = append(slices.Clone(within), ref)
	}
	s = d.merged(s, within)
	out := object{}
	for _, k := range kept {
		if v, ok := s[k]; ok {
			out[k] = v
		}
	}
	bounds(s, out)
	if about := clean(text(s, "description"), 160); about != "" {
		out["description"] = about
	} else {
		delete(out, "description")
	}
	d.alternatives(s, out, depth, within)
	d.nested(s, out, depth, within)
	nullable(s, out)
	if p, ok := out["pattern"].(string); ok && !portable(p) {
		delete(out, "pattern")
	}
	return out
}

// last returns the name of a referenced schema.
func last(ref string) string { return ref[strings.LastIndexByte(ref, '/')+1:] }

// merged returns s with the members of its allOf.
func (d *document) merged(s object, within []string) object {
	parts := list(s, "allOf")
	if len(parts) == 0 {
		return s
	}
	out := object{}
	properties, required := object{}, []any{}
	add := func(o object) {
		for k, v := range o {
			switch k {
			case "allOf":
			case "properties":
				if p, ok := v.(object); ok {
					maps.Copy(properties, p)
				}
			case "required":
				if r, ok := v.([]any); ok {
					required = append(required, r...)
				}
			default:
				out[k] = v
			}
		}
	}
	for _, part := range parts {
		o, ref := d.resolve(part)
		if o == nil || ref != "" && slices.Contains(within, ref) {
			continue
		}
		if ref != "" {
			within = append(slices.Clone(within), ref)
		}
		add(d.merged(o, within))
	}
	add(s)
	if len(properties) > 0 {
		out["properties"] = properties
		if out["type"] == nil {
			out["type"] = "object"
		}
	}
	if len(required) > 0 {
		out["required"] = required
	}
	return out
}

// bounds turns the boolean bounds of OpenAPI 3.0 into numbers.
func bounds(s, out object) {
	for _, b := range [][2]string{{"exclusiveMinimum", "minimum"}, {"exclusiveMaximum", "maximum"}} {
		exclusive, ok := s[b[0]].(bool)
		if !ok {
			continue
		}
		delete(out, b[0])
		if exclusive && out[b[1]] != nil {
			out[b[0]] = out[b[1]]
			delete(out, b[1])
		}
	}
}

// alternatives turns oneOf and anyOf into types, if they are of plain types, or
// into a short anyOf.
func (d *document) alternatives(s, out object, depth int, within []string) {
	options := append(list(s, "oneOf"), list(s, "anyOf")...)
	delete(out, "anyOf")
	if len(options) == 0 {
		return
	}
	var types []any
	var all []any
	plain := true
	for _, o := range options {
		one := d.simplify(o, depth+1, within)
		if t, ok := one["type"].(string); ok && one["properties"] == nil && one["items"] == nil && one["enum"] == nil {
			if !slices.Contains(types, any(t)) {
				types = append(types, t)
			}
		} else if one["properties"] != nil || one["items"] != nil || one["enum"] != nil || one["anyOf"] != nil {
			plain = false
		} else {
			continue // only says what is required
		}
		all = append(all, one)
	}
	switch {
	case s["properties"] != nil || len(all) == 0:
	case plain && len(types) == 1:
		out["type"] = types[0]
	case plain:
		out["type"] = types
	case depth >= maxDepth || len(all) > 6:
		delete(out, "type")
		out["description"] = strings.TrimSpace(text(out, "description") + " (one of several forms)")
	case len(all) == 1:
		for k, v := range all[0].(object) {
			if out[k] == nil {
				out[k] = v
			}
		}
	default:
		delete(out, "type")
		d.discriminate(s, options, all)
		out["anyOf"] = all
	}
}

// discriminate fixes the member that tells the alternatives apart.
func (d *document) discriminate(s object, options, all []any) {
	by, _ := d.resolve(s["discriminator"])
	name := text(by, "propertyName")
	mapping, _ := by["mapping"].(object)
	if name == "" || len(options) != len(all) {
		return
	}
	for i, o := range options {
		_, ref := d.resolve(o)
		one, _ := all[i].(object)
		properties, _ := one["properties"].(object)
		if ref == "" || properties == nil {
			continue
		}
		value := last(ref)
		for _, k := range keys(mapping) {
			if mapping[k] == ref || mapping[k] == value {
				value = k
			}
		}
		properties[name] = object{"type": "string", "enum": []any{value}}
	}
}

// nested simplifies items and properties.
func (d *document) nested(s, out object, depth int, within []string) {
	if s["items"] != nil {
		out["items"] = d.simplify(s["items"], depth+1, within)
		if out["type"] == nil {
			out["type"] = "array"
		}
	}
	more, isSchema := s["additionalProperties"].(object)
	if isSchema && depth < maxDepth && len(more) > 0 {
		out["additionalProperties"] = d.simplify(more, depth+1, within)
	} else {
		delete(out, "additionalProperties")
	}
	properties, _ := s["properties"].(object)
	if len(properties) == 0 {
		delete(out, "properties")
		delete(out, "required")
		return
	}
	if out["type"] == nil {
		out["type"] = "object"
	}
	if depth >= maxDepth {
		delete(out, "properties")
		delete(out, "required")
		return
	}
	required := list(s, "required")
	inner, needed := object{}, []any{}
	for _, name := range keys(properties) {
		p, _ := d.resolve(properties[name])
		needs := slices.Contains(required, any(name))
		if p == nil || set(p, "readOnly") || set(p, "deprecated") && !needs {
			continue
		}
		inner[name] = d.simplify(properties[name], depth+1, within)
		if needs {
			needed = append(needed, name)
		}
	}
	out["properties"], out["required"] = inner, needed
	if len(needed) == 0 {
		delete(out, "required")
	}
}

// nullable turns nullable of OpenAPI 3.0 into the type null.
func nullable(s, out object) {
	if !set(s, "nullable") {
		return
	}
	if t, ok := out["type"].(string); ok {
		out["type"] = []any{t, "null"}
	}
	if e := list(out, "enum"); len(e) > 0 && !slices.Contains(e, nil) {
		out["enum"] = append(slices.Clone(e), nil)
	}
}

// portable reports whether a pattern means the same to Go and to ECMAScript.
func portable(p string) bool {
	_, err := regexp.Compile(p)
	return err == nil && !strings.Contains(p, `(?`) && !strings.Contains(p, `\p`)
}

var (
	link   = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	markup = regexp.MustCompile(`(?s)<[a-zA-Z/][^>]*>|\*\*|> \[!\w+\]|^#+ `)
	spaces = regexp.MustCompile(`\s+`)
)

// clean returns the first sentences of a description, without markup, in at most
// max bytes.
func clean(s string, max int) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n\n")
	s = link.ReplaceAllString(s, "$1")
	s = markup.ReplaceAllString(s, "")
	s = strings.TrimSpace(spaces.ReplaceAllString(s, " "))
	if len(s) <= max {
		return s
	}
	cut := s[:max]
	if i := strings.LastIndex(cut, ". "); i > max/3 {
		return cut[:i+1]
	}
	if i := strings.LastIndexByte(cut, ' '); i > 0 {
		cut = cut[:i]
	}
	return strings.ToValidUTF8(cut, "") + "…"
}

// same reports whether two schemas are equal.
func same(a, b object) bool { return fmt.Sprint(a) == fmt.Sprint(b) }
