package mcp_test

import (
	"encoding/json"
	"testing"

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
