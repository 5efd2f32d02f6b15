package anthropic

import (
	"encoding/base64"
	"strings"
	"unicode/utf8"

	json "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/tenon-mcp/tenon/app/llm"
	"github.com/tenon-mcp/tenon/app/llm/internal/wire"
)

type request struct {
	Model       string        `json:"model"`
	MaxTokens   int           `json:"max_tokens"`
	Stream      bool          `json:"stream"`
	System      []block       `json:"system,omitzero"`
	Messages    []message     `json:"messages"`
	Tools       []tool        `json:"tools,omitzero"`
	ToolChoice  *toolChoice   `json:"tool_choice,omitzero"`
	Temperature *float64      `json:"temperature,omitzero"`
	Stop        []string      `json:"stop_sequences,omitzero"`
	Thinking    *thinking     `json:"thinking,omitzero"`
	Output      *outputConfig `json:"output_config,omitzero"`
}

type message struct {
	Role    string  `json:"role"`
	Content []block `json:"content"`
}

// A block is any content block; only the fields of its type are set.
type block struct {
	Type      string         `json:"type"`
	Text      string         `json:"text,omitzero"`
	Thinking  *string        `json:"thinking,omitzero"`
	Signature string         `json:"signature,omitzero"`
	Data      string         `json:"data,omitzero"` // of redacted thinking
	Source    *source        `json:"source,omitzero"`
	Title     string         `json:"title,omitzero"`
	ID        string         `json:"id,omitzero"`
	Name      string         `json:"name,omitzero"`
	Input     jsontext.Value `json:"input,omitzero"`
	ToolUseID string         `json:"tool_use_id,omitzero"`
	Content   []block        `json:"content,omitzero"`
	IsError   bool           `json:"is_error,omitzero"`
	Cache     *cacheControl  `json:"cache_control,omitzero"`
}

type source struct {
	Type      string `json:"type"`
	MediaType string `json:"media_type"`
	Data      string `json:"data"`
}

type cacheControl struct {
	Type string `json:"type"`
}

type tool struct {
	Name        string         `json:"name"`
	Description string         `json:"description,omitzero"`
	Schema      jsontext.Value `json:"input_schema"`
	Cache       *cacheControl  `json:"cache_control,omitzero"`
}

type toolChoice struct {
	Type string `json:"type"`
	Name string `json:"name,omitzero"`
}

// Prefixes of signatures, so that other APIs omit them.
const (
	signedThinking   = "anthropic:"
	redactedThinking = "anthropic-redacted:"
)

func (m *Model) encode(r *llm.Request, reduced int) ([]byte, *wire.Tools, error) {
	body := request{Model: m.info.Name, MaxTokens: r.MaxTokens, Stream: true, Temperature: r.Temperature}
	if body.MaxTokens <= 0 {
		body.MaxTokens = m.opts.MaxTokens
	}
	if body.MaxTokens <= 0 {
		body.MaxTokens = defaultMaxTokens(m.info.Name)
	}
	for _, s := range r.Stop {
		if strings.TrimSpace(s) != "" { // the API rejects blank ones
			body.Stop = append(body.Stop, s)
		}
	}
	if strings.TrimSpace(r.System) != "" {
		body.System = []block{{Type: "text", Text: r.System}}
	}
	tools := wire.AdaptTools(r.Tools, rules(), 0)
	for _, t := range tools.List {
		body.Tools = append(body.Tools, tool{Name: t.Name, Description: t.Description, Schema: jsontext.Value(t.Schema)})
	}
	body.ToolChoice = choice(r)
	for _, msg := range wire.Normalize(r.Messages, ids()) {
		body.add(m.message(msg))
	}
	if len(body.Messages) == 0 {
		return nil, nil, wire.ErrEmpty
	}
	if body.Messages[0].Role != "user" {
		opening := message{Role: "user", Content: []block{{Type: "text", Text: "(The conversation starts with the assistant.)"}}}
		body.Messages = append([]message{opening}, body.Messages...)
	}
	m.think(r, &body, reduced)
	if !m.opts.NoCache {
		body.markCache()
	}
	out, err := json.Marshal(body, jsontext.AllowInvalidUTF8(true))
	return out, tools, err
}

// add appends a message, merging consecutive messages of one role.
func (b *request) add(m message) {
	if len(m.Content) == 0 {
		return
	}
	if n := len(b.Messages); n > 0 && b.Messages[n-1].Role == m.Role {
		b.Messages[n-1].Content = append(b.Messages[n-1].Content, m.Content...)
		return
	}
	b.Messages = append(b.Messages, m)
}

func choice(r *llm.Request) *toolChoice {
	if len(r.Tools) == 0 {
		return nil
	}
	switch r.ToolChoice {
	case "", llm.ChoiceAuto:
		return nil
	case llm.ChoiceNone:
		return &toolChoice{Type: "none"}
	case llm.ChoiceRequired:
		return &toolChoice{Type: "any"}
	}
	return &toolChoice{Type: "tool", Name: r.ToolChoice}
}

func (m *Model) message(msg llm.Message) message {
	out := message{Role: "user"}
	if msg.Role == llm.RoleAssistant {
		out.Role = "assistant"
	}
	for _, p := range msg.Parts {
		if b, ok := m.block(p); ok {
			if p.CacheMark {
				b.Cache = &cacheControl{Type: "ephemeral"}
			}
			out.Content = append(out.Content, b)
		}
	}
	return out
}

func (m *Model) block(p llm.Part) (block, bool) {
	switch p.Kind {
	case llm.PartText:
		return block{Type: "text", Text: p.Text}, strings.TrimSpace(p.Text) != ""
	case llm.PartThinking:
		if data, ok := strings.CutPrefix(p.Signature, redactedThinking); ok {
			return block{Type: "redacted_thinking", Data: data}, true
		}
		if sig, ok := strings.CutPrefix(p.Signature, signedThinking); ok {
			return block{Type: "thinking", Thinking: &p.Text, Signature: sig}, true
		}
		return block{}, false // the API rejects unsigned thinking
	case llm.PartToolCall:
		return block{Type: "tool_use", ID: p.Call.ID, Name: p.Call.Name, Input: jsontext.Value(p.Call.Arguments)}, true
	case llm.PartToolResult:
		return m.result(p.Result), true
	}
	return m.media(p), true
}

func (m *Model) result(r *llm.ToolResult) block {
	b := block{Type: "tool_result", ToolUseID: r.CallID, IsError: r.IsError}
	for _, p := range r.Parts {
		if c, ok := m.block(p); ok && (c.Type == "text" || c.Type == "image" || c.Type == "document") {
			b.Content = append(b.Content, c)
		}
		if p.CacheMark {
			b.Cache = &cacheControl{Type: "ephemeral"}
		}
	}
	for i := range b.Content {
		b.Content[i].Cache = nil
	}
	if r.IsError && len(b.Content) == 0 { // the API rejects an error without content
		b.Content = []block{{Type: "text", Text: "The tool failed without an error message."}}
	}
	return b
}

// media returns an image or document block, or a text block that describes the
// part.
func (m *Model) media(p llm.Part) block {
	data := base64.StdEncoding.EncodeToString(p.Data)
	switch {
	case p.Kind == llm.PartImage && m.info.Accepts.Images && wire.ImageType(p.MIME):
		return block{Type: "image", Source: &source{"base64", p.MIME, data}}
	case p.Kind == llm.PartDocument && m.info.Accepts.Documents && p.MIME == "application/pdf":
		return block{Type: "document", Source: &source{"base64", p.MIME, data}, Title: p.Text}
	case p.Kind == llm.PartDocument && m.info.Accepts.Documents && strings.HasPrefix(p.MIME, "text/") && utf8.Valid(p.Data) && len(p.Data) > 0:
		return block{Type: "document", Source: &source{"text", "text/plain", string(p.Data)}, Title: p.Text}
	}
	return block{Type: "text", Text: llm.Describe(p)}
}

// markCache sets the cache breakpoints. The API allows four: one goes after tools
// and system prompt, the others after the last three marked parts, or after the
// last message if no part is marked.
func (b *request) markCache() {
	mark := &cacheControl{Type: "ephemeral"}
	if n := len(b.System); n > 0 {
		b.System[n-1].Cache = mark
	} else if n := len(b.Tools); n > 0 {
		b.Tools[n-1].Cache = mark
	}
	var marked []*block
	for i := range b.Messages {
		for j := range b.Messages[i].Content {
			c := &b.Messages[i].Content[j]
			if c.Cache != nil && (c.Type == "thinking" || c.Type == "redacted_thinking") {
				c.Cache = nil // not allowed there
			}
			if c.Cache != nil {
				marked = append(marked, c)
			}
		}
	}
	for len(marked) > 3 {
		marked[0].Cache, marked = nil, marked[1:]
	}
	if last := b.Messages[len(b.Messages)-1]; len(marked) == 0 {
		if c := &last.Content[len(last.Content)-1]; c.Type != "thinking" && c.Type != "redacted_thinking" {
			c.Cache = mark
		}
	}
}
