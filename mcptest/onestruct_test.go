package mcptest

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"math/big"
	"net/http/httptest"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/era"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
	"github.com/tenon-mcp/tenon/transport/streamable"
	"github.com/tenon-mcp/tenon/transport/streamclient"
)

// places has a value in every place where a type can be used. It is the input
// and the output of a tool.
type places[T any] struct {
	Plain   T            `json:"plain"`
	Pointer *T           `json:"pointer"`
	Nil     *T           `json:"nil"`
	Zero    T            `json:"zero,omitzero"`
	Empty   T            `json:"empty,omitempty"`
	List    []T          `json:"list"`
	Array   [2]T         `json:"array"`
	Nested  [][]T        `json:"nested"`
	Map     map[string]T `json:"map"`
	Or      []*T         `json:"or"` // an element or null
	In      inner[T]     `json:"in"`
	embedded[T]
	*Embedded[T]
}

type inner[T any] struct {
	Deep map[string][]T `json:"deep,omitzero"`
}

type embedded[T any] struct {
	Promoted T `json:"promoted"`
}

type Embedded[T any] struct {
	Also T `json:"also"`
}

// everywhere puts one value into every place.
func everywhere[T any](v T) places[T] {
	return places[T]{
		Plain: v, Pointer: &v, Zero: v, Empty: v, List: []T{v, v}, Array: [2]T{v, v}, Nested: [][]T{{v}, {}},
		Map: map[string]T{"a": v, "b c": v}, Or: []*T{nil, &v}, In: inner[T]{map[string][]T{"x": {v}}},
		embedded: embedded[T]{v}, Embedded: &Embedded[T]{v},
	}
}

// An aKind is one kind of field: a tool that returns its arguments, and a call
// of it.
type aKind struct {
	name string
	add  func(s *server.Server)
	call func(t *testing.T, c *client.Client)
}

func aField[T any](name string, v T) aKind {
	sent := everywhere(v)
	return aKind{name,
		func(s *server.Server) {
			server.AddTool(s, name, "", func(_ context.Context, _ *mcp.Call, in places[T]) (places[T], error) {
				if !reflect.DeepEqual(in, sent) {
					return in, fmt.Errorf("the server got %+v, want %+v", in, sent)
				}
				return in, nil
			}, nil)
			server.AddTool(s, name+"-top", "", func(context.Context, *mcp.Call, struct{}) (T, error) { return v, nil }, nil)
			server.AddTool(s, name+"-pointer", "", func(context.Context, *mcp.Call, struct{}) (*T, error) { return &v, nil }, nil)
			server.AddTool(s, name+"-list", "", func(context.Context, *mcp.Call, struct{}) ([]T, error) { return []T{v, v}, nil }, nil)
		},
		func(t *testing.T, c *client.Client) {
			back(t, c, name, sent, sent)
			back(t, c, name, &sent, &sent)
			back(t, c, name+"-top", nil, v)
			back(t, c, name+"-pointer", nil, &v)
			back(t, c, name+"-list", nil, []T{v, v})
			if _, isByte := any(v).(uint8); isByte {
				return // a list of any is no text in base64
			}
			back(t, c, name, map[string]any{ // the same, as many write it
				"plain": v, "pointer": &v, "zero": v, "empty": v, "list": []any{v, &v}, "array": [2]any{v, v}, "nested": []any{[]T{v}, []any{}},
				"map": map[string]any{"a": v, "b c": &v}, "or": []any{nil, v}, "in": map[string]any{"deep": map[string]any{"x": []any{v}}},
				"promoted": v, "also": v,
			}, sent)
		},
	}
}

func back[T any](t *testing.T, c *client.Client, tool string, args any, want T) {
	t.Helper()
	got, err := client.Call[T](t.Context(), c, tool, args, nil)
	if err != nil {
		t.Errorf("%s: %v", tool, err)
	} else if !reflect.DeepEqual(got, want) {
		t.Errorf("%s: the client got %+v, want %+v", tool, got, want)
	}
}

type (
	colour  string
	celsius float64
	flags   uint16
	raw     []byte
	node    struct {
		Value time.Duration    `json:"value"`
		Next  *node            `json:"next"`
		Kids  map[string]*node `json:"kids,omitempty"`
	}
	ruled struct {
		Size  string   `json:"size" schema:"enum=small|large"`
		Count int      `json:"count" schema:"minimum=1,maximum=10"`
		Tags  []string `json:"tags" schema:"minItems=1,uniqueItems"`
		Limit int      `json:"limit" schema:"default=10"`
	}
	hidden struct {
		Seen   string `json:"seen"`
		Unseen string `json:"-"`
	}
)

// A version has its methods on the value and on the pointer, as most have.
type version struct{ Major, Minor int }

func (v version) MarshalText() ([]byte, error) {
	return fmt.Appendf(nil, "v%d.%d", v.Major, v.Minor), nil
}
func (v *version) UnmarshalText(text []byte) error {
	_, err := fmt.Sscanf(string(text), "v%d.%d", &v.Major, &v.Minor)
	return err
}

// A shade has all of its methods on the pointer.
type shade struct{ name string }

func (s *shade) MarshalText() ([]byte, error) { return []byte(s.name), nil }
func (s *shade) UnmarshalText(text []byte) error {
	s.name = string(text)
	return nil
}

// A shape is a union: a number or an object.
type shape struct {
	Radius float64
	Sides  []int
}

func (s shape) MarshalJSON() ([]byte, error) {
	if s.Sides != nil {
		return json.Marshal(map[string][]int{"sides": s.Sides})
	}
	return json.Marshal(s.Radius)
}

func (s *shape) UnmarshalJSON(data []byte) error {
	if data[0] == '{' {
		return json.Unmarshal(data, &struct{ Sides *[]int }{&s.Sides})
	}
	return json.Unmarshal(data, &s.Radius)
}

// A grade brings its own schema.
type grade int

func (grade) JSONSchema() json.RawMessage {
	return json.RawMessage(`{"type":"integer","minimum":1,"maximum":6}`)
}

// kinds has every kind of field that package schema accepts.
var kinds = []aKind{
	aField("bool", true),
	aField("int", -7),
	aField("int8", int8(math.MinInt8)),
	aField("int64", int64(math.MinInt64)),
	aField("int64.beyond_floats", int64(9007199254740993)),
	aField("uint8", uint8(255)),
	aField("uint64", uint64(math.MaxUint64)),
	aField("uintptr", uintptr(7)),
	aField("float32", float32(0.1)),
	aField("float64", 1e-300),
	aField("float64.whole", 1e20),
	aField("string", "a \"quote\", a\nline, \u2028 and 🐚"),
	aField("bytes", []byte{0, 255, 1}),
	aField("byte_array", [3]byte{1, 2, 3}),
	aField("time", time.Date(2026, 11, 15, 12, 30, 0, 123456789, time.UTC)),
	aField("duration", 90*time.Second+time.Microsecond),
	aField("duration.negative", -time.Hour),
	aField("number", json.Number("123456789012345678901234567890.5e-7")),
	aField("raw", json.RawMessage(`{"a":[1,null,9007199254740993]}`)),
	aField("value", jsontext.Value(`[1.50]`)),
	aField[any]("any.object", map[string]any{"a": []any{1.5, "x", nil, true}}),
	aField[any]("any.text", "text"),
	aField("big", *new(big.Int).Exp(big.NewInt(10), big.NewInt(40), nil)),
	aField("text", netip.MustParseAddr("2001:db8::1")),
	aField("text.own", version{1, 2}),
	aField("text.pointer", shade{"dark"}),
	aField("json.number", shape{Radius: 2.5}),
	aField("json.object", shape{Sides: []int{3, 4, 5}}),
	aField("own_schema", grade(3)),
	aField("named.string", colour("red")),
	aField("named.float", celsius(36.6)),
	aField("named.uint", flags(513)),
	aField("named.bytes", raw("abc")),
	aField("struct", hidden{Seen: "x"}),
	aField("struct.empty", struct{}{}),
	aField("struct.rules", ruled{"large", 3, []string{"a", "b"}, 0}),
	aField("struct.recursive", node{time.Minute, &node{Value: 1}, map[string]*node{"a": {Value: 2}, "b": nil}}),
	aField("slice", []time.Duration{time.Second}),
	aField("slice.nested", [][]string{{"a"}, {}}),
	aField("array", [2]string{"a", "b"}),
	aField("map", map[string]time.Duration{"a": 1}),
	aField("map.int", map[int]string{-1: "a", 0: "b", 10: "c"}),
	aField("map.uint", map[uint64]bool{math.MaxUint64: true}),
	aField("map.named", map[colour]int{"red": 1}),
	aField("map.text", map[netip.Addr]int{netip.MustParseAddr("::1"): 1}),
	aField("map.time", map[time.Time]int{time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC): 1}),
	aField("map.duration", map[time.Duration]int{time.Minute: 1}),
	aField("map.any", map[string]any{"a": 1.5}),
}

func kindsServer() *server.Server {
	s := server.New(mcp.Implementation{Name: "kinds", Version: "1"}, nil)
	for _, k := range kinds {
		k.add(s)
	}
	return s
}

func callKinds(t *testing.T, c *client.Client) {
	for _, err := range c.Tools(t.Context()) { // from now on results are held to the output schemas
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) { k.call(t, c) })
	}
}

// L10: the struct of a tool works at the client too, as arguments and as
// output, whatever its fields are.
func TestOneStructOnBothEnds(t *testing.T) {
	t.Run("in memory", func(t *testing.T) { callKinds(t, client.New(kindsServer(), nil)) })
	EveryEra(t, kindsServer(), func(t *testing.T, h mcp.Handler) { callKinds(t, client.New(h, nil)) })
}

func TestOneStructOnBothEndsOverHTTP(t *testing.T) { overHTTP(t, kindsServer(), callKinds) }

// overHTTP runs a test with a client of each revision that streamable HTTP has.
func overHTTP(t *testing.T, s mcp.Handler, test func(t *testing.T, c *client.Client)) {
	h, err := streamable.NewHandler(s, nil)
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(h)
	defer web.Close()
	defer h.Shutdown()
	for _, rev := range []mcp.Revision{"2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26"} {
		t.Run("HTTP "+string(rev), func(t *testing.T) {
			c, err := client.Dial(t.Context(), &streamclient.Endpoint{URL: web.URL, Era: era.DialOptions{Known: rev}}, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			test(t, c)
		})
	}
}

// A refused kind is refused in the same words on both ends.
type refusal struct {
	name, field string
	add         func(s *server.Server)
	send, take  func(ctx context.Context, c *client.Client) error
}

func refusing[T any](name, field string) refusal {
	return refusal{name, field,
		func(s *server.Server) {
			server.AddTool(s, "x", "", func(context.Context, *mcp.Call, T) (string, error) { return "", nil }, nil)
		},
		func(ctx context.Context, c *client.Client) error {
			var v T
			_, err := client.Call[string](ctx, c, "x", v, nil)
			return err
		},
		func(ctx context.Context, c *client.Client) error {
			_, err := client.Call[T](ctx, c, "x", nil, nil)
			return err
		},
	}
}

func TestKindsRefusedOnBothEnds(t *testing.T) {
	called := 0
	c := client.New(mcp.HandlerFunc(func(context.Context, *mcp.Call) (mcp.Result, error) {
		called++
		return mcp.Result{Body: json.RawMessage(`{"content":[],"structuredContent":{}}`)}, nil
	}), nil)
	for _, r := range []refusal{
		refusing[struct{ A struct{ C chan int } }]("channel", ".A.C: the type chan int has no JSON form"),
		refusing[struct{ F []func() }]("function", ".F[]: the type func() has no JSON form"),
		refusing[struct{ Z complex128 }]("complex", ".Z: the type complex128 has no JSON form"),
		refusing[struct{ E error }]("interface", ".E: the interface error has no JSON form"),
		refusing[struct{ M map[bool]int }]("map keys", ".M: a map with keys of type bool has no JSON form"),
		refusing[struct {
			N int `json:"n,string"`
		}]("tag option", `.N: the json tag option "string" is not supported`),
		refusing[struct {
			N string `json:"n" schema:"minimum=1"`
		}]("rule", ".N: minimum does not apply to a field of type string"),
	} {
		t.Run(r.name, func(t *testing.T) {
			func() {
				defer func() {
					if p := fmt.Sprint(recover()); !strings.Contains(p, r.field) {
						t.Errorf("AddTool: %s, want %s", p, r.field)
					}
				}()
				r.add(server.New(mcp.Implementation{Name: "s", Version: "1"}, nil))
			}()
			called = 0
			if err := r.send(t.Context(), c); err == nil || !strings.Contains(err.Error(), r.field) {
				t.Errorf("arguments: %v, want %s", err, r.field)
			}
			if err := r.take(t.Context(), c); err == nil || !strings.Contains(err.Error(), r.field) {
				t.Errorf("output: %v, want %s", err, r.field)
			}
			if called > 0 {
				t.Error("a call was made although its arguments or its result have no JSON form")
			}
		})
	}
}

// Types that are text in one direction only.
type (
	writeOnly struct{ N int }
	readOnly  struct{ N int }
)

func (writeOnly) MarshalText() ([]byte, error)    { return []byte("text"), nil }
func (*readOnly) UnmarshalText(text []byte) error { return nil }

// A type that cannot be read is refused where it would have to be, and usable
// where it is only written; and the other way round.
func TestTypesOfOneDirection(t *testing.T) {
	type written struct {
		W map[string]writeOnly `json:"w"`
	}
	type read struct {
		R []readOnly `json:"r"`
	}
	panics := func(f func()) (said string) {
		defer func() { said = fmt.Sprint(recover()) }()
		f()
		return
	}
	s := server.New(mcp.Implementation{Name: "s", Version: "1"}, nil)
	server.AddTool(s, "good", "", func(_ context.Context, _ *mcp.Call, in read) (written, error) {
		return written{map[string]writeOnly{"a": {1}}}, nil
	}, nil)
	c := client.New(s, nil)
	back(t, c, "good", json.RawMessage(`{"r":["x"]}`), struct {
		W map[string]string `json:"w"`
	}{map[string]string{"a": "text"}})

	const unreadable, unwritable = ".W[]: the type mcptest.writeOnly has MarshalText and no UnmarshalText: it cannot be decoded", ".R[]: the type mcptest.readOnly has UnmarshalText and no MarshalText: it cannot be encoded"
	for _, row := range []struct{ what, got, want string }{
		{"arguments of AddTool", panics(func() {
			server.AddTool(s, "x", "", func(context.Context, *mcp.Call, written) (string, error) { return "", nil }, nil)
		}), unreadable},
		{"output of AddTool", panics(func() {
			server.AddTool(s, "x", "", func(context.Context, *mcp.Call, struct{}) (read, error) { return read{}, nil }, nil)
		}), unwritable},
		{"Output of AddTool", panics(func() {
			server.AddTool(s, "x", "", func(context.Context, *mcp.Call, struct{}) (server.Output[read], error) {
				return server.Output[read]{}, nil
			}, nil)
		}), unwritable},
		{"arguments of AddPrompt", panics(func() {
			server.AddPrompt(s, "x", "", func(context.Context, *mcp.Call, written) (string, error) { return "", nil }, nil)
		}), unreadable},
		{"arguments of Call", func() string {
			_, err := client.Call[string](t.Context(), c, "good", read{}, nil)
			return fmt.Sprint(err)
		}(), unwritable},
		{"output of Call", func() string {
			_, err := client.Call[written](t.Context(), c, "good", json.RawMessage(`{"r":[]}`), nil)
			return fmt.Sprint(err)
		}(), unreadable},
	} {
		if !strings.Contains(row.got, row.want) {
			t.Errorf("%s: %s, want …%s", row.what, row.got, row.want)
		}
	}
}

// What other programs send is taken with tolerance, but never misread.
func TestResultsOfOtherServers(t *testing.T) {
	type out struct {
		Name string        `json:"name"`
		Wait time.Duration `json:"wait"`
		Size string        `json:"size" schema:"enum=small|large"`
		Page int           `json:"page" schema:"default=7"`
		Tags []string      `json:"tags"`
		Mark grade         `json:"mark"`
	}
	for _, tc := range []struct {
		name, result string
		want         out
		fails        string
	}{
		{"more than is known", `{"name":"a","other":[1]}`, out{Name: "a"}, ""},
		{"less than is known", `{}`, out{}, ""},
		{"nulls", `{"name":null,"wait":null,"size":null,"tags":null,"mark":null}`, out{}, ""},
		{"wrong type", `{"name":1,"tags":"x"}`, out{}, "name: expected a string, got the number 1\ntags: expected an array"},
		{"a bare number for a duration", `{"wait":90}`, out{}, `wait: expected a duration such as "1m30s", got the number 90`},
		{"against a tag", `{"size":"huge"}`, out{}, `size: the string "huge" is not allowed`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := client.New(mcp.HandlerFunc(func(context.Context, *mcp.Call) (mcp.Result, error) {
				return mcp.Result{Body: json.RawMessage(`{"content":[],"structuredContent":` + tc.result + `}`)}, nil
			}), nil)
			got, err := client.Call[out](t.Context(), c, "x", nil, nil)
			if tc.fails != "" {
				if err == nil || !strings.Contains(err.Error(), tc.fails) {
					t.Errorf("got %v, want %q", err, tc.fails)
				}
				var none out
				if !reflect.DeepEqual(got, none) {
					t.Errorf("half a result came with the error: %+v", got)
				}
			} else if err != nil || !reflect.DeepEqual(got, tc.want) {
				t.Errorf("%+v, %v, want %+v", got, err, tc.want)
			}
		})
	}
}

// A tool whose name needs an encoded header is called over HTTP like any other.
func TestToolNamesOutsideTheRecommendation(t *testing.T) {
	names := []string{"files/read", "Wetter für heute", "=?base64?YQ==?="}
	s := server.New(mcp.Implementation{Name: "names", Version: "1"}, &server.Options{Log: slog.New(slog.DiscardHandler)})
	for _, name := range names {
		err := s.AddRawTool(mcp.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)}, func(context.Context, *mcp.Call, json.RawMessage) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: mcp.Contents{mcp.Text("I am " + name)}}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	all := func(t *testing.T, c *client.Client) {
		for _, name := range names {
			back(t, c, name, nil, "I am "+name)
		}
	}
	EveryEra(t, s, func(t *testing.T, h mcp.Handler) { all(t, client.New(h, nil)) })
	overHTTP(t, s, all)
}

// Text beside structured content is what the two oldest revisions have of it.
func TestOutputTextInEveryEra(t *testing.T) {
	s := server.New(mcp.Implementation{Name: "s", Version: "1"}, nil)
	server.AddTool(s, "said", "", func(context.Context, *mcp.Call, struct{}) (server.Output[sum], error) {
		return server.Output[sum]{Structured: sum{3}, Text: "It is 3."}, nil
	}, nil)
	server.AddTool(s, "plain", "", func(context.Context, *mcp.Call, struct{}) (server.Output[sum], error) {
		return server.Output[sum]{Structured: sum{3}}, nil
	}, nil)
	for _, rev := range mcp.Revisions() {
		t.Run(string(rev), func(t *testing.T) {
			c := client.New(Connect(t, s, rev), nil)
			back(t, c, "plain", nil, sum{3})
			back(t, c, "said", nil, "It is 3.")
			if rev >= "2025-06-18" {
				back(t, c, "said", nil, sum{3})
			} else if _, err := client.Call[sum](t.Context(), c, "said", nil, nil); err == nil || !strings.Contains(err.Error(), "its text is not JSON") {
				t.Errorf("got %v", err)
			}
		})
	}
}
