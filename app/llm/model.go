// Package llm defines one interface for language models: a [Model] takes a
// conversation and returns a stream of events.
//
//	m := anthropic.New("claude-sonnet-4-5", &anthropic.Options{Key: key})
//	a, err := llm.Ask(ctx, m, &llm.Request{Messages: []llm.Message{llm.User("Hello")}})
//
// Packages anthropic and openai call providers, package script records and
// replays conversations, and package choose makes a Model from a name such as
// "anthropic/claude-sonnet-4-5".
//
// The JSON form of a [Message] is stable, so that saved sessions stay readable.
package llm

import (
	"context"
	"encoding/json"
	"iter"
	"slices"
	"strings"
)

// A Model answers a conversation. Implementations are safe for concurrent use.
type Model interface {
	Info() Info

	// Stream returns a sequence that sends the request when ranged over and
	// yields the events of the answer. The last event is of kind EventDone, or
	// the sequence ends with an error of type *Error. Cancelling ctx or breaking
	// out of the loop cancels the request.
	//
	// Stream does not change the request; the caller must not change it while
	// the loop runs. Each range over the sequence sends the request again.
	Stream(ctx context.Context, r *Request) iter.Seq2[Event, error]
}

// Info describes a model.
type Info struct {
	Provider string     `json:"provider"`
	Name     string     `json:"name"`
	Context  int        `json:"context,omitzero"` // size of the context in tokens; 0 means unknown
	Label    string     `json:"label,omitzero"`   // shown with every answer, such as "No model connected · matching keywords"
	Limits   NameLimits `json:"limits,omitzero"`
	Accepts  Accepts    `json:"accepts,omitzero"`

	Efforts   []string `json:"efforts,omitzero"`    // efforts that the model takes; nil means that it does not think, or unknown
	MaxOutput int      `json:"max_output,omitzero"` // longest answer in tokens; 0 means unknown
	Prices    Prices   `json:"prices,omitzero"`     // zero means unknown
}

// String returns the name that package choose takes.
func (i Info) String() string {
	if i.Provider == "" {
		return i.Name
	}
	return i.Provider + "/" + i.Name
}

// NameLimits limits the names of tools. Names always match [A-Za-z0-9_-]+.
type NameLimits struct {
	MaxLen int `json:"max_len,omitzero"` // 0 means no limit
}

// Accepts says which kinds of parts a model takes besides text. Other parts are
// replaced by [Describe].
type Accepts struct {
	Images    bool `json:"images,omitzero"`
	Audio     bool `json:"audio,omitzero"`
	Documents bool `json:"documents,omitzero"` // PDF and plain text
}

// RawMessage is unparsed JSON.
type RawMessage = json.RawMessage

// A Request is a whole conversation for a model to answer.
type Request struct {
	System      string    `json:"system,omitzero"`
	Messages    []Message `json:"messages"`
	Tools       []Tool    `json:"tools,omitzero"`       // keep the order stable: prompt caches depend on it
	MaxTokens   int       `json:"max_tokens,omitzero"`  // of the answer; 0 means a default for the model
	Temperature *float64  `json:"temperature,omitzero"` // nil means the provider's default
	ToolChoice  string    `json:"tool_choice,omitzero"` // ChoiceAuto (also ""), ChoiceNone, ChoiceRequired, or the name of a tool
	Stop        []string  `json:"stop,omitzero"`        // texts that end the answer; the Responses API ignores them
	Effort      string    `json:"effort,omitzero"`      // how much to think: EffortAuto, EffortNone or another such as "low" or "high"; "" means the provider's default
}

// Values of Request.Effort with a meaning of their own.
const (
	EffortAuto = "auto" // think as much as the provider decides, and return the thinking
	EffortNone = "none" // do not think
)

// Values of Request.ToolChoice besides the name of a tool.
const (
	ChoiceAuto     = "auto"
	ChoiceNone     = "none"
	ChoiceRequired = "required"
)

// A Tool is a tool that the model may call.
type Tool struct {
	Name        string     `json:"name"` // within Info.Limits
	Description string     `json:"description,omitzero"`
	Schema      RawMessage `json:"schema,omitzero"` // JSON Schema of the arguments, adapted to each provider; nil means an object with no members
}

// A Builder assembles a message from the events of an answer. The zero value is
// ready to use. Use it to keep an answer that was cut off; the EventDone of a
// complete answer has the message.
type Builder struct {
	parts []Part
	text  strings.Builder // text of the open part
	open  bool            // whether more text may be appended to the last part
}

// Add appends an event to the message.
func (b *Builder) Add(e Event) {
	switch e.Kind {
	case EventText:
		b.grow(PartText, e.Text, "")
	case EventThinking:
		b.grow(PartThinking, e.Text, e.Signature)
	case EventCall:
		call := *e.Call
		b.closePart()
		b.parts = append(b.parts, Part{Kind: PartToolCall, Call: &call, Signature: e.Signature})
	}
}

func (b *Builder) grow(kind PartKind, text, signature string) {
	if text == "" && signature == "" {
		return
	}
	n := len(b.parts)
	if !b.open || n == 0 || b.parts[n-1].Kind != kind {
		b.closePart()
		b.parts = append(b.parts, Part{Kind: kind})
		n++
		b.open = true
	}
	b.text.WriteString(text)
	b.parts[n-1].Signature += signature
	if signature != "" {
		b.closePart()
	}
}

func (b *Builder) closePart() {
	if b.open {
		b.parts[len(b.parts)-1].Text = b.text.String()
	}
	b.text = strings.Builder{}
	b.open = false
}

// Message returns the answer so far, without incomplete tool calls.
func (b *Builder) Message() Message {
	parts := slices.Clone(b.parts)
	if b.open {
		parts[len(parts)-1].Text = b.text.String()
	}
	return Message{Role: RoleAssistant, Parts: parts}
}

// Empty reports whether the message has no part yet.
func (b *Builder) Empty() bool { return len(b.parts) == 0 }

// An Answer is a complete answer.
type Answer struct {
	Message Message
	Stop    StopReason
	Usage   Usage
}

// Ask sends a request and waits for the complete answer. Along with an error it
// returns the part of the answer received before it.
func Ask(ctx context.Context, m Model, r *Request) (Answer, error) {
	var b Builder
	var a Answer
	for e, err := range m.Stream(ctx, r) {
		if err != nil {
			a.Message = b.Message()
			return a, err
		}
		b.Add(e)
		switch e.Kind {
		case EventUsage:
			a.Usage = e.Usage
		case EventDone:
			a.Stop, a.Usage, a.Message = e.Stop, e.Usage, b.Message()
			if e.Message != nil {
				a.Message = *e.Message
			}
		}
	}
	return a, nil
}
