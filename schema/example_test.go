package schema_test

import (
	"encoding/json"
	"fmt"
	"time"

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

// The keywords for numbers, and const, which tells the members of a union apart.
func ExamplePlan_Decode_numbers() {
	type Circle struct {
		Kind   string  `json:"kind" schema:"const=circle"`
		Radius float64 `json:"radius" schema:"exclusiveMinimum=0,exclusiveMaximum=100"`
		Turn   int     `json:"turn,omitzero" doc:"in degrees" schema:"multipleOf=15"`
	}
	plan, err := schema.Compile[Circle]()
	if err != nil {
		panic(err)
	}
	var in Circle
	fmt.Println(plan.Decode([]byte(`{"kind":"circle","radius":2.5,"turn":30}`), &in), in)
	fmt.Println(plan.Decode([]byte(`{"kind":"square","radius":0,"turn":40}`), &in))
	// Output:
	// <nil> {circle 2.5 30}
	// kind: must be "circle", got the string "square"
	// radius: must be more than 0
	// turn: must be a multiple of 15
}

// A Plan checks what it wrote against the rules of the tags.
func ExamplePlan_Check() {
	type Order struct {
		Size string `json:"size" schema:"enum=small|large"`
	}
	plan, err := schema.Compile[Order]()
	if err != nil {
		panic(err)
	}
	out, err := plan.Append(nil, &Order{Size: "huge"})
	fmt.Println(string(out), err)
	fmt.Println(plan.Check(out))
	// Output:
	// {"size":"huge"} <nil>
	// size: the string "huge" is not allowed; use one of "small", "large"
}

func ExampleMarshal() {
	out, err := schema.Marshal(map[string]any{"wait": 90 * time.Second, "tries": 3})
	fmt.Println(string(out), err)
	// Output:
	// {"tries":3,"wait":"1m30s"} <nil>
}

func ExampleUnmarshal() {
	var out struct {
		Wait time.Duration `json:"wait"`
		Note string        `json:"note"`
	}
	err := schema.Unmarshal([]byte(`{"wait":"1m30s","note":null,"more":1}`), &out)
	fmt.Println(out.Wait, err)
	// Output:
	// 1m30s <nil>
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
