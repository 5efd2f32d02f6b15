package mcp

import (
	"encoding/json"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// This file and sampling_check.go hold the sampling feature, which the 2026
// revision deprecates.

// SamplingCapability is the client's ability to have a model write something.
//
// Deprecated: by SEP-2577; it may go in the first revision on or after
// 2027-07-28. Call a model directly instead.
type SamplingCapability struct {
	// Context is there when the client understands IncludeContext.
	Context Settings `json:"context,omitzero"`
	// Tools is there when the model may be given tools.
	Tools Settings `json:"tools,omitzero"`
}

func (c *SamplingCapability) covers(need *SamplingCapability) bool {
	if need == nil {
		return true
	}
	return c != nil && (need.Context == nil || c.Context != nil) && (need.Tools == nil || c.Tools != nil)
}

// CreateMessageParams asks the client to have its model write a message.
//
// Deprecated: by SEP-2577; it may go in the first revision on or after
// 2027-07-28. Call a model directly instead.
type CreateMessageParams struct {
	Messages         []SamplingMessage `json:"messages"`
	ModelPreferences *ModelPreferences `json:"modelPreferences,omitzero"`
	SystemPrompt     string            `json:"systemPrompt,omitzero"`
	// IncludeContext is "none", "thisServer" or "allServers"; empty means none.
	IncludeContext string   `json:"includeContext,omitzero"`
	Temperature    *float64 `json:"temperature,omitzero"`
	// MaxTokens is the most the model may write; the client may allow less.
	MaxTokens     int64           `json:"maxTokens"`
	StopSequences []string        `json:"stopSequences,omitzero"`
	Metadata      json.RawMessage `json:"metadata,omitzero"`
	Tools         []Tool          `json:"tools,omitzero"`
	// ToolChoice is how freely the model uses the tools; nil means as it
	// likes.
	ToolChoice *ToolChoice `json:"toolChoice,omitzero"`
}

// SamplingRequest makes the question that has a model write a message.
//
// Deprecated: by SEP-2577; it may go in the first revision on or after
// 2027-07-28. Call a model directly instead.
func SamplingRequest(p *CreateMessageParams) (InputRequest, error) {
	return ask(MethodCreateMessage, p)
}

// A ToolChoice says whether a model uses its tools.
//
// Deprecated: by SEP-2577, with sampling.
type ToolChoice struct {
	// Mode is "auto", "required" or "none"; empty means auto.
	Mode string `json:"mode,omitzero"`
}

// ModelPreferences say what kind of model is wanted. Each priority lies
// between 0 and 1; nil says nothing.
//
// Deprecated: by SEP-2577, with sampling.
type ModelPreferences struct {
	// Hints are parts of model names, the most wanted first.
	Hints                []ModelHint `json:"hints,omitzero"`
	CostPriority         *float64    `json:"costPriority,omitzero"`
	SpeedPriority        *float64    `json:"speedPriority,omitzero"`
	IntelligencePriority *float64    `json:"intelligencePriority,omitzero"`
}

// A ModelHint names a model or a family of models.
//
// Deprecated: by SEP-2577, with sampling.
type ModelHint struct {
	Name string `json:"name,omitzero"`
}

// A SamplingMessage is one message of the conversation that a model goes on
// with.
//
// Deprecated: by SEP-2577, with sampling.
type SamplingMessage struct {
	Role    Role            `json:"role"`
	Content SamplingContent `json:"content"`
	Meta    Meta            `json:"_meta,omitzero"`
}

// CreateMessageResult is the message that the model wrote.
//
// Deprecated: by SEP-2577, with sampling.
type CreateMessageResult struct {
	Role    Role            `json:"role"`
	Content SamplingContent `json:"content"`
	Model   string          `json:"model"`
	// StopReason is "endTurn", "stopSequence", "maxTokens", "toolUse" or
	// another word of the model's; empty means unknown.
	StopReason string `json:"stopReason,omitzero"`
	Meta       Meta   `json:"_meta,omitzero"`
}

// SamplingContent is one block or a list of blocks; both are allowed on the
// wire, and which of them it was is kept.
//
// Deprecated: by SEP-2577, with sampling.
type SamplingContent struct {
	Blocks Contents
	// List is set when a single block is written as a list. Any other number
	// of blocks always is.
	List bool
}

// NewSamplingContent makes the content of a message.
//
// Deprecated: by SEP-2577, with sampling.
func NewSamplingContent(blocks ...Content) SamplingContent { return SamplingContent{Blocks: blocks} }

// MarshalJSONTo implements the interface of json v2.
func (c SamplingContent) MarshalJSONTo(enc *jsontext.Encoder) error {
	if c.List || len(c.Blocks) != 1 {
		return jsonv2.MarshalEncode(enc, c.Blocks)
	}
	if c.Blocks[0] == nil {
		return &expectation{"content block 0 is nil"}
	}
	raw, err := c.Blocks[0].appendBlock(nil)
	if err != nil {
		return err
	}
	return enc.WriteValue(raw)
}

// MarshalJSON implements the interface of encoding/json.
func (c SamplingContent) MarshalJSON() ([]byte, error) { return Marshal(c) }

// UnmarshalJSONFrom implements the interface of json v2.
func (c *SamplingContent) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	if dec.PeekKind() == '[' {
		var list Contents
		if err := list.UnmarshalJSONFrom(dec); err != nil {
			return err
		}
		*c = SamplingContent{Blocks: list, List: true}
		return nil
	}
	block, err := readBlock(dec)
	if err != nil {
		return err
	}
	*c = SamplingContent{Blocks: Contents{block}}
	return nil
}

// UnmarshalJSON implements the interface of encoding/json.
func (c *SamplingContent) UnmarshalJSON(data []byte) error { return Unmarshal(data, c) }

// ToolUseContent is a model's wish to call a tool.
//
// Deprecated: by SEP-2577, with sampling.
type ToolUseContent struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// Input is the arguments, a JSON object; nil means none.
	Input json.RawMessage `json:"input"`
	Meta  Meta            `json:"_meta,omitzero"`
}

// ToolResultContent is what came of a tool the model wished to call.
//
// Deprecated: by SEP-2577, with sampling.
type ToolResultContent struct {
	// ToolUseID is the ID of the ToolUseContent that is answered.
	ToolUseID         string          `json:"toolUseId"`
	Content           Contents        `json:"content"`
	StructuredContent json.RawMessage `json:"structuredContent,omitzero"`
	IsError           bool            `json:"isError,omitzero"`
	Meta              Meta            `json:"_meta,omitzero"`
}

// ContentType is "tool_use".
func (*ToolUseContent) ContentType() string { return "tool_use" }

// ContentType is "tool_result".
func (*ToolResultContent) ContentType() string { return "tool_result" }

func (c *ToolUseContent) appendBlock(dst []byte) ([]byte, error) {
	type members ToolUseContent
	m := members(*c)
	if m.Input == nil {
		m.Input = json.RawMessage("{}")
	}
	return appendTyped(dst, "tool_use", &m)
}

func (c *ToolResultContent) appendBlock(dst []byte) ([]byte, error) {
	type members ToolResultContent
	return appendTyped(dst, "tool_result", (*members)(c))
}

// MarshalJSON implements the interface of both JSON packages.
func (c ToolUseContent) MarshalJSON() ([]byte, error) { return c.appendBlock(nil) }

// MarshalJSON implements the interface of both JSON packages.
func (c ToolResultContent) MarshalJSON() ([]byte, error) { return c.appendBlock(nil) }
