package openai

import (
	"strings"

	json "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/tenon-mcp/tenon/app/llm"
	"github.com/tenon-mcp/tenon/app/llm/internal/wire"
)

type responsesRequest struct {
	Model        string           `json:"model"`
	Instructions string           `json:"instructions,omitzero"`
	Input        []any            `json:"input"`
	Stream       bool             `json:"stream"`
	Store        bool             `json:"store"` // false: the provider does not store the conversation
	Include      []string         `json:"include,omitzero"`
	Tools        []responsesTool  `json:"tools,omitzero"`
	ToolChoice   any              `json:"tool_choice,omitzero"`
	MaxTokens    int              `json:"max_output_tokens,omitzero"`
	Temperature  *float64         `json:"temperature,omitzero"`
	Reasoning    *reasoningConfig `json:"reasoning,omitzero"`
	CacheKey     string           `json:"prompt_cache_key,omitzero"`
}

type reasoningConfig struct {
	Effort  string `json:"effort,omitzero"`
	Summary string `json:"summary,omitzero"`
}

// A responsesTool is not strict, because strict mode supports only a subset of
// JSON Schema.
type responsesTool struct {
	Type        string         `json:"type"`
	Name        string         `json:"name"`
	Description string         `json:"description,omitzero"`
	Parameters  jsontext.Value `json:"parameters"`
	Strict      bool           `json:"strict"`
}

type inputMessage struct {
	Type    string      `json:"type"`
	Role    string      `json:"role"`
	Content []inputPart `json:"content"`
}

type inputPart struct {
	Type     string `json:"type"`
	Text     string `json:"text,omitzero"`
	ImageURL string `json:"image_url,omitzero"`
	Detail   string `json:"detail,omitzero"`
	FileName string `json:"filename,omitzero"`
	FileData string `json:"file_data,omitzero"`
}

type functionCall struct {
	Type      string `json:"type"`
	CallID    string `json:"call_id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

type functionOutput struct {
	Type   string `json:"type"`
	CallID string `json:"call_id"`
	Output any    `json:"output"` // string or []inputPart
}

// signedItem is the prefix of signatures of this API; the reasoning item follows.
const signedItem = "responses:"

func (m *Model) encodeResponses(r *llm.Request, tools *wire.Tools, reduced int) ([]byte, error) {
	body := responsesRequest{
		Model: m.info.Name, Instructions: r.System, Stream: true,
		MaxTokens: r.MaxTokens, Temperature: r.Temperature, CacheKey: m.opts.CacheKey,
	}
	if body.MaxTokens <= 0 {
		body.MaxTokens = m.opts.MaxTokens
	}
	if m.rejected("prompt_cache_key") {
		body.CacheKey = ""
	}
	if m.quirks.reasons {
		body.Include = []string{"reasoning.encrypted_content"}
	}
	body.Reasoning = m.reasoning(r.Effort, reduced)
	for _, t := range tools.List {
		schema := t.Schema
		if schema == nil {
			schema = llm.RawMessage(`{"type":"object","properties":{}}`)
		}
		body.Tools = append(body.Tools, responsesTool{Type: "function", Name: t.Name, Description: t.Description, Parameters: jsontext.Value(schema)})
	}
	body.ToolChoice = toolChoice(r, func(name string) any { return map[string]string{"type": "function", "name": name} })
	for _, msg := range wire.Normalize(r.Messages, m.quirks.ids) {
		body.Input = append(body.Input, m.items(msg)...)
	}
	if len(body.Input) == 0 {
		return nil, wire.ErrEmpty
	}
	return json.Marshal(body, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
}

// reasoning returns the configuration of thinking; reduced says what to leave out.
func (m *Model) reasoning(effort string, reduced int) *reasoningConfig {
	if effort == "" || reduced >= wire.WithoutEffort || m.info.Efforts != nil && len(m.info.Efforts) == 0 {
		return nil
	}
	c := &reasoningConfig{Effort: effort}
	if effort == llm.EffortAuto {
		c.Effort = ""
		if len(m.info.Efforts) == 0 { // unknown whether it thinks
			return nil
		}
	}
	if effort != llm.EffortNone && reduced < wire.WithoutSummary {
		c.Summary = "auto"
	}
	if *c == (reasoningConfig{}) {
		return nil
	}
	return c
}

// items returns the input items of a message: text, reasoning, calls and results
// are separate items.
func (m *Model) items(msg llm.Message) []any {
	if msg.Role == llm.RoleUser {
		in := inputMessage{Type: "message", Role: "user"}
		for _, p := range msg.Parts {
			in.Content = append(in.Content, m.inputPart(p))
		}
		return []any{in}
	}
	var out []any
	for _, p := range msg.Parts {
		switch p.Kind {
		case llm.PartText:
			part := inputPart{Type: "output_text", Text: p.Text}
			out = append(out, inputMessage{Type: "message", Role: "assistant", Content: []inputPart{part}})
		case llm.PartThinking:
			if item, ok := strings.CutPrefix(p.Signature, signedItem); ok {
				out = append(out, jsontext.Value(item))
			}
		case llm.PartToolCall:
			out = append(out, functionCall{"function_call", p.Call.ID, p.Call.Name, string(p.Call.Arguments)})
		case llm.PartToolResult:
			out = append(out, m.output(p.Result))
		}
	}
	return out
}

func (m *Model) output(r *llm.ToolResult) functionOutput {
	out := functionOutput{Type: "function_call_output", CallID: r.CallID}
	var text []string
	var parts []inputPart
	plain := true
	if r.IsError {
		parts = append(parts, inputPart{Type: "input_text", Text: "The tool failed:"})
		text = append(text, "Error:")
	}
	for _, p := range r.Parts {
		part := m.inputPart(p)
		plain = plain && part.Type == "input_text"
		if part.Type != "input_text" || part.Text != "" {
			parts, text = append(parts, part), append(text, part.Text)
		}
	}
	switch {
	case !plain:
		out.Output = parts
	case len(text) == 0:
		out.Output = emptyResult
	case r.IsError:
		out.Output = strings.TrimSpace(text[0] + " " + strings.Join(text[1:], "\n"))
	default:
		out.Output = strings.Join(text, "\n")
	}
	return out
}

func (m *Model) inputPart(p llm.Part) inputPart {
	a := m.info.Accepts
	switch {
	case p.Kind == llm.PartImage && a.Images && wire.ImageType(p.MIME):
		return inputPart{Type: "input_image", ImageURL: llm.DataURL(p), Detail: "auto"}
	case p.Kind == llm.PartDocument && a.Documents && p.MIME == "application/pdf":
		return inputPart{Type: "input_file", FileName: fileName(p), FileData: llm.DataURL(p)}
	}
	return inputPart{Type: "input_text", Text: llm.Describe(p)}
}
