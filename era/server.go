package era

import (
	"context"
	"time"

	"github.com/tenon-mcp/tenon/internal/eraconn"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
)

// Keys seals the state of calls that require input into requestState, so that
// the server keeps no state between rounds. See [NewKeys].
type Keys = eraconn.Keys

// NewKeys returns keys made from secrets of at least 16 bytes each. The first
// secret seals; all of them open, so that secrets can be rotated. Instances of
// one service share their secrets. Without secrets, NewKeys makes a random one.
// ttl is how long a client has to answer input requests; 0 means 30 minutes.
func NewKeys(ttl time.Duration, secrets ...[]byte) (*Keys, error) {
	return eraconn.NewKeys(ttl, secrets...)
}

// ServerOptions configures a [Server]. A nil *ServerOptions means the defaults.
type ServerOptions struct {
	// Keys seals the state of calls that require input; nil means a random key
	// that no other process has.
	Keys *Keys

	// ModernOnly refuses legacy requests and names the supported revision in
	// the error. LegacyOnly refuses modern requests. They are meant for tests
	// and migrations; by default a Server serves both eras.
	ModernOnly, LegacyOnly bool

	// OnInvalidFrame is called with invalid frames and recovered panics. It
	// must not block. Nil ignores them.
	OnInvalidFrame func(frame []byte, err error)

	// Tap is called with every frame sent or received; see [jsonrpc.Tap]. Nil
	// means no tap.
	Tap func(d jsonrpc.Direction, frame []byte)

	// MaxSubscriptions bounds how many subscriptions to changes the Server
	// holds open over all its transports: calls of subscriptions/listen, and
	// the GET streams of legacy clients over HTTP. 0 means 16384.
	MaxSubscriptions int

	// MaxSubscriptionsPerClient is the limit for one client. A client is a
	// principal, or, without one, a connection (stdio, sockets). Unverified
	// clients over HTTP are bounded by MaxSubscriptions alone. 0 means 512.
	MaxSubscriptionsPerClient int

	// MaxServing, Grace and Linger are those of [jsonrpc.ConnOptions].
	MaxServing    int
	Grace, Linger time.Duration
}

// A Server serves clients of every revision with one Handler.
type Server struct{ s *eraconn.Server }

// NewServer returns a Server for h.
func NewServer(h mcp.Handler, o *ServerOptions) (*Server, error) {
	if o == nil {
		o = &ServerOptions{}
	}
	s, err := eraconn.NewServer(h, eraconn.ServerOptions(*o))
	if err != nil {
		return nil, err
	}
	return &Server{s}, nil
}

// ServeStream serves the client at the other end of a stream. It blocks until
// the client closes the stream or ctx ends, and closes the stream. The era of
// each message is detected separately, so a client may use both eras at once.
func (s *Server) ServeStream(ctx context.Context, stream jsonrpc.Stream) error {
	return s.s.ServeStream(ctx, stream, nil)
}

// ServeStreamFor is [Server.ServeStream] for a client that the transport has
// verified: all calls on the stream are those of the principal who. A nil who
// means an unverified client.
func (s *Server) ServeStreamFor(ctx context.Context, stream jsonrpc.Stream, who *mcp.Principal) error {
	return s.s.ServeStream(ctx, stream, who)
}
