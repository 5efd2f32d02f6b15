package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/tenon-mcp/tenon/internal/textclip"
	"github.com/tenon-mcp/tenon/mcp"
)

// A Client makes calls to one server. Make one with [New] or [Dial].
type Client struct {
	h       mcp.Handler
	opts    *Options // with defaults; never modified
	caller  mcp.Caller
	cache   *cache // shared with the clients that As returns
	outputs *outputs
	life    *lifetime
}

// A lifetime ends when a client is closed.
type lifetime struct {
	ctx   context.Context // ends with the client
	close func() error    // runs once; later calls return the same error
}

// New returns a client for a Handler that the caller owns: closing the client
// does not close it. To make the connection, use the profile o.Profile().
func New(h mcp.Handler, o *Options) *Client {
	c := newClient(o)
	c.h = mcp.Chain(h, c.opts.Middleware...)
	return c
}

func newClient(o *Options) *Client {
	c := &Client{opts: o.withDefaults(), outputs: new(outputs)}
	c.caller = mcp.Caller{Client: &c.opts.Client, Capabilities: c.opts.capabilities(), LogLevel: c.opts.Logging.level()}
	c.cache = newCache(c.opts.CacheBytes)
	c.live(nil)
	c.opts.warnOfDeprecated()
	return c
}

// live starts the lifetime of the client; its end closes the closer.
func (c *Client) live(closer io.Closer) {
	ctx, end := context.WithCancel(context.Background())
	c.life = &lifetime{ctx: ctx, close: sync.OnceValue(func() error {
		end()
		if closer == nil {
			return nil
		}
		return closer.Close()
	})}
}

// Dial connects to a server. ctx applies only while connecting. Closing the
// client closes the connection.
func Dial(ctx context.Context, d mcp.Dialer, o *Options) (*Client, error) {
	c := newClient(o)
	h, err := d.Dial(ctx, c.opts.profile(c.changed))
	if err != nil {
		return nil, err
	}
	c.h = mcp.Chain(h, c.opts.Middleware...)
	c.live(h)
	return c, nil
}

// ErrClosed is the error of [Client.Listen] after the client was closed.
var ErrClosed = errors.New("the client is closed")

// Close ends every [Client.Listen] and, if the client was made with [Dial],
// closes the connection, so that calls in progress fail. It may be called
// repeatedly.
func (c *Client) Close() error { return c.life.close() }

// As returns a client for the same server that makes calls on behalf of a
// verified principal. Both share the connection and the cache, in which private
// results are separate for each principal. The new client has not seen any
// tools yet. Closing either closes both.
//
// Use As to act for several users with a server in memory, as a gateway does.
// Over a connection, the server identifies the caller through the transport.
func (c *Client) As(p *mcp.Principal) *Client {
	other := *c
	other.caller.Principal = p
	other.outputs = new(outputs)
	return &other
}

// changed drops cached results that a notification makes stale.
func (c *Client) changed(n mcp.Notification) { c.cache.changed(n) }

// invalid returns the error for a result that violates the protocol. what is
// the tool, resource or prompt; empty means none.
func invalid(method, what, format string, args ...any) error {
	return &mcp.Error{Code: mcp.CodeInternal, Local: true,
		Message: fmt.Sprintf("invalid result of %s: ", callName(method, what)) + fmt.Sprintf(format, args...)}
}

// refused returns the error for a call that was not made because of invalid
// input.
func refused(format string, args ...any) error {
	return &mcp.Error{Code: mcp.CodeInvalidParams, Local: true, Message: fmt.Sprintf(format, args...)}
}

// callName names a call in an error text.
func callName(method, what string) string {
	if what == "" {
		return method
	}
	return fmt.Sprintf("%s %q", method, clip(what))
}

// clip shortens a string from the peer for an error text.
func clip(s string) string { return textclip.Clip(s, 100) }
