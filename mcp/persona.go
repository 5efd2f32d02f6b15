package mcp

import (
	"context"
	"encoding/json"
)

// A ClientProfile is how a client introduces itself when it connects, and who speaks
// for it when no call is open. Nil means a client without a name that can
// answer nothing.
type ClientProfile struct {
	// Client is how the client names itself.
	Client Implementation

	// Capabilities is what the client can do. Calls may say less, or more,
	// where the protocol asks for it with each call.
	Capabilities ClientCapabilities

	// InputHandler answers questions that belong to no call, as older servers ask
	// them (for the roots, when they start). It may be called by several
	// goroutines at once. Nil refuses them.
	OnInputRequest func(ctx context.Context, q InputRequest) (json.RawMessage, error)

	// Hear hears notes that belong to no call, such as the log lines of older
	// servers. It must not block. Nil drops them.
	OnNotification func(n Notification)

	// Warn is called with a sentence about each message of the server that
	// could not be used and was skipped. Of many in a short time the first few
	// are reported, then their number. It may be called by several goroutines
	// at once and must not block. Nil drops warnings.
	OnWarning func(warning string)
}

// A Dialer connects to a server: it starts a process, opens a socket, or finds
// the server in memory. The caller of Dial closes the connection. A Dialer that
// wraps the connection in middleware returns it through [ChainConn].
type Dialer interface {
	Dial(ctx context.Context, p *ClientProfile) (Conn, error)
}
