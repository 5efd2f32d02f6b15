package streamable

import (
	"context"
	"net/http"
	"time"
)

// RequestHeader returns the headers of the HTTP request that brought a call, for
// a handler or middleware that needs one that is not part of the protocol. The
// caller must not change them. They are nil if the call did not come over this
// transport, and for subscriptions. Behind auth/protect they hold no
// credentials. What a client writes there is not verified: use [mcp.Principal]
// to know who is calling.
//
// Other values of the request's context, such as those that middleware for HTTP
// has put there, are values of ctx as well.
func RequestHeader(ctx context.Context) http.Header {
	h, _ := ctx.Value(headerKey{}).(http.Header)
	return h
}

type headerKey struct{}

// A callContext is the context of a call that a reply answers: that of the
// request, and its headers. It is the reply itself, so that it costs nothing.
type callContext reply

func (c *callContext) Deadline() (time.Time, bool) { return c.ctx.Deadline() }
func (c *callContext) Done() <-chan struct{}       { return c.ctx.Done() }
func (c *callContext) Err() error                  { return c.ctx.Err() }

func (c *callContext) Value(key any) any {
	if key == (headerKey{}) {
		return c.header
	}
	return c.ctx.Value(key)
}

// A detached is context.WithoutCancel of a request's context, and its headers.
type detached struct {
	request context.Context
	header  http.Header
}

func (*detached) Deadline() (time.Time, bool) { return time.Time{}, false }
func (*detached) Done() <-chan struct{}       { return nil }
func (*detached) Err() error                  { return nil }

func (c *detached) Value(key any) any {
	if key == (headerKey{}) {
		return c.header
	}
	return c.request.Value(key)
}
