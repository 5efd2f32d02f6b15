package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/tenon-mcp/tenon/mcp"
)

// A Client makes calls to one server. Make one with [New] or [Dial].
type Client struct {
	h       mcp.Handler
	opts    *Options // every limit set; never changed
	caller  mcp.Caller
	cache   *cache // shared between all that As returned
	outputs *outputs
	life    *life
}

// A life is what ends when a client is closed.
type life struct {
	ctx   context.Context // ends with the client
	close func() error    // once; later calls return the same
}

// New returns a client for a Handler that somebody else owns: closing the
// client leaves it open. Who connects for this purpose does so with
// o.Persona().
func New(h mcp.Handler, o *Options) *Client {
	c := newClient(o)
	c.h = h
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

// live gives the client its life, at whose end the closer is closed.
func (c *Client) live(closer io.Closer) {
	ctx, end := context.WithCancel(context.Background())
	c.life = &life{ctx: ctx, close: sync.OnceValue(func() error {
		end()
		if closer == nil {
			return nil
		}
		return closer.Close()
	})}
}

// Dial connects to a server. Closing the client closes the connection.
func Dial(ctx context.Context, d mcp.Dialer, o *Options) (*Client, error) {
	c := newClient(o)
	h, err := d.Dial(ctx, c.opts.profile(c.changed))
	if err != nil {
		return nil, err
	}
	c.h = h
	c.live(h)
	return c, nil
}

// ErrClosed is the error of a [Client.Listen] that ended because the client was
// closed.
var ErrClosed = errors.New("the client is closed")

// Close ends every [Client.Listen], and the connection if the client was made
// by [Dial]; calls that are open then fail. It may be called more than once.
func (c *Client) Close() error { return c.life.close() }

// As returns a client for the same server that makes its calls in the name of
// a verified principal. Both share what may be shared: private results are kept
// for each principal apart. The new client has seen no tools yet. Closing
// either closes both.
//
// It serves those who act for several people at once, such as a gateway before
// a server in memory; over a connection, the server knows who calls from the
// transport.
func (c *Client) As(p *mcp.Principal) *Client {
	other := *c
	other.caller.Principal = p
	other.outputs = new(outputs)
	return &other
}

// changed drops kept results that the news has made stale.
func (c *Client) changed(n mcp.Notification) { c.cache.changed(n) }

// invalid is the error for an answer that breaks the protocol. What names the
// tool, the resource or the prompt; empty means none.
func invalid(method, what, format string, args ...any) error {
	return &mcp.Error{Code: mcp.CodeInternal, Local: true,
		Message: fmt.Sprintf("the server's answer to %s cannot be used: ", doing(method, what)) + fmt.Sprintf(format, args...)}
}

// refused is the error for a call that was not made because of what the caller
// gave for it.
func refused(format string, args ...any) error {
	return &mcp.Error{Code: mcp.CodeInvalidParams, Local: true, Message: fmt.Sprintf(format, args...)}
}

// doing names a call in an error text.
func doing(method, what string) string {
	if what == "" {
		return method
	}
	return fmt.Sprintf("%s %q", method, clip(what))
}

// clip shortens what others wrote for use in a message.
func clip(s string) string {
	const most = 100
	if len(s) <= most {
		return s
	}
	cut := most
	for cut > 0 && s[cut]&0xC0 == 0x80 {
		cut--
	}
	return s[:cut] + "…"
}
