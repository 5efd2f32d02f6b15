package openai

import (
	"cmp"
	"encoding/base64"
	"strings"

	json "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/tenon-mcp/tenon/app/llm"
	"github.com/tenon-mcp/tenon/app/llm/internal/wire"
)

type chatRequest struct {
	Model         string         `json:"model"`
	Messages      []chatMessage  `json:"messages"`
	Stream        bool           `json:"stream"`
	StreamOptions *streamOptions `json:"stream_options,omitzero"`
	Tools         []chatTool     `json:"tools,omitzero"`
	ToolChoice    any            `json:"tool_choice,omitzero"`
	MaxCompletion int            `json:"max_completion_tokens,omitzero"`
	MaxTokens     int            `json:"max_tokens,omitzero"`
	Temperature   *float64       `json:"temperature,omitzero"`
	Stop          []string       `json:"stop,omitzero"`
	Effort        string         `json:"reasoning_effort,omitzero"`
	CacheKey      string         `json:"prompt_cache_key,omitzero"`
	Usage         *usageOptions  `json:"usage,omitzero"`      // OpenRouter
	Extra         *extraBody     `json:"extra_body,omitzero"` // Gemini
}

// extraBody requests Gemini's thinking.
type extraBody struct {
	Google struct {
		Thinking struct {
			Include bool `json:"include_thoughts"`
		} `json:"thinking_config"`
	} `json:"google"`
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

type usageOptions struct {
	Include bool `json:"include"`
}

type chatMessage struct {
	Role             string         `json:"role"`
	Content          any            `json:"content"` // string, []chatPart, or nil
	ToolCalls        []chatCall     `json:"tool_calls,omitzero"`
	ToolCallID       string         `json:"tool_call_id,omitzero"`
	ReasoningContent string         `json:"reasoning_content,omitzero"`
	Reasoning        string         `json:"reasoning,omitzero"`
	ReasoningDetails jsontext.Value `json:"reasoning_details,omitzero"`
}

type chatPart struct {
	Type     string     `json:"type"`
	Text     string     `json:"text,omitzero"`
	ImageURL *imageURL  `json:"image_url,omitzero"`
	Audio    *chatAudio `json:"input_audio,omitzero"`
	File     *chatFile  `json:"file,omitzero"`
	Cache    *cacheMark `json:"cache_control,omitzero"` // OpenRouter
}

type cacheMark struct {
	Type string `json:"type"`
}

type imageURL struct {
	URL string `json:"url"`
}

type chatAudio struct {
	Data   string `json:"data"`
	Format string `json:"format"`
}

type chatFile struct {
	Name string `json:"filename"`
	Data string `json:"file_data"`
}

type chatCall struct {
	ID       string         `json:"id"`
	Type     string         `json:"type"`
	Function chatFunction   `json:"function"`
	Extra    jsontext.Value `json:"extra_content,omitzero"` // Gemini's signatures
}

type chatFunction struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

type chatTool struct {
	Type     string  `json:"type"`
	Function toolDef `json:"function"`
}

type toolDef struct {
	Name        string         `json:"name"`
	Description string         `json:"description,omitzero"`
	Parameters  jsontext.Value `json:"parameters,omitzero"`
}

// Prefixes of signatures. They name the JSON member that the thinking is returned
// in.
const (
	signedContent = "chat-reasoning-content:"
	signedPlain   = "chat-reasoning:"
	signedDetails = "chat-reasoning-details:"
	signedExtra   = "chat-extra-content:"
)

const emptyResult = "(The tool returned nothing.)"

func (m *Model) encodeChat(r *llm.Request, tools *wire.Tools, reduced int) ([]byte, error) {
	body := chatRequest{
		Model: m.info.Name, Stream: true, StreamOptions: &streamOptions{IncludeUsage: true},
		Temperature: r.Temperature, Stop: r.Stop, CacheKey: m.opts.CacheKey,
	}
	if r.Effort != llm.EffortAuto && reduced < wire.WithoutEffort && (m.info.Efforts == nil || len(m.info.Efforts) > 0) {
		body.Effort = r.Effort
	}
	if m.opts.Dialect == Gemini && r.Effort != "" && r.Effort != "none" && reduced < wire.WithoutSummary {
		body.Extra = &extraBody{}
		body.Extra.Google.Thinking.Include = true
	}
	limit := r.MaxTokens
	if limit <= 0 {
		limit = m.opts.MaxTokens
	}
	if m.quirks.maxTokens == "max_tokens" {
		body.MaxTokens = limit
	} else {
		body.MaxCompletion = limit
	}
	if m.quirks.usageCost {
		body.Usage = &usageOptions{Include: true}
	}
	if m.rejected("stream_options") {
		body.StreamOptions = nil
	}
	if m.rejected("prompt_cache_key") {
		body.CacheKey = ""
	}
	for _, t := range tools.List {
		body.Tools = append(body.Tools, chatTool{"function", toolDef{t.Name, t.Description, jsontext.Value(t.Schema)}})
	}
	body.ToolChoice = toolChoice(r, func(name string) any {
		return map[string]any{"type": "function", "function": map[string]string{"name": name}}
	})
	if strings.TrimSpace(r.System) != "" {
		body.Messages = append(body.Messages, chatMessage{Role: "system", Content: r.System})
	}
	systemMessages := len(body.Messages)
	all := wire.Normalize(r.Messages, m.quirks.ids)
	last := 0 // index of the last message of the user
	for i, msg := range all {
		if msg.Role == llm.RoleUser {
			last = i
		}
	}
	for i, msg := range all {
		body.Messages = append(body.Messages, m.chatMessages(msg, i > last)...)
	}
	if len(body.Messages) == systemMessages {
		return nil, wire.ErrEmpty
	}
	return json.Marshal(body, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
}

// toolChoice returns the value of tool_choice; named returns it for one tool.
func toolChoice(r *llm.Request, named func(string) any) any {
	switch {
	case len(r.Tools) == 0 || r.ToolChoice == "":
		return nil
	case r.ToolChoice == llm.ChoiceAuto || r.ToolChoice == llm.ChoiceNone || r.ToolChoice == llm.ChoiceRequired:
		return r.ToolChoice
	}
	return named(r.ToolChoice)
}

// chatMessages returns the messages for msg; running says that it belongs to the
// running tool loop.
func (m *Model) chatMessages(msg llm.Message, running bool) []chatMessage {
	switch msg.Role {
	case llm.RoleAssistant:
		if out := chatAssistant(msg, running); out.Content != nil || len(out.ToolCalls) > 0 {
			return []chatMessage{out}
		}
		return nil
	case llm.RoleTool:
		return m.chatResults(msg)
	}
	return []chatMessage{{Role: "user", Content: m.chatContent(msg.Parts)}}
}

func chatAssistant(msg llm.Message, running bool) chatMessage {
	out := chatMessage{Role: "assistant"}
	var text []string
	for _, p := range msg.Parts {
		switch p.Kind {
		case llm.PartText:
			text = append(text, p.Text)
		case llm.PartToolCall:
			call := chatCall{ID: p.Call.ID, Type: "function", Function: chatFunction{p.Call.Name, string(p.Call.Arguments)}}
			if extra, ok := strings.CutPrefix(p.Signature, signedExtra); ok {
				call.Extra = jsontext.Value(extra)
			}
			out.ToolCalls = append(out.ToolCalls, call)
		case llm.PartThinking:
			out.reason(p, running)
		}
	}
	if len(text) > 0 {
		out.Content = strings.Join(text, "")
	}
	return out
}

// reason returns thinking to the provider in the JSON member that it arrived in.
// It omits thinking from tags or from another API, and text of earlier turns:
// DeepSeek rejects it, and others ignore it and count its tokens.
func (c *chatMessage) reason(p llm.Part, running bool) {
	if details, ok := strings.CutPrefix(p.Signature, signedDetails); ok {
		if list := c.ReasoningDetails; len(list) > 2 && len(details) > 2 { // join two lists
			details = string(list[:len(list)-1]) + "," + details[1:]
		}
		c.ReasoningDetails = jsontext.Value(details)
		return
	}
	switch {
	case !running:
	case p.Signature == signedContent:
		c.ReasoningContent += p.Text
	case p.Signature == signedPlain:
		c.Reasoning += p.Text
	}
}

// chatResults returns tool messages. These contain only text, so media follow in a
// user message.
func (m *Model) chatResults(msg llm.Message) []chatMessage {
	var out []chatMessage
	var after []llm.Part
	for _, p := range msg.Parts {
		var text []string
		for _, c := range p.Result.Parts {
			if media, ok := m.chatMedia(c); ok && media.Type != "text" {
				text = append(text, "[See the "+string(c.Kind)+" below.]")
				after = append(after, llm.Text("[The "+string(c.Kind)+" in the result of call "+p.Result.CallID+":]"), c)
				continue
			}
			text = append(text, llm.Describe(c))
		}
		content := strings.Join(text, "\n")
		switch {
		case content == "" && p.Result.IsError:
			content = "Error: the tool failed without an error message."
		case content == "":
			content = emptyResult
		case p.Result.IsError:
			content = "Error: " + content
		}
		out = append(out, chatMessage{Role: "tool", ToolCallID: p.Result.CallID, Content: content})
	}
	if len(after) > 0 {
		out = append(out, chatMessage{Role: "user", Content: m.chatContent(after)})
	}
	return out
}

// chatContent returns a string if possible, because not every server accepts
// parts.
func (m *Model) chatContent(parts []llm.Part) any {
	var list []chatPart
	var text []string
	plain := true
	for _, p := range parts {
		c, ok := m.chatMedia(p)
		if !ok {
			c = chatPart{Type: "text", Text: llm.Describe(p)}
		}
		if p.CacheMark && m.opts.Dialect == OpenRouter {
			c.Cache, plain = &cacheMark{"ephemeral"}, false
		}
		plain = plain && c.Type == "text"
		list, text = append(list, c), append(text, c.Text)
	}
	if plain {
		return strings.Join(text, "\n\n")
	}
	return list
}

// chatMedia returns the API's form of a part, if it has one and the model accepts
// it.
func (m *Model) chatMedia(p llm.Part) (chatPart, bool) {
	a := m.info.Accepts
	switch {
	case p.Kind == llm.PartText:
		return chatPart{Type: "text", Text: p.Text}, true
	case p.Kind == llm.PartImage && a.Images && wire.ImageType(p.MIME):
		return chatPart{Type: "image_url", ImageURL: &imageURL{llm.DataURL(p)}}, true
	case p.Kind == llm.PartAudio && a.Audio && audioFormat(p.MIME) != "":
		return chatPart{Type: "input_audio", Audio: &chatAudio{base64.StdEncoding.EncodeToString(p.Data), audioFormat(p.MIME)}}, true
	case p.Kind == llm.PartDocument && a.Documents && p.MIME == "application/pdf":
		return chatPart{Type: "file", File: &chatFile{fileName(p), llm.DataURL(p)}}, true
	}
	return chatPart{}, false
}

func audioFormat(mime string) string {
	switch mime {
	case "audio/wav", "audio/x-wav", "audio/wave", "audio/vnd.wave":
		return "wav"
	case "audio/mpeg", "audio/mp3":
		return "mp3"
	}
	return ""
}

func fileName(p llm.Part) string { return cmp.Or(p.Text, "document.pdf") }
