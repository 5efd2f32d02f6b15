package schema_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/schema"
)

type limits struct {
	Int   int      `json:"int,omitempty" schema:"exclusiveMinimum=0,exclusiveMaximum=100,multipleOf=5"`
	Uint  uint8    `json:"uint,omitempty" schema:"exclusiveMinimum=1,multipleOf=3"`
	Float float64  `json:"float,omitempty" schema:"exclusiveMinimum=0,exclusiveMaximum=1,multipleOf=0.1"`
	Kind  string   `json:"kind,omitempty" schema:"const=circle"`
	Seven int64    `json:"seven,omitempty" schema:"const=7"`
	Half  float32  `json:"half,omitempty" schema:"const=0.5"`
	Yes   bool     `json:"yes,omitempty" schema:"const=true"`
	List  []int    `json:"list,omitempty" schema:"multipleOf=2,uniqueItems,maxItems=9"`
	Texts []string `json:"texts,omitempty" schema:"minLength=2,uniqueItems,minItems=3"`
}

func TestNumberAndConstKeywords(t *testing.T) {
	plan := compile[limits](t)
	for _, want := range []string{
		`"int":{"type":"integer","exclusiveMinimum":0,"exclusiveMaximum":100,"multipleOf":5}`,
		`"uint":{"type":"integer","minimum":0,"maximum":255,"exclusiveMinimum":1,"multipleOf":3}`,
		`"float":{"type":"number","exclusiveMinimum":0,"exclusiveMaximum":1,"multipleOf":0.1}`,
		`"kind":{"type":"string","const":"circle"}`, `"seven":{"type":"integer","const":7}`,
		`"half":{"type":"number","const":0.5}`, `"yes":{"type":"boolean","const":true}`,
		`"items":{"type":"integer","multipleOf":2}`,
	} {
		if !strings.Contains(string(plan.Schema()), want) {
			t.Errorf("the schema %s lacks %s", plan.Schema(), want)
		}
	}
	check, err := schema.NewValidator(plan.Schema(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct{ data, want string }{
		{`{"int":5,"uint":6,"float":0.3,"kind":"circle","seven":7.0,"half":5e-1,"yes":true,"list":[2,-4]}`, ""},
		{`{"int":95}`, ""},
		{`{"float":0.1000000000000000000}`, ""},
		{`{"int":0}`, "int: must be more than 0"},
		{`{"int":100}`, "int: must be less than 100"},
		{`{"int":-3}`, "int: must be more than 0\nint: must be a multiple of 5"},
		{`{"uint":1}`, "uint: must be more than 1\nuint: must be a multiple of 3"},
		{`{"uint":255}`, ""},
		{`{"float":0}`, "float: must be more than 0"},
		{`{"float":1}`, "float: must be less than 1"},
		{`{"float":0.30000000000000000001}`, "float: must be a multiple of 0.1"},
		{`{"float":0.99999999999999999999}`, "float: must be a multiple of 0.1"},
		{`{"kind":"square"}`, `kind: must be "circle", got the string "square"`},
		{`{"seven":8}`, "seven: must be 7, got the number 8"},
		{`{"half":0.25}`, "half: must be 0.5, got the number 0.25"},
		{`{"yes":false}`, "yes: must be true, got false"},

		// L39: equal items are told beside everything else, each of them.
		{`{"list":[1,2,2.0,1]}`, "list[0]: must be a multiple of 2\nlist[3]: must be a multiple of 2\n" +
			"list: must not have equal items, but [1] and [2] are\nlist: must not have equal items, but [0] and [3] are"},
		{`{"texts":["a","a"]}`, "texts[0]: must have at least 2 characters, not 1\ntexts[1]: must have at least 2 characters, not 1\n" +
			"texts: must have at least 3 items, not 2\ntexts: must not have equal items, but [0] and [1] are"},
		{`{"int":0,"texts":["aa","bb","\u0061a"]}`, "int: must be more than 0\ntexts: must not have equal items, but [0] and [2] are"},
		{`{"list":[2,4,6,8,10,12,14,16,18,2]}`, "list: must have at most 9 items, not 10\nlist: must not have equal items, but [0] and [9] are"},
	} {
		var v limits
		err := plan.Decode([]byte(row.data), &v)
		if text := fmt.Sprint(err); row.want == "" && err != nil || row.want != "" && text != row.want {
			t.Errorf("%s:\n%v\nwant\n%s", row.data, err, row.want)
		}
		if (err == nil) != (check.Check([]byte(row.data)) == nil) {
			t.Errorf("%s: Plan says %v, Validator says %v", row.data, err, check.Check([]byte(row.data)))
		}
	}
}

// L39: so does a Validator.
func TestValidatorTellsAllEqualItems(t *testing.T) {
	check, err := schema.NewValidator(json.RawMessage(`{"items":{"maximum":5},"uniqueItems":true}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, pad := range []string{"", ",-1,-2,-3,-4,-5,-6,-7,-8"} { // few items are compared in another way
		got := fmt.Sprint(check.Check(json.RawMessage(`[1,9,1,9` + pad + `]`)))
		want := "[1]: must be at most 5\n[3]: must be at most 5\nmust not have equal items, but [0] and [2] are\nmust not have equal items, but [1] and [3] are"
		if got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	}
}

func TestMisusedKeywords(t *testing.T) {
	for _, row := range []struct {
		typ  reflect.Type
		want string
	}{
		{reflect.TypeFor[struct {
			S string `schema:"exclusiveMinimum=1"`
		}](), ".S: exclusiveMinimum does not apply to a field of type string"},
		{reflect.TypeFor[struct {
			S uint `schema:"exclusiveMinimum=-1"`
		}](), ".S: exclusiveMinimum=-1 is not a value of type uint"},
		{reflect.TypeFor[struct {
			S int `schema:"multipleOf=0"`
		}](), ".S: multipleOf=0 must be more than 0"},
		{reflect.TypeFor[struct {
			S int `schema:"multipleOf=0.5"`
		}](), ".S: multipleOf=0.5 is not a value of type int"},
		{reflect.TypeFor[struct {
			S int `schema:"exclusiveMinimum=5,maximum=5"`
		}](), ".S: no value is between 5 and 5"},
		{reflect.TypeFor[struct {
			S float64 `schema:"minimum=5,exclusiveMaximum=5"`
		}](), ".S: no value is between 5 and 5"},
		{reflect.TypeFor[struct {
			S int `schema:"const=x"`
		}](), `.S: const: "x" is not a value of type int`},
		{reflect.TypeFor[struct {
			S int `schema:"const=1,enum=1|2"`
		}](), ".S: use either enum or const"},
		{reflect.TypeFor[struct {
			S []byte `schema:"const=x"`
		}](), ".S: const does not apply to a field of type []uint8"},
		{reflect.TypeFor[struct {
			S bool `schema:"const=yes"`
		}](), `.S: const: "yes" is not a value of type bool`},
		{reflect.TypeFor[struct {
			S string `schema:"const=a,default=b"`
		}](), `.S: default="b": must be "a"`},

		// L42: tags of other libraries.
		{reflect.TypeFor[struct {
			S string `jsonschema:"the name"`
		}](), `.S: the tag jsonschema belongs to another library and is not read: put the description into doc:"…" and the rules into schema:"…"`},
		{reflect.TypeFor[struct {
			A struct {
				B []struct {
					S string `jsonschema_description:"x"`
				}
			}
		}](), ".A.B[].S: the tag jsonschema_description belongs to another library"},
		{reflect.TypeFor[struct{ foreignBase }](), ".S: the tag jsonschema belongs"},
	} {
		_, err := schema.Of(row.typ)
		if err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%v:\n%v\nwant …%s…", row.typ, err, row.want)
		}
	}
	// Where no schema is made, nothing is lost.
	var v foreignBase
	if err := schema.Unmarshal([]byte(`{"S":"x"}`), &v); err != nil || v.S != "x" {
		t.Errorf("Unmarshal: %+v, %v", v, err)
	}
}

type foreignBase struct {
	S string `jsonschema:"x"`
}

// oneWay has a text and no way back.
type oneWay struct{ text string }

func (w oneWay) MarshalText() ([]byte, error) { return []byte(w.text), nil }

func TestCheckFindsBrokenRules(t *testing.T) {
	type out struct {
		Size  string      `json:"size" schema:"enum=small|large"`
		Count int         `json:"count" schema:"minimum=1"`
		Code  oneWay      `json:"code" schema:"maxLength=3"`
		Mail  string      `json:"mail,omitempty" schema:"format=email"`
		Tags  []string    `json:"tags" schema:"minItems=1"`
		Hue   color       `json:"hue,omitempty"`
		Any   any         `json:"any"`
		Kids  map[int]out `json:"kids,omitempty"`
	}
	plan := compile[out](t)
	good := out{"small", 1, oneWay{"abc"}, "a@b.c", []string{"x"}, "red", map[string]any{"size": 1}, map[int]out{}}
	with := func(change func(*out)) out { o := good; change(&o); return o }
	for _, row := range []struct {
		v    out
		want string
	}{
		{good, ""},
		{with(func(o *out) { o.Mail, o.Hue = "", "" }), ""},
		{with(func(o *out) { o.Size = "huge" }), `size: the string "huge" is not allowed; use one of "small", "large"`},
		{with(func(o *out) { o.Count, o.Code.text = 0, "abcd" }), "count: must be at least 1\ncode: must have at most 3 characters, not 4"},
		{with(func(o *out) { o.Mail = "nobody" }), "mail: expected an email address"},
		{with(func(o *out) { o.Tags = nil }), "tags: must have at least 1 item, not 0"},
		{with(func(o *out) { o.Hue = "blue" }), `hue: "blue" is not allowed`},
		{with(func(o *out) { o.Kids = map[int]out{3: with(func(o *out) { o.Count = -1 })} }), `kids.3.count: must be at least 1`},
	} {
		data, err := plan.Append(nil, &row.v)
		if err != nil {
			t.Fatal(err)
		}
		err = plan.Check(data)
		if row.want == "" && err != nil || row.want != "" && (err == nil || !strings.Contains(err.Error(), row.want)) {
			t.Errorf("%s: %v, want %q", data, err, row.want)
		}
		if problems := new(schema.Problems); err != nil && !errors.As(err, &problems) {
			t.Errorf("%v is no Problems", err)
		}
	}
	free, data := compile[twoInts](t), []byte(`{"a":1,"b":2}`)
	if n := testing.AllocsPerRun(10, func() { free.Check(data) }); n > 0 {
		t.Errorf("checking a type without rules costs %v allocations", n)
	}
}

// A pointer receiver counts for omitzero, as in encoding/json.
type never struct{ N int }

func (n *never) IsZero() bool { return true }

func TestMarshal(t *testing.T) {
	deep := any("x")
	for range 600 {
		deep = []any{deep}
	}
	for _, row := range []struct {
		v    any
		want string
	}{
		{nil, `null`},
		{(*int)(nil), `null`},
		{map[string]any(nil), `{}`},
		{struct {
			A never `json:"a,omitzero"`
			B never `json:"b"`
		}{never{1}, never{1}}, `{"b":{"N":1}}`},
		{map[string]any{"n": (*int)(nil), "l": []any{}}, `{"l":[],"n":null}`},
		{json.Number(""), `0`},
		{json.Number("1e5"), `1e5`},
		{json.Number("0x1"), `schema: the value has no JSON form: "0x1" is not a JSON number`},
		{map[string]any{"a": []any{1, struct{ C chan int }{}}}, `schema: the value has no JSON form: a[1]: struct { C chan int }.C: the type chan int has no JSON form`},
		{map[twoKeys]int{{1}: 1, {2}: 2}, `schema: the value has no JSON form: two keys are both encoded as "same"`},
		{deep, `schema: the value has no JSON form: ` + strings.Repeat("[0]", 26) + `[0…: it is nested deeper than 500 levels`},
	} {
		out, err := schema.Marshal(row.v)
		if err != nil {
			out = []byte(err.Error())
		} else if err := rawjson.Check(out); err != nil {
			t.Errorf("%s: %v", out, err)
		}
		if string(out) != row.want {
			t.Errorf("%s, want %s", out, row.want)
		}
	}
}

type twoKeys struct{ N int }

func (twoKeys) MarshalText() ([]byte, error) { return []byte("same"), nil }

func TestUnmarshalMisuse(t *testing.T) {
	for _, v := range []any{nil, 1, (*int)(nil)} {
		if err := schema.Unmarshal([]byte(`1`), v); err == nil {
			t.Errorf("Unmarshal into %T worked", v)
		}
	}
	var m map[int8]bool
	err := schema.Unmarshal([]byte(`{"1":true,"01":true,"200":true,"x":true}`), &m)
	if err == nil || !strings.Contains(err.Error(), "01: this key must be an integer\n200: must be at most 127\nx: this key must be an integer") {
		t.Errorf("the keys of a map were taken: %v, %v", m, err)
	}
	n := 5
	p := &n
	if err := schema.Unmarshal([]byte(`null`), &p); err != nil || p != nil {
		t.Errorf("null left %v, %v", p, err)
	}
	if err := schema.Unmarshal([]byte(`"x"`), &n); err == nil || n != 0 {
		t.Errorf("after an error the value is %d, %v", n, err)
	}
}
