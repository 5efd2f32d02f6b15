package mcp_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/internal/spectest"
	"github.com/tenon-mcp/tenon/mcp"
)

// One form with every kind of field, and how it is written.
var (
	everyField = mcp.Form{Fields: []mcp.FormField{
		{Name: "z_text", Required: true, Type: mcp.FieldString, Title: "T", Description: "D", MinLength: ptr(0), MaxLength: ptr(9), Format: "uri", Default: ""},
		{Name: "num", Type: mcp.FieldNumber, Minimum: ptr(-0.5), Maximum: ptr(2.0), Default: 0.0},
		{Name: "int", Required: true, Type: mcp.FieldInteger, Minimum: ptr(1.0), Default: 3.0},
		{Name: "yes", Type: mcp.FieldBoolean, Default: false},
		{Name: "one", Type: mcp.FieldString, Options: []mcp.Option{{Value: "a"}, {Value: "b"}}, Default: "b"},
		{Name: "one_titled", Type: mcp.FieldString, Options: []mcp.Option{{Value: "a", Title: "A"}, {Value: "b", Title: "B"}}},
		{Name: "one_legacy", Type: mcp.FieldString, Options: []mcp.Option{{Value: "a", Title: "A"}, {Value: "b", Title: "B"}}, EnumNames: true, Default: "a"},
		{Name: "many", Type: mcp.FieldChoices, Options: []mcp.Option{{Value: "a"}, {Value: "b"}}, MinItems: ptr(0), MaxItems: ptr(2), Default: []string{"a"}},
		{Name: "many_titled", Type: mcp.FieldChoices, Options: []mcp.Option{{Value: "a", Title: "A"}}, Default: []string{}},
	}}
	everyFieldWire = `{"type":"object","properties":{` +
		`"z_text":{"type":"string","title":"T","description":"D","minLength":0,"maxLength":9,"format":"uri","default":""},` +
		`"num":{"type":"number","minimum":-0.5,"maximum":2,"default":0},` +
		`"int":{"type":"integer","minimum":1,"default":3},` +
		`"yes":{"type":"boolean","default":false},` +
		`"one":{"type":"string","enum":["a","b"],"default":"b"},` +
		`"one_titled":{"type":"string","oneOf":[{"const":"a","title":"A"},{"const":"b","title":"B"}]},` +
		`"one_legacy":{"type":"string","enum":["a","b"],"enumNames":["A","B"],"default":"a"},` +
		`"many":{"type":"array","minItems":0,"maxItems":2,"items":{"type":"string","enum":["a","b"]},"default":["a"]},` +
		`"many_titled":{"type":"array","items":{"anyOf":[{"const":"a","title":"A"}]},"default":[]}` +
		`},"required":["z_text","int"]}`
)

func TestFormRoundTrip(t *testing.T) {
	raw, err := everyField.Schema()
	if err != nil {
		t.Fatal(err)
	}
	if string(raw) != everyFieldWire {
		t.Errorf("wrote %s\nwant  %s", raw, everyFieldWire)
	}
	form, err := mcp.ParseForm(raw)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(*form, everyField) {
		t.Errorf("read %+v\nwant %+v", *form, everyField)
	}
	old, err := json.Marshal(everyField)
	if err != nil || !sameJSON(t, old, raw) {
		t.Errorf("encoding/json wrote %s, %v", old, err)
	}
	if raw, err := (mcp.Form{}).Schema(); err != nil || string(raw) != `{"type":"object","properties":{}}` {
		t.Errorf("empty form: %s %v", raw, err)
	}
}

func TestFormIsValidByTheSpecification(t *testing.T) {
	spec := spectest.Load(t)
	raw, err := mcp.Marshal(mcp.ElicitParams{Message: "m", RequestedSchema: json.RawMessage(everyFieldWire)})
	if err != nil {
		t.Fatal(err)
	}
	for _, rev := range []mcp.Revision{mcp.Rev20260728, mcp.Rev20251125} {
		if err := spec.ValidateType(rev, "ElicitRequestFormParams", raw); err != nil {
			t.Error(err)
		}
	}
}

func TestParseFormErrors(t *testing.T) {
	field := func(s string) string { return `{"type":"object","properties":{"f":` + s + `}}` }
	var many, options []string
	for i := range 1001 {
		many = append(many, fmt.Sprintf(`"f%d":{"type":"boolean"}`, i))
		options = append(options, fmt.Sprintf(`"%d"`, i))
	}
	tests := []struct {
		name, schema string
		want         string // part of the error; empty means good
	}{
		{"other keywords", `{"$schema":"x","type":"object","additionalProperties":false,"properties":{"f":{"type":"string","pattern":"^a","x-order":1}}}`, ""},
		{"a hundred fields", `{"type":"object","properties":{` + strings.Join(many[:100], ",") + `}}`, ""},
		{"a name with a slash", `{"type":"object","properties":{"a/b":{"type":"null"}}}`, `field "a/b": type "null" is not allowed`},

		{"nothing", ``, "missing"},
		{"null", `null`, "object schema"},
		{"not an object", `[]`, "expected an object, found an array"},
		{"not JSON", `{"type"`, "not valid JSON"},
		{"no type", `{"properties":{}}`, `type: expected "object"`},
		{"no properties", `{"type":"object"}`, "properties: expected an object"},
		{"properties is an array", `{"type":"object","properties":[]}`, "properties: expected an object"},
		{"required is unknown", `{"type":"object","properties":{},"required":["x"]}`, `required: "x" is required, but no field`},
		{"combined", `{"type":"object","properties":{},"allOf":[]}`, "allOf: not allowed"},
		{"reference", `{"type":"object","properties":{},"$ref":"#"}`, "flat list"},
		{"name twice", `{"type":"object","properties":{"f":{"type":"boolean"},"f":{"type":"string"}}}`, "duplicate name"},
		{"101 fields", `{"type":"object","properties":{` + strings.Join(many[:101], ",") + `}}`, "at most 100 fields"},
		{"1001 options", field(`{"type":"string","enum":[` + strings.Join(options, ",") + `]}`), "at most 1000 options"},
		{"too large", field(`{"type":"string","description":"` + strings.Repeat("x", 256<<10) + `"}`), "bytes"},

		{"nested object", field(`{"type":"object","properties":{}}`), "properties is not allowed"},
		{"object type", field(`{"type":"object"}`), `type "object" is not allowed`},
		{"no field type", field(`{}`), `type "" is not allowed`},
		{"several types", field(`{"type":["string","null"]}`), "properties.f.type: expected a string, found an array"},
		{"field is true", field(`true`), "properties.f: expected an object, found true or false"},
		{"field with a reference", field(`{"type":"string","$ref":"#/x"}`), "$ref is not allowed"},
		{"any of types", field(`{"anyOf":[{"type":"string"}]}`), "anyOf is not allowed"},
		{"array of anything", field(`{"type":"array"}`), "must be a list of options"},
		{"array of numbers", field(`{"type":"array","items":{"type":"number"}}`), "must be a list of options"},
		{"array of free text", field(`{"type":"array","items":{"type":"string"}}`), "needs options"},
		{"array with its options outside", field(`{"type":"array","enum":["a"],"items":{"enum":["a"]}}`), "belong in its items"},
		{"items of a string", field(`{"type":"string","items":{"enum":["a"]}}`), "to arrays only"},
		{"empty enum", field(`{"type":"string","enum":[]}`), "empty"},
		{"enum of numbers", field(`{"type":"string","enum":[1]}`), "properties.f.enum[0]: expected a string, found a number"},
		{"enum of a number", field(`{"type":"number","enum":["1"]}`), "options apply to strings"},
		{"two lists", field(`{"type":"string","enum":["a"],"oneOf":[{"const":"a","title":"A"}]}`), "given twice"},
		{"names do not match", field(`{"type":"string","enum":["a"],"enumNames":["A","B"]}`), "2 names for 1 options"},
		{"names without options", field(`{"type":"string","enumNames":["A"]}`), "1 names for 0 options"},
		{"unknown format", field(`{"type":"string","format":"password"}`), `format "password" is not allowed`},
		{"length of a number", field(`{"type":"number","minLength":1}`), "to text only"},
		{"minimum of a string", field(`{"type":"string","minimum":1}`), "to numbers only"},
		{"items count of a string", field(`{"type":"string","minItems":1}`), "to arrays only"},
		{"upside down", field(`{"type":"integer","minimum":2,"maximum":1}`), "greater than the maximum"},
		{"default of another type", field(`{"type":"boolean","default":"yes"}`), `field "f": default: expected true or false`},
		{"default not offered", field(`{"type":"string","enum":["a"],"default":"b"}`), "not one of the options"},
		{"default with a fraction", field(`{"type":"integer","default":1.5}`), "an integer"},
		{"default list not offered", field(`{"type":"array","items":{"enum":["a"]},"default":["b"]}`), "not one of the options"},
		{"default list of numbers", field(`{"type":"array","items":{"enum":["a"]},"default":[1]}`), "array of strings"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := mcp.ParseForm(json.RawMessage(tt.schema))
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}

func TestFormThatCannotBeWritten(t *testing.T) {
	for want, fields := range map[string][]mcp.FormField{
		"field 0 has no name":                      {{Type: mcp.FieldBoolean}},
		`two fields have the name "a"`:             {{Name: "a", Type: mcp.FieldBoolean}, {Name: "a", Type: mcp.FieldBoolean}},
		`type "" is not allowed`:                   {{Name: "a"}},
		"default":                                  {{Name: "a", Type: mcp.FieldInteger, Default: "x"}},
		"default: Go type func() has no JSON form": {{Name: "a", Type: mcp.FieldInteger, Default: func() {}}},
	} {
		if raw, err := (mcp.Form{Fields: fields}).Schema(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("wrote %s, error %v, want %s", raw, err, want)
		}
	}
	if _, err := (mcp.Form{Fields: []mcp.FormField{{Name: "n", Type: mcp.FieldInteger, Default: 7}}}).Schema(); err != nil {
		t.Errorf("a Go int is a good default: %v", err)
	}
}

func TestFormComplete(t *testing.T) {
	for content, want := range map[string]string{
		``:                       `{"int":3,"many":["a"],"many_titled":[],"num":0,"one":"b","one_legacy":"a","yes":false,"z_text":""}`,
		`{"int":5,"extra":null}`: `{"extra":null,"int":5,"many":["a"],"many_titled":[],"num":0,"one":"b","one_legacy":"a","yes":false,"z_text":""}`,
	} {
		got, err := everyField.Complete(json.RawMessage(content))
		if content == "" {
			got, err = everyField.Complete(nil)
		}
		if err != nil || string(got) != want {
			t.Errorf("%s: %s %v", content, got, err)
		}
	}
	if _, err := everyField.Complete(json.RawMessage(`[]`)); err == nil {
		t.Error("an array was completed")
	}
}

func TestFormCheckAnswer(t *testing.T) {
	form := mcp.Form{Fields: []mcp.FormField{
		{Name: "name", Type: mcp.FieldString, Required: true, MinLength: ptr(2), MaxLength: ptr(3)},
		{Name: "mail", Type: mcp.FieldString, Format: "email"},
		{Name: "day", Type: mcp.FieldString, Format: "date"},
		{Name: "at", Type: mcp.FieldString, Format: "date-time"},
		{Name: "link", Type: mcp.FieldString, Format: "uri"},
		{Name: "n", Type: mcp.FieldInteger, Minimum: ptr(1.0), Maximum: ptr(5.0)},
		{Name: "ok", Type: mcp.FieldBoolean},
		{Name: "c", Type: mcp.FieldString, Options: []mcp.Option{{Value: "a"}}},
		{Name: "cs", Type: mcp.FieldChoices, Options: []mcp.Option{{Value: "a"}, {Value: "b"}}, MinItems: ptr(1), MaxItems: ptr(1)},
	}}
	tests := []struct{ content, want string }{
		{`{"name":"éüö","mail":"a@b.c","day":"2026-01-31","at":"2026-01-31T10:00:00Z","link":"urn:x","n":5,"ok":true,"c":"a","cs":["b"]}`, ""},
		{`{}`, "name: missing"},
		{`{"name":"x"}`, "name: expected at least 2 characters"},
		{`{"name":"wxyz"}`, "name: expected at most 3 characters"},
		{`{"name":5,"zz":1,"n":"1"}`, "name: expected a string\nn: expected a number\nzz: the form has no such field"},
		{`{"name":"xy","mail":"nobody"}`, `mail: expected text of the format "email"`},
		{`{"name":"xy","mail":"Me <a@b.c>"}`, `mail: expected text of the format "email"`},
		{`{"name":"xy","mail":"a@b..c"}`, `mail: expected text of the format "email"`},
		{`{"name":"xy","mail":"@b.c"}`, `mail: expected text of the format "email"`},
		{`{"name":"xy","day":"31.1.2026"}`, `day: expected text of the format "date"`},
		{`{"name":"xy","at":"2026-01-31"}`, `at: expected text of the format "date-time"`},
		{`{"name":"xy","link":"nowhere"}`, `link: expected text of the format "uri"`},
		{`{"name":"xy","n":0}`, "n: expected at least 1"},
		{`{"name":"xy","n":6}`, "n: expected at most 5"},
		{`{"name":"xy","n":1.5}`, "n: expected an integer"},
		{`{"name":"xy","ok":"true"}`, "ok: expected true or false"},
		{`{"name":"xy","c":"z"}`, `c: "z" is not one of the options`},
		{`{"name":"xy","cs":[]}`, "cs: choose at least 1"},
		{`{"name":"xy","cs":["a","b"]}`, "cs: choose at most 1"},
		{`{"name":"xy","cs":"a"}`, "cs: expected an array of options"},
		{`{"name":"xy","cs":[1]}`, "cs: expected an array of strings"},
		{`[]`, "expected an object, found an array"},
	}
	for _, tt := range tests {
		got := ""
		if err := form.CheckResponse(json.RawMessage(tt.content)); err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("%s\ngot  %s\nwant %s", tt.content, got, tt.want)
		}
	}
}

func TestElicitParamsCheck(t *testing.T) {
	good := json.RawMessage(`{"type":"object","properties":{}}`)
	tests := []struct {
		params mcp.ElicitParams
		want   string
	}{
		{mcp.ElicitParams{RequestedSchema: good}, ""},
		{mcp.ElicitParams{Mode: mcp.ModeForm, RequestedSchema: good}, ""},
		{mcp.ElicitParams{}, "requestedSchema: missing"},
		{mcp.ElicitParams{Mode: mcp.ModeURL, URL: "https://example.com/x"}, ""},
		{mcp.ElicitParams{Mode: mcp.ModeURL, URL: "http://localhost:1/x"}, ""},
		{mcp.ElicitParams{Mode: mcp.ModeURL}, "url: missing"},
		{mcp.ElicitParams{Mode: mcp.ModeURL, URL: "javascript:alert(1)"}, "does not begin with http or https"},
		{mcp.ElicitParams{Mode: mcp.ModeURL, URL: "https:///x"}, "has no host"},
		{mcp.ElicitParams{Mode: mcp.ModeURL, URL: "https://a b/"}, "is not a URL"},
		{mcp.ElicitParams{Mode: "voice"}, `mode: "voice" is neither`},
	}
	for _, tt := range tests {
		err := tt.params.Check()
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%+v: %v", tt.params, err)
		}
	}
}
