package host

import (
	"encoding/json"
	"time"

	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/app/editdiff"
	"github.com/tenon-mcp/tenon/app/permit"
	"github.com/tenon-mcp/tenon/mcp"
)

// An AskKind is the kind of an [Ask].
type AskKind string

// The kinds of an [Ask].
const (
	AskApproval AskKind = "approval" // may this tool be called?
	AskForm     AskKind = "form"     // a server wants a form filled in
	AskURL      AskKind = "url"      // a server wants a page opened
	AskSampling AskKind = "sampling" // a server wants the model to write something
	AskFlow     AskKind = "flow"     // data of one server would go to another, and the pair is marked sensitive; or a skill of one may cause a read from another
)

// An Ask is a question to the user. It stays open until [Host.Reply] answers it
// or the call it belongs to ends.
type Ask struct {
	ID      string    `json:"id"`
	Kind    AskKind   `json:"kind"`
	At      time.Time `json:"at"`
	Session string    `json:"session,omitzero"`
	Server  string    `json:"server"` // the server that asks; show it outside of Message
	Message string    `json:"message,omitzero"`

	Call     *ToolCall       `json:"call,omitzero"`     // approval, flow: what would run
	Skill    bool            `json:"skill,omitzero"`    // approval: a skill would be loaded; Tool describes it
	Loud     bool            `json:"loud,omitzero"`     // approval: it may destroy something or reach the open world
	EachTime bool            `json:"eachTime,omitzero"` // approval, flow: the user is asked about every call, so only once, deny and (approval) never are answers
	First    bool            `json:"first,omitzero"`    // approval: the tool was never approved; show Tool in full
	Changes  []config.Change `json:"changes,omitzero"`  // approval: what changed in the definition since it was approved
	Warnings []string        `json:"warnings,omitzero"` // what looks wrong, such as hidden characters or a description that gives orders
	Repeat   int             `json:"repeat,omitzero"`   // approval: how often the user was asked about the same call in this turn
	Folder   string          `json:"folder,omitzero"`   // approval: the project that the answer project is about; empty: it is not an answer
	Tool     *mcp.Tool       `json:"tool,omitzero"`     // approval: the definition that would be approved

	// Diff is what the call would change in a file, if the host knows (approval):
	// computed from the file on the disk. Host.Preview computes it for other
	// arguments.
	Diff *editdiff.Diff `json:"diff,omitzero"`

	// Proposals are patterns of similar calls that the user can allow instead
	// (approval); see Reply.Proposal.
	Proposals []permit.Proposal `json:"proposals,omitzero"`

	Schema json.RawMessage `json:"schema,omitzero"` // form: what to fill in
	Secret []string        `json:"secret,omitzero"` // form: fields that seem to ask for secrets; warn, and hide what is typed
	URL    string          `json:"url,omitzero"`    // url: the whole address
	From   string          `json:"from,omitzero"`   // flow: the server that the data is from

	Sampling *mcp.CreateMessageParams `json:"sampling,omitzero"` // sampling: the request of the server
	Draft    *mcp.CreateMessageResult `json:"draft,omitzero"`    // sampling: the message of the model, to review before it is sent

	Reply *Reply `json:"answer,omitzero"` // set when the ask has ended

	check     func(content json.RawMessage) error   // form: checks the content of a reply; nil accepts all
	checkArgs func(arguments json.RawMessage) error // approval: checks changed arguments; nil: they cannot be changed

	preview func(arguments json.RawMessage) *editdiff.Diff // approval; nil: there is none
}

// A Reply is the user's answer to an [Ask].
type Reply struct {
	// Action is one of
	//
	//	approval         once, session, project, always, deny, never
	//	flow             once, session, deny
	//	form, url        accept, decline, cancel, mute
	//	sampling         accept, decline, mute
	//
	// Mute declines this and all later questions of the server; see [Host.Mute].
	Action string `json:"action"`

	// Content is the filled-in form, or the message that is sent instead of
	// the model's (sampling).
	Content json.RawMessage `json:"content,omitzero"`

	// Proposal is the ID of one of the ask's proposals: session, project or always
	// then allow the calls that it matches instead of all calls of the tool.
	Proposal string `json:"proposal,omitzero"`

	// Reason says why the user denies a call (approval and flow, with deny or
	// never), in at most 2,000 characters. The model gets it.
	Reason string `json:"reason,omitzero"`

	// Arguments replace those of the call (approval, with once). They are a JSON
	// object of at most 1 MiB, and the rules are applied to them.
	Arguments json.RawMessage `json:"arguments,omitzero"`

	// By says who answered: "person", or the reason for an automatic answer.
	By string `json:"by,omitzero"`
}
