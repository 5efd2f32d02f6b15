package schema_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/tenon-mcp/tenon/schema"
)

func validator(t testing.TB, s string, limits *schema.Limits) *schema.Validator {
	t.Helper()
	v, err := schema.NewValidator(json.RawMessage(s), limits)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestCheck(t *testing.T) {
	rows := []struct{ schema, value, want string }{
		{`true`, `1`, ""},
		{`false`, `1`, "is not allowed here"},
		{`{}`, `{"a":[null]}`, ""},
		{`{"type":"integer"}`, `5.0`, ""},
		{`{"type":"integer"}`, `5.5`, "expected integer, got number"},
		{`{"type":["string","null"]}`, `1`, "expected null or string, got number"},
		{`{"minimum":1.5,"type":"number"}`, `1`, "must be at least 1.5"},
		{`{"exclusiveMaximum":3}`, `3`, "must be less than 3"},
		{`{"multipleOf":0.1}`, `0.25`, "must be a multiple of 0.1"},
		{`{"enum":["a",1,null]}`, `"b"`, `"b" is not allowed; use one of "a", 1, null`},
		{`{"const":{"a":1}}`, `{"a":2}`, `must be {"a":1}`},
		{`{"minLength":2,"pattern":"^x"}`, `"é"`, "must have at least 2 characters, not 1\n\"é\" does not match the pattern ^x"},
		{`{"properties":{"a":{"items":{"properties":{"b":{"type":"string"}}}}}}`, `{"a":[{},{"b":1}]}`, "a[1].b: expected string, got number"},
		{`{"required":["x","y z"]}`, `{}`, "x: is required but missing\n[\"y z\"]: is required but missing"},
		{`{"properties":{"a":{}},"additionalProperties":false}`, `{"b":1,"c":2}`, "b: unknown property\nc: unknown property"},
		{`{"prefixItems":[{"type":"string"}],"items":{"type":"number"}}`, `["a",1,"b"]`, "[2]: expected number, got string"},
		{`{"contains":{"type":"string"}}`, `[1]`, "has no item that matches contains"},
		{`{"uniqueItems":true}`, `[1,{"a":1},1.0]`, "must not have equal items, but [0] and [2] are"},
		{`{"anyOf":[{"type":"string"},{"required":["a"]}]}`, `{}`, "matches none of the alternatives (expected string, got object; a: is required but missing)"},
		{`{"oneOf":[{"type":"number"},{"minimum":1},true]}`, `1`, "must match exactly one of the alternatives, but matches number 1 and number 2"},
		{`{"not":{"type":"number"}}`, `1`, "must not match the schema in not"},
		{`{"if":{"required":["a"]},"then":{"required":["b"]}}`, `{"a":1}`, "b: is required but missing"},
		{`{"dependentRequired":{"a":["b"]}}`, `{"a":1}`, `"a" requires b`},
		{`{"propertyNames":{"maxLength":1}}`, `{"ab":1}`, "ab: property name not allowed"},
		{`{"allOf":[{"properties":{"a":true}}],"unevaluatedProperties":false}`, `{"b":1}`, "b: is not allowed here"},
		{`{"$defs":{"n":{"type":"number"}},"properties":{"a":{"$ref":"#/$defs/n"}}}`, `{"a":""}`, "a: expected number, got string"},
		{`{"$id":"http://example.com/a","$defs":{"n":{"$id":"n","type":"number"}},"$ref":"n"}`, `""`, "expected number, got string"},
		{`{"$defs":{"n":{"$anchor":"x","type":"number"}},"$ref":"#x"}`, `""`, "expected number, got string"},
		{`{"components":{"n":{"type":"number"}},"$ref":"#/components/n"}`, `""`, "expected number, got string"},
		{`{"$ref":"https://json-schema.org/draft/2020-12/schema"}`, `{"type":1}`, "is not a valid JSON Schema: type: must be one of array, boolean, integer, null, number, object, string, not 1"},
		{`{"$ref":"#"}`, `1`, "cannot be checked: its schema refers to itself endlessly"},
		// older dialects
		{`{"$schema":"http://json-schema.org/draft-07/schema#","definitions":{"n":{"type":"number"}},"items":[{"$ref":"#/definitions/n"}],"additionalItems":false}`, `[1,2]`, "has 1 item too many"},
		{`{"$schema":"https://json-schema.org/draft/2019-09/schema","$recursiveAnchor":true,"properties":{"a":{"$recursiveRef":"#"}},"type":"object"}`, `{"a":1}`, "a: expected object, got number"},
		{`{"$schema":"http://json-schema.org/draft-06/schema","exclusiveMinimum":1}`, `1`, "must be more than 1"},
		{`{"$schema":"http://json-schema.org/draft-04/schema#","minimum":1,"exclusiveMinimum":true}`, `1`, "must be more than 1"},
		// formats are remarks
		{`{"format":"email"}`, `"x"`, ""},
		{`{"$schema":"http://json-schema.org/draft-07/schema#","format":"regex"}`, `"("`, ""},
		{`{"properties":{"format":{"type":"string"}},"const":{"format":"email"}}`, `{"format":"email"}`, ""},
		// values that are broken or costly
		{`{}`, `{"a":1,"a":2}`, "is not valid JSON: "},
		{`{}`, ``, "is not valid JSON: "},
		{`{"type":"integer"}`, `1e999999999`, "the number 1e999999999 is too long or too large to be checked"},
		{`{"maximum":3}`, `1e309`, "must be at most 3"},
	}
	for _, row := range rows {
		v, err := schema.NewValidator(json.RawMessage(row.schema), nil)
		if err != nil {
			t.Errorf("%s: %v", row.schema, err)
			continue
		}
		err = v.Check(json.RawMessage(row.value))
		if row.want == "" {
			if err != nil {
				t.Errorf("%s on %s: %v", row.schema, row.value, err)
			}
			continue
		}
		var problems *schema.Problems
		if !errors.As(err, &problems) || err.Error() != row.want && !(strings.HasSuffix(row.want, ": ") && strings.HasPrefix(err.Error(), row.want)) {
			t.Errorf("%s on %s:\n%v\nwant\n%s", row.schema, row.value, err, row.want)
		}
	}
}

func TestFormatsAsRules(t *testing.T) {
	good := map[string][]string{
		"date-time": {"2026-01-31T12:00:00Z", "2026-01-31T12:00:00.123+23:59"},
		"date":      {"2026-01-31"},
		"email":     {"a@b", "a.b+c@d-e.f", "ü@example.com"},
		"uri":       {"a:b", "https://[::1]:8/p?q#f", "urn:x:y"},
		"uuid":      {"123e4567-E89B-12d3-a456-426614174000"},
		"ipv4":      {"1.2.3.4"},
		"ipv6":      {"::1"},
		"hostname":  {"not checked!"},
	}
	bad := map[string][]string{
		"date-time": {"", "2026-01-31", "2026-01-31T12:00:00", "2026-01-31 12:00:00Z", "2026-01-31T1:00:00Z", "2026-01-31T12:00:00,5Z", "2026-01-31T12:00:00+24:00", "2026-01-31T12:00:00+01:60", "2026-02-30T12:00:00Z"},
		"date":      {"2026-1-31", "2026-02-30", ""},
		"email":     {"", "a", "@b", "a@", "a b@c", "a@b@c", ".a@b", "a..b@c", "a@b.", "a@-b", "<a@b>"},
		"uri":       {"", "/a", "a", "http://a b", "http://a\nb", "http://[", "http://é"},
		"uuid":      {"123e4567e89b12d3a456426614174000", "123e4567-e89b-12d3-a456-42661417400g"},
		"ipv4":      {"::1", "1.2.3", "1.2.3.256"},
		"ipv6":      {"1.2.3.4", "::1%eth0"},
	}
	for _, dialect := range []string{"https://json-schema.org/draft/2020-12/schema", "http://json-schema.org/draft-07/schema#"} {
		for name := range good {
			v := validator(t, fmt.Sprintf(`{"$schema":%q,"format":%q}`, dialect, name), &schema.Limits{Formats: true})
			for _, s := range good[name] {
				raw, _ := json.Marshal(s)
				if err := v.Check(raw); err != nil {
					t.Errorf("%s %q: %v", name, s, err)
				}
			}
			for _, s := range bad[name] {
				raw, _ := json.Marshal(s)
				if err := v.Check(raw); err == nil || !strings.HasPrefix(err.Error(), "expected a") {
					t.Errorf("%s %q: %v", name, s, err)
				}
			}
		}
	}
}

// Guards hostile rows C32 and C34, and the limits.
func TestSchemaIsRefused(t *testing.T) {
	deep := func(n int) string {
		return strings.Repeat(`{"properties":{"a":`, n) + `{}` + strings.Repeat(`}}`, n)
	}
	many := `{"anyOf":[` + strings.TrimSuffix(strings.Repeat(`{"type":"string"},`, 10_000), ",") + `]}`
	rows := []struct{ name, schema, want string }{
		{"C32", `{"$ref":"http://169.254.169.254/x"}`, `the schema refers to "http://169.254.169.254/x", which is not in it: external references are never fetched`},
		{"https", `{"properties":{"a":{"$ref":"https://example.com/x.json#/a"}}}`, `refers to "https://example.com/x.json"`},
		{"file", `{"items":{"$ref":"file:///etc/passwd"}}`, `refers to "file:///etc/passwd"`},
		{"relative", `{"$ref":"other.json"}`, "never fetched"},
		{"relative to an $id", `{"$id":"http://127.0.0.1:1/a/b","$ref":"c"}`, `refers to "http://127.0.0.1:1/a/c"`},
		{"dynamic", `{"$dynamicRef":"http://127.0.0.1:1/x#a"}`, "never fetched"},
		{"in a place of no schema", `{"x":{"$ref":"http://127.0.0.1:1/"},"$ref":"#/x"}`, "never fetched"},
		{"dangling", `{"$ref":"#/$defs/nowhere"}`, "nowhere"},
		{"C34 look-ahead", `{"pattern":"(?=a)"}`, `the pattern "(?=a)" is not supported: look-ahead and look-behind are not supported`},
		{"C34 back reference", `{"patternProperties":{"(a)\\1":{}}}`, "is not supported: back references are not supported"},
		{"long pattern", `{"pattern":"` + strings.Repeat("a", 4097) + `"}`, "has 4097 bytes; at most 4096 are allowed"},
		{"dialect", `{"$schema":"http://json-schema.org/draft-03/schema#"}`, `the dialect "http://json-schema.org/draft-03/schema#" of # is not supported; use JSON Schema 2020-12`},
		{"own dialect", `{"properties":{"a":{"$id":"x","$schema":"https://example.com/meta"}}}`, `the dialect "https://example.com/meta" of #/properties/a is not supported`},
		{"not a schema", `[]`, "a schema must be an object, true or false"},
		{"broken JSON", `{"a":1,}`, "the schema is not valid JSON"},
		{"doubled name", `{"type":"string","type":"number"}`, "the schema is not valid JSON"},
		{"breaks the meta-schema", `{"type":"strnig"}`, "the schema is not a valid JSON Schema: type: must be one of array, boolean, integer, null, number, object, string, not \"strnig\""},
		{"negative", `{"properties":{"a":{"minLength":-1}}}`, "properties.a.minLength: must be an integer of at least 0"},
		{"deep", deep(64), "nested deeper than 64 levels at #/properties/a/properties/a"},
		{"many", many, "the schema contains more than 10000 schemas"},
		{"large", `{"description":"` + strings.Repeat("x", 1<<20) + `"}`, "at most 1048576 are allowed"},
		{"huge number", `{"maximum":1e999999999}`, "too long or too large"},
		{"empty", ``, "the schema is not valid JSON"},
	}
	for _, row := range rows {
		_, err := schema.NewValidator(json.RawMessage(row.schema), nil)
		if err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: %v\nwant …%s…", row.name, err, row.want)
		} else if len(err.Error()) > 1000 {
			t.Errorf("%s: the error has %d bytes", row.name, len(err.Error()))
		}
	}
	if _, err := schema.NewValidator(json.RawMessage(deep(63)), nil); err != nil {
		t.Errorf("64 levels: %v", err)
	}
}

// doubling is a chain of definitions, each of which refers twice to the next:
// a few hundred bytes that ask for 2^n steps.
func doubling(n int) string {
	var b strings.Builder
	b.WriteString(`{"$ref":"#/$defs/d0","$defs":{`)
	for i := range n {
		fmt.Fprintf(&b, `"d%d":{"allOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]},`, i, i+1, i+1)
	}
	fmt.Fprintf(&b, `"d%d":{"type":"number"}}}`, n)
	return b.String()
}

// Guards hostile rows C30 and C34, and against work that multiplies.
func TestCheckIsBounded(t *testing.T) {
	dependent := `{"$defs":{"d":{"dependentSchemas":{"a":{"properties":{"a":{"$ref":"#/$defs/d"}}},"b":{"properties":{"a":{"$ref":"#/$defs/d"}}}}}},"not":{"$ref":"#/$defs/d"}}`
	nestedTwo := strings.Repeat(`{"b":1,"a":`, 100) + `1` + strings.Repeat(`}`, 100)
	names := make([]string, 2000)
	for i := range names {
		names[i] = fmt.Sprintf(`"p%d":{"type":"string"}`, i)
	}
	rows := []struct {
		name, schema, value, want string
	}{
		{"C30", `{}`, strings.Repeat("[", 12_000) + strings.Repeat("]", 12_000), "is not valid JSON"},
		{"C34", `{"pattern":"^(a+)+$"}`, `"` + strings.Repeat("a", 40) + `!"`, "does not match the pattern"},
		{"references that double", doubling(40), `1`, "takes more than 200000 steps"},
		{"references that double, failing", doubling(40), `""`, "expected number, got string\nthere may be more; it would take too many steps to find out"},
		{"a few of them", doubling(4), `1`, ""},
		{"recursion that doubles", `{"allOf":[{"properties":{"a":{"$ref":"#"}}},{"properties":{"a":{"$ref":"#"}}}]}`, nestedTwo, "takes more than 200000 steps"},
		{"dependent schemas that double", dependent, nestedTwo, "takes more than 200000 steps"},
		{"anchors that double", `{"$anchor":"x","anyOf":[{"properties":{"a":{"$ref":"#x"}}},{"properties":{"a":{"$ref":"#x"}}}],"required":["z"]}`, nestedTwo, "z: is required but missing\nthere may be more; it would take too many steps to find out"},
		{"a long enum on a long array", `{"items":{"enum":[` + strings.TrimSuffix(strings.Repeat(`"x",`, 1), ",") + strings.Repeat(`,1`, 5000) + `]}}`, `[` + strings.Repeat(`2,`, 5000) + `2]`, "and 4981 more"},
		{"many patterns on many names", `{"patternProperties":{` + strings.Join(names, ",") + `}}`, `{` + strings.ReplaceAll(strings.Join(names, ","), `{"type":"string"}`, `""`) + `}`, "takes more than 200000 steps"},
		{"many properties", `{"properties":{` + strings.Join(names, ",") + `}}`, `{` + strings.ReplaceAll(strings.Join(names, ","), `{"type":"string"}`, `""`) + `}`, ""},
		{"honest recursion", `{"type":"object","properties":{"a":{"$ref":"#"}}}`, strings.Repeat(`{"a":`, 200) + `{}` + strings.Repeat(`}`, 200), ""},
		{"honest recursion that fails", `{"type":"object","properties":{"a":{"$ref":"#"}}}`, `{"a":{"a":1}}`, "a.a: expected object, got number"},
		{"a long array", `{"items":{"type":"number","minimum":0,"maximum":9,"multipleOf":1}}`, `[` + strings.Repeat(`1,`, 50_000) + `1]`, ""},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			v := validator(t, row.schema, &schema.Limits{Steps: 200_000})
			for range 2 { // the budget is for each Check
				err := v.Check(json.RawMessage(row.value))
				switch {
				case row.want == "" && err != nil:
					t.Fatal(err)
				case row.want != "" && (err == nil || !strings.Contains(err.Error(), row.want)):
					t.Fatalf("%v, want …%s…", err, row.want)
				case err != nil && len(err.Error()) > 3000:
					t.Fatalf("the error has %d bytes", len(err.Error()))
				}
			}
		})
	}
}

func TestFormatsWhileCounting(t *testing.T) {
	s := `{"properties":{"a":{"$ref":"#"},"m":{"format":"email"}}}`
	if err := validator(t, s, nil).Check(json.RawMessage(`{"a":{"m":"x"}}`)); err != nil {
		t.Error(err)
	}
	err := validator(t, s, &schema.Limits{Formats: true}).Check(json.RawMessage(`{"a":{"m":"x"}}`))
	if err == nil || !strings.HasPrefix(err.Error(), "a.m: expected an email address") {
		t.Error(err)
	}
}

func TestValidatorKeepsNothing(t *testing.T) {
	s := []byte(`{"type":"object","properties":{"a":{"$ref":"#"}}}`)
	before := string(s)
	v, err := schema.NewValidator(s, nil)
	if err != nil || string(s) != before {
		t.Fatalf("%v; the schema is now %s", err, s)
	}
	clear(s) // the caller's bytes are not needed any more
	if err := v.Check(json.RawMessage(`{"a":{}}`)); err != nil {
		t.Error(err)
	}
}

func TestValidatorIsConcurrent(t *testing.T) {
	v := validator(t, `{"type":"object","properties":{"a":{"$ref":"#"}}}`, nil)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				if v.Check(json.RawMessage(`{"a":{}}`)) != nil || v.Check(json.RawMessage(`{"a":1}`)) == nil {
					t.Error("wrong answer")
				}
			}
		})
	}
	wg.Wait()
}
