package protocol

import (
	"slices"

	"github.com/tenon-mcp/tenon/mcp"
)

// MayRequireInputInSession reports whether a call of this method in a session
// of an older revision may return an [mcp.InputRequired] error.
func MayRequireInputInSession(method string) bool {
	if MayRequireInput(method) {
		return true
	}
	return !IsCore(method) && slices.ContainsFunc(mcp.RegisteredExtensions(), func(e mcp.Extension) bool {
		return slices.Contains(e.InputMethods, method)
	})
}

// HeaderName returns the member of a request's params that the Mcp-Name header
// repeats, or "" if requests with this method have no such header.
func HeaderName(method string) string {
	switch method {
	case mcp.MethodToolsCall, mcp.MethodPromptsGet:
		return "name"
	case mcp.MethodResourcesRead:
		return "uri"
	}
	if IsCore(method) {
		return ""
	}
	for _, e := range mcp.RegisteredExtensions() {
		for _, r := range e.Names {
			if r.Header && r.Method == method && r.In == mcp.InParams {
				return r.Path
			}
		}
	}
	return ""
}

// ExtendsLegacyClients reports whether a server with these capabilities has
// extensions that older clients get in another form.
func ExtendsLegacyClients(declared *mcp.ServerCapabilities) bool {
	return slices.ContainsFunc(mcp.RegisteredExtensions(), func(e mcp.Extension) bool {
		return e.ForLegacyClient != nil && declared.Extensions[e.ID] != nil
	})
}

// ForLegacyClient wraps h for a session of a client of an older revision in
// those registered extensions that h declares in its capabilities.
func ForLegacyClient(h mcp.Handler, declared *mcp.ServerCapabilities, s *mcp.LegacySession) mcp.Handler {
	for _, e := range mcp.RegisteredExtensions() {
		if e.ForLegacyClient != nil && declared.Extensions[e.ID] != nil {
			h = e.ForLegacyClient(h, s)
		}
	}
	return h
}

// ForLegacyServer wraps a connection to a server of an older revision in all
// registered extensions. It returns the connection as each of them sees it.
func ForLegacyServer(h mcp.Handler, c mcp.LegacyConn) (wrapped mcp.Handler, seen []*mcp.LegacyConn) {
	for _, e := range mcp.RegisteredExtensions() {
		if e.ForLegacyServer == nil {
			continue
		}
		own := c
		h = e.ForLegacyServer(h, &own)
		if own.OnNotification != nil || own.InputCall != nil {
			seen = append(seen, &own)
		}
	}
	return h, seen
}
