// Package llm is what the house knows of language models: a conversation goes
// in, a stream of events comes out, and which company or program answers is
// decided once, by whoever makes the Model.
//
// The packages below it make Models: anthropic and openai speak to providers,
// script records, replays and invents answers, and choose turns a name such as
// "anthropic/claude-sonnet-4-5" into one of them.
//
// A Message is what is kept. Its JSON form is stable: a session saved by one
// version is read by the next, and what a provider gave to be given back
// (signatures of thinking) survives in it.
package llm

import (
	"context"
	"encoding/json"
	"iter"
)

// A Model answers a conversation. Implementations are safe for concurrent use.
type Model interface {
	Info() Info

	// Stream sends the request when it is ranged over, and yields events as
	// they come. An error is the last thing it yields; it is an *Error. If
	// there was none, the last event is of kind EventDone. Cancelling ctx, or
	// leaving the loop, ends the request at the provider.
	//
	// The request is not changed and must not be changed while the loop runs.
	// Each range over the same sequence sends the request again.
	Stream(ctx context.Context, r *Request) iter.Seq2[Event, error]
}

// Info says what a model is, for people and for whoever builds requests.
type Info struct {
	Provider string     `json:"provider"`
	Name     string     `json:"name"`
	Context  int        `json:"context,omitzero"` // how many tokens fit; 0 means unknown
	Label    string     `json:"label,omitzero"`   // shown with every answer, such as "No model connected · matching keywords"
	Limits   NameLimits `json:"limits,omitzero"`
	Accepts  Accepts    `json:"accepts,omitzero"`
}

// String is the name that package choose understands.
func (i Info) String() string {
	if i.Provider == "" {
		return i.Name
	}
	return i.Provider + "/" + i.Name
}

// NameLimits says what a tool may be called. The characters are always
// [A-Za-z0-9_-].
type NameLimits struct {
	MaxLen int `json:"max_len,omitzero"` // 0 means no limit
}

// Accepts says which parts beside text a model takes in its provider's own
// form. What it does not take is described to it in words.
type Accepts struct {
	Images    bool `json:"images,omitzero"`
	Audio     bool `json:"audio,omitzero"`
	Documents bool `json:"documents,omitzero"` // PDF and plain text
}

// RawMessage is JSON that nobody has looked into.
type RawMessage = json.RawMessage

// A Request is one question to a model: the whole conversation so far.
type Request struct {
	System      string    `json:"system,omitzero"`
	Messages    []Message `json:"messages"`
	Tools       []Tool    `json:"tools,omitzero"`       // order matters to prompt caches: keep it
	MaxTokens   int       `json:"max_tokens,omitzero"`  // of the answer; 0 means what the wire thinks right for the model
	Temperature *float64  `json:"temperature,omitzero"` // nil means the provider's default
	ToolChoice  string    `json:"tool_choice,omitzero"` // ChoiceAuto (also ""), ChoiceNone, ChoiceRequired, or the name of a tool
	Stop        []string  `json:"stop,omitzero"`        // texts that end the answer; Responses has none and ignores them
	Effort      string    `json:"effort,omitzero"`      // how much to think: "none", "low", "medium", "high"; "" means the provider's default
}

// What Request.ToolChoice may be, beside the name of a tool.
const (
	ChoiceAuto     = "auto"
	ChoiceNone     = "none"
	ChoiceRequired = "required"
)

// A Tool is something the model may ask for.
type Tool struct {
	Name        string     `json:"name"` // within Info.Limits
	Description string     `json:"description,omitzero"`
	Schema      RawMessage `json:"schema,omitzero"` // JSON Schema of the arguments; nil means an object with no members. Each wire adapts it to what its provider takes
}
