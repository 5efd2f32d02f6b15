package peers

import (
	"context"

	"github.com/tenon-mcp/tenon/era"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/transport/httpsse"
	"github.com/tenon-mcp/tenon/transport/streamclient"
)

// overHTTP starts the server everything in one of its HTTP modes and returns a
// dialer for it.
func (r *reference) overHTTP(w way, command []string, revision *func() mcp.Revision) dialFunc {
	r.t.Helper()
	mode := "sse"
	if w == overHTTP {
		mode = "streamableHttp"
	}
	server := start(r.t, command[0], "--import", "./node/loopback.mjs", command[1], mode)
	how := era.DialOptions{Tap: r.recording.Tap}
	var to mcp.Dialer
	switch w {
	case overHTTP:
		to = &streamclient.Endpoint{URL: server.url, Era: how, Warn: r.warned.Add}
	case overOlderHTTP:
		to = &httpsse.Endpoint{URL: server.older(), Options: how}
	case overFoundHTTP:
		older := &httpsse.Endpoint{URL: server.older(), Options: how}
		to = &streamclient.Endpoint{URL: server.older(), Era: how, Warn: r.warned.Add, Older: older}
	}
	return func(ctx context.Context, p *mcp.ClientProfile) (mcp.Conn, error) {
		h, err := to.Dial(ctx, p)
		if err == nil {
			*revision = h.(interface{ Revision() mcp.Revision }).Revision
		}
		return h, err
	}
}
