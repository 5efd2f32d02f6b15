package term

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestToolSheet(t *testing.T) {
	schema := json.RawMessage(`{"type":"object","required":["name","n","tags"],"properties":{
		"name":{"type":"string","minLength":2},"n":{"type":"integer","minimum":1},"ok":{"type":"boolean","default":true},
		"mode":{"type":"string","enum":["fast","slow"]},"tags":{"type":"array","items":{"type":"string"}},"deep":{"type":"object","properties":{"x":{"type":"number"}}}}}`)
	s := toolSheet(schema, json.RawMessage(`{"n":3}`))
	var names []string
	for _, f := range s.fields {
		names = append(names, f.Name)
	}
	if got := strings.Join(names, " "); got != "name n ok mode tags deep" {
		t.Fatalf("fields %s", got)
	}
	if got := strings.Join(s.missing(), " "); got != "name tags" {
		t.Errorf("missing %s", got)
	}
	set := func(values ...string) {
		for i, v := range values {
			s.fields[i].value = v
		}
	}
	tests := []struct {
		values []string
		want   string // JSON, or a part of the error
	}{
		{[]string{"Ada", "3", "yes", "slow", "x", ""}, `{"mode":"slow","n":3,"name":"Ada","ok":true,"tags":["x"]}`},
		{[]string{"@Ada", "3", "no", "2", `["x","y"]`, `{"x":1}`}, `{"deep":{"x":1},"mode":"slow","n":3,"name":"@Ada","ok":false,"tags":["x","y"]}`},
		{[]string{"A", "3", "", "", "x", ""}, "name: "},
		{[]string{"Ada", "0", "", "", "x", ""}, "n: "},
		{[]string{"Ada", "many", "", "", "x", ""}, "n: a whole number is needed"},
		{[]string{"Ada", "1", "", "none", "x", ""}, "mode: "},
		{[]string{"Ada", "1", "", "", "", ""}, "tags: this field is required"},
	}
	for _, tt := range tests {
		set(tt.values...)
		raw, err := s.content()
		if err != nil {
			if !strings.Contains(err.Error(), tt.want) || tt.want[0] == '{' {
				t.Errorf("%q: %v", tt.values, err)
			}
			continue
		}
		var v any
		if json.Unmarshal(raw, &v) != nil {
			t.Fatalf("%s", raw)
		}
		sorted, _ := json.Marshal(v)
		if string(sorted) != tt.want {
			t.Errorf("%q gives %s, want %s", tt.values, sorted, tt.want)
		}
	}
}

func TestSheetKeysChooseOptions(t *testing.T) {
	s, err := questionSheet(json.RawMessage(`{"type":"object","required":["m"],"properties":{"m":{"type":"string","enum":["a","b"]},"b":{"type":"boolean","default":false}}}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	v := newSheetView(s)
	v.key("right", "")
	v.key("right", "")
	v.key("enter", "")
	v.key("space", " ")
	if done := v.key("enter", ""); !done || !v.complete() {
		t.Fatalf("not done: %v", v.wrong)
	}
	if raw, err := v.content(); err != nil || string(raw) != `{"b":true,"m":"b"}` && string(raw) != `{"m":"b","b":true}` {
		t.Errorf("%s %v", raw, err)
	}
}
