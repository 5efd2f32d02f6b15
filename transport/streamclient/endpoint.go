// Package streamclient is the client of MCP over streamable HTTP. An [Endpoint]
// names a server by its URL and is an [mcp.Dialer]:
//
//	c, err := client.Dial(ctx, &streamclient.Endpoint{URL: "https://example.com/mcp"}, nil)
//
// It reaches servers of every revision: the first Dial detects which era the
// server speaks. The server's side is package streamable.
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

// An Endpoint is a server at a URL. It is an [mcp.Dialer]. Many goroutines may
// dial it at once. The Endpoint remembers the era of the server, so that only
// the first Dial detects it. Do not change the fields after the first Dial.
type Endpoint struct {
	// URL is the address of the server, with http or https. All requests go to
	// its origin: redirects to other origins, and those that change the method
	// (all but 307 and 308), are not followed.
	URL string

	// HTTP sends the requests. Its Transport is the place for authorization.
	// Leave its Timeout unset: it would end streams, too. Nil means a client
	// of the connection's own, without cookies and with a dial timeout of 30 s.
	HTTP *http.Client

	// Header is sent with every request. It cannot replace the headers of the
	// protocol.
	Header http.Header

	// Era configures how to connect. The first Dial assumes Era.Known; if the
	// server refuses that revision, Dial detects the era.
	Era era.DialOptions

	// Older is dialled when the server refuses both eras at this URL. It is
	// meant for the HTTP+SSE transport of 2024-11-05; see package httpsse. Nil
	// means no fallback.
	Older mcp.Dialer

	// Warn is called with a sentence about each tool that is left out of a
	// tools/list result because its x-mcp-header is invalid. Many goroutines
	// may call it; it must not block. Nil means the OnWarning of the client's
	// profile.
	Warn func(warning string)

	mu    sync.Mutex
	known mcp.Revision // of the last connection
}

// Dial connects to the server. The Conn is a [*Connection], or the Conn of
// Older. ctx applies only while connecting.
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
		return nil, fmt.Errorf("%w; over HTTP+SSE: %w", err, older)
	}
	return h, nil
}

// Connect is Dial without the fallback to Older. ctx applies only while
// connecting; the caller must close the Connection.
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

// refusedBoth is the error for a server that refuses both a modern request and
// initialize.
type refusedBoth struct{ error }

func (e *refusedBoth) Unwrap() error { return e.error }

// remember stores the revision that the server speaks.
func (e *Endpoint) remember(r mcp.Revision) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.known = r
}

// warn calls the endpoint's Warn or, without one, the profile's OnWarning.
func (c *Connection) warn(text string) {
	switch {
	case c.endpoint.Warn != nil:
		c.endpoint.Warn(text)
	case c.profile != nil && c.profile.OnWarning != nil:
		c.profile.OnWarning(text)
	}
}
