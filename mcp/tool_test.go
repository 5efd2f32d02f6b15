package mcp_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/mcp"
)

var objectSchema = json.RawMessage(`{"type":"object"}`)

func TestToolDisplayName(t *testing.T) {
	tests := []struct {
		tool mcp.Tool
		want string
	}{
		{mcp.Tool{Name: "n"}, "n"},
		{mcp.Tool{Name: "n", Annotations: &mcp.ToolAnnotations{}}, "n"},
		{mcp.Tool{Name: "n", Annotations: &mcp.ToolAnnotations{Title: "a"}}, "a"},
		{mcp.Tool{Name: "n", Title: "t", Annotations: &mcp.ToolAnnotations{Title: "a"}}, "t"},
	}
	for _, tt := range tests {
		if got := tt.tool.DisplayName(); got != tt.want {
			t.Errorf("%+v: %q, want %q", tt.tool, got, tt.want)
		}
	}
}

func TestToolHints(t *testing.T) {
	yes, no := ptr(true), ptr(false)
	tests := []struct {
		name                                           string
		hints                                          *mcp.ToolAnnotations
		readOnly, destructive, idempotent, openToWorld bool
	}{
		{"none", nil, false, true, false, true},
		{"unset", &mcp.ToolAnnotations{}, false, true, false, true},
		{"read only", &mcp.ToolAnnotations{ReadOnlyHint: yes, DestructiveHint: yes}, true, false, true, true},
		{"gentle", &mcp.ToolAnnotations{DestructiveHint: no, IdempotentHint: yes, OpenWorldHint: no}, false, false, true, false},
		{"all denied", &mcp.ToolAnnotations{ReadOnlyHint: no, IdempotentHint: no}, false, true, false, true},
	}
	for _, tt := range tests {
		h := tt.hints
		got := [4]bool{h.ReadOnly(), h.Destructive(), h.Idempotent(), h.OpenWorld()}
		if want := [4]bool{tt.readOnly, tt.destructive, tt.idempotent, tt.openToWorld}; got != want {
			t.Errorf("%s: got %v, want %v", tt.name, got, want)
		}
	}
}

func TestToolCheck(t *testing.T) {
	tests := []struct {
		tool mcp.Tool
		want string // empty means good
	}{
		{mcp.Tool{Name: "t", InputSchema: objectSchema}, ""},
		{mcp.Tool{InputSchema: objectSchema}, `tool: name: missing: a tool needs a name`},
		{mcp.Tool{Name: "t"}, `tool "t": inputSchema: missing: expected an object, such as {"type":"object"}`},
		{mcp.Tool{Name: "t", InputSchema: json.RawMessage(`{"type":"string"}`)}, `tool "t": inputSchema: expected "type":"object" at its top`},
		{mcp.Tool{Name: "t", InputSchema: json.RawMessage(`{"properties":{}}`)}, `tool "t": inputSchema: expected "type":"object" at its top`},
		{mcp.Tool{Name: "t", InputSchema: objectSchema, OutputSchema: json.RawMessage(`true`)}, `tool "t": outputSchema: expected an object`},
		{mcp.Tool{Name: "t", InputSchema: objectSchema, OutputSchema: json.RawMessage(`{"type":"array"}`)}, ""},
	}
	for _, tt := range tests {
		got := ""
		if err := tt.tool.Check(); err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("got  %s\nwant %s", got, tt.want)
		}
	}
}

func TestValidToolName(t *testing.T) {
	for name, want := range map[string]bool{
		"a": true, "get_user.v2-X": true, strings.Repeat("a", 128): true,
		"": false, strings.Repeat("a", 129): false, "a b": false, "a/b": false, "é": false, "a\x00": false,
	} {
		if got := mcp.ValidToolName(name); got != want {
			t.Errorf("%q: %v", name, got)
		}
	}
}

func TestDecodeCallToolParams(t *testing.T) {
	tests := []struct {
		raw, name, args, fault string
	}{
		{`{"name":"echo"}`, "echo", "", ""},
		{`{"name":"echo","arguments":{}}`, "echo", "{}", ""},
		{` { "arguments" : {"a":{"name":"x"}} , "name" : "e\u0063ho" , "other":[1] } `, "echo", `{"a":{"name":"x"}}`, ""},
		{`{"n\u0061me":"echo","arguments":null}`, "echo", "", ""},
		{`{"name":""}`, "", "", ""},
		{`{}`, "", "", "name: missing: say which tool to call"},
		{`{"Name":"x"}`, "", "", "name: missing: say which tool to call"},
		{`{"name":null}`, "", "", "name: expected a string, the name of a tool"},
		{`{"name":"x","arguments":[]}`, "", "", "arguments: expected an object"},
		{`{"name":"x","arguments":"{}"}`, "", "", "arguments: expected an object"},
		{``, "", "", "name: missing: say which tool to call"},
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
