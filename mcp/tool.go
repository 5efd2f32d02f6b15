package mcp

import (
	"cmp"
	"encoding/json"
	"fmt"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/tenon-mcp/tenon/internal/rawjson"
)

// A Tool is a function that a model can call.
type Tool struct {
	Name        string `json:"name"`
	Title       string `json:"title,omitzero"`
	Description string `json:"description,omitzero"`
	// InputSchema is the JSON Schema of the arguments, an object schema. All
	// its keywords are preserved.
	InputSchema json.RawMessage `json:"inputSchema"`
	// OutputSchema is the JSON Schema of the structured content; nil means
	// unspecified.
	OutputSchema json.RawMessage `json:"outputSchema,omitzero"`
	// Annotations are hints; nil means the defaults.
	Annotations *ToolAnnotations `json:"annotations,omitzero"`
	// Execution is used in revision 2025-11-25 only.
	Execution *ToolExecution `json:"execution,omitzero"`
	Icons     []Icon         `json:"icons,omitzero"`
	Meta      Meta           `json:"_meta,omitzero"`
}

// DisplayName returns the title, or the title in the annotations, or the name.
func (t *Tool) DisplayName() string {
	var old string
	if t.Annotations != nil {
		old = t.Annotations.Title
	}
	return cmp.Or(t.Title, old, t.Name)
}

// Check returns an error if no client can use the tool: it has no name, or its
// input schema is not an object schema.
func (t *Tool) Check() error {
	if member, what := t.fault(); what != "" {
		if t.Name == "" {
			return fmt.Errorf("tool: %s: %s", member, what)
		}
		return fmt.Errorf("tool %q: %s: %s", clip(t.Name), member, what)
	}
	return nil
}

// fault returns the first invalid member.
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

// UnmarshalJSONFrom implements the interface of json v2. It fails if
// [Tool.Check] does, so one invalid tool makes a whole list invalid. Use
// [DecodeEach] to keep the others.
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

// ToolAnnotations are a server's hints about the effects of a tool. Clients
// should not rely on the hints of servers that they do not trust.
type ToolAnnotations struct {
	// Title is a title for display; [Tool.Title] has precedence.
	Title           string `json:"title,omitzero"`
	ReadOnlyHint    *bool  `json:"readOnlyHint,omitzero"`
	DestructiveHint *bool  `json:"destructiveHint,omitzero"`
	IdempotentHint  *bool  `json:"idempotentHint,omitzero"`
	OpenWorldHint   *bool  `json:"openWorldHint,omitzero"`
}

// ReadOnly reports whether the tool modifies nothing. The default is false.
func (a *ToolAnnotations) ReadOnly() bool { return a != nil && hint(a.ReadOnlyHint, false) }

// Destructive reports whether the tool may delete or overwrite something. The
// default is true; for a read-only tool it is false.
func (a *ToolAnnotations) Destructive() bool {
	return a == nil || !a.ReadOnly() && hint(a.DestructiveHint, true)
}

// Idempotent reports whether repeating a call with the same arguments has no
// further effect. The default is false; for a read-only tool it is true.
func (a *ToolAnnotations) Idempotent() bool {
	return a != nil && (a.ReadOnly() || hint(a.IdempotentHint, false))
}

// OpenWorld reports whether the tool interacts with an open set of external
// entities, such as the web. The default is true.
func (a *ToolAnnotations) OpenWorld() bool { return a == nil || hint(a.OpenWorldHint, true) }

func hint(h *bool, unset bool) bool {
	if h == nil {
		return unset
	}
	return *h
}

// ToolExecution describes task support in revision 2025-11-25.
type ToolExecution struct {
	// TaskSupport is "forbidden", "optional" or "required"; empty means
	// "forbidden".
	TaskSupport string `json:"taskSupport,omitzero"`
}

// ListToolsResult is one page of a list of tools.
type ListToolsResult struct {
	Tools []Tool `json:"tools"`
	// NextCursor is the cursor of the next page; nil means that this is the
	// last.
	NextCursor *string `json:"nextCursor,omitzero"`
}

// CallToolParams is the parameters of a [MethodToolsCall] call.
type CallToolParams struct {
	Name string `json:"name"`
	// Arguments is a JSON object; nil means none.
	Arguments json.RawMessage `json:"arguments,omitzero"`
}

// CallToolResult is the result of a tool call.
type CallToolResult struct {
	// Content is for the model and the user; nil means none.
	Content Contents `json:"content"`
	// StructuredContent is any JSON value, for programs; nil means none.
	StructuredContent json.RawMessage `json:"structuredContent,omitzero"`
	// IsError is set if the tool failed. Content then describes the error in a
	// way that a model can act on.
	IsError bool `json:"isError,omitzero"`
	// Meta is the metadata of a result that a client received. It is not
	// encoded: a server returns metadata in the Meta of its [Result].
	Meta Meta `json:"-"`
}

// ToolError returns the result of a failed tool call. The text is for the
// model: it should say what to do differently.
func ToolError(format string, args ...any) *CallToolResult {
	return &CallToolResult{Content: Contents{Text(fmt.Sprintf(format, args...))}, IsError: true}
}
