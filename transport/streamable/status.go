package streamable

import (
	"net/http"

	"github.com/tenon-mcp/tenon/mcp"
)

// statusOf is the HTTP status for the code of a JSON-RPC answer in the newest
// revision; 0 is a result. An error of the call itself (a tool that does not
// exist, a resource that is not there) is told with 200 or 400 alike by the
// specification; we say 400 where the request was at fault.
func statusOf(code int) int {
	switch code {
	case 0:
		return http.StatusOK
	case mcp.CodeParse, mcp.CodeInvalidRequest, mcp.CodeInvalidParams,
		mcp.CodeHeaderMismatch, mcp.CodeMissingCapability, mcp.CodeUnsupportedVersion:
		return http.StatusBadRequest
	case mcp.CodeMethodNotFound:
		return http.StatusNotFound
	}
	return http.StatusOK
}
