package schema_test

import (
	"encoding/json"
	"testing"

	"github.com/tenon-mcp/tenon/schema"
)

func FuzzValidator(f *testing.F) {
	f.Add([]byte(`{"type":"object","properties":{"a":{"$ref":"#"}}}`), []byte(`{"a":{}}`))
	f.Add([]byte(doubling(30)), []byte(`1`))
	f.Add([]byte(`{"$id":"http://x/y","$defs":{"a":{"$anchor":"q"}},"$ref":"#q","enum":[1,"2"],"pattern":"^(a|b)*$"}`), []byte(`"ab"`))
	f.Add([]byte(`{"$schema":"http://json-schema.org/draft-07/schema#","items":[true,{"$ref":"#"}],"format":"email"}`), []byte(`[1,[2]]`))
	f.Add([]byte(`{"unevaluatedProperties":{"$dynamicRef":"#x"},"$dynamicAnchor":"x"}`), []byte(`{"a":{"b":1e9}}`))
	limits := &schema.Limits{Steps: 2000, Formats: true}
	f.Fuzz(func(t *testing.T, s, value []byte) {
		before := string(s)
		v, err := schema.NewValidator(json.RawMessage(s), limits)
		if string(s) != before {
			t.Fatal("the schema was changed")
		}
		if err == nil {
			if err := v.Check(value); err != nil && len(err.Error()) > 20*1000 {
				t.Fatalf("an error of %d bytes", len(err.Error()))
			}
		}
	})
}
