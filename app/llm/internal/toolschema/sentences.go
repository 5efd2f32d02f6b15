package toolschema

import "strings"

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
