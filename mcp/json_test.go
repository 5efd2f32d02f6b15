package mcp_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/mcp"
)

// Errors of decoding are read by people: each names the place and the need.
func TestUnmarshalErrors(t *testing.T) {
	tests := []struct {
		name string
		into any
		data string
		want string // the whole text, or a part of it when it ends with …
	}{
		{"schema is a string", new(mcp.ListToolsResult), `{"tools":[{"name":"a","inputSchema":{"type":"object"}},{"name":"b","inputSchema":"x"}]}`, `tools[1].inputSchema: expected an object, such as {"type":"object"}`},
		{"schema is null", new(mcp.ListToolsResult), `{"tools":[{"name":"t","inputSchema":null}]}`, `tools[0].inputSchema: expected an object, such as {"type":"object"}`},
		{"schema is missing", new(mcp.Tool), `{"name":"t"}`, `inputSchema: missing: expected an object, such as {"type":"object"}`},
		{"tool is null", new(mcp.ListToolsResult), `{"tools":[null]}`, `tools[0].name: missing: a tool needs a name`},
		{"list is an object", new(mcp.ListToolsResult), `{"tools":{}}`, `tools: expected an array, found an object`},
		{"number for text", new(mcp.CallToolParams), `{"name":5}`, `name: expected a string, found a number`},
		{"fraction for a size", new(mcp.Resource), `{"size":1.5}`, `size: expected an integer, found a number`},
		{"text for a hint", new(mcp.ToolAnnotations), `{"readOnlyHint":"yes"}`, `readOnlyHint: expected true or false, found a string`},
		{"bad base64", new(mcp.Contents), `[{"type":"image","data":"!!","mimeType":"image/png"}]`, `[0].data: expected a base64 string…`},
		{"block without type", new(mcp.CallToolResult), `{"content":[{"text":"x"}]}`, `content[0].type: missing: a content block needs a type`},
		{"block is text", new(mcp.CallToolResult), `{"content":["x"]}`, `content[0]: expected a content block, found a string`},
		{"content is one block", new(mcp.CallToolResult), `{"content":{"type":"text","text":"x"}}`, `content: expected an array of content blocks, found an object`},
		{"deep in a block", new(mcp.GetPromptResult), `{"messages":[{"role":"user","content":{"type":"resource","resource":{"uri":"u"}}}]}`, `messages[0].content.resource: expected text or blob, found neither`},
		{"text and blob", new(mcp.ResourceContents), `{"uri":"u","text":"","blob":""}`, `expected either text or blob, found both`},
		{"name twice", new(mcp.CallToolParams), `{"name":"a","name":"b"}`, `name: duplicate name in an object`},
		{"name twice in what is kept raw", new(mcp.CallToolParams), `{"name":"a","arguments":{"x":1,"x":2}}`, `arguments.x: duplicate name in an object`},
		{"name with a slash", new(mcp.ClientCapabilities), `{"extensions":{"a.b/c":1},"experimental":[]}`, `experimental: expected an object, found an array`},
		{"not UTF-8", new(mcp.CallToolParams), "{\"name\":\"\xff\"}", `name: not valid JSON at byte…`},
		{"cut off", new(mcp.CallToolParams), `{"name":"a"`, `not valid JSON at byte 11: unexpected EOF`},
		{"more after it", new(mcp.CallToolParams), `{"name":"a"} {}`, `not valid JSON at byte 13…`},
		{"messages with one fault", new(mcp.CreateMessageParams), `{"messages":[{"role":"user","content":[{"type":"text","text":1}]}]}`, `messages[0].content[0].text: expected a string, found a number`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := mcp.Unmarshal([]byte(tt.data), tt.into)
			if err == nil {
				t.Fatal("no error")
			}
			part, open := strings.CutSuffix(tt.want, "…")
			if got := err.Error(); got != tt.want && !(open && strings.HasPrefix(got, part)) {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

// encoding/json would let the second name win (CVE-2026-27896).
func TestNamesAreCaseSensitive(t *testing.T) {
	for _, data := range []string{
		`{"name":"echo","Name":"admin"}`,
		`{"Name":"admin","name":"echo"}`,
		`{"name":"echo","NAME":"admin","name\u0000":"admin"}`,
	} {
		var p mcp.CallToolParams
		if err := mcp.Unmarshal([]byte(data), &p); err != nil || p.Name != "echo" {
			t.Errorf("%s: name %q, error %v", data, p.Name, err)
		}
		name, _, err := mcp.DecodeCallToolParams([]byte(data))
		if err != nil || name != "echo" {
			t.Errorf("%s: fast decoder: name %q, error %v", data, name, err)
		}
	}
	var c mcp.ClientCapabilities
	if err := mcp.Unmarshal([]byte(`{"Elicitation":{},"elicitation":{"URL":{}}}`), &c); err != nil {
		t.Fatal(err)
	}
	if c.Elicitation == nil || c.Elicitation.URL != nil || c.Other["Elicitation"] == nil {
		t.Errorf("names in another case were taken for the known ones: %+v", c)
	}
}

func TestMarshalIsStable(t *testing.T) {
	v := map[string]json.RawMessage{"b": json.RawMessage(`{ "z":1,
		"a":"\u00e9" }`), "a": json.RawMessage(`1`), "c": nil}
	delete(v, "c")
	for range 20 {
		raw, err := mcp.Marshal(v)
		if want := `{"a":1,"b":{"z":1,"a":"\u00e9"}}`; err != nil || string(raw) != want {
			t.Fatalf("got %s, %v, want %s", raw, err, want)
		}
	}
}

func TestRequiredArraysAreNeverNull(t *testing.T) {
	for _, v := range []any{
		mcp.ListToolsResult{}, mcp.ListResourcesResult{}, mcp.ListResourceTemplatesResult{}, mcp.ListPromptsResult{},
		mcp.ReadResourceResult{}, mcp.GetPromptResult{}, mcp.CallToolResult{}, mcp.CompleteResult{}, mcp.ListRootsResult{},
		mcp.CreateMessageParams{}, mcp.ToolResultContent{}, mcp.SamplingMessage{},
	} {
		raw, err := mcp.Marshal(v)
		if err != nil || strings.Contains(string(raw), "null") || !strings.Contains(string(raw), "[]") {
			t.Errorf("%T: %s, %v", v, raw, err)
		}
	}
}

func TestCallDecode(t *testing.T) {
	var p mcp.ReadResourceParams
	if err := (&mcp.Call{Method: mcp.MethodResourcesRead}).Decode(&p); err != nil {
		t.Errorf("no parameters are an empty object: %v", err)
	}
	err := (&mcp.Call{Method: mcp.MethodResourcesRead, Params: json.RawMessage(`{"uri":1}`)}).Decode(&p)
	coded, ok := errors.AsType[*mcp.Error](err)
	if !ok || coded.Code != mcp.CodeInvalidParams || coded.Message != "parameters of resources/read: uri: expected a string, found a number" {
		t.Errorf("got %v", err)
	}
}
