package schema_test

import (
	"encoding/json"
	"fmt"

	"github.com/tenon-mcp/tenon/schema"
)

func ExampleNewValidator() {
	v, err := schema.NewValidator(json.RawMessage(`{
		"type": "object",
		"properties": {"items": {"type": "array", "items": {"type": "string"}}},
		"required": ["items"]
	}`), nil)
	if err != nil {
		panic(err)
	}
	fmt.Println(v.Check(json.RawMessage(`{"items":["a",1]}`)))

	_, err = schema.NewValidator(json.RawMessage(`{"$ref":"https://example.com/other.json"}`), nil)
	fmt.Println(err)
	// Output:
	// items[1]: expected string, got number
	// the schema refers to "https://example.com/other.json", which is not in it: external references are never fetched
}
