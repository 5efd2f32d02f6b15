package mcp_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/mcp"
)

func TestDecodeCallToolParams(t *testing.T) {
	tests := []struct {
		raw, name, args, fault string
	}{
		{`{"name":"echo"}`, "echo", "", ""},
		{`{"name":"echo","arguments":{}}`, "echo", "{}", ""},
		{` { "arguments" : {"a":{"name":"x"}} , "name" : "e\u0063ho" , "other":[1] } `, "echo", `{"a":{"name":"x"}}`, ""},
		{`{"n\u0061me":"echo","arguments":null}`, "echo", "", ""},
		{`{"name":""}`, "", "", ""},
		{`{}`, "", "", "name: missing"},
		{`{"Name":"x"}`, "", "", "name: missing"},
		{`{"name":null}`, "", "", "name: expected a string, the name of a tool"},
		{`{"name":"x","arguments":[]}`, "", "", "arguments: expected an object"},
		{`{"name":"x","arguments":"{}"}`, "", "", "arguments: expected an object"},
		{``, "", "", "name: missing"},
	}
	for _, tt := range tests {
		name, args, err := mcp.DecodeCallToolParams(json.RawMessage(tt.raw))
		if tt.fault != "" {
			e, ok := errors.AsType[*mcp.Error](err)
			if !ok || e.Code != mcp.CodeInvalidParams || e.Message != tt.fault {
				t.Errorf("%s: error %v, want %s", tt.raw, err, tt.fault)
			}
			continue
		}
		if err != nil || name != tt.name || string(args) != tt.args {
			t.Errorf("%s: %q %s %v", tt.raw, name, args, err)
		}
	}
}

// The fast decoder and the library must never disagree about which tool is
// called: that is how a policy in front of a server is fooled.
func FuzzDecodeCallToolParams(f *testing.F) {
	for _, s := range []string{`{"name":"echo","arguments":{"a":1}}`, `{"n\u0061me":"a","Name":"b"}`, `{"arguments":null,"name":"\ud83d\ude00"}`, `{"name":1}`, `[]`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if rawjson.Check(raw) != nil || !rawjson.IsObject(raw) {
			return
		}
		var p struct {
			Name      *string         `json:"name"`
			Arguments json.RawMessage `json:"arguments"`
		}
		slow := mcp.Unmarshal(raw, &p)
		name, args, err := mcp.DecodeCallToolParams(raw)
		if err != nil {
			return // it asks for more than the library does
		}
		if slow != nil || p.Name == nil || *p.Name != name {
			t.Fatalf("%s: fast says %q, the library %v %v", raw, name, p.Name, slow)
		}
		if args != nil && string(args) != string(p.Arguments) {
			t.Fatalf("%s: fast gives %s, the library %s", raw, args, p.Arguments)
		}
	})
}

func TestAppendJSONIsMarshal(t *testing.T) {
	tests := []mcp.CallToolResult{
		{},
		{Content: mcp.Contents{mcp.Text("a"), mcp.Text("b\n\u0000\u2028é")}},
		{Content: mcp.Contents{mcp.Image([]byte("x"), "image/png"), &mcp.TextContent{Text: "t", Annotations: &mcp.Annotations{Priority: ptr(1.0)}}}},
		{StructuredContent: json.RawMessage(`{"a":[1,2.50,"x"]}`)},
		{StructuredContent: json.RawMessage("[1,\n 2]")},
		{StructuredContent: json.RawMessage(`null`), IsError: true},
		*mcp.ToolError("no %s", "luck"),
	}
	for _, r := range tests {
		fast, err := r.AppendJSON([]byte("before"))
		if err != nil {
			t.Fatal(err)
		}
		slow, err := mcp.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.TrimPrefix(string(fast), "before"); got != string(slow) {
			t.Errorf("AppendJSON %s\nMarshal    %s", got, slow)
		}
	}
	for _, bad := range []mcp.CallToolResult{
		{StructuredContent: json.RawMessage(`{"a":`)},
		{StructuredContent: json.RawMessage{}},
		{StructuredContent: json.RawMessage(`NaN`)},
		{Content: mcp.Contents{nil}},
	} {
		if out, err := bad.AppendJSON(nil); err == nil {
			t.Errorf("%+v was written as %s", bad, out)
		}
	}
}

func BenchmarkCallToolResultAppendJSON(b *testing.B) {
	r := &mcp.CallToolResult{Content: mcp.Contents{mcp.Text(`{"sum":3}`)}, StructuredContent: json.RawMessage(`{"sum":3}`)}
	buf := make([]byte, 0, 256)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := r.AppendJSON(buf[:0]); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecodeCallToolParams(b *testing.B) {
	raw := json.RawMessage(`{"name":"add","arguments":{"a":1,"b":2}}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := mcp.DecodeCallToolParams(raw); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCallToolResultUnmarshal(b *testing.B) {
	raw := json.RawMessage(`{"content":[{"type":"text","text":"{\"sum\":3}"}],"structuredContent":{"sum":3}}`)
	b.ReportAllocs()
	for b.Loop() {
		var r mcp.CallToolResult
		if err := mcp.Unmarshal(raw, &r); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecodeCallToolResult(b *testing.B) {
	raw := json.RawMessage(`{"content":[{"type":"text","text":"{\"sum\":3}"}],"structuredContent":{"sum":3}}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := mcp.DecodeCallToolResult(raw); err != nil {
			b.Fatal(err)
		}
	}
}

func TestDecodeCallToolResultErrors(t *testing.T) {
	for raw, want := range map[string]string{
		`[]`:             "expected an object, found an array",
		`{"content":{}}`: "content: expected an array of content blocks, found an object",
		`{"content":[{"type":"text","text":"x"},{"type":"text","text":1}]}`: "content[1].text: expected a string, found a number",
		`{"content":[5]}`:                "content[0]: expected a content block, found a number",
		`{"content":[],"isError":"yes"}`: "isError: expected true or false, found a string",
	} {
		if _, err := mcp.DecodeCallToolResult([]byte(raw)); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", raw, err, want)
		}
	}
}

func FuzzDecodeCallToolResult(f *testing.F) {
	for _, s := range []string{
		`{}`, `{"content":[]}`, `{"content":[{"type":"text","text":"x"},{"text":"\u00e9","type":"text","annotations":{"priority":1}}]}`,
		`{"content":[{"type":"image","data":"AA==","mimeType":"m"},{"type":"new"}],"structuredContent":[1, 2],"isError":true}`,
		`{"structuredContent":null,"isError":null}`, `{"content":[null]}`, `{"content":[{"type":"text"}]}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if rawjson.Check(raw) != nil || !rawjson.IsObject(raw) {
			return
		}
		var slow mcp.CallToolResult
		slowErr := mcp.Unmarshal(raw, &slow)
		fast, err := mcp.DecodeCallToolResult(raw)
		if (err == nil) != (slowErr == nil) {
			t.Fatalf("%s: fast %v, the library %v", raw, err, slowErr)
		}
		if err == nil && !reflect.DeepEqual(*fast, slow) {
			t.Fatalf("%s: fast %+v, the library %+v", raw, *fast, slow)
		}
	})
}
