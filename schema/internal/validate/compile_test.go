package validate

import (
	"strings"
	"testing"
)

func TestSchemasThatAreNone(t *testing.T) {
	const old = `"$schema":"http://json-schema.org/draft-07/schema#",`
	rows := []struct{ schema, want string }{
		{`{"type":"text"}`, `type: must be one of array, boolean, integer, null, number, object, string, not "text"`},
		{`{"type":[]}`, "type: must not be empty"},
		{`{"type":["null","null"]}`, "type: contains null twice"},
		{`{"type":7}`, "type: must be one of"},
		{`{"properties":{"a":{"minLength":"3"}}}`, `properties.a.minLength: must be an integer of at least 0, not "3"`},
		{`{"maxItems":1.5}`, "maxItems: must be an integer of at least 0, not 1.5"},
		{`{"minimum":"1"}`, `minimum: must be a number, not "1"`},
		{`{"exclusiveMinimum":true}`, "exclusiveMinimum: must be a number, not true"},
		{`{"multipleOf":0}`, "multipleOf: must be more than 0"},
		{`{"multipleOf":-1e-300}`, "multipleOf: must be more than 0"},
		{`{"required":"a"}`, `required: must be an array of names, not "a"`},
		{`{"required":["a",1]}`, "required: must contain distinct names; 1 is not one"},
		{`{"required":["a","\u0061"]}`, "required: must contain distinct names"},
		{`{"properties":[]}`, "properties: must be an object, not []"},
		{`{"properties":{"a b":null}}`, `properties["a b"]: must be a schema (an object, true or false), not null`},
		{`{"items":[{}]}`, "items: must be a schema (an object, true or false), not [{}]"},
		{`{"allOf":[]}`, "allOf: must not be empty"},
		{`{"allOf":{}}`, "allOf: must be an array of schemas, not {}"},
		{`{"anyOf":[{},{"not":3}]}`, "anyOf[1].not: must be a schema"},
		{`{"enum":1}`, "enum: must be an array, not 1"},
		{`{"uniqueItems":"yes"}`, `uniqueItems: must be true or false, not "yes"`},
		{`{"pattern":1}`, "pattern: must be a string, not 1"},
		{`{"description":["a"]}`, `description: must be a string, not ["a"]`},
		{`{"$ref":1}`, "$ref: must be a string, not 1"},
		{`{"$id":"http://example.com/#a"}`, "$id: must not have a fragment; use $anchor"},
		{`{"$anchor":"1a"}`, "$anchor: must begin with a letter"},
		{`{"dependentRequired":{"a":"b"}}`, `dependentRequired: must be an array of names, not "b"`},
		{`{"minLength":-1,"maxLength":-1,"minItems":-1,"maxItems":-1,"minProperties":-1,"maxProperties":-1,"type":1}`, "maxItems: must be an integer of at least 0, not -1; minProperties: must be an integer of at least 0, not -1; and more"},
		{`{` + old + `"items":[]}`, "items: must not be empty"},
		{`{` + old + `"dependencies":{"a":1}}`, "dependencies.a: must be a schema"},
		{`{"$ref":"#/a/b"}`, `refers to "#/a/b", which does not exist`},
		{`{"$ref":"#nowhere"}`, `refers to "#nowhere", which does not exist`},
		{`{"$ref":"#/type","type":"string"}`, "type: must be a schema"},
		{`{"$defs":{"a":{"$anchor":"x"},"b":{"$anchor":"x"}}}`, `two schemas have the same anchor "x"`},
		{`{"$defs":{"a":{"$id":"x"},"b":{"$id":"x"}}}`, `two schemas have the same $id "x"`},
		{`{"$ref":"https://json-schema.org/draft/2020-12/meta/core"}`, "never fetched"},
	}
	for _, row := range rows {
		if _, err := Compile([]byte(row.schema), defaults()); err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: %v, want …%s…", row.schema, err, row.want)
		}
	}
}

// Numbers are compared as they are written and never rounded.
func TestNumbers(t *testing.T) {
	ordered := []string{"-1e400", "-1.7976931348623157e308", "-9007199254740993", "-9007199254740992.5", "-9007199254740992", "-1.5", "-1", "-0.1", "-1e-400",
		"0", "1e-400", "0.1", "0.10000000000000000001", "0.3", "0.30000000000000000001", "0.5", "1", "1.0000000000000000000001", "19.99", "100", "999999999999999999",
		"1000000000000000000", "9223372036854775807", "9223372036854775808", "1e19", "1e308", "1e309", "1.1e309", "1e400"}
	for i, a := range ordered {
		for j, b := range ordered {
			x, y := numberOf([]byte(a)), numberOf([]byte(b))
			want := 0
			if i != j {
				want = 1
				if i < j {
					want = -1
				}
			}
			if got := x.compare(&y); got != want {
				t.Errorf("%s and %s: %d", a, b, got)
			}
		}
	}
	for _, pair := range [][2]string{{"0", "-0"}, {"0", "0.000e9"}, {"100", "1e2"}, {"0.01", "1E-2"}, {"120", "1.20e+2"}, {"-5", "-50e-1"}, {"1e400", "10e399"}, {"00.5"[1:], "5e-1"}} {
		if x, y := numberOf([]byte(pair[0])), numberOf([]byte(pair[1])); x.compare(&y) != 0 || decimalOf([]byte(pair[0])) != decimalOf([]byte(pair[1])) {
			t.Errorf("%s is not %s", pair[0], pair[1])
		}
	}
}

// A reference that leads nowhere is found wherever it could ever be followed,
// and only there.
func TestLooseEnds(t *testing.T) {
	const ref = `{"$ref":"http://example.com/x"}`
	used := []string{`"items":%`, `"prefixItems":[true,%]`, `"contains":%`, `"unevaluatedItems":%`, `"properties":{"a":%}`, `"patternProperties":{"a":%}`,
		`"additionalProperties":%`, `"propertyNames":%`, `"dependentSchemas":{"a":%}`, `"dependencies":{"a":%}`, `"unevaluatedProperties":%`,
		`"allOf":[%]`, `"anyOf":[true,%]`, `"oneOf":[%]`, `"not":%`, `"if":%`, `"then":%`, `"else":%`,
		`"$ref":"#/$defs/a","$defs":{"a":%}`, `"$dynamicRef":"#a","$defs":{"a":{"$dynamicAnchor":"a","not":%}}`,
		`"$ref":"x","$defs":{"a":{"$id":"x","$dynamicAnchor":"a","$dynamicRef":"#a"},"b":{"$dynamicAnchor":"a","not":%}}`, `"$ref":"#/elsewhere","elsewhere":%`}
	unused := []string{`"$defs":{"a":%}`, `"definitions":{"a":{"items":%}}`, `"default":%`, `"const":%`, `"enum":[%]`, `"examples":[%]`, `"contentSchema":%`, `"elsewhere":%`}
	for _, shape := range used {
		text := "{" + strings.ReplaceAll(shape, "%", ref) + "}"
		if _, err := Compile([]byte(text), defaults()); err == nil || !strings.Contains(err.Error(), "never fetched") {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, shape := range unused {
		text := "{" + strings.ReplaceAll(shape, "%", ref) + "}"
		if _, err := Compile([]byte(text), defaults()); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// What counts has no upper bound, and large objects are found by name.
func TestLargeThings(t *testing.T) {
	many := make([]string, 100)
	for i := range many {
		many[i] = `{"const":` + strings.Repeat("1", i%5+1) + `}`
	}
	s, err := Compile([]byte(`{"maxItems":1e300,"maxLength":99999999999999999999,"prefixItems":[`+strings.Join(many, ",")+`],"items":{"$ref":"#/prefixItems/93"}}`), defaults())
	if err != nil {
		t.Fatal(err)
	}
	good := `[` + strings.Repeat(`1,11,111,1111,11111,`, 20) + `1111]`
	if problems, _ := s.Check([]byte(good)); problems != nil {
		t.Error(problems)
	}
	if problems, _ := s.Check([]byte(strings.Replace(good, "1111]", "111]", 1))); len(problems) != 1 || problems[0] != (Problem{"[100]", "must be 1111"}) {
		t.Error(problems)
	}
}
