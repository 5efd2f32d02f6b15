package validate

import (
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

const (
	orderSchema = `{"type":"object","properties":{
	"id":{"type":"string","minLength":1,"maxLength":64,"pattern":"^[a-z]+-[0-9]+$"},
	"kind":{"type":"string","enum":["new","old"]},
	"count":{"type":"integer","minimum":0,"maximum":1000},
	"items":{"type":"array","minItems":1,"items":{"$ref":"#/$defs/item"}},
	"labels":{"type":"object","additionalProperties":{"type":"integer"}},
	"pay":{"anyOf":[{"type":"null"},{"type":"object","properties":{"iban":{"type":"string"}},"required":["iban"]}]}},
	"required":["id","kind","count","items"],"additionalProperties":false,
	"$defs":{"item":{"type":"object","properties":{"name":{"type":"string","minLength":1},"price":{"type":"number","minimum":0},
	"tags":{"type":"array","items":{"type":"string"},"uniqueItems":true}},"required":["name","price"],"additionalProperties":false}}}`
	goodOrder = `{"id":"order-17","kind":"new","count":42,"items":[{"name":"one","price":1.5,"tags":["x","y"]},{"name":"two","price":2.25}],"labels":{"a":1},"pay":{"iban":"x"}}`
	badOrder  = `{"idd":"x","kind":"newer","count":-1,"items":[],"pay":1}`
)

func BenchmarkCompile(b *testing.B) {
	b.Run("ours", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := Compile([]byte(orderSchema), defaults()); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("oracle", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := oracle([]byte(orderSchema)); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// Both begin with bytes, which is what a message brings.
func BenchmarkCheck(b *testing.B) {
	ours, err := Compile([]byte(orderSchema), defaults())
	if err != nil {
		b.Fatal(err)
	}
	theirs, err := oracle([]byte(orderSchema))
	if err != nil {
		b.Fatal(err)
	}
	long := strings.Replace(goodOrder, `"items":[`, `"items":[`+strings.Repeat(`{"name":"one","price":1.5,"tags":["x","y"]},`, 1000), 1)
	for _, row := range []struct{ name, value string }{{"fits", goodOrder}, {"does not fit", badOrder}, {"long", long}} {
		b.Run(row.name+"/ours", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if problems, _ := ours.Check([]byte(row.value)); (problems == nil) == (row.name == "does not fit") {
					b.Fatal(problems)
				}
			}
		})
		b.Run(row.name+"/oracle", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				tree, _ := jsonschema.UnmarshalJSON(strings.NewReader(row.value))
				if err := theirs.Validate(tree); (err == nil) == (row.name == "does not fit") {
					b.Fatal(err)
				}
			}
		})
	}
}
