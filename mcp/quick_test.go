package mcp_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/mcp"
)

// checkWrite compares what is written by hand with what the library writes: it
// does so for whatever stands inside of something else.
func checkWrite[T any](t *testing.T, values ...T) {
	t.Helper()
	for _, v := range values {
		quick, errQuick := mcp.Marshal(&v)
		slow, errSlow := mcp.Marshal([1]T{v})
		switch {
		case (errQuick == nil) != (errSlow == nil):
			t.Errorf("%+v: by hand %v, by the library %v", v, errQuick, errSlow)
		case errQuick == nil && string(quick) != strings.TrimSuffix(strings.TrimPrefix(string(slow), "["), "]"):
			t.Errorf("%+v:\nby hand        %s\nby the library %s", v, quick, slow)
		}
	}
}

func TestQuickWriting(t *testing.T) {
	const odd = "\"quoted\" \\ \n\t\x01 <é> \u2028 😀"
	checkWrite(t,
		mcp.Implementation{},
		mcp.Implementation{Name: odd, Version: "1"},
		mcp.Implementation{Name: "n", Title: "t", Version: "1", Description: odd, WebsiteURL: "https://example.com/"},
		mcp.Implementation{Name: "n", Icons: []mcp.Icon{}},
		mcp.Implementation{Name: "n", Icons: []mcp.Icon{{Src: "https://example.com/i.png"}}},
		mcp.Implementation{Name: "not UTF-8: \xff"},
	)
	capabilities := []mcp.ServerCapabilities{
		{},
		{Tools: &mcp.ListCapability{}, Prompts: &mcp.ListCapability{ListChanged: true}},
		{Resources: &mcp.ResourcesCapability{}},
		{Resources: &mcp.ResourcesCapability{Subscribe: true, ListChanged: true}, Logging: mcp.Settings{}},
		{Completions: mcp.Settings{}, Logging: mcp.Settings{"a": json.RawMessage("1")}},
		{Experimental: map[string]json.RawMessage{}},
		{Extensions: map[string]json.RawMessage{"x/y": json.RawMessage("{}")}},
		{Other: map[string]json.RawMessage{"tasks": json.RawMessage(`{"list":{}}`)}, Tools: &mcp.ListCapability{}},
	}
	checkWrite(t, capabilities...)
	for _, c := range capabilities {
		checkWrite(t, mcp.Discovery{Capabilities: c}, mcp.Discovery{Capabilities: c, Instructions: odd})
	}
	size := int64(7)
	checkWrite(t,
		mcp.Resource{},
		mcp.Resource{URI: "a:b", Name: odd},
		mcp.Resource{URI: "a:b", Name: "n", Title: "t", Description: odd, MIMEType: "text/plain"},
		mcp.Resource{URI: "a:b", Name: "n", Size: &size, Annotations: &mcp.Annotations{}},
		mcp.Resource{URI: "a:b", Name: "n", Meta: mcp.Meta{"k": json.RawMessage("1")}},
		mcp.Resource{URI: "a:b", Name: "\xff"},
	)
	checkWrite(t,
		mcp.ResourceTemplate{},
		mcp.ResourceTemplate{URITemplate: "a:{b}", Name: "n", Title: "t", Description: odd, MIMEType: "text/plain"},
		mcp.ResourceTemplate{URITemplate: "a:{b}", Icons: []mcp.Icon{}},
		mcp.ResourceTemplate{URITemplate: "a:{b}", Annotations: &mcp.Annotations{}},
	)
	checkWrite(t,
		mcp.Prompt{},
		mcp.Prompt{Name: "p", Title: "t", Description: odd},
		mcp.Prompt{Name: "p", Arguments: []mcp.PromptArgument{}},
		mcp.Prompt{Name: "p", Arguments: []mcp.PromptArgument{{}, {Name: "a", Title: "t", Description: odd, Required: true}}},
		mcp.Prompt{Name: "p", Arguments: []mcp.PromptArgument{{Name: "\xff"}}},
		mcp.Prompt{Name: "p", Meta: mcp.Meta{}},
	)
}

// checkRead compares what is read by hand with what the library reads.
func checkRead[T any](t *testing.T, raw string) {
	t.Helper()
	var quick T
	var slow [1]T
	errQuick := mcp.Unmarshal([]byte(raw), &quick)
	errSlow := mcp.Unmarshal([]byte("["+raw+"]"), &slow)
	if (errQuick == nil) != (errSlow == nil) {
		t.Errorf("%T %s: by hand %v, by the library %v", quick, raw, errQuick, errSlow)
	} else if errQuick == nil && !reflect.DeepEqual(quick, slow[0]) {
		t.Errorf("%T %s:\nby hand        %+v\nby the library %+v", quick, raw, quick, slow[0])
	}
}

// introductions are what is read by hand, and what must not be.
var introductions = []string{
	`{}`, ` { } `, `[]`, `null`, `1`, `""`,
	`{"name":"n","version":"1"}`,
	`{"name":"n","title":"t","version":"1","description":"d","websiteUrl":"u","other":[{}]}`,
	`{"n\u0061me":"\u00e9","Version":"1"}`, `{"name":null}`, `{"name":1}`, `{"icons":[{"src":"s"}]}`, `{"icons":1}`,
	`{"name":"a","name":"b"}`, `{"name":"a","n\u0061me":"b"}`, `{"x":{"a":1,"a":2}}`, `{"name":"\ud800"}`, "{\"name\":\"\xff\"}",
	`{"elicitation":{},"sampling":{},"roots":{}}`,
	`{"elicitation":{"form":{},"url":{}},"sampling":{"context":{},"tools":{"a":1}},"roots":{"listChanged":true,"more":1}}`,
	`{"elicitation":{"form":null}}`, `{"elicitation":null}`, `{"elicitation":[]}`, `{"elicitation":true}`, `{"roots":{"listChanged":1}}`,
	`{"elicitation":{"form":true}}`, `{"roots":{"listChanged":false}}`, `{"roots":{"listChanged":null}}`,
	`{"experimental":{"a":{}}}`, `{"extensions":{}}`, `{"tasks":{"list":{}}}`,
	`{"capabilities":{}}`, `{"capabilities":null}`, `{"capabilities":[]}`, `{"capabilities":{"tools":{}},"instructions":"i","more":{}}`,
	`{"capabilities":{"tools":{"listChanged":true},"resources":{"subscribe":true,"listChanged":false},"prompts":{},"completions":{},"logging":{ }}}`,
	`{"capabilities":{"logging":{"a":1}}}`, `{"capabilities":{"logging":1}}`, `{"capabilities":{"tasks":{}}}`, `{"instructions":1}`, `{"instructions":null}`,
}

func TestQuickReading(t *testing.T) {
	for _, raw := range introductions {
		checkRead[mcp.Implementation](t, raw)
		checkRead[mcp.ClientCapabilities](t, raw)
		checkRead[mcp.Discovery](t, raw)
	}
}

// What somebody says about itself decides what it is asked for, so it must not
// mean one thing here and another to whoever uses the library.
func FuzzQuickReading(f *testing.F) {
	for _, raw := range introductions {
		f.Add([]byte(raw))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if len(raw) > 1<<10 || bytes.Count(raw, []byte("[")) != bytes.Count(raw, []byte("]")) {
			return // which the brackets of checkRead could make valid
		}
		checkRead[mcp.Implementation](t, string(raw))
		checkRead[mcp.ClientCapabilities](t, string(raw))
		checkRead[mcp.Discovery](t, string(raw))
	})
}

func TestQuickWritingOfNothing(t *testing.T) {
	for _, v := range []any{nil, (*mcp.Implementation)(nil), (*mcp.Discovery)(nil), (*mcp.Prompt)(nil)} {
		if raw, err := mcp.Marshal(v); err != nil || string(raw) != "null" {
			t.Errorf("%T: %s, %v", v, raw, err)
		}
	}
}

// A value that is not empty is read into as the library does it.
func TestQuickReadingIntoSomething(t *testing.T) {
	i := mcp.Implementation{Title: "before"}
	if err := mcp.Unmarshal([]byte(`{"name":"n"}`), &i); err != nil || i.Title != "before" || i.Name != "n" {
		t.Errorf("%+v, %v", i, err)
	}
	if err := mcp.Unmarshal([]byte(`{}`), (*mcp.Implementation)(nil)); err == nil {
		t.Error("a nil pointer was read into")
	}
}

// Every field of these types is either read and written by hand or left to the
// library, also one that is added later: each is set by itself.
func TestQuickEachField(t *testing.T) {
	eachField(t, func(v *mcp.Implementation) { checkBoth(t, *v) })
	eachField(t, func(v *mcp.ServerCapabilities) { checkBoth(t, mcp.Discovery{Capabilities: *v}); checkBoth(t, *v) })
	eachField(t, func(v *mcp.ClientCapabilities) { checkBoth(t, *v) })
	eachField(t, func(v *mcp.Discovery) { checkBoth(t, *v) })
	eachField(t, func(v *mcp.Resource) { checkBoth(t, *v) })
	eachField(t, func(v *mcp.ResourceTemplate) { checkBoth(t, *v) })
	eachField(t, func(v *mcp.Prompt) { checkBoth(t, *v) })
	eachField(t, func(v *mcp.PromptArgument) { checkBoth(t, mcp.Prompt{Arguments: []mcp.PromptArgument{*v}}) })
	eachField(t, func(v *mcp.ListCapability) { checkBoth(t, mcp.ServerCapabilities{Tools: v, Prompts: v}) })
	eachField(t, func(v *mcp.ResourcesCapability) { checkBoth(t, mcp.ServerCapabilities{Resources: v}) })
	eachField(t, func(v *mcp.ElicitationCapability) { checkBoth(t, mcp.ClientCapabilities{Elicitation: v}) })
	eachField(t, func(v *mcp.SamplingCapability) { checkBoth(t, mcp.ClientCapabilities{Sampling: v}) })
	eachField(t, func(v *mcp.RootsCapability) { checkBoth(t, mcp.ClientCapabilities{Roots: v}) })
}

// eachField calls check with one field set after the other.
func eachField[T any](t *testing.T, check func(*T)) {
	t.Helper()
	of := reflect.TypeFor[T]()
	for i := range of.NumField() {
		v := new(T)
		if !fill(reflect.ValueOf(v).Elem().Field(i), 3) {
			t.Errorf("%s.%s: how is it filled?", of.Name(), of.Field(i).Name)
		}
		check(v)
	}
}

func checkBoth[T any](t *testing.T, v T) {
	t.Helper()
	checkWrite(t, v)
	raw, err := mcp.Marshal([1]T{v})
	if err != nil {
		t.Fatalf("%+v: %v", v, err)
	}
	checkRead[T](t, string(raw[1:len(raw)-1]))
}

// fill sets a value to something that is not empty.
func fill(v reflect.Value, depth int) bool {
	switch v.Kind() {
	case reflect.String:
		v.SetString("1")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(1)
	case reflect.Float64:
		v.SetFloat(1)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		return fill(v.Elem(), depth)
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			v.SetBytes([]byte("1"))
			return true
		}
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		return fill(v.Index(0), depth)
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		value := reflect.New(v.Type().Elem()).Elem()
		if depth > 0 && !fill(value, depth-1) {
			return false
		}
		v.SetMapIndex(reflect.ValueOf("x").Convert(v.Type().Key()), value)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() && depth > 0 && !fill(v.Field(i), depth-1) {
				return false
			}
		}
	default:
		return false
	}
	return true
}
