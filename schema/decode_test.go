package schema_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/schema"
)

func compile[T any](t testing.TB) *schema.Plan[T] {
	t.Helper()
	p, err := schema.Compile[T]()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

type item struct {
	Name  string  `json:"name" schema:"minLength=1,maxLength=5"`
	Price float64 `json:"price" schema:"minimum=0,maximum=10"`
}

type order struct {
	Count   int               `json:"count" schema:"minimum=1,maximum=10"`
	Small   int8              `json:"small,omitempty"`
	Big     uint64            `json:"big,omitempty"`
	Kind    string            `json:"kind,omitempty" schema:"enum=new|old"`
	Code    string            `json:"code,omitempty" schema:"pattern=^[A-Z]{2}$"`
	Mail    string            `json:"mail,omitempty" schema:"format=email"`
	Link    string            `json:"link,omitempty" schema:"format=uri"`
	Day     string            `json:"day,omitempty" schema:"format=date"`
	When    *time.Time        `json:"when"`
	Wait    time.Duration     `json:"wait" schema:"default=1m30s"`
	Level   int               `json:"level,omitempty" schema:"enum=1|2|3"`
	Ratio   float32           `json:"ratio,omitempty" schema:"enum=0.5|1"`
	Items   []item            `json:"items,omitempty" schema:"minItems=1,maxItems=3"`
	Tags    []string          `json:"tags,omitempty" schema:"uniqueItems"`
	Labels  map[string]string `json:"labels,omitempty"`
	Point   [2]int            `json:"point,omitempty"`
	Flag    *bool             `json:"flag"`
	Data    []byte            `json:"data,omitempty"`
	Sum     [2]byte           `json:"sum,omitempty"`
	Addr    netip.Addr        `json:"addr,omitzero"`
	Any     any               `json:"any,omitempty"`
	Raw     json.RawMessage   `json:"raw,omitempty"`
	Colour  color             `json:"colour,omitempty"`
	Numbers []*int            `json:"numbers,omitempty"`
	Deep    *tree             `json:"deep"`
}

func ptr[T any](v T) *T { return &v }

func TestDecodeAccepts(t *testing.T) {
	plan := compile[order](t)
	base := order{Count: 5, Wait: 90 * time.Second}
	with := func(change func(*order)) order { o := base; change(&o); return o }
	rows := []struct {
		data string
		want order
	}{
		{`{"count":5}`, base},
		{" \n{ \"count\" : 5 }\t", base},
		{`{"c\u006funt":5}`, base},
		{`{"count":5.0}`, base},
		{`{"count":50e-1}`, base},
		{`{"count":0.5e1}`, base},
		{`{"count":5,"small":-128}`, with(func(o *order) { o.Small = -128 })},
		{`{"count":5,"big":18446744073709551615}`, with(func(o *order) { o.Big = math.MaxUint64 })},
		{`{"count":5,"big":-0}`, base},
		{`{"count":5,"kind":"ol\u0064"}`, with(func(o *order) { o.Kind = "old" })},
		{`{"count":5,"code":"AB","mail":"a.b@c.de","link":"https://x/y?z#w","day":"2024-02-29"}`,
			with(func(o *order) { o.Code, o.Mail, o.Link, o.Day = "AB", "a.b@c.de", "https://x/y?z#w", "2024-02-29" })},
		{`{"count":5,"when":"2026-01-31T12:00:00.5Z"}`, with(func(o *order) { o.When = ptr(time.Date(2026, 1, 31, 12, 0, 0, 5e8, time.UTC)) })},
		{`{"count":5,"wait":"-2h0.5s"}`, with(func(o *order) { o.Wait = -2*time.Hour - 500*time.Millisecond })},
		{`{"count":5,"level":2.0,"ratio":5e-1}`, with(func(o *order) { o.Level, o.Ratio = 2, .5 })},
		{`{"items":[{"price":1e1,"name":"x"},{"name":"ééééé","price":0}],"count":5}`,
			with(func(o *order) { o.Items = []item{{"x", 10}, {"ééééé", 0}} })},
		{`{"count":5,"tags":[],"labels":{}}`, with(func(o *order) { o.Tags, o.Labels = []string{}, map[string]string{} })},
		{`{"count":5,"tags":["a","b"],"labels":{"a":"b","":"c"}}`,
			with(func(o *order) { o.Tags, o.Labels = []string{"a", "b"}, map[string]string{"a": "b", "": "c"} })},
		{`{"count":5,"point":[1,2],"flag":false}`, with(func(o *order) { o.Point, o.Flag = [2]int{1, 2}, ptr(false) })},
		{`{"count":5,"data":"aGk=","sum":"aGk=","addr":"::1"}`,
			with(func(o *order) { o.Data, o.Sum, o.Addr = []byte("hi"), [2]byte{'h', 'i'}, netip.IPv6Loopback() })},
		{`{"count":5,"any":[1,null],"raw":{"a": 1},"colour":"red"}`,
			with(func(o *order) { o.Any, o.Raw, o.Colour = []any{1.0, nil}, json.RawMessage(`{"a": 1}`), "red" })},
		{`{"count":5,"raw":null}`, with(func(o *order) { o.Raw = json.RawMessage(`null`) })},
		{`{"count":5,"numbers":[1,null]}`, with(func(o *order) { o.Numbers = []*int{ptr(1), nil} })},
		{`{"count":5,"deep":{"value":1,"children":[{"value":2}]}}`,
			with(func(o *order) { o.Deep = &tree{Value: 1, Children: []tree{{Value: 2}}} })},
		// null for what may be left out counts as left out, defaults and all
		{`{"count":5,"when":null,"wait":null,"small":null,"items":null,"deep":null,"flag":null}`, base},
	}
	for _, row := range rows {
		got := order{Count: 99, Kind: "left over"}
		data := []byte(row.data)
		if err := plan.Decode(data, &got); err != nil {
			t.Errorf("%s: %v", row.data, err)
			continue
		}
		clear(data) // nothing of the input may be kept
		if !reflect.DeepEqual(got, row.want) {
			t.Errorf("%s:\n%+v, want\n%+v", row.data, got, row.want)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	plan := compile[order](t)
	rows := []struct{ data, want string }{
		{`{}`, "count: is required but missing; expected an integer"},
		{``, "count: is required but missing; expected an integer"},
		{`null`, "expected an object, got null"},
		{`[1]`, "expected an object, got an array"},
		{`{"count":null}`, "count: expected an integer, got null"},
		{`{"count":"5"}`, `count: expected an integer, got the string "5"`},
		{`{"count":5.5}`, "count: expected an integer, got the number 5.5"},
		{`{"count":1e-999999999999}`, "count: expected an integer, got the number 1e-999999999999"},
		{`{"count":0}`, "count: must be at least 1"},
		{`{"count":11}`, "count: must be at most 10"},
		{`{"count":1e309}`, "count: must be at most 10"},
		{`{"count":-1e999999999999}`, "count: must be at least 1"},
		{`{"count":5,"small":128}`, "small: must be at most 127"},
		{`{"count":5,"big":18446744073709551616}`, "big: is outside the range of a 64-bit integer"},
		{`{"count":5,"big":-1}`, "big: must be at least 0"},
		{`{"count":5,"cuont":1}`, `cuont: unknown property; did you mean "count"?`},
		{`{"count":5,"Count":1}`, `Count: unknown property; did you mean "count"?`},
		{`{"count":5,"kind":"blue"}`, `kind: the string "blue" is not allowed; use one of "new", "old"`},
		{`{"count":5,"level":4}`, "level: the number 4 is not allowed; use one of 1, 2, 3"},
		{`{"count":5,"ratio":0.7}`, "ratio: the number 0.7 is not allowed; use one of 0.5, 1"},
		{`{"count":5,"ratio":1e39}`, "ratio: the number 1e39 is outside the range of a 32-bit number"},
		{`{"count":5,"ratio":1e309}`, "ratio: the number 1e309 is outside the range of a 32-bit number"},
		{`{"count":5,"code":"ABC"}`, `code: the string "ABC" does not match the pattern ^[A-Z]{2}$`},
		{`{"count":5,"mail":"nobody"}`, `mail: expected an email address such as "name@example.com", got the string "nobody"`},
		{`{"count":5,"link":"/x"}`, `link: expected an absolute URI such as "https://example.com/", got the string "/x"`},
		{`{"count":5,"day":"2023-02-29"}`, `day: expected a date such as "2026-01-31", got the string "2023-02-29"`},
		{`{"count":5,"when":"2026-01-31"}`, `when: expected a date and time such as "2026-01-31T12:00:00Z", got the string "2026-01-31"`},
		{`{"count":5,"wait":90}`, `wait: expected a duration such as "1m30s", got the number 90`},
		{`{"count":5,"wait":"9999999999h"}`, `wait: expected a duration such as "1m30s", got the string "9999999999h"`},
		{`{"count":5,"items":[]}`, "items: must have at least 1 item, not 0"},
		{`{"count":5,"items":[{},{},{},{}]}`, "items[0].name: is required but missing; expected a string\n" +
			"items[0].price: is required but missing; expected a number\n" +
			"items[1].name: is required but missing; expected a string\n" +
			"items[1].price: is required but missing; expected a number\n" +
			"items[2].name: is required but missing; expected a string\n" +
			"items[2].price: is required but missing; expected a number\n" +
			"items: must have at most 3 items, not 4"},
		{`{"count":5,"items":[{"name":"x","price":1},{"name":"","price":-1},{"name":"123456","price":10.00000000000000000001}]}`,
			"items[1].name: must have at least 1 character, not 0\nitems[1].price: must be at least 0\n" +
				"items[2].name: must have at most 5 characters, not 6\nitems[2].price: must be at most 10"},
		{`{"count":5,"tags":["a","b","a"]}`, "tags: must not have equal items, but [0] and [2] are"},
		{`{"count":5,"labels":{"a b":1,"c":2}}`, "labels[\"a b\"]: expected a string, got the number 1\nlabels.c: expected a string, got the number 2"},
		{`{"count":5,"point":[1]}`, "point: must have exactly 2 items, not 1"},
		{`{"count":5,"point":[1,2,3]}`, "point: must have exactly 2 items, not 3"},
		{`{"count":5,"flag":"yes"}`, `flag: expected true or false, got the string "yes"`},
		{`{"count":5,"data":"?"}`, `data: expected a string in base64, got the string "?"`},
		{`{"count":5,"sum":"aGkh"}`, `sum: must be 2 bytes in base64, not 3`},
		{`{"count":5,"addr":"localhost"}`, `addr: the string "localhost" is not valid: ParseAddr("localhost"): unable to parse IP`},
		{`{"count":5,"colour":"blue"}`, `colour: "blue" is not allowed; use one of "red", "green"`},
		{`{"count":5,"deep":{"children":[{"value":"x"}]}}`, "deep.children[0].value: expected an integer, got the string \"x\"\ndeep.value: is required but missing; expected an integer"},
		{`{"kind":1,"count":"x","zzz":true}`, "kind: expected a string, got the number 1\ncount: expected an integer, got the string \"x\"\n" +
			"zzz: unknown property; allowed are count, small, big, kind, code, mail, link, day, when, wait, level, ratio, items, tags, labels, point, flag, data, sum, addr and 5 more"},
	}
	for _, row := range rows {
		got := order{Count: 99}
		err := plan.Decode([]byte(row.data), &got)
		var problems *schema.Problems
		if !errors.As(err, &problems) {
			t.Errorf("%s: %v is no Problems", row.data, err)
			continue
		}
		if err.Error() != row.want {
			t.Errorf("%s:\n%s\nwant\n%s", row.data, err, row.want)
		}
		if !reflect.DeepEqual(got, order{}) {
			t.Errorf("%s: the value is not zero after an error: %+v", row.data, got)
		}
	}
}

// Guards against reports as large as the input (hostile row M22).
func TestReportIsBounded(t *testing.T) {
	plan := compile[struct {
		N []int `json:"n"`
	}](t)
	data := `{"n":["` + strings.Repeat("x", 5000) + `"` + strings.Repeat(`,"y"`, 9999) + `],"` + strings.Repeat("z", 5000) + `":1}`
	var in struct {
		N []int `json:"n"`
	}
	err := plan.Decode([]byte(data), &in)
	var problems *schema.Problems
	if !errors.As(err, &problems) {
		t.Fatal(err)
	}
	if len(problems.List) != 20 || problems.More != 9981 {
		t.Errorf("%d problems and %d more", len(problems.List), problems.More)
	}
	text := err.Error()
	if len(text) > 4000 || !strings.HasSuffix(text, "\nand 9981 more") || strings.Count(text, "\n") != 20 {
		t.Errorf("%d bytes: %s", len(text), text)
	}
}

func TestDecodeManyFields(t *testing.T) {
	var fields []reflect.StructField
	var data strings.Builder
	for i := range 100 {
		fields = append(fields, reflect.StructField{Name: fmt.Sprintf("F%d", i), Type: reflect.TypeFor[int]()})
		if i != 50 {
			fmt.Fprintf(&data, `,"F%d":%d`, 99-i, i)
		}
	}
	s, err := schema.Of(reflect.StructOf(fields))
	if err != nil || strings.Count(string(s), `"integer"`) != 100 {
		t.Fatalf("%v: %s", err, s)
	}
	var in wide
	err = compile[wide](t).Decode([]byte(`{"T":1,"A":2,"S":3,"C":4,"D":5,"E":6,"F":7,"G":8,"H":9,"J":10}`), &in)
	want := "J: unknown property; allowed are A, B, C, D, E, F, G, H, I, S, T\n" +
		"B: is required but missing; expected an integer\nI: is required but missing; expected an integer"
	if err == nil || err.Error() != want {
		t.Errorf("%v, want\n%s", err, want)
	}
}

type wide struct{ A, B, C, D, E, F, G, H, I, S, T int }

func TestDecodeDeep(t *testing.T) {
	plan := compile[tree](t)
	nested := func(depth int) []byte {
		return []byte(strings.Repeat(`{"value":1,"children":[`, depth) + strings.Repeat(`]}`, depth))
	}
	var got tree
	if err := plan.Decode(nested(50), &got); err != nil {
		t.Errorf("100 levels: %v", err)
	}
	if err := plan.Decode(nested(51), &got); err == nil || !strings.Contains(err.Error(), "nested too deep") {
		t.Errorf("102 levels: %v", err)
	}
}

func TestEmbeddedPointer(t *testing.T) {
	plan := compile[outer](t)
	var got outer
	if err := plan.Decode([]byte(`{"id":"1","name":"n"}`), &got); err != nil || got.Extra != nil || got.ID != "1" || got.Name != "n" {
		t.Errorf("%v, %+v", err, got)
	}
	if out, err := plan.Append(nil, &got); err != nil || string(out) != `{"id":"1","name":"n"}` {
		t.Errorf("%v, %s", err, out)
	}
	if err := plan.Decode([]byte(`{"id":"1","name":"n","note":"x"}`), &got); err != nil || got.Extra == nil || got.Note != "x" {
		t.Errorf("%v, %+v", err, got)
	}
}

func TestDecodeOtherRoots(t *testing.T) {
	var p *left
	if err := compile[*left](t).Decode([]byte(`{"X":1,"Y":2}`), &p); err != nil || p.Y != 2 {
		t.Errorf("pointer: %v", err)
	}
	var n int
	if err := compile[int](t).Decode([]byte(`7`), &n); err != nil || n != 7 {
		t.Errorf("int: %v", err)
	}
	var m map[string][]int
	if err := compile[map[string][]int](t).Decode([]byte(`{"a":[1]}`), &m); err != nil || m["a"][0] != 1 {
		t.Errorf("map: %v", err)
	}
}

type writeOnly struct{ s string }

func (w writeOnly) MarshalText() ([]byte, error) { return []byte(w.s), nil }

func TestAppend(t *testing.T) {
	full := order{
		Count: 5, Small: -1, Big: math.MaxUint64, Kind: "old", When: ptr(time.Date(2026, 1, 31, 12, 0, 0, 5e8, time.UTC)),
		Wait: 1500 * time.Microsecond, Ratio: .5, Items: []item{{"a\"\n", 1e-7}}, Labels: map[string]string{"b": "2", "a": "1"},
		Flag: ptr(false), Data: []byte("hi"), Addr: netip.IPv6Loopback(), Any: map[string]any{"y": 1, "x": []int(nil)},
		Raw: json.RawMessage(`[1]`), Colour: "red", Numbers: []*int{nil, ptr(3)}, Deep: &tree{Value: 1},
	}
	want := `{"count":5,"small":-1,"big":18446744073709551615,"kind":"old","when":"2026-01-31T12:00:00.5Z","wait":"1.5ms","ratio":0.5,` +
		`"items":[{"name":"a\"\n","price":1e-07}],"labels":{"a":"1","b":"2"},"point":[0,0],"flag":false,"data":"aGk=","sum":"AAA=","addr":"::1",` +
		`"any":{"x":[],"y":1},"raw":[1],"colour":"red","numbers":[null,3],"deep":{"value":1}}`
	plan := compile[order](t)
	out, err := plan.Append([]byte("x"), &full)
	if err != nil || string(out) != "x"+want {
		t.Fatalf("%v\n%s\n%s", err, out, want)
	}
	check, err := schema.NewValidator(plan.Schema(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := check.Check(out[1:]); err != nil {
		t.Errorf("does not fit its own schema: %v", err)
	}
	rows := []struct {
		got  func() ([]byte, error)
		want string
	}{
		{appending[[]int](t, nil), `[]`},
		{appending[map[string]int](t, nil), `{}`},
		{appending(t, struct {
			A []int
			B map[string]int
			C *int
			D any
			E json.RawMessage
		}{}), `{"A":[],"B":{},"D":null,"E":null}`},
		{appending(t, 3.0), `3`},
		{appending(t, float32(0.1)), `0.1`},
		{appending(t, map[string][2]byte{"a": {'h', 'i'}}), `{"a":"aGk="}`},
		{appending(t, map[string]writeOnly{"a": {"x"}}), `{"a":"x"}`},
		{appending(t, struct {
			A int  `json:"a,omitempty"`
			B bool `json:",omitzero"`
		}{}), `{}`},
		{appending(t, []math32{math32(math.Inf(1))}), "schema: the value has no JSON form: [0]: +Inf is not a JSON number"},
		{appending(t, struct{ A struct{ B float64 } }{struct{ B float64 }{math.NaN()}}), "schema: the value has no JSON form: A.B: NaN is not a JSON number"},
		{appending(t, "\xff"), "schema: the value has no JSON form: the text is not valid UTF-8"},
		{appending[*int](t, nil), "schema: the value has no JSON form: it is a nil pointer"},
		{appending(t, time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)), "schema: the value has no JSON form: the time 10000-01-01T00:00:00Z is not a date-time of RFC 3339"},
		{appending(t, struct{ F any }{func() {}}), "schema: the value has no JSON form: F: func(): the type func() has no JSON form"},
	}
	for _, row := range rows {
		out, err := row.got()
		if err != nil {
			out = []byte(err.Error())
		}
		if string(out) != row.want {
			t.Errorf("%s, want %s", out, row.want)
		}
	}
}

type math32 float32

func appending[T any](t *testing.T, v T) func() ([]byte, error) {
	return func() ([]byte, error) { return compile[T](t).Append(nil, &v) }
}

func TestAppendEndsOnCycles(t *testing.T) {
	loop := &tree{}
	loop.Parent = loop
	out, err := compile[tree](t).Append(nil, loop)
	if err == nil || !strings.Contains(err.Error(), "nested deeper than 500 levels") || len(err.Error()) > 300 {
		t.Errorf("%v (%d bytes)", err, len(out))
	}
}

func TestRoundTrip(t *testing.T) {
	plan := compile[order](t)
	data := []byte(`{"count":5,"wait":"1h0m0s","items":[{"name":"x","price":1.25}],"tags":["a"],"point":[1,2],"flag":true,"sum":"aGk=","deep":{"value":1,"other":{"trees":{"a":{"value":2}}}}}`)
	var o order
	if err := plan.Decode(data, &o); err != nil {
		t.Fatal(err)
	}
	out, err := plan.Append(nil, &o)
	if err != nil || string(out) != string(data) {
		t.Fatalf("%v\n%s\n%s", err, out, data)
	}
	if err := rawjson.Check(out); err != nil {
		t.Fatal(err)
	}
}
