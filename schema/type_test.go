package schema_test

import (
	"encoding/json"
	"math/big"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/schema"
)

type base struct {
	ID   string `json:"id"`
	Name string `json:"name" doc:"hidden by the outer name"`
}

type Extra struct {
	Note string `json:"note"`
}

type outer struct {
	base
	*Extra
	Name string `json:"name"`
}

type tree struct {
	Value    int     `json:"value"`
	Children []tree  `json:"children,omitempty"`
	Parent   *tree   `json:"parent,omitempty" doc:"where it hangs"`
	Other    *forest `json:"other,omitempty"`
}

type forest struct {
	Trees map[string]tree `json:"trees"`
	Next  *forest         `json:"next"`
}

type pair[A, B any] struct {
	First  A `json:"first"`
	Second B `json:"second"`
}

type list[T any] struct {
	Head T        `json:"head"`
	Tail *list[T] `json:"tail"`
}

type color string

func (color) JSONSchema() json.RawMessage {
	return json.RawMessage(`{ "type": "string", "enum": ["red","green"], "title": "Colour" }`)
}

type left struct{ X, Y int }
type right struct{ X, Z int }

func TestSchemaOfType(t *testing.T) {
	obj := func(members, required string) string {
		s := `{"type":"object","properties":{` + members + `}`
		if required != "" {
			s += `,"required":[` + required + `]`
		}
		return s + `,"additionalProperties":false}`
	}
	rows := []struct {
		name string
		typ  reflect.Type
		want string
	}{
		{"empty struct", reflect.TypeFor[struct{}](), `{"type":"object","additionalProperties":false}`},
		{"order of fields", reflect.TypeFor[struct{ B, A int }](), obj(`"B":{"type":"integer"},"A":{"type":"integer"}`, `"B","A"`)},
		{"skipped fields", reflect.TypeFor[struct {
			A int `json:"-"`
			B int
			c int
		}](), obj(`"B":{"type":"integer"}`, `"B"`)},
		{"a field named -", reflect.StructOf([]reflect.StructField{{Name: "A", Type: reflect.TypeFor[int](), Tag: `json:"-,"`}}),
			obj(`"-":{"type":"integer"}`, `"-"`)},
		{"optional fields", reflect.TypeFor[struct {
			A *int `json:"a"`
			B int  `json:"b,omitempty"`
			C int  `json:"c,omitzero"`
			D int  `json:"d" schema:"default=3"`
			E int  `json:"e"`
		}](), obj(`"a":{"type":"integer"},"b":{"type":"integer"},"c":{"type":"integer"},"d":{"type":"integer","default":3},"e":{"type":"integer"}`, `"e"`)},
		{"numbers", reflect.TypeFor[struct {
			A int8
			B uint16
			C uint
			D int64
			E float32
		}](), obj(`"A":{"type":"integer","minimum":-128,"maximum":127},"B":{"type":"integer","minimum":0,"maximum":65535},"C":{"type":"integer","minimum":0},"D":{"type":"integer"},"E":{"type":"number"}`, `"A","B","C","D","E"`)},
		{"special types", reflect.TypeFor[struct {
			A []byte
			B [3]byte
			C time.Time
			D netip.Addr
			E json.RawMessage
			F any
			G big.Int
		}](), obj(`"A":{"type":"string","contentEncoding":"base64"},"B":{"type":"string","contentEncoding":"base64"},"C":{"type":"string","format":"date-time"},"D":{"type":"string"},"E":{},"F":{},"G":{}`, `"A","B","C","D","E","F","G"`)},
		{"duration", reflect.TypeFor[time.Duration](), `{"type":"string","pattern":"^-?([0-9]+(\\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$"}`},
		{"collections", reflect.TypeFor[struct {
			A []string
			B [2]bool
			C map[string]int
			D map[string]any
			E []*int
		}](), obj(`"A":{"type":"array","items":{"type":"string"}},"B":{"type":"array","minItems":2,"maxItems":2,"items":{"type":"boolean"}},"C":{"type":"object","additionalProperties":{"type":"integer"}},"D":{"type":"object"},"E":{"type":"array","items":{"anyOf":[{"type":"integer"},{"type":"null"}]}}`, `"A","B","C","D","E"`)},
		{"embedded", reflect.TypeFor[outer](), obj(`"id":{"type":"string"},"note":{"type":"string"},"name":{"type":"string"}`, `"id","name"`)},
		{"ambiguous names drop out", reflect.TypeFor[struct {
			left
			right
		}](), obj(`"Y":{"type":"integer"},"Z":{"type":"integer"}`, `"Y","Z"`)},
		{"inline", reflect.TypeFor[struct {
			In left `json:",inline"`
		}](), obj(`"X":{"type":"integer"},"Y":{"type":"integer"}`, `"X","Y"`)},
		{"generic", reflect.TypeFor[pair[int, []pair[bool, string]]](), obj(`"first":{"type":"integer"},"second":{"type":"array","items":`+obj(`"first":{"type":"boolean"},"second":{"type":"string"}`, `"first","second"`)+`}`, `"first","second"`)},
		{"generic and recursive", reflect.TypeFor[struct{ L list[int] }](), `{"type":"object","properties":{"L":{"$ref":"#/$defs/list_int"}},"required":["L"],"additionalProperties":false,"$defs":{"list_int":` + obj(`"head":{"type":"integer"},"tail":{"$ref":"#/$defs/list_int"}`, `"head"`) + `}}`},
		{"recursive root", reflect.TypeFor[tree](), `{"type":"object","properties":{"value":{"type":"integer"},"children":{"type":"array","items":{"$ref":"#"}},"parent":{"$ref":"#","description":"where it hangs"},"other":{"$ref":"#/$defs/forest"}},"required":["value"],"additionalProperties":false,"$defs":{"forest":` + obj(`"trees":{"type":"object","additionalProperties":{"$ref":"#"}},"next":{"$ref":"#/$defs/forest"}`, `"trees"`) + `}}`},
		{"own schema", reflect.TypeFor[struct {
			C color `doc:"of the car"`
		}](), obj(`"C":{"description":"of the car","type":"string","enum":["red","green"],"title":"Colour"}`, `"C"`)},
		{"tags", reflect.TypeFor[struct {
			A int      `schema:"minimum=1,maximum=10,default=5,examples=2|3,title=Count" doc:"how \"many\""`
			B string   `schema:"enum=a|b,c,minLength=1"`
			C string   `schema:"maxLength=9,pattern=^[a-z]{1,3}(,x=y)?$"`
			D string   `schema:"format=email,header=Region"`
			E []string `schema:"minItems=1,maxItems=3,uniqueItems,enum='x,y'|'it''s'"`
			F *float64 `schema:"minimum=-0.5"`
			G []int    `schema:"default='[1,2]'"`
			H bool     `schema:"default=true"`
		}](), ""},
		{"plain values", reflect.TypeFor[[]map[string]*int](), `{"type":"array","items":{"type":"object","additionalProperties":{"anyOf":[{"type":"integer"},{"type":"null"}]}}}`},
		{"pointer", reflect.TypeFor[*left](), obj(`"X":{"type":"integer"},"Y":{"type":"integer"}`, `"X","Y"`)},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			got, err := schema.Of(row.typ)
			if row.want == "" {
				if err == nil || !strings.Contains(err.Error(), `.B: unknown keyword "c"`) {
					t.Fatalf("an enum value with a comma outside quotes: %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != row.want {
				t.Fatalf("got\n%s\nwant\n%s", got, row.want)
			}
			if err := rawjson.Check(got); err != nil {
				t.Fatal(err)
			}
			if _, err := schema.NewValidator(got, nil); err != nil {
				t.Fatal(err)
			}
			again, _ := schema.Of(row.typ)
			if string(again) != string(got) {
				t.Fatal("the bytes change from call to call")
			}
		})
	}
}

func TestSchemaOfTags(t *testing.T) {
	got, err := schema.For[struct {
		A int      `schema:"minimum=1,maximum=10,default=5,examples=2|3,title=Count" doc:"how \"many\""`
		B string   `schema:"enum=a|b,minLength=1"`
		C string   `schema:"maxLength=9,pattern=^[a-z]{1,3}(,x=y)?$"`
		D string   `schema:"format=email,header=Region"`
		E []string `schema:"minItems=1,maxItems=3,uniqueItems,enum='x,y'|'it''s'"`
		F *float64 `schema:"minimum=-0.5"`
		G []int    `schema:"default='[1,2]'"`
		H bool     `schema:"default=true"`
	}]()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"A": `{"type":"integer","title":"Count","description":"how \"many\"","default":5,"examples":[2,3],"minimum":1,"maximum":10}`,
		"B": `{"type":"string","enum":["a","b"],"minLength":1}`,
		"C": `{"type":"string","maxLength":9,"pattern":"^[a-z]{1,3}(,x=y)?$"}`,
		"D": `{"type":"string","x-mcp-header":"Region","format":"email"}`,
		"E": `{"type":"array","minItems":1,"maxItems":3,"uniqueItems":true,"items":{"type":"string","enum":["x,y","it's"]}}`,
		"F": `{"type":"number","minimum":-0.5}`,
		"G": `{"type":"array","default":[1,2],"items":{"type":"integer"}}`,
		"H": `{"type":"boolean","default":true}`,
	}
	properties := rawjson.Lookup(got, "properties")
	for name, s := range want {
		if p := rawjson.Lookup(properties, name); string(p) != s {
			t.Errorf("%s:\n%s, want\n%s", name, p, s)
		}
	}
	if r := rawjson.Lookup(got, "required"); string(r) != `["B","C","D","E"]` {
		t.Errorf("required is %s", r)
	}
}

type badOwn struct{}

func (badOwn) JSONSchema() json.RawMessage { return json.RawMessage(`{"type":"nothing"}`) }

type hiddenPointer struct{ *base }

func TestMisuseIsAnError(t *testing.T) {
	type in struct {
		C chan int `json:"c"`
	}
	rows := []struct {
		typ  reflect.Type
		want string
	}{
		{reflect.TypeFor[struct{ A []in }](), ".A[].C: the type chan int has no JSON form"},
		{reflect.TypeFor[struct{ F func() }](), ".F: the type func() has no JSON form"},
		{reflect.TypeFor[struct{ F complex128 }](), ".F: the type complex128"},
		{reflect.TypeFor[map[bool]string](), "map[bool]string: a map with keys of type bool"},
		{reflect.TypeFor[struct{ E error }](), ".E: the interface error has no JSON form"},
		{reflect.TypeFor[struct {
			S string `schema:"minimum=1"`
		}](), ".S: minimum does not apply to a field of type string"},
		{reflect.TypeFor[struct {
			S int `schema:"minLength=1"`
		}](), ".S: minLength does not apply to"},
		{reflect.TypeFor[struct {
			S int `schema:"minItems=1"`
		}](), ".S: minItems does not apply to"},
		{reflect.TypeFor[struct {
			S left `schema:"enum=1"`
		}](), ".S: enum does not apply to"},
		{reflect.TypeFor[struct {
			S int `schema:"minimun=1"`
		}](), `unknown keyword "minimun" in the schema tag; did you mean "minimum"?`},
		{reflect.TypeFor[struct {
			S int `schema:"minimum"`
		}](), "minimum needs a value"},
		{reflect.TypeFor[struct {
			S int `schema:"minimum=1,minimum=2"`
		}](), "is repeated"},
		{reflect.TypeFor[struct {
			S int `schema:"minimum=x"`
		}](), "minimum=x is not a value of type int"},
		{reflect.TypeFor[struct {
			S int8 `schema:"maximum=300"`
		}](), "is outside the range -128 to 127"},
		{reflect.TypeFor[struct {
			S int `schema:"minimum=5,maximum=4"`
		}](), "is outside the range"},
		{reflect.TypeFor[struct {
			S string `schema:"minLength=5,maxLength=4"`
		}](), "minLength=5 is greater than maxLength=4"},
		{reflect.TypeFor[struct {
			S string `schema:"pattern=(?=x)"`
		}](), ".S: pattern: error parsing regexp"},
		{reflect.TypeFor[struct {
			S string `schema:"format=emial"`
		}](), `unknown format "emial"; did you mean "email"?`},
		{reflect.TypeFor[struct {
			S int `schema:"default=abc"`
		}](), `.S: default: "abc" is not a value of type int`},
		{reflect.TypeFor[struct {
			S int `schema:"maximum=4,default=5"`
		}](), `.S: default=5: must be at most 4`},
		{reflect.TypeFor[struct {
			S string `schema:"enum=a|b,examples=c"`
		}](), `the example "c": the string "c" is not allowed`},
		{reflect.TypeFor[struct {
			S []int `schema:"default=1|2"`
		}](), "must be JSON"},
		{reflect.TypeFor[struct {
			S time.Duration `schema:"default=soon"`
		}](), "expected a duration"},
		{reflect.TypeFor[struct {
			S string `schema:"title='x"`
		}](), "unclosed single quote"},
		{reflect.TypeFor[struct {
			S []left `schema:"uniqueItems"`
		}](), "uniqueItems applies to items"},
		{reflect.TypeFor[struct {
			S string `schema:"header=A B"`
		}](), `.S: header="A B" is not a header name`},
		{reflect.TypeFor[struct {
			S float64 `schema:"header=A"`
		}](), "must be string, integer or boolean"},
		{reflect.TypeFor[struct {
			S string `schema:"header=A"`
			T string `schema:"header=a"`
		}](), "also names the property S"},
		{reflect.TypeFor[struct {
			S int `json:",string"`
		}](), `.S: the json tag option "string" is not supported`},
		{reflect.TypeFor[hiddenPointer](), "embedded pointer to an unexported struct"},
		{reflect.TypeFor[struct{ B badOwn }](), ".B: invalid result of JSONSchema"},
		{nil, "the type is nil"},
	}
	for _, row := range rows {
		_, err := schema.Of(row.typ)
		if err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%v:\n%v\nwant …%s…", row.typ, err, row.want)
		}
	}
}
