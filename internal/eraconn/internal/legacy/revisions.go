// Package legacy is the codec for revisions up to 2025-11-25. These differ from
// the [mcp.Handler] model: a session remembers the caller, a server sends input
// requests while a call is open, and changes are pushed. This package translates
// them, for both ends of a connection.
package legacy

import "github.com/tenon-mcp/tenon/mcp"

// A revision is a row of the table of differences between the legacy revisions.
// Code checks the row, never a date.
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
	resumes       bool // a client resumes a stream that the server closes
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

// latest returns the row that a server offers to a client with an unknown
// revision.
func latest() *revision { return &revisions[0] }

// restrict removes capabilities that this revision does not have.
func (r *revision) restrict(c *mcp.ClientCapabilities) {
	if !r.elicitForm {
		c.Elicitation = nil
	}
	if c.Elicitation != nil && !r.elicitURL {
		c.Elicitation = &mcp.ElicitationCapability{Form: mcp.Settings{}}
	}
	if c.Sampling != nil && !r.samplingTools {
		c.Sampling = &mcp.SamplingCapability{Context: mcp.Settings{}} // implied in these revisions
	}
}

const (
	keyMeta          = "_meta"
	keyProgressToken = "progressToken"
)

// Latest returns the newest legacy revision.
func Latest() mcp.Revision { return latest().name }

// Knows reports whether a revision is legacy.
func Knows(name mcp.Revision) bool { return find(name) != nil }
