package schema

import (
	"bytes"
	"encoding/json"

	"github.com/tenon-mcp/tenon/internal/rawjson"
)

// ApplyDefaults returns value with the defaults of the schema for absent
// properties, such as the fields of a form that the user did not fill in. It
// only considers the top-level properties of an object schema. Existing
// properties are unchanged; added ones follow in the order of the schema. If
// there is nothing to add, or if schema or value is not a strict JSON object,
// it returns value. An empty value counts as {}.
func ApplyDefaults(schema, value json.RawMessage) json.RawMessage {
	object := trim(value)
	if len(object) == 0 {
		object = []byte("{}")
	}
	if rawjson.Check(schema) != nil || rawjson.Check(object) != nil || !rawjson.IsObject(object) {
		return value
	}
	var added []byte
	for m := rawjson.Object(rawjson.Lookup(schema, "properties")); m.Next(); {
		fallback := rawjson.Lookup(m.Value, "default")
		if fallback == nil || rawjson.Lookup(object, string(m.Name)) != nil {
			continue
		}
		added = append(added, ',')
		added = append(rawjson.AppendString(added, string(m.Name)), ':')
		added = append(added, fallback...)
	}
	if added == nil {
		return value
	}
	end := bytes.LastIndexByte(object, '}')
	if members := rawjson.Object(object); !members.Next() {
		added = added[1:]
	}
	out := make([]byte, 0, len(object)+len(added))
	out = append(append(out, object[:end]...), added...)
	return append(out, object[end:]...)
}
