package legacy

import (
	"errors"

	"github.com/tenon-mcp/tenon/mcp"
)

// NewStateless returns a session for a single request of a client without a
// session. r is the revision in the request's headers; "" means 2025-03-26, as
// the specification says. The capabilities of the client are unknown, so input
// requests fail.
func NewStateless(h mcp.Handler, r mcp.Revision) *Session {
	if r == "" {
		r = mcp.Rev20250326
	}
	s := &Session{h: h, stateless: true, rev: find(r)}
	if s.rev != nil {
		s.caller = mcp.Caller{Revision: r, Capabilities: &mcp.ClientCapabilities{}}
	}
	return s
}

// NewStatelessOpening returns a session that serves a single initialize.
func NewStatelessOpening(h mcp.Handler) *Session { return &Session{h: h, stateless: true} }

// restrictStateless removes the capabilities that need a session.
func restrictStateless(c *mcp.ServerCapabilities) {
	if c.Tools != nil {
		c.Tools = &mcp.ListCapability{}
	}
	if c.Prompts != nil {
		c.Prompts = &mcp.ListCapability{}
	}
	if c.Resources != nil {
		c.Resources = &mcp.ResourcesCapability{}
	}
	c.Logging = nil
}

// needsSession returns the error for a method that needs a session.
func needsSession(method string) error {
	return mcp.Errorf(mcp.CodeMethodNotFound, "%s needs a session, and this server keeps none for clients of revisions before %s", method, mcp.Rev20260728)
}

// refuseInput returns the error for a call that requires input of a client
// without a session.
func refuseInput(err error) error {
	_, asks := errors.AsType[*mcp.InputRequired](err)
	e, ok := errors.AsType[*mcp.Error](err)
	if !asks && (!ok || e.Code != mcp.CodeMissingCapability) {
		return err
	}
	mcp.Abandon(err)
	return mcp.Errorf(mcp.CodeInvalidRequest, "this call asks the client for input, which needs a session, and this server keeps none for clients of revisions before %s: use a client of %[1]s or later", mcp.Rev20260728)
}
