package mcp

import "testing"

// A form that is accepted is written as a schema that is accepted as the same
// form, and a response that was completed is valid.
func FuzzForm(f *testing.F) {
	f.Add([]byte(`{"type":"object","properties":{"n":{"type":"integer","minimum":1,"maximum":9,"default":3},"s":{"type":"string","format":"email"},"e":{"type":"string","enum":["a","b"]},"m":{"type":"array","items":{"enum":["x","y"],"type":"string"}},"b":{"type":"boolean"}},"required":["n"]}`), []byte(`{"n":2,"e":"a"}`))
	f.Add([]byte(`{"type":"object","properties":{"o":{"type":"string","oneOf":[{"const":"a","title":"A"}],"default":"a"}}}`), []byte(`{}`))
	f.Fuzz(func(t *testing.T, schema, response []byte) {
		form, err := ParseForm(schema)
		if err != nil {
			return
		}
		text, err := Marshal(form)
		if err != nil {
			t.Fatalf("%s is accepted, but cannot be written: %v", schema, err)
		}
		again, err := ParseForm(text)
		if err != nil {
			t.Fatalf("%s is written as %s, which is not accepted: %v", schema, text, err)
		}
		if len(again.Fields) != len(form.Fields) {
			t.Fatalf("%s is written as %s, with other fields", schema, text)
		}
		content, err := form.Complete(response)
		if err != nil {
			return
		}
		first, second := form.CheckResponse(content), again.CheckResponse(content)
		if (first == nil) != (second == nil) {
			t.Fatalf("%s: response %s: %v; for the form as written, %s: %v", schema, content, first, text, second)
		}
	})
}
