package llm

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"strings"
	"unicode/utf8"
)

// A Role is the author of a message.
type Role string

const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool" // the results of the calls of the assistant message before
)

// A Message is one turn of a conversation.
type Message struct {
	Role  Role   `json:"role"`
	Parts []Part `json:"parts"`
}

// A PartKind says which fields of a Part are set.
type PartKind string

const (
	PartText       PartKind = "text"     // Text
	PartThinking   PartKind = "thinking" // Text and Signature
	PartImage      PartKind = "image"    // Data and MIME; Text may describe it
	PartAudio      PartKind = "audio"    // Data and MIME
	PartDocument   PartKind = "document" // Data and MIME; Text may be the file name
	PartToolCall   PartKind = "tool_call"
	PartToolResult PartKind = "tool_result"
)

// A Part is a piece of a message.
type Part struct {
	Kind   PartKind    `json:"kind"`
	Text   string      `json:"text,omitzero"`
	Data   []byte      `json:"data,omitzero"`
	MIME   string      `json:"mime,omitzero"`
	Call   *ToolCall   `json:"call,omitzero"`
	Result *ToolResult `json:"result,omitzero"`

	// Signature is opaque data that a provider returned with thinking or a call
	// and needs back unchanged. It starts with the name of the provider API;
	// other APIs omit it.
	Signature string `json:"signature,omitzero"`

	// CacheMark marks the end of a prefix that later requests repeat, so that the
	// provider can cache it. Providers that cache automatically ignore it.
	CacheMark bool `json:"cache_mark,omitzero"`
}

// A ToolCall is a model's request to call a tool.
type ToolCall struct {
	ID        string     `json:"id"`
	Name      string     `json:"name"`
	Arguments RawMessage `json:"arguments,omitzero"` // a JSON object

	// Problem is set if the model's arguments are not a JSON object, and explains
	// that to the model. Arguments is then {}. The caller must not run such a
	// call and returns Problem as its result.
	Problem string `json:"problem,omitzero"`
}

// A ToolResult answers a ToolCall.
type ToolResult struct {
	CallID  string `json:"call_id"`
	Parts   []Part `json:"parts"` // text, image, audio and document
	IsError bool   `json:"is_error,omitzero"`
}

// Text returns a text part.
func Text(s string) Part { return Part{Kind: PartText, Text: s} }

// User returns a user message.
func User(text string) Message { return Message{Role: RoleUser, Parts: []Part{Text(text)}} }

// Results returns a message with tool results.
func Results(results ...ToolResult) Message {
	m := Message{Role: RoleTool}
	for i := range results {
		m.Parts = append(m.Parts, Part{Kind: PartToolResult, Result: &results[i]})
	}
	return m
}

// TextResult returns a tool result with text.
func TextResult(callID, text string) ToolResult {
	return ToolResult{CallID: callID, Parts: []Part{Text(text)}}
}

// Text returns the text parts of the message and of its tool results, joined by
// newlines. It does not include thinking.
func (m Message) Text() string { return joinText(m.Parts) }

func joinText(parts []Part) string {
	var all []string
	for _, p := range parts {
		switch {
		case p.Kind == PartText && p.Text != "":
			all = append(all, p.Text)
		case p.Kind == PartToolResult && p.Result != nil:
			if t := joinText(p.Result.Parts); t != "" {
				all = append(all, t)
			}
		}
	}
	return strings.Join(all, "\n")
}

// Calls returns the tool calls of the message in order.
func (m Message) Calls() []ToolCall {
	var calls []ToolCall
	for _, p := range m.Parts {
		if p.Kind == PartToolCall && p.Call != nil {
			calls = append(calls, *p.Call)
		}
	}
	return calls
}

// Describe returns a text that stands for a part where only text can be shown.
func Describe(p Part) string {
	if p.Kind == PartText {
		return p.Text
	}
	mime := cmp.Or(p.MIME, "of unknown type")
	if strings.HasPrefix(mime, "text/") && utf8.Valid(p.Data) {
		return fmt.Sprintf("[%s, %s]\n%s", nameOf(p), mime, p.Data)
	}
	return fmt.Sprintf("[%s, %s, %d bytes; it cannot be shown here]", nameOf(p), mime, len(p.Data))
}

func nameOf(p Part) string {
	if p.Text == "" {
		return string(p.Kind)
	}
	return fmt.Sprintf("%s %q", p.Kind, p.Text)
}

// DataURL returns the data of a part as a data: URL.
func DataURL(p Part) string {
	return "data:" + p.MIME + ";base64," + base64.StdEncoding.EncodeToString(p.Data)
}
