package validate

import (
	"fmt"
	"strings"
	"testing"
)

func repeated(s string, n int) string { return strings.TrimSuffix(strings.Repeat(s+",", n), ",") }

// chain is a schema of definitions that each refer to the next.
func chain(n int) string {
	var b strings.Builder
	b.WriteString(`{"$ref":"#/$defs/d0","$defs":{`)
	for i := range n {
		fmt.Fprintf(&b, `"d%d":{"$ref":"#/$defs/d%d"},`, i, i+1)
	}
	fmt.Fprintf(&b, `"d%d":{"type":"number"}}}`, n)
	return b.String()
}

func wide(n int) string {
	members := make([]string, n)
	for i := range members {
		members[i] = fmt.Sprintf(`"k%d":%d`, i, i)
	}
	return "{" + strings.Join(members, ",") + "}"
}

// None of these may take long, or more stack than there is. Without a bound
// most would run for hours.
func TestHostileSchemas(t *testing.T) {
	const costly, itself = "takes more than 1000000 steps", "refers to itself endlessly"
	rows := []struct{ name, schema, value, want string }{
		{"itself", `{"$ref":"#"}`, `1`, itself},
		{"each other", `{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}}`, `1`, itself},
		{"through allOf", `{"allOf":[{"$ref":"#"}]}`, `1`, itself},
		{"through not", `{"not":{"$ref":"#"}}`, `1`, itself},
		{"through anyOf", `{"anyOf":[{"type":"null"},{"$ref":"#"}]}`, `1`, itself},
		{"a way out of anyOf", `{"anyOf":[true,{"$ref":"#"}]}`, `1`, ""},
		{"through if", `{"if":true,"then":{"$ref":"#"}}`, `{}`, itself},
		{"through dependentSchemas", `{"dependentSchemas":{"a":{"$ref":"#"}}}`, `{"a":1}`, itself},
		{"dynamically", `{"$dynamicAnchor":"x","$dynamicRef":"#x"}`, `1`, itself},
		{"recursively", `{"$schema":"https://json-schema.org/draft/2019-09/schema","$recursiveAnchor":true,"$recursiveRef":"#"}`, `1`, itself},
		{"the same schema one level down", `{"properties":{"a":{"$ref":"#"}}}`, `{"a":{"a":1}}`, ""},
		{"a chain of references", chain(500), `1`, ""},
		{"a long chain", chain(9000), `1`, costly},
		{"a chain on every level", strings.Replace(chain(400), `"type":"number"`, `"items":{"$ref":"#"}`, 1), strings.Repeat("[", 500) + strings.Repeat("]", 500), "too many references in a row"},
		{"powers of ten", `{"items":{"multipleOf":1e-400}}`, "[" + repeated("1e400", 100_000) + "]", costly},
		{"powers of ten, compared", `{"items":{"maximum":1e400}}`, "[" + repeated("1e400", 100_000) + "]", costly},
		{"long fractions", `{"items":{"multipleOf":0.` + strings.Repeat("37", 190) + `}}`, "[" + repeated(strings.Repeat("73", 190)+".7", 20_000) + "]", "must be a multiple"},
		{"an exponent beyond all", `{"multipleOf":1e-401}`, `1`, "too long or too large"},
		{"an exponent that overflows", `{}`, `1e99999999999999999999`, "too long or too large"},
		{"patterns that repeat", `{"pattern":"((a{0,30}){0,30}b){0,30}"}`, `1`, "repeats"},
		{"patterns one after the other", `{"pattern":"` + strings.Repeat("[ab]{900}", 20) + `"}`, `1`, "or repeats too much"},
		{"patterns side by side", `{"allOf":[` + repeated(`{"pattern":"[ab]{900}[cd]{900}"}`, 40) + `]}`, `1`, "or repeats too much"},
		{"large sets", `{"pattern":"[` + strings.Repeat(`\\p{L}`, 800) + `]"}`, `1`, "it is too large"},
		{"large sets side by side", `{"allOf":[` + repeated(`{"pattern":"[`+strings.Repeat(`\\p{L}`, 100)+`]"}`, 40) + `]}`, `1`, "it is too large"},
		{"sets that are written out", `{"pattern":"[` + strings.Repeat(`\\S`, 2000) + `]"}`, `1`, "it is too large"},
		{"more values than there are steps", `{}`, "[" + repeated("1", 4_000_000) + "]", "has more than 4000000 values in it"},
		{"slow patterns", `{"items":{"pattern":"` + strings.Repeat("(a*b*)*x?", 400) + `c"}}`, "[" + repeated(`"`+strings.Repeat("ab", 500)+`"`, 1000) + "]", "does not match"},
		{"large constants", `{"items":{"const":` + wide(300) + `}}`, "[" + repeated(wide(300), 500) + "]", costly},
		{"large arrays of equal things", `{"uniqueItems":true}`, "[" + repeated(wide(30), 20_000) + "]", "must not have equal items"},
		{"alternatives in alternatives", strings.Repeat(`{"anyOf":[{"type":"null"},`, 60) + `false` + strings.Repeat(`]}`, 60), `1`, "matches none"},
		{"100,000 levels", strings.Repeat(`{"not":`, 100_000) + `{}` + strings.Repeat(`}`, 100_000), `1`, "not valid JSON"},
		{"arrays in 100,000 levels", `{}`, strings.Repeat(`[`, 100_000) + strings.Repeat(`]`, 100_000), "not valid JSON"},
		{"meta-schemas on everything", `{"items":{"$ref":"https://json-schema.org/draft/2020-12/schema"}}`, "[" + repeated(`{"enum":[`+repeated("1", 100)+`]}`, 20_000) + "]", costly},
		{"long addresses", `{"$id":"http://example.com/` + strings.Repeat("a", 5000) + `","allOf":[` + repeated(`{"$ref":"x"}`, 9000) + `]}`, `1`, "has more than 4096 bytes"},
		{"long paths", `{"properties":{"` + strings.Repeat("n", 60) + `":{"$ref":"#"}},"required":["x"]}`, strings.Repeat(`{"`+strings.Repeat("n", 60)+`":`, 400) + `1` + strings.Repeat(`}`, 400), "is required but missing"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			text, got := row.schema, ""
			if s, err := Compile([]byte(text), defaults()); err != nil {
				got = err.Error()
			} else {
				problems, _ := s.Check([]byte(row.value))
				if len(problems) > MaxProblems {
					t.Errorf("%d problems", len(problems))
				}
				for _, p := range problems {
					got += p.Path + ": " + p.Message + "\n"
				}
			}
			if !strings.Contains(got, row.want) || (got == "") != (row.want == "") {
				t.Errorf("%.300s, want …%s…", got, row.want)
			}
			if len(got) > 10_000 {
				t.Errorf("an error of %d bytes", len(got))
			}
		})
	}
}

// Patterns that ECMA-262 has and Go does not, and what is neither.
func TestPatternsRefused(t *testing.T) {
	rows := []struct{ pattern, want string }{
		{`a(?=b)`, "look-ahead and look-behind are not supported"},
		{`a(?!b)`, "look-ahead"},
		{`(?<=a)b`, "look-behind"},
		{`(?<!a)b`, "look-behind"},
		{`(a)\1`, "back references are not supported"},
		{`(?<x>a)\k<x>`, "back references"},
		{`\a`, `\a has no meaning in ECMA-262`},
		{`\Qa\E`, `\Q has no meaning`},
		{`\`, "it ends unexpectedly"},
		{`[a`, "unclosed ["},
		{`[\B]`, `\B has no meaning between`},
		{`\u12`, `\u is not followed by the number of a character`},
		{`\ud800`, "half of a surrogate pair"},
		{`\u{110000}`, "is not a character"},
		{`\x1`, `\x is not followed`},
		{`\01`, `\0 is not followed`},
		{`\c1`, `\c is not followed`},
		{`\pL`, "there must be a name in braces"},
		{`\p{Nonsense}`, "invalid character class range"},
		{`(`, "missing closing )"},
		{`a**`, "invalid nested repetition operator"},
		{`a{1001}`, "repeats more than 1000 times"},
	}
	for _, row := range rows {
		c := compiler{limits: defaults()}
		c.pattern(row.pattern)
		if c.err == nil || !strings.Contains(c.err.Error(), row.want) {
			t.Errorf("%s: %v, want …%s…", row.pattern, c.err, row.want)
		}
	}
}
