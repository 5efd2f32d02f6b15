// Package httpheader names the HTTP headers of the protocol, for the server and
// the client of streamable HTTP.
package httpheader

import "github.com/tenon-mcp/tenon/mcp"

// The headers of the protocol, in the canonical form of net/http.
const (
	Version     = "Mcp-Protocol-Version"
	Method      = "Mcp-Method"
	Name        = "Mcp-Name"
	ParamPrefix = "Mcp-Param-"
	Session     = "Mcp-Session-Id"
	LastEvent   = "Last-Event-Id"
)

// NameMember returns the member of a request's params that the Mcp-Name header
// repeats, or "" if requests with this method have no such header.
func NameMember(method string) string {
	switch method {
	case mcp.MethodToolsCall, mcp.MethodPromptsGet:
		return "name"
	case mcp.MethodResourcesRead:
		return "uri"
	case "tasks/get", "tasks/update", "tasks/cancel":
		return "taskId"
	}
	return ""
}
