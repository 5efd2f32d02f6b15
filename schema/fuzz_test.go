package schema_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/schema"
)

type fuzzed struct {
	Count  int              `json:"count" schema:"minimum=-5,maximum=10"`
	Small  uint8            `json:"small,omitempty"`
	Ratio  float64          `json:"ratio,omitempty" schema:"minimum=-1.5,maximum=2"`
	Kind   string           `json:"kind" schema:"enum=new|old"`
	Code   string           `json:"code,omitempty" schema:"minLength=1,maxLength=3,pattern=^[a-z]"`
	Mail   string           `json:"mail,omitempty" schema:"format=email"`
	Day    string           `json:"day,omitempty" schema:"format=date"`
	Link   string           `json:"link,omitempty" schema:"format=uri"`
	Level  int              `json:"level,omitempty" schema:"enum=1|2|3,default=1"`
	Tags   []string         `json:"tags,omitempty" schema:"minItems=1,maxItems=3,uniqueItems"`
	Point  [2]int16         `json:"point,omitempty"`
	Labels map[string]*bool `json:"labels,omitempty"`
	Step   int              `json:"step,omitempty" schema:"exclusiveMinimum=-5,exclusiveMaximum=5,multipleOf=2"`
	Part   float64          `json:"part,omitempty" schema:"exclusiveMaximum=1,multipleOf=0.25"`
	Same   string           `json:"same,omitempty" schema:"const=same"`
	Set    []float64        `json:"set,omitempty" schema:"uniqueItems"`
	Keys   map[int]bool     `json:"keys,omitempty"`
	Number json.Number      `json:"number,omitempty"`
	Next   *fuzzed          `json:"next"`
	Any    any              `json:"any,omitempty"`
}

// agree holds one input to a Plan and to the Validator of its schema. What
// only the Plan refuses must be one of the differences that the package
// documents; what only the Validator refuses must be null for a property that
// may be left out.
func agree[T any](t testing.TB) func(*testing.T, []byte) {
	plan := compile[T](t)
	check, err := schema.NewValidator(plan.Schema(), &schema.Limits{Formats: true})
	if err != nil {
		t.Fatal(err)
	}
	return func(t *testing.T, data []byte) {
		var v T
		planErr, checkErr := plan.Decode(data, &v), check.Check(data)
		switch {
		case planErr == nil && checkErr == nil:
			out, err := plan.Append(nil, &v)
			if err != nil {
				t.Fatalf("%s: decoded, but not written again: %v", data, err)
			}
			if err := rawjson.Check(out); err != nil {
				t.Fatalf("%s: %v", out, err)
			}
		case planErr == nil:
			text := checkErr.Error()
			if !strings.Contains(text, "got null") && !strings.Contains(text, "null is not allowed") && !strings.Contains(text, "too large") && !strings.Contains(text, "steps") {
				t.Fatalf("%s: only the Validator refuses: %v", data, checkErr)
			}
		case checkErr == nil:
			for _, line := range strings.Split(planErr.Error(), "\n") {
				if !strings.Contains(line, "outside the range of a") && !strings.Contains(line, "nested too deep") {
					t.Fatalf("%s: only the Plan refuses: %v", data, planErr)
				}
			}
		}
	}
}

func FuzzPlanAgrees(f *testing.F) {
	for _, seed := range []string{
		`{"count":1,"kind":"new"}`, `{"count":1.0,"kind":"old","small":255,"ratio":2.0000000000000000001}`,
		`{"count":-5e0,"kind":"new","code":"abc","mail":"a@b","day":"2024-02-29","link":"a:b","level":2}`,
		`{"count":11,"kind":"x","tags":["a","a"],"point":[1,70000],"labels":{"a":null,"b":true}}`,
		`{"count":1,"kind":"new","next":{"count":1e1,"kind":"old","next":null},"any":[1,{"x":null}]}`,
		`{"count":1,"kind":"new","step":-4.0,"part":0.75,"same":"same","set":[1,1.5],"keys":{"0":true,"-1":false},"number":1e5}`,
		`{"count":1,"kind":"new","step":5,"part":1.1,"same":"other","set":[1,1.0,2e0,2],"keys":{"01":true},"number":"1"}`,
		`{"a":1,"b":2}`, `{"a":9223372036854775807,"b":-9223372036854775808}`, `{"a":9223372036854775808,"b":1e400}`,
		`{"value":1,"children":[{"value":2,"children":[]}],"other":{"trees":{"x":{"value":1}}}}`,
		`{"a":-0,"b":0e999999999}`, `{"a":null,"b":"2"}`, `[]`, `{}`, `null`, `{"count":0.1e1,"kind":"\u006eew","extra":1}`,
	} {
		f.Add([]byte(seed))
	}
	compiledFuzzed := compile[fuzzed](f)
	two, some, trees := agree[twoInts](f), agree[fuzzed](f), agree[tree](f)
	f.Fuzz(func(t *testing.T, data []byte) {
		if rawjson.Check(data) != nil {
			// Decode takes only what was checked, but must not panic.
			_ = compiledFuzzed.Decode(data, new(fuzzed))
			return
		}
		two(t, data)
		some(t, data)
		trees(t, data)
	})
}

func FuzzSchemaReaders(f *testing.F) {
	f.Add([]byte(`{"properties":{"a":{"default":[1]},"b":{"type":"string","x-mcp-header":"B"}}}`), []byte(`{"b":1}`))
	f.Add([]byte(`{"$defs":{"a":{"x-mcp-header":"q"}},"items":[true,{"x-mcp-header":7}]}`), []byte(` { } `))
	f.Add([]byte(`{"properties":[{}],"properties":{}}`), []byte(`[`))
	f.Fuzz(func(t *testing.T, s, value []byte) {
		out := schema.ApplyDefaults(s, value)
		if rawjson.Check(value) == nil && rawjson.Check(out) != nil {
			t.Fatalf("%s with the defaults of %s is broken: %s", value, s, out)
		}
		found, err := schema.Headers(s)
		for _, h := range found {
			if err != nil || h.Name == "" || len(h.Path) == 0 || h.Type == "" {
				t.Fatalf("%s: %+v, %v", s, h, err)
			}
		}
	})
}

type roundTrip struct {
	Bool     bool                     `json:"bool"`
	Int      int64                    `json:"int"`
	Uint     *uint64                  `json:"uint"`
	Float    float64                  `json:"float"`
	Short    float32                  `json:"short,omitempty"`
	Text     string                   `json:"text"`
	Bytes    []byte                   `json:"bytes"`
	Time     time.Time                `json:"time,omitzero"`
	Duration time.Duration            `json:"duration"`
	Number   json.Number              `json:"number,omitempty"`
	Raw      json.RawMessage          `json:"raw,omitempty"`
	List     [][]string               `json:"list"`
	Map      map[string]time.Duration `json:"map"`
	Keys     map[int64]*roundTrip     `json:"keys"`
	Any      any                      `json:"any"`
	Next     *roundTrip               `json:"next"`
}

// FuzzRoundTrip: what Unmarshal reads, Marshal writes so that a Plan of the
// same type reads the same value, and writes the same bytes.
func FuzzRoundTrip(f *testing.F) {
	for _, seed := range []string{
		`{}`, `null`, `{"bool":true,"int":-9223372036854775808,"uint":18446744073709551615,"float":1e-7,"short":0.1}`,
		`{"text":"\u2028 \ud83d\ude00","bytes":"AP8=","time":"2026-11-15T12:00:00.5+01:00","duration":"-1h2m3.5s","number":1.50e+3}`,
		`{"raw":{"a":[1,null]},"list":[["a"],[]],"map":{"":"1ns","é":"2562047h47m16.854775807s"},"keys":{"-1":null,"0":{"int":1}}}`,
		`{"any":{"a":[1,"x",{"b":null}],"":true},"next":{"next":{"text":"deep"},"raw":null}}`, `{"extra":1,"int":null}`,
	} {
		f.Add([]byte(seed))
	}
	plan := compile[roundTrip](f)
	f.Fuzz(func(t *testing.T, data []byte) {
		if rawjson.Check(data) != nil {
			return
		}
		var first, second roundTrip
		if schema.Unmarshal(data, &first) != nil {
			return
		}
		sent, err := schema.Marshal(first)
		if err != nil {
			t.Fatalf("%s was read and cannot be written: %v", data, err)
		}
		if err := rawjson.Check(sent); err != nil {
			t.Fatalf("%s became %s: %v", data, sent, err)
		}
		if err := plan.Decode(sent, &second); err != nil {
			t.Fatalf("%s became %s, which does not fit: %v", data, sent, err)
		}
		again, err := plan.Append(nil, &second)
		if err != nil || string(again) != string(sent) {
			t.Fatalf("%s became %s and then %s, %v", data, sent, again, err)
		}
	})
}
