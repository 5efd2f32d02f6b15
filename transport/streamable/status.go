package streamable

import (
	"net/http"

	"github.com/tenon-mcp/tenon/mcp"
)

// statusOf returns the HTTP status for the error code of a modern response; 0 is
// a result. The specification allows 200 and 400 for an error of the call itself,
// such as an unknown tool; statusOf returns 400 if the request is at fault.
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
