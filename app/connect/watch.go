package connect

import (
	"net/http"

	"github.com/tenon-mcp/tenon/jsonrpc"
)

// unwatched is a Watcher that does nothing.
type unwatched struct{}

func (unwatched) Frame(jsonrpc.Direction, []byte)                       {}
func (unwatched) Stderr(string)                                         {}
func (unwatched) RoundTripper(next http.RoundTripper) http.RoundTripper { return next }
