package spec

import (
	"encoding/json"

	"github.com/tenon-mcp/tenon/mcp"
)

// Schema returns the JSON Schema of the format, with its short forms. It is
// published as docs/api.schema.json.
func Schema() (json.RawMessage, error) {
	p, err := plan()
	if err != nil {
		return nil, err
	}
	var root map[string]any
	if err := mcp.Unmarshal(p.Schema(), &root); err != nil {
		return nil, err
	}
	allowShort(root, "")
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["title"] = "An API as an MCP server"
	return json.MarshalIndent(root, "", " ")
}

// allowShort adds the short forms that normalize writes out to a schema.
func allowShort(v any, parent string) {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			allowShort(item, parent)
		}
	case map[string]any:
		props, _ := v["properties"].(map[string]any)
		for name, sub := range props {
			props[name] = shortForm(name, sub, props)
		}
		if props != nil && props["messages"] != nil {
			props["text"] = map[string]any{"type": "string", "description": "Instead of messages: the text of one message of the user"}
			delete(v, "required")
		}
		for name, sub := range v {
			allowShort(sub, name)
		}
	}
}

// shortForm returns the schema of a property with its short form.
func shortForm(name string, sub any, siblings map[string]any) any {
	s, ok := sub.(map[string]any)
	if !ok {
		return sub
	}
	either := func(other any) any {
		if _, done := s["anyOf"]; done {
			return sub
		}
		out := map[string]any{"anyOf": []any{other, sub}}
		if d := s["description"]; d != nil {
			out["description"] = d
		}
		return out
	}
	_, isArray := s["items"]
	switch {
	case (name == "auth" || name == "error" || name == "then") && isArray:
		return either(s["items"])
	case name == "status" && isArray:
		return either(s["items"])
	case (name == "request" || name == "lookup") && s["type"] == "object":
		return either(map[string]any{"type": "string", "description": "METHOD /path"})
	case name == "params" && s["type"] == "object" && siblings["token_url"] == nil:
		s["additionalProperties"] = map[string]any{"anyOf": []any{
			map[string]any{"type": "object", "properties": map[string]any{"required": map[string]any{"type": "boolean"}}},
			map[string]any{"type": "string", "pattern": `^(\$.+|string|integer|number|boolean|array|object)$`},
		}}
	case (name == "multipart" || name == "files") && s["type"] == "object":
		if of, _ := s["additionalProperties"].(map[string]any); of["type"] != "object" {
			break // the files of a case
		}
		s["additionalProperties"] = map[string]any{"anyOf": []any{map[string]any{"type": "string"}, s["additionalProperties"]}}
	}
	return s
}
