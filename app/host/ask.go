package host

import (
	"encoding/json"
	"time"

	"github.com/tenon-mcp/tenon/mcp"
)

// An AskKind says what the person is asked for.
type AskKind string

// What a person may be asked for.
const (
	AskApproval AskKind = "approval" // may this tool be called?
	AskForm     AskKind = "form"     // a server wants a form filled in
	AskURL      AskKind = "url"      // a server wants a page opened
	AskSampling AskKind = "sampling" // a server wants the model to write something
	AskFlow     AskKind = "flow"     // data of one server would go to another, and the pair is marked sensitive
)

// An Ask is a question to the person. It stays open until it is answered with
// [Host.Reply] or what it belongs to is over.
type Ask struct {
	ID      string    `json:"id"`
	Kind    AskKind   `json:"kind"`
	At      time.Time `json:"at"`
	Session string    `json:"session,omitzero"`
	Server  string    `json:"server"` // who really asks; show it outside of Message
	Message string    `json:"message,omitzero"`

	Call     *ToolCall `json:"call,omitzero"`     // approval, flow: what would run
	Loud     bool      `json:"loud,omitzero"`     // approval: it may destroy something or reach the open world
	EachTime bool      `json:"eachTime,omitzero"` // approval: a rule asks about every call, so only once, deny and never are answers
	First    bool      `json:"first,omitzero"`    // approval: nobody has approved this tool before; show Definition in full
	Changes  []Change  `json:"changes,omitzero"`  // approval: what changed in the definition since it was approved
	Warnings []string  `json:"warnings,omitzero"` // what looks wrong, such as hidden characters or a description that gives orders
	Tool     *mcp.Tool `json:"tool,omitzero"`     // approval: the definition that would be approved

	Schema json.RawMessage `json:"schema,omitzero"` // form: what to fill in
	Secret []string        `json:"secret,omitzero"` // form: fields that look as if they ask for secrets; warn, and do not show what is typed
	URL    string          `json:"url,omitzero"`    // url: the whole address
	From   string          `json:"from,omitzero"`   // flow: whose data it is

	Sampling *mcp.CreateMessageParams `json:"sampling,omitzero"` // sampling: what the server wants written
	Draft    *mcp.CreateMessageResult `json:"draft,omitzero"`    // sampling: what the model wrote, to be looked at before it is sent

	Reply *Reply `json:"answer,omitzero"` // set when it is over
}

// A Change is a difference in a tool's definition.
type Change struct {
	What   string `json:"what"` // such as "description" or "inputSchema/properties/path"
	Before string `json:"before"`
	After  string `json:"after"`
}

// A Reply is what the person says to an [Ask].
type Reply struct {
	// Action is one of
	//
	//	approval, flow   once, session, always, deny, never
	//	form, url        accept, decline, cancel, mute
	//	sampling         accept, decline, mute
	//
	// Mute declines this and all later questions of the server; see [Host.Mute].
	Action string `json:"action"`

	// Content is the filled-in form, or the message that is sent instead of
	// the model's (sampling).
	Content json.RawMessage `json:"content,omitzero"`

	// By says who answered: "person", or why nobody was asked.
	By string `json:"by,omitzero"`
}
