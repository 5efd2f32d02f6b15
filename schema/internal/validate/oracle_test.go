package validate

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	failure "github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// A second validator, written by somebody else, judges the same schemas and
// values. It is used in tests only.

type noLoader struct{}

func (noLoader) Load(string) (any, error) { return nil, errors.New("not fetched") }

func oracle(text []byte) (*jsonschema.Schema, error) {
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(text)))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(noLoader{})
	if err := c.AddResource("tenon:///schema", doc); err != nil {
		return nil, err
	}
	return c.Compile("tenon:///schema")
}

// endlessly says whether the oracle ran into a schema that refers to itself.
func endlessly(err error) bool {
	var e *jsonschema.ValidationError
	if !errors.As(err, &e) {
		return false
	}
	if _, ok := e.ErrorKind.(*failure.RefCycle); ok {
		return true
	}
	for _, cause := range e.Causes {
		if endlessly(cause) {
			return true
		}
	}
	return false
}

// inventor makes up schemas and values that have much to do with each other.
type inventor struct {
	*rand.Rand
	dialect dialect
	refs    []string
	broken  bool // now and then a keyword has a value that it cannot have
}

func (v *inventor) pick(from ...string) string { return from[v.IntN(len(from))] }

func (v *inventor) name() string { return v.pick("a", "b", "ab", "c", `\u0061c`) }

// pairs writes an object with some different names.
func (v *inventor) pairs(most int, value func() string) string {
	seen := map[string]bool{}
	var members []string
	for range v.IntN(most + 1) {
		if name := v.name(); !seen[name] {
			seen[name] = true
			members = append(members, `"`+name+`":`+value())
		}
	}
	return "{" + strings.Join(members, ",") + "}"
}

func (v *inventor) several(least, most int, value func() string) string {
	var all []string
	for range least + v.IntN(most-least+1) {
		all = append(all, value())
	}
	return "[" + strings.Join(all, ",") + "]"
}

func (v *inventor) number() string {
	return v.pick("0", "1", "2", "3", "-1", "1.0", "1.5", "0.1", "0.3", "1e0", "10e-1", "2E2", "-0", "9007199254740993", "9007199254740992", "9007199254740993.0",
		"123456789012345678901234567890", "1234567890123456789012345678900e-1", "0.30000000000000001", "1e-7", "100000000000000000000", "1e20")
}

func (v *inventor) text() string {
	return v.pick(`""`, `"a"`, `"b"`, `"ab"`, `"aaa"`, `"é"`, `"\u00e9"`, `"😀"`, `"\ud83d\ude00"`, `"a1"`, `" "`, `"\n"`)
}

func (v *inventor) value(depth int) string {
	n := v.IntN(10)
	if depth <= 0 {
		n = v.IntN(6)
	}
	switch n {
	case 0:
		return v.pick("null", "true", "false")
	case 1, 2, 3:
		return v.number()
	case 4, 5:
		return v.text()
	case 6, 7:
		return v.several(0, 4, func() string { return v.value(depth - 1) })
	}
	return v.pairs(4, func() string { return v.value(depth - 1) })
}

func (v *inventor) names() string {
	seen := map[string]bool{}
	var names []string
	for range 1 + v.IntN(2) {
		if name := v.pick("a", "b", "c", "ab"); !seen[name] {
			seen[name] = true
			names = append(names, `"`+name+`"`)
		}
	}
	return "[" + strings.Join(names, ",") + "]"
}

func (v *inventor) patterns(sub func() string) string {
	return `{"` + v.pick("^a", "b$", "c", "^[ab]+$", `^\\w$`) + `":` + sub() + `}`
}

func (v *inventor) schema(depth int) string {
	if v.dialect > draft4 && v.IntN(12) == 0 {
		return v.pick("true", "true", "false")
	}
	if v.dialect <= draft7 && len(v.refs) > 0 && v.IntN(8) == 0 {
		return `{"$ref":"` + v.pick(v.refs...) + `"}`
	}
	seen := map[string]bool{}
	var members []string
	for range v.IntN(5) {
		key, value := v.keyword(depth)
		if seen[key] || key == "" {
			continue
		}
		seen[key] = true
		if v.broken && v.IntN(40) == 0 {
			value = v.pick("null", "true", "-1", "0", "1.5", `""`, `"a"`, "[]", `["a"]`, `["a","a"]`, "[1]", "{}", `{"a":1}`, `{"a":[]}`)
		}
		members = append(members, `"`+key+`":`+value)
	}
	return "{" + strings.Join(members, ",") + "}"
}

func (v *inventor) keyword(depth int) (key, value string) {
	count := func() string { return v.pick("0", "1", "2", "3", "2.0") }
	switch v.IntN(16) {
	case 0, 1:
		if v.IntN(3) > 0 {
			return "type", `"` + v.pick("null", "boolean", "number", "integer", "string", "array", "object") + `"`
		}
		return "type", `["` + v.pick("null", "integer", "number") + `","` + v.pick("object", "array", "string") + `"]`
	case 2:
		return "enum", v.pick(`[1,"a",null]`, `[{"a":1.0},[1,2],9007199254740993,"ab"]`, `[1,2,3,4,5,6,7,8,9.0,0.3,"a","b",{"a":[]},[]]`)
	case 3:
		return v.pick("minimum", "maximum"), v.number()
	case 4:
		if v.dialect == draft4 {
			return v.pick("exclusiveMinimum", "exclusiveMaximum"), v.pick("true", "false")
		}
		return v.pick("exclusiveMinimum", "exclusiveMaximum"), v.number()
	case 5:
		return "multipleOf", v.pick("1", "2", "0.1", "1.5", "1e-7", "3e2", "9007199254740993")
	case 6:
		return v.pick("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"), count()
	case 7:
		if v.IntN(2) == 0 {
			return "uniqueItems", v.pick("true", "true", "false")
		}
		return "pattern", v.pick(`"^a"`, `"[0-9]"`, `"^.$"`, `"\\d|é"`)
	case 8:
		return "required", v.names()
	case 9:
		if v.dialect > draft4 {
			return "const", v.value(2)
		}
	}
	if len(v.refs) > 0 && v.dialect > draft7 && v.IntN(6) == 0 {
		return "$ref", `"` + v.pick(v.refs...) + `"`
	}
	if depth <= 0 {
		return "", ""
	}
	return v.applicator(func() string { return v.schema(depth - 1) })
}

func (v *inventor) applicator(sub func() string) (key, value string) {
	list := func() string { return v.several(1, 3, sub) }
	switch key = v.pick("properties", "properties", "patternProperties", "additionalProperties", "allOf", "anyOf", "oneOf", "not", "items", "items",
		"if", "then", "else", "contains", "propertyNames", "dependencies", "additionalItems",
		"prefixItems", "minContains", "maxContains", "dependentSchemas", "dependentRequired", "unevaluatedItems", "unevaluatedProperties", "unevaluatedItems", "unevaluatedProperties"); key {
	case "properties", "dependentSchemas":
		return key, v.pairs(3, sub)
	case "patternProperties":
		return key, v.patterns(sub)
	case "allOf", "anyOf", "oneOf", "prefixItems":
		return key, list()
	case "dependentRequired":
		return key, v.pairs(2, v.names)
	case "dependencies":
		return key, v.pairs(2, func() string {
			if v.IntN(2) == 0 {
				return v.names()
			}
			return sub()
		})
	case "minContains", "maxContains":
		return key, v.pick("0", "1", "2")
	case "items":
		if v.dialect < draft2020 && v.IntN(2) == 0 {
			return key, list()
		}
	}
	return key, sub()
}

// document makes up a whole schema, with definitions that can be referred to.
func (v *inventor) document() string {
	uris := map[dialect]string{draft2020: "https://json-schema.org/draft/2020-12/schema", draft2019: "https://json-schema.org/draft/2019-09/schema",
		draft7: "http://json-schema.org/draft-07/schema#", draft6: "http://json-schema.org/draft-06/schema#", draft4: "http://json-schema.org/draft-04/schema#"}
	defs := "definitions"
	if v.dialect >= draft2019 {
		defs = "$defs"
	}
	v.refs = []string{"#", "#/" + defs + "/a", "#/" + defs + "/b", "#/" + defs + "/c"}
	if v.dialect >= draft2019 {
		v.refs = append(v.refs, "#an", "other", "other#/"+defs+"/deep")
	}
	first := strings.TrimPrefix(v.schema(3), "{")
	for !strings.HasSuffix(first, "}") || first == "}" {
		first = strings.TrimPrefix(v.schema(3), "{")
	}
	extra, dyn := "", ""
	if v.dialect == draft2020 {
		dyn = `"$dynamicAnchor":"d","title":"in other"`
		extra = `,"dyn":{"$dynamicAnchor":"d","items":{"$dynamicRef":"#d"},"anyOf":[` + v.schema(1) + `,{"$ref":"inner"}]},"inner":{"$id":"inner","$dynamicAnchor":"d","properties":{"a":{"$dynamicRef":"#d"}}}`
		v.refs = append(v.refs, "#d", "inner")
	}
	if v.dialect >= draft2019 {
		extra += `,"d":{"$anchor":"an","allOf":[` + v.schema(2) + `]}`
		extra += `,"e":{"$id":"other","` + defs + `":{"deep":` + v.schema(1) + `,"a":{},"b":{},"c":{},"d":{` + dyn + `}},"$anchor":"an","allOf":[` + v.schema(1) + `]}`
	}
	return fmt.Sprintf(`{"$schema":"%s","%s":{"a":%s,"b":%s,"c":%s%s},%s`, uris[v.dialect], defs, v.schema(2), v.schema(2), v.schema(1), extra, first)
}

// tolerated says whether we may take a schema that the other refuses: the
// oldest dialect knows no true and false, some do not want equal values in an
// enum, and the other looks at dynamic anchors that nobody refers to.
func tolerated(d dialect, why string) bool {
	return d == draft4 || strings.Contains(why, "/enum':") || d == draft2020 && (strings.Contains(why, "failing loading") || strings.Contains(why, "not found"))
}

// compare lets both judge one made-up schema and some values.
func compare(t *testing.T, seed uint64, d dialect, tally *[4]int) {
	v := &inventor{Rand: rand.New(rand.NewPCG(seed, uint64(d))), dialect: d, broken: seed%4 == 0}
	text := v.document()
	if !json.Valid([]byte(text)) {
		t.Fatalf("seed %d: the invention is not JSON: %s", seed, text)
	}
	ours, err := Compile([]byte(text), defaults())
	theirs, theirErr := oracle([]byte(text))
	if (err == nil) != (theirErr == nil) {
		if err == nil && tolerated(d, theirErr.Error()) || err != nil && strings.Contains(err.Error(), "is not valid JSON") {
			tally[3]++
			return
		}
		t.Fatalf("seed %d, dialect %d\n%s\nwe say: %v\nthe other says: %v", seed, d, text, err, theirErr)
	}
	if err != nil {
		tally[2]++
		return
	}
	for range 12 {
		value := v.value(3)
		if !json.Valid([]byte(value)) || strings.Count(value, `\u0061c`) > 0 && strings.Contains(value, `"ac"`) {
			continue
		}
		tree, _ := jsonschema.UnmarshalJSON(strings.NewReader(value))
		theirErr := theirs.Validate(tree)
		problems, _ := ours.Check([]byte(value))
		if len(problems) > 0 && problems[0].Message == string(endless) || endlessly(theirErr) {
			tally[3]++
			continue
		}
		if (problems == nil) != (theirErr == nil) {
			t.Fatalf("seed %d, dialect %d\n%s\nvalue %s\nwe say: %v\nthe other says: %v", seed, d, text, value, problems, theirErr)
		}
		if problems == nil {
			tally[0]++
		} else {
			tally[1]++
		}
	}
}

// seeds is how many schemas are made up in each dialect.
var seeds = flag.Uint64("seeds", 150, "how many schemas the oracle is asked about, in each dialect")

func TestOracleAgrees(t *testing.T) {
	var tally [4]int
	for d := draft4; d <= draft2020; d++ {
		for seed := range *seeds {
			compare(t, seed, d, &tally)
		}
	}
	t.Logf("%d values fit, %d do not, %d schemas are no schemas, %d not comparable", tally[0], tally[1], tally[2], tally[3])
	if tally[0] < 1000 || tally[1] < 1000 || tally[2] < 10 {
		t.Error("too few of one kind to mean anything")
	}
}

func FuzzOracleAgrees(f *testing.F) {
	f.Add(uint64(1), byte(draft2020))
	f.Add(uint64(2), byte(draft7))
	var tally [4]int
	f.Fuzz(func(t *testing.T, seed uint64, d byte) {
		compare(t, seed, draft4+dialect(d%5), &tally)
	})
}
