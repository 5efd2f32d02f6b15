package llm

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"strings"
	"time"
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

	// Stopped is set if the user stopped the answer before it was complete. It is
	// for people and not sent to a provider.
	Stopped bool `json:"stopped,omitzero"`
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

	// Outcome is for people and not sent to a provider. It says how a call ended
	// that IsError is set for: "failed" if the tool reports an error, "error" if
	// the call has no result, with the Code of a JSON-RPC error, "denied" or
	// "cancelled".
	Outcome string `json:"outcome,omitzero"`
	Code    int    `json:"code,omitzero"`

	// Made says what was sent to a server. It is for people and not sent to a
	// provider. Nil: the call was not made, or is one of the host.
	Made *Made `json:"made,omitzero"`
}

// Made describes a call that was sent to a server.
type Made struct {
	Server   string `json:"server"`
	Tool     string `json:"tool"`
	ReadOnly bool   `json:"read_only,omitzero"` // it only reads, according to its server
	About    string `json:"about,omitzero"`     // its main arguments, such as "path: notes/plan.md"
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

// An EventKind says what happened and which fields of an Event are set.
type EventKind string

const (
	EventText      EventKind = "text"            // Text continues the answer
	EventThinking  EventKind = "thinking"        // Text continues the thinking; Signature ends the block
	EventCallStart EventKind = "tool_call_start" // Call has an ID and a name but no arguments yet
	EventCallDelta EventKind = "tool_call_delta" // Text continues the arguments of Call
	EventCall      EventKind = "tool_call"       // Call is complete
	EventUsage     EventKind = "usage"           // Usage is the total for the request so far
	EventRetry     EventKind = "retry"           // Note says what failed and when the next attempt starts; precedes all other kinds
	EventDone      EventKind = "done"            // Stop, Usage and Message are set; the answer is complete
)

// An Event reports progress of an answer.
type Event struct {
	Kind      EventKind     `json:"kind"`
	Text      string        `json:"text,omitzero"`
	Call      *ToolCall     `json:"call,omitzero"`
	Signature string        `json:"signature,omitzero"` // see Part.Signature; on thinking and tool_call
	Usage     Usage         `json:"usage,omitzero"`
	Stop      StopReason    `json:"stop,omitzero"`
	Note      string        `json:"note,omitzero"`
	Wait      time.Duration `json:"-"`                // on retry: until the next attempt
	Message   *Message      `json:"message,omitzero"` // on done: the answer to append to the next request
}

// A StopReason says why an answer ended.
type StopReason string

const (
	StopEnd       StopReason = "end"        // the answer is finished
	StopToolCalls StopReason = "tool_calls" // the model waits for tool results
	StopLength    StopReason = "length"     // the token limit or the context size was reached
	StopRefusal   StopReason = "refusal"    // the model or a content filter refused
	StopStop      StopReason = "stop"       // the answer reached one of Request.Stop
)

// Usage is the tokens and cost of a request. The three kinds of input do not
// overlap; [Usage.Read] returns their sum.
type Usage struct {
	Input      int     `json:"input,omitzero"`       // input tokens neither read from nor written to a cache
	Output     int     `json:"output,omitzero"`      // output tokens, including thinking
	CacheRead  int     `json:"cache_read,omitzero"`  // input tokens read from the provider's cache
	CacheWrite int     `json:"cache_write,omitzero"` // input tokens written to the provider's cache
	Cost       float64 `json:"cost,omitzero"`        // USD; 0 means unknown
}

// Add returns the sum of u and v.
func (u Usage) Add(v Usage) Usage {
	return Usage{u.Input + v.Input, u.Output + v.Output, u.CacheRead + v.CacheRead, u.CacheWrite + v.CacheWrite, u.Cost + v.Cost}
}

// Read returns the number of all input tokens.
func (u Usage) Read() int { return u.Input + u.CacheRead + u.CacheWrite }

// Prices are in USD per million tokens.
type Prices struct {
	Input      float64 `json:"input,omitzero"`
	Output     float64 `json:"output,omitzero"`
	CacheRead  float64 `json:"cache_read,omitzero"`
	CacheWrite float64 `json:"cache_write,omitzero"`
}

// Of returns u.Cost if the provider reported it, and otherwise the cost computed
// from p; 0 without prices.
func (p Prices) Of(u Usage) float64 {
	if u.Cost != 0 {
		return u.Cost
	}
	return (float64(u.Input)*p.Input + float64(u.Output)*p.Output + float64(u.CacheRead)*p.CacheRead + float64(u.CacheWrite)*p.CacheWrite) / 1e6
}
