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
	Effort      string    `json:"effort,omitzero"`      // how much to think: "none", "low", "medium", "high"; "" means the provider's default
}

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
