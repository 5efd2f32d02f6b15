// Package httpheader has what the HTTP transports share on the wire: the headers
// of the protocol, and the comparison of origins.
package httpheader

import (
	"cmp"
	"net/url"
	"strings"
)

// The headers of the protocol, in the canonical form of net/http.
const (
	Version     = "Mcp-Protocol-Version"
	Method      = "Mcp-Method"
	Name        = "Mcp-Name"
	ParamPrefix = "Mcp-Param-"
	Session     = "Mcp-Session-Id"
	LastEvent   = "Last-Event-Id"
)

// SameOrigin reports whether two http or https URLs have the same origin.
func SameOrigin(a, b *url.URL) bool {
	port := func(u *url.URL) string {
		return cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
	}
	return a.Scheme == b.Scheme && strings.EqualFold(a.Hostname(), b.Hostname()) && port(a) == port(b)
}
