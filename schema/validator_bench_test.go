package schema_test

import (
	"encoding/json"
	"testing"

	"github.com/tenon-mcp/tenon/schema"
)

const orderSchema = `{"type":"object","properties":{
	"id":{"type":"string","minLength":1,"maxLength":64},
	"kind":{"type":"string","enum":["new","old"]},
	"count":{"type":"integer","minimum":0,"maximum":1000},
	"items":{"type":"array","minItems":1,"items":{"type":"object","properties":{
		"name":{"type":"string","minLength":1},
		"price":{"type":"number","minimum":0},
		"tags":{"type":"array","items":{"type":"string"}}},"required":["name","price"],"additionalProperties":false}},
	"labels":{"type":"object","additionalProperties":{"type":"integer"}}},
	"required":["id","kind","count","items"],"additionalProperties":false}`

func BenchmarkNewValidator(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := schema.NewValidator(json.RawMessage(orderSchema), nil); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkValidatorCheck(b *testing.B) {
	rows := []struct {
		name, schema, value string
		fits                bool
	}{
		{"fits", orderSchema, `{"id":"order-17","kind":"new","count":42,"items":[{"name":"one","price":1.5,"tags":["x","y"]},{"name":"two","price":2.25}],"labels":{"a":1}}`, true},
		{"does not fit", orderSchema, `{"idd":"x","kind":"newer","count":-1,"items":[]}`, false},
		{"counting steps", `{"type":"object","properties":{"a":{"$ref":"#"}}}`, `{"a":{"a":{"a":{}}}}`, true},
	}
	for _, row := range rows {
		b.Run(row.name, func(b *testing.B) {
			v := validator(b, row.schema, nil)
			b.ReportAllocs()
			for b.Loop() {
				if err := v.Check(json.RawMessage(row.value)); (err == nil) != row.fits {
					b.Fatal(err)
				}
			}
		})
	}
}
