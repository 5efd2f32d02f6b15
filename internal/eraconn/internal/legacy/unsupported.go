package legacy

import (
	"errors"

	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/mcp"
)

// unsupported rewords the error of a call that needs a capability which clients
// of this revision cannot declare, so that it names the revision that has it.
func (r *revision) unsupported(err error) error {
	e, ok := errors.AsType[*mcp.Error](err)
	if !ok || e.Code != mcp.CodeMissingCapability {
		return err
	}
	var need mcp.ClientCapabilities
	raw := rawjson.Lookup(e.Data, "requiredCapabilities")
	if raw == nil || mcp.Unmarshal(raw, &need) != nil || r.has(need) {
		return err
	}
	since := mcp.Rev20260728
	for _, later := range revisions {
		if later.has(need) {
			since = later.name
		}
	}
	c := *e
	wish, name := wishOf(need)
	c.Message = mcp.Errorf(e.Code, "this call asks the client %s, and the client speaks revision %s, which has no %s: it takes a client of %s or later", wish, r.name, name, since).Message
	return &c
}

// has reports whether a client of this revision can declare these capabilities.
func (r *revision) has(need mcp.ClientCapabilities) bool {
	can := need
	r.restrict(&can)
	return can.Covers(&need)
}

func wishOf(need mcp.ClientCapabilities) (wish, name string) {
	switch {
	case need.Elicitation != nil && need.Elicitation.URL != nil:
		return "to have its user open a web page", "elicitation.url"
	case need.Elicitation != nil:
		return "to have its user fill in a form", "elicitation"
	case need.Sampling != nil:
		return "to have its model write a message with tools", "sampling.tools"
	}
	return "for more than that", "such capability"
}
