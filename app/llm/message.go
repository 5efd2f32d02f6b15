package llm

import (
	"encoding/base64"
	"fmt"
	"strings"
	"unicode/utf8"
)

// A Role says who speaks in a message.
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

// A PartKind says which fields of a Part count.
type PartKind string

const (
	PartText       PartKind = "text"     // Text
	PartThinking   PartKind = "thinking" // Text and Signature
	PartImage      PartKind = "image"    // Data and MIME; Text may say what it shows
	PartAudio      PartKind = "audio"    // Data and MIME
	PartDocument   PartKind = "document" // Data and MIME; Text may be its name
	PartToolCall   PartKind = "tool_call"
	PartToolResult PartKind = "tool_result"
)

// A Part is a piece of a message, of exactly one kind.
type Part struct {
	Kind   PartKind    `json:"kind"`
	Text   string      `json:"text,omitzero"`
	Data   []byte      `json:"data,omitzero"`
	MIME   string      `json:"mime,omitzero"`
	Call   *ToolCall   `json:"call,omitzero"`
	Result *ToolResult `json:"result,omitzero"`

	// Signature is what a provider gave with thinking, or with a call, and
	// wants back as it was. It begins with the name of the wire it came by;
	// other wires leave it out.
	Signature string `json:"signature,omitzero"`

	// CacheMark says that everything up to this part will be sent again and is
	// worth keeping at the provider. Wires whose providers find that out by
	// themselves ignore it.
	CacheMark bool `json:"cache_mark,omitzero"`
}

// A ToolCall is a model's wish to use a tool.
type ToolCall struct {
	ID        string     `json:"id"`
	Name      string     `json:"name"`
	Arguments RawMessage `json:"arguments,omitzero"` // always a JSON object when it comes from a wire

	// Problem is set where the arguments that the model wrote are no JSON
	// object, and says so in words for the model. Arguments is then {}. Do not
	// run such a call: answer it with the problem.
	Problem string `json:"problem,omitzero"`
}

// A ToolResult answers a ToolCall.
type ToolResult struct {
	CallID  string `json:"call_id"`
	Parts   []Part `json:"parts"` // text, image, audio and document
	IsError bool   `json:"is_error,omitzero"`
}

// Text makes a part of text.
func Text(s string) Part { return Part{Kind: PartText, Text: s} }

// User makes a message of a person.
func User(text string) Message { return Message{Role: RoleUser, Parts: []Part{Text(text)}} }

// Results makes the message that answers calls.
func Results(results ...ToolResult) Message {
	m := Message{Role: RoleTool}
	for i := range results {
		m.Parts = append(m.Parts, Part{Kind: PartToolResult, Result: &results[i]})
	}
	return m
}

// TextResult answers a call with text.
func TextResult(callID, text string) ToolResult {
	return ToolResult{CallID: callID, Parts: []Part{Text(text)}}
}

// Text is what the message says in words: its text parts, and those of its
// results, joined by newlines. Thinking is not part of it.
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

// Calls are the tool calls of the message, in their order.
func (m Message) Calls() []ToolCall {
	var calls []ToolCall
	for _, p := range m.Parts {
		if p.Kind == PartToolCall && p.Call != nil {
			calls = append(calls, *p.Call)
		}
	}
	return calls
}

// Describe says in words what a part holds, for a model or a screen that
// cannot take the part itself.
func Describe(p Part) string {
	if p.Kind == PartText {
		return p.Text
	}
	mime := p.MIME
	if mime == "" {
		mime = "of unknown type"
	}
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

// DataURL is the data of a part as a data: URL.
func DataURL(p Part) string {
	return "data:" + p.MIME + ";base64," + base64.StdEncoding.EncodeToString(p.Data)
}
