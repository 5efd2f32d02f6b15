package mcp

import (
	"context"
	"encoding/json"
	"io"
)

// A Handler serves calls. A server is a Handler, and so is a connection to a
// server.
//
// Serve returns the result or an error: an [*Error] is sent to the client with
// its code, an [*InputRequired] requests input and ends the round, and any
// other error becomes an internal error. Serve must be safe for concurrent use
// and return soon after ctx ends.
//
// A call that needs input is served again from the top in each round, so a
// handler must be able to repeat what it does before it requests input.
type Handler interface {
	Serve(ctx context.Context, c *Call) (Result, error)
}

// HandlerFunc is a function that implements [Handler].
type HandlerFunc func(context.Context, *Call) (Result, error)

// Serve calls f.
func (f HandlerFunc) Serve(ctx context.Context, c *Call) (Result, error) { return f(ctx, c) }

// Middleware wraps a Handler, for example with a cache, a policy or logging.
// When Serve returns, the call has ended, with two exceptions: after an
// [*InputRequired] error the call continues in a further round, and a
// subscription may stay open; see [Call].Detach.
type Middleware func(Handler) Handler

// Chain wraps h in middleware. The first middleware sees a call first.
func Chain(h Handler, ms ...Middleware) Handler {
	for i := len(ms) - 1; i >= 0; i-- {
		h = ms[i](h)
	}
	return h
}

// A Conn is a connection to a server. Its owner closes it.
type Conn interface {
	Handler
	io.Closer
}

// ChainConn is [Chain] for a connection. Closing the returned Conn closes c.
func ChainConn(c Conn, ms ...Middleware) Conn {
	return chained{Chain(c, ms...), c}
}

type chained struct {
	Handler
	io.Closer
}

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
