package schema_test

import (
	"encoding/json"
	"fmt"

	"github.com/tenon-mcp/tenon/schema"
)

func ExampleFor() {
	type Forecast struct {
		City string `json:"city" doc:"where" schema:"minLength=1"`
		Days int    `json:"days" doc:"how far ahead" schema:"minimum=1,maximum=10,default=3"`
	}
	s, err := schema.For[Forecast]()
	if err != nil {
		panic(err)
	}
	fmt.Println(string(s))
	// Output:
	// {"type":"object","properties":{"city":{"type":"string","description":"where","minLength":1},"days":{"type":"integer","description":"how far ahead","default":3,"minimum":1,"maximum":10}},"required":["city"],"additionalProperties":false}
}

func ExamplePlan_Decode() {
	type Forecast struct {
		City string `json:"city"`
		Unit string `json:"unit" schema:"enum=celsius|fahrenheit,default=celsius"`
		Days int    `json:"days" schema:"minimum=1,maximum=10"`
	}
	plan, err := schema.Compile[Forecast]()
	if err != nil {
		panic(err)
	}
	var in Forecast
	fmt.Println(plan.Decode([]byte(`{"city":"Oslo","days":3}`), &in), in)
	fmt.Println(plan.Decode([]byte(`{"citty":"Oslo","days":11,"unit":"kelvin"}`), &in))
	// Output:
	// <nil> {Oslo celsius 3}
	// citty: unknown property; did you mean "city"?
	// days: must be at most 10
	// unit: the string "kelvin" is not allowed; use one of "celsius", "fahrenheit"
	// city: is required but missing; expected a string
}

func ExamplePlan_Append() {
	type Sum struct {
		Total float64  `json:"total"`
		Notes []string `json:"notes"`
	}
	plan, err := schema.Compile[Sum]()
	if err != nil {
		panic(err)
	}
	out, err := plan.Append(nil, &Sum{Total: 1.5})
	fmt.Println(string(out), err)
	// Output:
	// {"total":1.5,"notes":[]} <nil>
}

func ExampleApplyDefaults() {
	form := json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"},"size":{"type":"string","default":"M"}}}`)
	fmt.Println(string(schema.ApplyDefaults(form, json.RawMessage(`{"name":"Ann"}`))))
	// Output:
	// {"name":"Ann","size":"M"}
}

func ExampleHeaders() {
	headers, err := schema.Headers(json.RawMessage(`{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}`))
	fmt.Println(headers, err)
	// Output:
	// [{Region [region] string}] <nil>
}
