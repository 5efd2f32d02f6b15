package connect

import (
	"net/http"

	"github.com/tenon-mcp/tenon/jsonrpc"
)

// noWatcher is a Watcher that does nothing.
type noWatcher struct{}

func (noWatcher) Frame(jsonrpc.Direction, []byte)                       {}
func (noWatcher) Stderr(string)                                         {}
func (noWatcher) RoundTripper(next http.RoundTripper) http.RoundTripper { return next }
