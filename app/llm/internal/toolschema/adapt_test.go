package toolschema

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/schema"
)

var (
	tight  = Rules{PlainRoot: true, Names: regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,64}$`)}
	openai = Rules{PlainRoot: true}
	gemini = Rules{
		PlainRoot: true, Inline: true, AnyOfOnly: true, OneType: true, Enums: true, NoEmpty: true, Formats: []string{"date-time"},
		Keywords: []string{"type", "format", "title", "description", "nullable", "enum", "items", "minItems", "maxItems", "properties", "required", "minLength", "maxLength", "pattern", "anyOf", "minimum", "maximum", "default"},
	}
	ollama  = Rules{PlainRoot: true, Inline: true, AnyOfOnly: true, Formats: []string{}, Keywords: []string{"type", "description", "enum", "items", "properties", "required", "anyOf"}}
	grammar = Rules{PlainRoot: true, Grammar: true}
)

func TestAdapt(t *testing.T) {
	for _, test := range []struct {
		name  string
		rules Rules
		in    string
		want  string
		note  string
	}{
		{"nothing to do", tight, `{"type":"object","properties":{"b":{"type":"string","format":"uri"},"a":{"$ref":"#/$defs/x"}},"$defs":{"x":{"type":"integer","minimum":1}},"additionalProperties":false}`,
			`{"type":"object","properties":{"b":{"type":"string","format":"uri"},"a":{"$ref":"#/$defs/x"}},"$defs":{"x":{"type":"integer","minimum":1}},"additionalProperties":false}`, ""},
		{"no schema", tight, ``, `{"type":"object","properties":{}}`, ""},
		{"not an object", tight, `true`, `{"type":"object","properties":{}}`, ""},
		{"not JSON", tight, `{"type":`, `{"type":"object","properties":{}}`, ""},
		{"root without a type", openai, `{"properties":{"a":true}}`, `{"type":"object","properties":{"a":{}}}`, ""},
		{"$schema goes", openai, `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{}}`, `{"type":"object","properties":{}}`, ""},
		{"root is a reference", openai, `{"$ref":"#/$defs/args","$defs":{"args":{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}}}`,
			`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"$defs":{"args":{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}}}`, ""},
		{"root is a choice", tight, `{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"],"oneOf":[{"properties":{"kind":{"const":"id"},"id":{"type":"string"}},"required":["kind","id"]},{"properties":{"kind":{"const":"all"},"deep":{"type":"boolean"}},"required":["kind"],"description":"Everything."}]}`,
			`{"type":"object","properties":{"n":{"type":"integer"},"kind":{"anyOf":[{"const":"id"},{"const":"all"}]},"id":{"type":"string"},"deep":{"type":"boolean"}},"required":["n","kind"]}`,
			`Exactly one of these forms of arguments must be given: {kind = "id", id} or {kind = "all", deep (optional)} (Everything).`},
		{"root is all of some", openai, `{"allOf":[{"properties":{"a":{"type":"string"}},"required":["a"]},{"properties":{"b":{"type":"string"}},"minProperties":2}]}`,
			`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"required":["a"]}`, `The arguments must also match this JSON Schema: {"minProperties":2}`},
		{"root says not", openai, `{"type":"object","properties":{"a":{}},"not":{"required":["a"]}}`, `{"type":"object","properties":{"a":{}}}`, `The arguments must also match this JSON Schema: {"not":{"required":["a"]}}`},
		{"names", tight, `{"type":"object","properties":{"filter[id]":{"type":"string"},"$top":{"type":"integer"},"top":{"type":"integer"}},"required":["$top"]}`,
			`{"type":"object","properties":{"filter_id":{"type":"string"},"top_2":{"type":"integer"},"top":{"type":"integer"}},"required":["top_2"]}`, `The argument filter_id stands for "filter[id]". The argument top_2 stands for "$top".`},
		{"arrays need items", openai, `{"type":"object","properties":{"a":{"type":"array"}}}`, `{"type":"object","properties":{"a":{"type":"array","items":{}}}}`, ""},
		{"older drafts", openai, `{"type":"object","properties":{"a":{"type":"array","items":[{"type":"string"}],"additionalItems":false},"b":{"type":"number","minimum":0,"exclusiveMinimum":true,"required":true},"c":{"type":"string","nullable":true},"d":{"type":"any"}}}`,
			`{"type":"object","properties":{"a":{"type":"array","prefixItems":[{"type":"string"}],"items":false},"b":{"type":"number","exclusiveMinimum":0},"c":{"type":["string","null"]},"d":{"description":"Of type any."}},"required":["b"]}`, ""},
		{"reference to nowhere", openai, `{"type":"object","properties":{"a":{"$ref":"https://x.test/s.json","description":"A thing"}}}`, `{"type":"object","properties":{"a":{"description":"A thing. Described by https://x.test/s.json."}}}`, ""},
		{"reference to a sibling", openai, `{"type":"object","properties":{"a":{"type":"string"},"b":{"$ref":"#/properties/a"}}}`, `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}}}`, ""},

		{"inline", gemini, `{"type":"object","properties":{"p":{"$ref":"#/$defs/point","description":"Where"}},"$defs":{"point":{"type":"object","title":"Point","properties":{"x":{"type":"integer"}},"required":["x"],"additionalProperties":false}}}`,
			`{"type":"object","properties":{"p":{"type":"object","title":"Point","properties":{"x":{"type":"integer"}},"required":["x"],"description":"Where. No other members."}}}`, ""},
		{"formats and the like", gemini, `{"type":"object","properties":{"u":{"type":"string","format":"uri"},"t":{"type":"string","format":"date-time"},"n":{"type":"integer","exclusiveMinimum":0,"multipleOf":5},"e":{"type":"integer","enum":[1,2]},"k":{"const":"x"}}}`,
			`{"type":"object","properties":{"u":{"type":"string","description":"Format: \"uri\"."},"t":{"type":"string","format":"date-time"},"n":{"type":"integer","description":"More than 0. A multiple of 5."},"e":{"type":"integer","description":"One of: 1, 2."},"k":{"enum":["x"],"type":"string"}}}`, ""},
		{"types", gemini, `{"type":"object","properties":{"a":{"type":["string","null"]},"b":{"type":["string","integer"]}}}`,
			`{"type":"object","properties":{"a":{"type":"string","nullable":true},"b":{"anyOf":[{"type":"string"},{"type":"integer"}]}}}`, ""},
		{"choices below", gemini, `{"type":"object","properties":{"a":{"oneOf":[{"type":"string"},{"type":"integer"}]},"b":{"allOf":[{"type":"string","minLength":1},{"maxLength":5}]}}}`,
			`{"type":"object","properties":{"a":{"anyOf":[{"type":"string"},{"type":"integer"}],"description":"Exactly one of the forms."},"b":{"type":"string","minLength":1,"maxLength":5}}}`, ""},
		{"nothing to ask for", gemini, `{"type":"object"}`, ``, ""},
		{"only a schema can say it", gemini, `{"type":"object","properties":{"a":{"type":"object","patternProperties":{"^x":{"type":"string"}}}}}`,
			`{"type":"object","properties":{"a":{"type":"object","description":"It must also match this JSON Schema: {\"patternProperties\":{\"^x\":{\"type\":\"string\"}}}"}}}`, ""},
		{"what Ollama would forget", ollama, `{"type":"object","properties":{"n":{"type":"integer","minimum":1,"maximum":9,"default":3,"title":"N"},"s":{"type":"string","pattern":"^a","description":"An s"}},"additionalProperties":false}`,
			`{"type":"object","properties":{"n":{"type":"integer","description":"At least 1. At most 9. Default: 3. N."},"s":{"type":"string","description":"An s. Must match the regular expression \"^a\"."}}}`, "No other members."},
		{"grammar", grammar, `{"type":"object","properties":{"s":{"type":"string","pattern":"a+","maxLength":100000},"t":{"type":"string","pattern":"^a$","maxLength":9}}}`,
			`{"type":"object","properties":{"s":{"type":"string","description":"Must match the regular expression \"a+\". At most 100000 characters."},"t":{"type":"string","pattern":"^a$","maxLength":9}}}`, ""},
	} {
		got := Adapt([]byte(test.in), test.rules)
		if string(got.Schema) != test.want || got.Note != test.note {
			t.Errorf("%s:\n got %s\nwant %s\nnote %s\nwant %s", test.name, got.Schema, test.want, got.Note, test.note)
		}
	}
}

// A schema that contains itself comes to an end, and so do many that contain
// each other.
func TestRecursion(t *testing.T) {
	tree := `{"type":"object","properties":{"root":{"$ref":"#/$defs/node"}},"$defs":{"node":{"type":"object","properties":{"name":{"type":"string"},"children":{"type":"array","items":{"$ref":"#/$defs/node"}}}}}}`
	got := Adapt([]byte(tree), gemini)
	if !strings.Contains(string(got.Schema), "Same form as node above.") || strings.Contains(string(got.Schema), "$ref") {
		t.Errorf("got %s", got.Schema)
	}
	var defs []string
	for i := range 12 {
		var props []string
		for j := range 12 {
			props = append(props, `"p`+strconv.Itoa(j)+`":{"$ref":"#/$defs/d`+strconv.Itoa(j)+`"}`)
		}
		defs = append(defs, `"d`+strconv.Itoa(i)+`":{"type":"object","properties":{`+strings.Join(props, ",")+`}}`)
	}
	bomb := `{"type":"object","properties":{"a":{"$ref":"#/$defs/d0"}},"$defs":{` + strings.Join(defs, ",") + `}}`
	if got := Adapt([]byte(bomb), gemini); len(got.Schema) > 1<<20 {
		t.Errorf("%d bytes", len(got.Schema))
	}
	if got := Adapt([]byte(`{"$ref":"#"}`), gemini); got.Schema != nil {
		t.Errorf("got %s", got.Schema)
	}
}

// What the original allows, the adapted schema allows too: a model must never be
// kept from a call that the tool would take.
func TestNeverStricter(t *testing.T) {
	for _, test := range []struct{ schema, value string }{
		{`{"oneOf":[{"properties":{"a":{"type":"string"}},"required":["a"]},{"properties":{"b":{"type":"integer"}},"required":["b"]}]}`, `{"b":1}`},
		{`{"type":"object","properties":{"k":{"oneOf":[{"const":1},{"const":"x"}]}}}`, `{"k":"x"}`},
		{`{"type":"object","properties":{"k":{"type":["array","null"],"items":{"$ref":"#/$defs/t"}}},"$defs":{"t":{"allOf":[{"type":"object","properties":{"x":{"type":"number"}}},{"required":["x"]}]}}}`, `{"k":[{"x":1.5}]}`},
		{`{"allOf":[{"properties":{"a":{"type":"integer"}}},{"anyOf":[{"properties":{"b":{"type":"string"}},"required":["b"]},{"required":["a"]}]}]}`, `{"a":1}`},
		{`{"type":"object","properties":{"n":{"$ref":"#/$defs/n"}},"$defs":{"n":{"type":"object","properties":{"next":{"$ref":"#/$defs/n"},"v":{"type":"string"}},"additionalProperties":false}}}`, `{"n":{"v":"a","next":{"v":"b","next":{"v":"c","next":{"v":"d"}}}}}`},
		{`{"type":"object","properties":{"m":{"type":"object","additionalProperties":{"type":"integer"}}},"dependentRequired":{"m":["m"]}}`, `{"m":{"x":1}}`},
		{`{"type":"object","properties":{"e":{"enum":[1,"a",null]},"t":{"type":"array","prefixItems":[{"type":"string"},{"type":"number"}],"items":false}}}`, `{"e":1,"t":["a",2]}`},
	} {
		if err := check(t, []byte(test.schema), test.value); err != nil {
			t.Fatalf("%s does not allow %s itself: %v", test.schema, test.value, err)
		}
		for name, rules := range map[string]Rules{"tight": tight, "openai": openai, "gemini": gemini, "ollama": ollama, "grammar": grammar} {
			got := Adapt([]byte(test.schema), rules)
			if err := check(t, got.Schema, test.value); err != nil {
				t.Errorf("%s: %s\nbecame %s\nwhich refuses %s: %v", name, test.schema, got.Schema, test.value, err)
			}
		}
	}
}

func check(t *testing.T, s json.RawMessage, value string) error {
	t.Helper()
	// "nullable" is Gemini's, not JSON Schema's.
	if strings.Contains(string(s), `"nullable":true`) {
		s = json.RawMessage(regexp.MustCompile(`"type":"(\w+)"(,"items":\{[^{}]*\})?,"nullable":true`).ReplaceAllString(string(s), `"type":["$1","null"]$2`))
	}
	v, err := schema.NewValidator(s, nil)
	if err != nil {
		t.Fatalf("%s: %v", s, err)
	}
	return v.Check(json.RawMessage(value))
}

func TestRestore(t *testing.T) {
	a := Adapt([]byte(`{"properties":{"$top":{},"a b":{},"c":{}}}`), tight)
	if got := string(a.Restore(json.RawMessage(`{"c":1, "top":5,"a_b":{"top":1},"d":2}`))); got != `{"c":1,"$top":5,"a b":{"top":1},"d":2}` {
		t.Errorf("got %s", got)
	}
}

// Any schema becomes one that is JSON, whose root is an object and no choice.
func FuzzAdapt(f *testing.F) {
	f.Add(`{"oneOf":[{"$ref":"#/$defs/a"},true,1]}`)
	f.Add(`{"properties":{"a":{"$ref":"#"},"b":{"allOf":[{"$ref":"#/properties/b"}]}},"required":5}`)
	f.Add(`{"properties":{"a":{"$ref":"#"},"b":{"allOf":[{"$ref":"#"}]}}}`)
	f.Add(`{"allOf":[{"$ref":"#"}],"oneOf":[{"$ref":"#"}]}`)
	f.Add(`{"allOf":[{"allOf":[{"oneOf":[]}]}],"type":["object","null"],"properties":[]}`)
	f.Fuzz(func(t *testing.T, s string) {
		for _, rules := range []Rules{tight, openai, gemini, ollama, grammar} {
			got := Adapt([]byte(s), rules)
			if got.Schema == nil {
				continue
			}
			var root map[string]json.RawMessage
			if err := json.Unmarshal(got.Schema, &root); err != nil || string(root["type"]) != `"object"` || root["properties"][0] != '{' {
				t.Fatalf("%s became %s (%v)", s, got.Schema, err)
			}
			for _, k := range []string{"oneOf", "anyOf", "allOf", "not", "enum"} {
				if root[k] != nil {
					t.Fatalf("%s became %s", s, got.Schema)
				}
			}
		}
	})
}
