package llmtest

import (
	"fmt"
	"regexp"
	"slices"
)

var (
	idForm     = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)
	nameForm   = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
	namesTight = regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,64}$`)
)

func text(v any) string {
	s, _ := v.(string)
	return s
}

func list(v any) []any {
	l, _ := v.([]any)
	return l
}

// checkTools checks what all three APIs require of a tool: its name, a root that
// is an object and has no oneOf, anyOf or allOf, and items for arrays.
func checkTools(body map[string]any, take func(object) (string, any), properties *regexp.Regexp) string {
	seen := map[string]bool{}
	for i, v := range list(body["tools"]) {
		tool, _ := v.(object)
		name, schema := take(tool)
		at := fmt.Sprintf("tools.%d", i)
		if !nameForm.MatchString(name) || seen[name] {
			return at + ".name: must be unique and match ^[a-zA-Z0-9_-]{1,64}$"
		}
		seen[name] = true
		root, ok := schema.(object)
		if !ok || root["type"] != "object" {
			return at + ": the schema must have type 'object' at the top level"
		}
		for _, k := range []string{"oneOf", "anyOf", "allOf", "enum", "not"} {
			if root[k] != nil {
				return at + ": the schema may not have '" + k + "' at the top level"
			}
		}
		props, _ := root["properties"].(object)
		for name := range props {
			if properties != nil && !properties.MatchString(name) {
				return at + ".input_schema.properties: Property keys should match pattern"
			}
		}
		if hasBareArray(root) {
			return at + ": array schema missing items"
		}
	}
	return ""
}

func hasBareArray(v any) bool {
	switch v := v.(type) {
	case object:
		if v["type"] == "array" && v["items"] == nil && v["prefixItems"] == nil {
			return true
		}
		for name, inner := range v {
			if name != "default" && name != "enum" && name != "examples" && hasBareArray(inner) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, hasBareArray)
	}
	return false
}

func countMarks(v any) int {
	n := 0
	switch v := v.(type) {
	case object:
		if v["cache_control"] != nil {
			n++
		}
		for _, inner := range v {
			n += countMarks(inner)
		}
	case []any:
		for _, inner := range v {
			n += countMarks(inner)
		}
	}
	return n
}
