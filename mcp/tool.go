package mcp

import (
	"encoding/json"
	"fmt"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/tenon-mcp/tenon/internal/rawjson"
)

// A Tool is something a model can call.
type Tool struct {
	Name        string `json:"name"`
	Title       string `json:"title,omitzero"`
	Description string `json:"description,omitzero"`
	// InputSchema is the JSON Schema of the arguments, an object schema. It is
	// kept as it came, with every keyword.
	InputSchema json.RawMessage `json:"inputSchema"`
	// OutputSchema is the JSON Schema of the structured content; nil means
	// that the tool promises nothing about it.
	OutputSchema json.RawMessage `json:"outputSchema,omitzero"`
	// Annotations are hints; nil means the defaults.
	Annotations *ToolAnnotations `json:"annotations,omitzero"`
	// Execution is a remnant of one older revision; nil everywhere else.
	Execution *ToolExecution `json:"execution,omitzero"`
	Icons     []Icon         `json:"icons,omitzero"`
	Meta      Meta           `json:"_meta,omitzero"`
}

// DisplayName is what to show to a person: the title, or else the title among
// the annotations, or else the name.
func (t *Tool) DisplayName() string {
	var old string
	if t.Annotations != nil {
		old = t.Annotations.Title
	}
	return firstOf(t.Title, old, t.Name)
}

// Check reports what keeps the tool from being used by anybody: no name, or an
// input schema that is not an object schema.
func (t *Tool) Check() error {
	if member, what := t.fault(); what != "" {
		if t.Name == "" {
			return fmt.Errorf("tool: %s: %s", member, what)
		}
		return fmt.Errorf("tool %q: %s: %s", clip(t.Name), member, what)
	}
	return nil
}

// fault names the first member that makes the tool unusable.
func (t *Tool) fault() (member, what string) {
	switch {
	case t.Name == "":
		return "name", "missing: a tool needs a name"
	case t.InputSchema == nil:
		return "inputSchema", `missing: expected an object, such as {"type":"object"}`
	case !rawjson.IsObject(t.InputSchema):
		return "inputSchema", `expected an object, such as {"type":"object"}`
	case !rawjson.EqualString(rawjson.Lookup(t.InputSchema, "type"), "object"):
		return "inputSchema", `expected "type":"object" at its top`
	case t.OutputSchema != nil && !rawjson.IsObject(t.OutputSchema):
		return "outputSchema", "expected an object"
	}
	return "", ""
}

// UnmarshalJSONFrom implements the interface of json v2. It refuses what
// [Tool.Check] refuses, so a list with one such tool is refused as a whole;
// decode its elements one by one to keep the others.
func (t *Tool) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	type plain Tool
	var p plain
	if err := jsonv2.UnmarshalDecode(dec, &p); err != nil {
		return err
	}
	if member, what := (*Tool)(&p).fault(); what != "" {
		return refuse(dec, member, "%s", what)
	}
	*t = Tool(p)
	return nil
}

// ValidToolName reports whether every peer can be expected to take the name:
// 1 to 128 letters, digits, dots, hyphens and underscores.
func ValidToolName(name string) bool {
	for i := range len(name) {
		if c := name[i]; !isAlnum(c) && c != '_' && c != '-' && c != '.' {
			return false
		}
	}
	return 1 <= len(name) && len(name) <= 128
}

// ToolAnnotations are a server's own words on what a tool does. A client that
// does not trust the server does not trust them.
type ToolAnnotations struct {
	// Title is an older place for [Tool.Title].
	Title           string `json:"title,omitzero"`
	ReadOnlyHint    *bool  `json:"readOnlyHint,omitzero"`
	DestructiveHint *bool  `json:"destructiveHint,omitzero"`
	IdempotentHint  *bool  `json:"idempotentHint,omitzero"`
	OpenWorldHint   *bool  `json:"openWorldHint,omitzero"`
}

// ReadOnly reports whether the tool changes nothing. Unset means that it does.
func (a *ToolAnnotations) ReadOnly() bool { return a != nil && hint(a.ReadOnlyHint, false) }

// Destructive reports whether the tool may destroy something and not only add
// to it. Unset means that it may; a tool that only reads never does.
func (a *ToolAnnotations) Destructive() bool {
	return a == nil || !a.ReadOnly() && hint(a.DestructiveHint, true)
}

// Idempotent reports whether a second call with the same arguments changes
// nothing more. Unset means that it may.
func (a *ToolAnnotations) Idempotent() bool {
	return a != nil && (a.ReadOnly() || hint(a.IdempotentHint, false))
}

// OpenWorld reports whether the tool reaches out to what the server does not
// know in full, such as the web. Unset means that it does.
func (a *ToolAnnotations) OpenWorld() bool { return a == nil || hint(a.OpenWorldHint, true) }

func hint(h *bool, unset bool) bool {
	if h == nil {
		return unset
	}
	return *h
}

// ToolExecution is read from servers of one older revision and passed on.
type ToolExecution struct {
	// TaskSupport is "forbidden", "optional" or "required"; empty means
	// forbidden.
	TaskSupport string `json:"taskSupport,omitzero"`
}

// ListToolsResult is one page of tools.
type ListToolsResult struct {
	Tools []Tool `json:"tools"`
	// NextCursor asks for the next page; nil means that this was the last.
	NextCursor *string `json:"nextCursor,omitzero"`
}

// CallToolParams calls a tool.
type CallToolParams struct {
	Name string `json:"name"`
	// Arguments is a JSON object; nil means none.
	Arguments json.RawMessage `json:"arguments,omitzero"`
}

// CallToolResult is what a tool came to.
type CallToolResult struct {
	// Content is for the model and the person; nil means none.
	Content Contents `json:"content"`
	// StructuredContent is any JSON value for programs; nil means none.
	StructuredContent json.RawMessage `json:"structuredContent,omitzero"`
	// IsError is set when the tool failed. Content then says why, in words a
	// model can act on.
	IsError bool `json:"isError,omitzero"`
}

// ToolError is the result of a tool that failed. The text is for the model: it
// says what to do differently.
func ToolError(format string, args ...any) *CallToolResult {
	return &CallToolResult{Content: Contents{Text(fmt.Sprintf(format, args...))}, IsError: true}
}
