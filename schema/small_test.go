package schema_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/schema"
)

func TestApplyDefaults(t *testing.T) {
	form := `{"type":"object","properties":{"name":{"type":"string","default":"Ann"},"age":{"type":"integer"},"t\u00e4g":{"default":["a", "b"]},"ok":{"default":false}}}`
	rows := []struct{ schema, value, want string }{
		{form, `{}`, `{"name":"Ann","täg":["a", "b"],"ok":false}`},
		{form, ``, `{"name":"Ann","täg":["a", "b"],"ok":false}`},
		{form, ` { } `, `{ "name":"Ann","täg":["a", "b"],"ok":false}`},
		{form, `{"ok":true, "x": {"name":1} }`, `{"ok":true, "x": {"name":1} ,"name":"Ann","täg":["a", "b"]}`},
		{form, `{"n\u0061me":null,"täg":1,"ok":2}`, `{"n\u0061me":null,"täg":1,"ok":2}`},
		{form, `[]`, `[]`},
		{form, `{"a":1,"a":2}`, `{"a":1,"a":2}`},
		{`{"properties":7}`, `{}`, `{}`},
		{`true`, `{}`, `{}`},
		{`{`, `{}`, `{}`},
	}
	for _, row := range rows {
		value := []byte(row.value)
		got := schema.ApplyDefaults(json.RawMessage(row.schema), value)
		if string(got) != row.want {
			t.Errorf("%s: %s, want %s", row.value, got, row.want)
		}
		if string(value) != row.value {
			t.Errorf("%s: the value was changed", row.value)
		}
	}
}

func TestHeaders(t *testing.T) {
	got, err := schema.Headers(json.RawMessage(`{"type":"object","properties":{
		"region":{"type":"string","x-mcp-header":"Region"},
		"x-mcp-header":{"type":"string"},
		"in":{"type":"object","properties":{"n":{"type":"integer","x-mcp-header":"N-1"},"b":{"type":"boolean","x-mcp-header":"b!"}}},
		"data":{"type":"object","default":{"x-mcp-header":"no"},"const":{"properties":{"a":{"x-mcp-header":""}}},"enum":[{"x-mcp-header":1}]}}}`))
	want := []schema.Header{
		{Name: "Region", Path: []string{"region"}, Type: "string"},
		{Name: "N-1", Path: []string{"in", "n"}, Type: "integer"},
		{Name: "b!", Path: []string{"in", "b"}, Type: "boolean"},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v: %+v", err, got)
	}
	if got, err := schema.Headers(json.RawMessage(`{"type":"object"}`)); err != nil || got != nil {
		t.Errorf("none: %v, %v", got, err)
	}
}

// Guards hostile row C36.
func TestHeadersRefuses(t *testing.T) {
	prop := func(s string) string { return `{"properties":{"p":` + s + `}}` }
	rows := []struct{ schema, want string }{
		{prop(`{"type":"string","x-mcp-header":"A\r\nX-Evil: 1"}`), `x-mcp-header of p: "A\r\nX-Evil: 1" is not a header name`},
		{prop(`{"type":"string","x-mcp-header":""}`), "is not a header name"},
		{prop(`{"type":"string","x-mcp-header":"Bad Header"}`), "is not a header name"},
		{prop(`{"type":"string","x-mcp-header":"Größe"}`), "is not a header name"},
		{prop(`{"type":"string","x-mcp-header":"a:b"}`), "is not a header name"},
		{prop(`{"type":"string","x-mcp-header":7}`), "must be a string"},
		{prop(`{"type":"number","x-mcp-header":"A"}`), "must be string, integer or boolean"},
		{prop(`{"type":"object","x-mcp-header":"A"}`), "must be string, integer or boolean"},
		{prop(`{"type":["string","null"],"x-mcp-header":"A"}`), "must be string, integer or boolean"},
		{prop(`{"x-mcp-header":"A"}`), "must be string, integer or boolean"},
		{prop(`{"type":"array","items":{"type":"string","x-mcp-header":"A"}}`), "x-mcp-header of p.items: it is allowed only on a property"},
		{prop(`{"anyOf":[{"properties":{"q":{"type":"string","x-mcp-header":"A"}}}]}`), "x-mcp-header of p.anyOf.q: it is allowed only"},
		{prop(`{"if":{"type":"string","x-mcp-header":"A"}}`), "is allowed only"},
		{prop(`{"patternProperties":{"a":{"type":"string","x-mcp-header":"A"}}}`), "is allowed only"},
		{`{"$defs":{"d":{"type":"string","x-mcp-header":"A"}},"properties":{"p":{"$ref":"#/$defs/d"}}}`, "x-mcp-header of $defs.d: it is allowed only"},
		{`{"dependentSchemas":{"d":{"properties":{"p":{"type":"string","x-mcp-header":"A"}}}}}`, "is allowed only"},
		{`{"type":"object","x-mcp-header":"A"}`, "on the root"},
		{`{"properties":{"p":{"type":"string","x-mcp-header":"Region"},"q":{"type":"string","x-mcp-header":"region"}}}`, "x-mcp-header of q: region also names the property p"},
		{`{`, "not valid JSON"},
	}
	for _, row := range rows {
		_, err := schema.Headers(json.RawMessage(row.schema))
		if err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: %v, want …%s…", row.schema, err, row.want)
		}
	}
}
