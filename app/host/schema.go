package host

import (
	"bytes"
	"encoding/json"
)

// cleanSchema removes hidden characters and secrets from the texts of a schema. A
// clean schema keeps its bytes, for the provider's cache.
func (h *Host) cleanSchema(schema json.RawMessage) json.RawMessage { return rewritten(schema, h.safe) }

// rewritten changes the texts in JSON. It returns the same bytes if none changes.
// Names of members stay: a call must spell them as the server does.
func rewritten(raw json.RawMessage, change func(string) string) json.RawMessage {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil {
		return raw // its user reports the error
	}
	changed := false
	v = rewrite(v, change, &changed)
	if !changed {
		return raw
	}
	out, err := json.Marshal(v)
	if err != nil {
		return raw
	}
	return out
}

func rewrite(v any, change func(string) string, changed *bool) any {
	switch v := v.(type) {
	case string:
		after := change(v)
		*changed = *changed || after != v
		return after
	case []any:
		for i := range v {
			v[i] = rewrite(v[i], change, changed)
		}
	case map[string]any:
		for name := range v {
			v[name] = rewrite(v[name], change, changed)
		}
	}
	return v
}
