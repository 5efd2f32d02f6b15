// Package legacy speaks the revisions up to 2025-11-25. They differ from the
// rest of this house in that a session remembers who asks, a server asks back
// while the call is open, and news is pushed. All of that is undone here, for
// both ends of a connection, and nowhere else.
package legacy

import (
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
)

// A revision is a row of the table of everything that differs between the
// revisions of this wing. Whatever needs to know asks its row, never a date.
type revision struct {
	name mcp.Revision

	batches       bool // several messages in one frame
	completions   bool // the completions capability
	audio         bool // audio content
	links         bool // resource_link content
	structured    bool // structuredContent and outputSchema, objects only
	icons         bool // icons on everything that has a name
	elicitForm    bool // asking the person with a form
	elicitURL     bool // asking the person to open a URL, and error -32042
	titledEnums   bool // choices with titles, several choices at once
	samplingTools bool // sampling with tools, and several blocks in a message
	resumes       bool // a client that is let go comes back for the rest
}

// revisions is the table, the newest first.
var revisions = []revision{
	{
		name:        mcp.Rev20251125,
		completions: true, audio: true, links: true, structured: true, icons: true,
		elicitForm: true, elicitURL: true, titledEnums: true, samplingTools: true,
		resumes: true,
	},
	{
		name:        mcp.Rev20250618,
		completions: true, audio: true, links: true, structured: true,
		elicitForm: true,
	},
	{
		name:    mcp.Rev20250326,
		batches: true, completions: true, audio: true,
	},
	{
		name: mcp.Rev20241105,
	},
}

// find returns the row of a revision, or nil.
func find(name mcp.Revision) *revision {
	for i := range revisions {
		if revisions[i].name == name {
			return &revisions[i]
		}
	}
	return nil
}

// latest is what a server offers to a client that wants something else.
func latest() *revision { return &revisions[0] }

// restrict takes away what a client of this revision cannot have meant.
func (r *revision) restrict(c *mcp.ClientCapabilities) {
	if !r.elicitForm {
		c.Elicitation = nil
	}
	if c.Elicitation != nil && !r.elicitURL {
		c.Elicitation = &mcp.ElicitationCapability{Form: mcp.Settings{}}
	}
	if c.Sampling != nil && !r.samplingTools {
		c.Sampling = &mcp.SamplingCapability{Context: mcp.Settings{}} // which needed no declaring then
	}
}

const (
	methodInitialize        = "initialize"
	methodPing              = "ping"
	methodSetLevel          = "logging/setLevel"
	methodSubscribe         = "resources/subscribe"
	methodUnsubscribe       = "resources/unsubscribe"
	notificationInitialized = "notifications/initialized"
	notificationCancelled   = "notifications/cancelled"

	keyMeta          = "_meta"
	keyProgressToken = "progressToken"
)

// Latest is the newest revision of this wing.
func Latest() mcp.Revision { return latest().name }

// IsPing reports whether the request only wants to know whether anybody is
// there.
func IsPing(m *jsonrpc.Message) bool { return m.Method == methodPing }

// Knows reports whether a revision is one of this wing.
func Knows(name mcp.Revision) bool { return find(name) != nil }
