package streamclient

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"

	"github.com/tenon-mcp/tenon/era"
	"github.com/tenon-mcp/tenon/mcp"
)

// An Endpoint is a server that is reached over HTTP. It may be dialled many
// times, from many goroutines; it remembers which era the server speaks, so
// that only the first Dial has to find out. Set the fields before that and do
// not change them after.
type Endpoint struct {
	// URL is the address of the server's endpoint, with http or https. Every
	// request goes to its origin and to no other: a redirect is followed only
	// within it, and only if it keeps the method (307, 308).
	URL string

	// HTTP makes the requests. Authorization is a RoundTripper in it. A
	// Timeout in it would end streams, too. Nil means connections of the
	// client's own, made within 30 s and without cookies.
	HTTP *http.Client

	// Header goes with every request, beside the headers of the protocol,
	// which it cannot replace.
	Header http.Header

	// Era says how the server is met. Its Known is what the first Dial
	// assumes; where that turns out wrong it is found out anew.
	Era era.DialOptions

	// Older is tried by Dial where the server refuses both eras at this URL:
	// a Dialer for the transport of 2024-11-05. Nil means that there is none.
	Older mcp.Dialer

	// Warn is called with a sentence about each tool that was left out of a
	// list because its headers cannot be sent. It may be called by many
	// goroutines and must not block. Nil means the Warn of the persona.
	Warn func(warning string)

	mu    sync.Mutex
	known mcp.Revision // what the server spoke last
}

// Dial makes an Endpoint an [mcp.Dialer]. The Conn is a [*Connection], or
// what Older has made.
func (e *Endpoint) Dial(ctx context.Context, p *mcp.ClientProfile) (mcp.Conn, error) {
	c, err := e.Connect(ctx, p)
	if err == nil {
		return c, nil
	}
	if _, refused := errors.AsType[*refusedBoth](err); !refused || e.Older == nil {
		return nil, err
	}
	h, older := e.Older.Dial(ctx, p)
	if older != nil {
		return nil, fmt.Errorf("%w; the older transport: %w", err, older)
	}
	return h, nil
}

// Connect meets the server. Ctx counts for the meeting only: the connection
// lives until it is closed.
func (e *Endpoint) Connect(ctx context.Context, p *mcp.ClientProfile) (*Connection, error) {
	to, err := newTarget(e.URL, e.HTTP, e.Header)
	if err != nil {
		return nil, err
	}
	c := &Connection{endpoint: e, profile: p, to: to, opts: e.Era, turn: make(chan struct{}, 1)}
	c.life, c.end = context.WithCancel(context.Background())
	c.close = sync.OnceValue(c.shut)
	e.mu.Lock()
	assumed := e.known
	e.mu.Unlock()
	if assumed == "" {
		assumed = e.Era.Known
	}
	a, err := c.connect(ctx, assumed)
	if err != nil {
		c.Close()
		return nil, err
	}
	c.now = a
	return c, nil
}

// refusedBoth is the error for a server that wants neither a request of the
// newest era nor an initialize.
type refusedBoth struct{ error }

func (e *refusedBoth) Unwrap() error { return e.error }

// remember keeps what the server speaks.
func (e *Endpoint) remember(r mcp.Revision) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.known = r
}

// warn reports what was skipped to the endpoint's Warn, or else the persona's.
func (c *Connection) warn(text string) {
	switch {
	case c.endpoint.Warn != nil:
		c.endpoint.Warn(text)
	case c.profile != nil && c.profile.OnWarning != nil:
		c.profile.OnWarning(text)
	}
}
