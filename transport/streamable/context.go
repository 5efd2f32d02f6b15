package streamable

import (
	"context"
	"net/http"
	"time"
)

// RequestHeader returns the headers of the HTTP request of a call, for a handler
// or middleware that needs a header outside the protocol. The caller must not
// modify them. They are nil for calls over other transports and for
// subscriptions. Behind auth/protect they contain no credentials. Headers are
// not verified: [mcp.Principal] identifies the client.
//
// Other values of the request's context, such as those of HTTP middleware, are
// values of ctx as well.
func RequestHeader(ctx context.Context) http.Header {
	h, _ := ctx.Value(headerKey{}).(http.Header)
	return h
}

type headerKey struct{}

// A callContext is the context of a call: that of its request, and the headers.
// It is the reply itself, to save an allocation.
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

// A detached is context.WithoutCancel of a request's context, and the headers.
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
