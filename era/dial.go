package era

import (
	"context"
	"time"

	"github.com/tenon-mcp/tenon/internal/eraconn"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
)

// DialOptions configures [Dial]. A nil *DialOptions means the defaults.
type DialOptions struct {
	// Known is the revision that the server speaks, as an earlier Dial
	// detected it; Dial then sends no probe. Any revision before
	// [mcp.Rev20260728] connects with initialize. Empty means unknown.
	Known mcp.Revision

	// ProbeTimeout is how long Dial waits for the response to its probe before
	// it also sends initialize, for a legacy server. 0 means 3 s.
	// ConnectTimeout bounds the whole of Dial. 0 means 30 s.
	ProbeTimeout, ConnectTimeout time.Duration

	// OnInvalidFrame is called with every frame that is skipped: one that is
	// not a message, or a response with an unknown id. The frame is nil if it
	// exceeds the size limit. OnInvalidFrame must not block. Nil ignores such
	// frames.
	OnInvalidFrame func(frame []byte, err error)

	// Tap is called with every frame sent or received; see [jsonrpc.Tap]. Nil
	// means no tap.
	Tap func(d jsonrpc.Direction, frame []byte)
}

// A Conn is a connection to a server. It is an [mcp.Conn].
type Conn struct{ p *eraconn.Peer }

// Dial connects to the server at the other end of a stream. It detects the era
// as the specification describes: it probes with server/discover and falls back
// to initialize. ctx applies only while connecting.
//
// Dial owns the stream, also on error: it closes the stream before it returns
// an error, except when ctx ended first. Then Dial returns at once and closes
// the stream in the background.
func Dial(ctx context.Context, stream jsonrpc.Stream, profile *mcp.ClientProfile, o *DialOptions) (*Conn, error) {
	if o == nil {
		o = &DialOptions{}
	}
	p, err := eraconn.Dial(ctx, stream, profile, eraconn.DialOptions(*o))
	if err != nil {
		return nil, err
	}
	return &Conn{p}, nil
}

// Serve sends a call to the server and waits for its result. Once the connection
// has ended, the error is an [*mcp.ClosedError].
func (c *Conn) Serve(ctx context.Context, call *mcp.Call) (mcp.Result, error) {
	return c.p.Serve(ctx, call)
}

// Revision returns the protocol revision in use.
func (c *Conn) Revision() mcp.Revision { return c.p.Revision() }

// Done returns a channel that is closed when the connection has ended. All later
// calls fail.
func (c *Conn) Done() <-chan struct{} { return c.p.Done() }

// Err returns why the connection ended, once Done is closed; nil means an
// orderly close.
func (c *Conn) Err() error { return c.p.Err() }

// Close ends the connection and waits until its goroutines have ended.
func (c *Conn) Close() error { return c.p.Close() }
