package args

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/tenon-mcp/tenon/mcp"
)

// typesOf returns the types that a schema allows; nil means any.
func typesOf(schema json.RawMessage) []string {
	var s struct {
		Type  json.RawMessage   `json:"type"`
		Enum  []json.RawMessage `json:"enum"`
		Const json.RawMessage   `json:"const"`
		AnyOf []json.RawMessage `json:"anyOf"`
		OneOf []json.RawMessage `json:"oneOf"`
	}
	if mcp.Unmarshal(schema, &s) != nil {
		return nil
	}
	var one string
	var some []string
	switch {
	case mcp.Unmarshal(s.Type, &one) == nil && one != "":
		return []string{one}
	case mcp.Unmarshal(s.Type, &some) == nil && len(some) > 0:
		return some
	}
	if s.Const != nil {
		s.Enum = append(s.Enum, s.Const)
	}
	for _, v := range s.Enum {
		some = append(some, typeOf(v))
	}
	for _, alternative := range append(s.AnyOf, s.OneOf...) {
		types := typesOf(alternative)
		if types == nil {
			return nil
		}
		some = append(some, types...)
	}
	slices.Sort(some)
	return slices.Compact(some)
}

func typeOf(v json.RawMessage) string {
	switch v[0] {
	case '"':
		return "string"
	case '{':
		return "object"
	case '[':
		return "array"
	case 't', 'f':
		return "boolean"
	case 'n':
		return "null"
	}
	return "number"
}

// resolve follows references within the schema and copies the definitions, for
// references further inside.
func resolve(from, schema json.RawMessage) json.RawMessage {
	for range 8 {
		var s struct {
			Ref string `json:"$ref"`
		}
		name, ok := "", false
		if mcp.Unmarshal(schema, &s) == nil {
			if name, ok = strings.CutPrefix(s.Ref, "#/$defs/"); !ok {
				name, ok = strings.CutPrefix(s.Ref, "#/definitions/")
			}
		}
		if !ok {
			break
		}
		var root struct {
			Defs        map[string]json.RawMessage `json:"$defs"`
			Definitions map[string]json.RawMessage `json:"definitions"`
		}
		if mcp.Unmarshal(from, &root) != nil {
			break
		}
		if schema, ok = root.Defs[name]; !ok {
			schema = root.Definitions[name]
		}
	}
	return withDefinitions(from, schema)
}

func withDefinitions(from, schema json.RawMessage) json.RawMessage {
	var outer, inner map[string]json.RawMessage
	if mcp.Unmarshal(from, &outer) != nil || mcp.Unmarshal(schema, &inner) != nil || inner == nil {
		return schema
	}
	added := false
	for _, key := range []string{"$defs", "definitions"} {
		if defs, ok := outer[key]; ok && inner[key] == nil {
			inner[key], added = defs, true
		}
	}
	if !added {
		return schema
	}
	whole, err := json.Marshal(inner)
	if err != nil {
		return schema
	}
	return whole
}
