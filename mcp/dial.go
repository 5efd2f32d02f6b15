package mcp

import (
	"context"
	"encoding/json"
)

// A ClientProfile describes a client to the server that it connects to, and
// handles what the server sends outside of any call. A nil profile is that of
// an unnamed client without capabilities.
type ClientProfile struct {
	// Client is the client's name and version.
	Client Implementation

	// Capabilities lists what the client supports. In revisions that send
	// capabilities with each call, those of the call apply instead.
	Capabilities ClientCapabilities

	// OnInputRequest responds to input requests that belong to no call, which
	// servers of older revisions may send (for example, for the roots at
	// startup). It must be safe for concurrent use. Nil rejects such requests.
	OnInputRequest func(ctx context.Context, q InputRequest) (json.RawMessage, error)

	// OnNotification receives notifications that belong to no call, such as log
	// messages of older servers. It must not block. Nil discards them.
	OnNotification func(n Notification)

	// OnWarning is called with a description of each message from the server
	// that could not be used and was skipped. Of many within ten seconds it
	// gets the first few, then their number. It must be safe for concurrent use
	// and must not block. Nil discards warnings.
	OnWarning func(warning string)
}

// A Dialer connects to a server: it starts a process, opens a socket, or uses a
// server in memory. The caller of Dial closes the connection. A Dialer that
// wraps the connection in middleware uses [ChainConn].
type Dialer interface {
	Dial(ctx context.Context, p *ClientProfile) (Conn, error)
}
