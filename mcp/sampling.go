package mcp

import (
	"encoding/json"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// This file and sampling_check.go hold the sampling feature, which the 2026
// revision deprecates.

// SamplingCapability is the client's capability to generate messages with a
// model.
//
// Deprecated: by SEP-2577; it may be removed in the first revision on or after
// 2027-07-28. Call a model directly instead.
type SamplingCapability struct {
	// Context is set if the client supports IncludeContext.
	Context Settings `json:"context,omitzero"`
	// Tools is set if the client supports tools in sampling requests.
	Tools Settings `json:"tools,omitzero"`
}

func (c *SamplingCapability) covers(need *SamplingCapability) bool {
	if need == nil {
		return true
	}
	return c != nil && (need.Context == nil || c.Context != nil) && (need.Tools == nil || c.Tools != nil)
}

// CreateMessageParams is the parameters of a [MethodCreateMessage] input
// request: the conversation that the client's model continues.
//
// Deprecated: by SEP-2577; it may be removed in the first revision on or after
// 2027-07-28. Call a model directly instead.
type CreateMessageParams struct {
	Messages         []SamplingMessage `json:"messages"`
	ModelPreferences *ModelPreferences `json:"modelPreferences,omitzero"`
	SystemPrompt     string            `json:"systemPrompt,omitzero"`
	// IncludeContext is "none", "thisServer" or "allServers"; empty means none.
	IncludeContext string   `json:"includeContext,omitzero"`
	Temperature    *float64 `json:"temperature,omitzero"`
	// MaxTokens is the maximum length of the message; the client may use less.
	MaxTokens     int64           `json:"maxTokens"`
	StopSequences []string        `json:"stopSequences,omitzero"`
	Metadata      json.RawMessage `json:"metadata,omitzero"`
	Tools         []Tool          `json:"tools,omitzero"`
	// ToolChoice controls the use of tools; nil means "auto".
	ToolChoice *ToolChoice `json:"toolChoice,omitzero"`
}

// SamplingRequest returns a sampling request.
//
// Deprecated: by SEP-2577; it may be removed in the first revision on or after
// 2027-07-28. Call a model directly instead.
func SamplingRequest(p *CreateMessageParams) (InputRequest, error) {
	return newInputRequest(MethodCreateMessage, p)
}

// A ToolChoice controls whether a model uses tools.
//
// Deprecated: by SEP-2577, with sampling.
type ToolChoice struct {
	// Mode is "auto", "required" or "none"; empty means auto.
	Mode string `json:"mode,omitzero"`
}

// ModelPreferences describe the preferred model. Priorities range from 0 to 1;
// nil means unspecified.
//
// Deprecated: by SEP-2577, with sampling.
type ModelPreferences struct {
	// Hints are parts of model names, in order of preference.
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

// A SamplingMessage is one message of a sampling conversation.
//
// Deprecated: by SEP-2577, with sampling.
type SamplingMessage struct {
	Role    Role            `json:"role"`
	Content SamplingContent `json:"content"`
	Meta    Meta            `json:"_meta,omitzero"`
}

// CreateMessageResult is the message that the model generated.
//
// Deprecated: by SEP-2577, with sampling.
type CreateMessageResult struct {
	Role    Role            `json:"role"`
	Content SamplingContent `json:"content"`
	Model   string          `json:"model"`
	// StopReason is "endTurn", "stopSequence", "maxTokens", "toolUse" or a
	// value specific to the model's provider; empty means unknown.
	StopReason string `json:"stopReason,omitzero"`
	Meta       Meta   `json:"_meta,omitzero"`
}

// SamplingContent is one block or a list of blocks. Both forms are valid JSON
// for it; List preserves which one it was.
//
// Deprecated: by SEP-2577, with sampling.
type SamplingContent struct {
	Blocks Contents
	// List is set if a single block is encoded as a list. Any other number of
	// blocks always is.
	List bool
}

// NewSamplingContent returns content with the given blocks.
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

// ToolUseContent is a model's request to call a tool.
//
// Deprecated: by SEP-2577, with sampling.
type ToolUseContent struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// Input is the arguments, a JSON object; nil means none.
	Input json.RawMessage `json:"input"`
	Meta  Meta            `json:"_meta,omitzero"`
}

// ToolResultContent is the result of a tool call that the model requested.
//
// Deprecated: by SEP-2577, with sampling.
type ToolResultContent struct {
	// ToolUseID is the ID of the ToolUseContent that the result belongs to.
	ToolUseID         string          `json:"toolUseId"`
	Content           Contents        `json:"content"`
	StructuredContent json.RawMessage `json:"structuredContent,omitzero"`
	IsError           bool            `json:"isError,omitzero"`
	Meta              Meta            `json:"_meta,omitzero"`
}

// ContentType returns "tool_use".
func (*ToolUseContent) ContentType() string { return "tool_use" }

// ContentType returns "tool_result".
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

// Check returns an [*Error] if the messages violate the rules for tools: tool
// results come from the user in messages without other content, and answer each
// tool use of the assistant in the message that follows it.
//
// Deprecated: by SEP-2577; it may be removed in the first revision on or after
// 2027-07-28. Call a model directly instead.
func (p *CreateMessageParams) Check() error {
	if p.ToolChoice != nil {
		switch p.ToolChoice.Mode {
		case "", "auto", "required", "none":
		default:
			return InvalidParams("toolChoice.mode: %q is not auto, required or none", clip(p.ToolChoice.Mode))
		}
	}
	var open map[string]bool // tool uses of the message before
	for i := range p.Messages {
		m := &p.Messages[i]
		uses, results := toolBlocks(m.Content.Blocks)
		switch {
		case len(results) > 0 && m.Role != RoleUser:
			return InvalidParams("messages[%d]: tool results come from the user, not from %q", i, m.Role)
		case len(results) > 0 && len(results) != len(m.Content.Blocks):
			return InvalidParams("messages[%d]: a message with tool results must not have other content", i)
		case len(uses) > 0 && m.Role != RoleAssistant:
			return InvalidParams("messages[%d]: tool uses come from the assistant, not from %q", i, m.Role)
		}
		for j, id := range results {
			if !open[id] {
				return InvalidParams("messages[%d].content[%d]: the previous message has no unanswered tool use with the id %q", i, j, clip(id))
			}
			delete(open, id)
		}
		if id, some := anyOf(open); some {
			return InvalidParams("messages[%d]: the tool use %q of the previous message has no result", i, clip(id))
		}
		open = make(map[string]bool, len(uses))
		for _, id := range uses {
			if open[id] {
				return InvalidParams("messages[%d]: two tool uses have the id %q", i, clip(id))
			}
			open[id] = true
		}
	}
	if id, some := anyOf(open); some {
		return InvalidParams("messages: the tool use %q of the last message has no result", clip(id))
	}
	return nil
}

// toolBlocks returns the ids of the tool uses and tool results in blocks.
func toolBlocks(blocks Contents) (uses, results []string) {
	for _, b := range blocks {
		switch b := b.(type) {
		case *ToolUseContent:
			uses = append(uses, b.ID)
		case *ToolResultContent:
			results = append(results, b.ToolUseID)
		}
	}
	return uses, results
}

// anyOf returns the smallest id, so that the error text is deterministic.
func anyOf(ids map[string]bool) (first string, some bool) {
	for id := range ids {
		if !some || id < first {
			first, some = id, true
		}
	}
	return first, some
}
