package mcp

import (
	"context"
	"io"
)

// A Handler serves calls. A server is one, and so is a connection to a server.
//
// Serve returns the result, or an error: an [*Error] reaches the far side with
// its code, a [*InputRequired] asks the caller and ends this round, and any other
// error becomes an internal error. Serve may be called from many goroutines at
// once. It must return soon after ctx ends.
//
// A call that is answered in rounds enters Serve again from the top, so what a
// handler does before it asks must be safe to do twice.
type Handler interface {
	Serve(ctx context.Context, c *Call) (Result, error)
}

// HandlerFunc is a function that serves calls.
type HandlerFunc func(context.Context, *Call) (Result, error)

// Serve calls f.
func (f HandlerFunc) Serve(ctx context.Context, c *Call) (Result, error) { return f(ctx, c) }

// Middleware wraps a Handler in another: a cache, a policy, a log. One that
// forwards Serve loses nothing. When Serve returns, the call has ended, with two
// exceptions: an error that is a [InputRequired] asks the caller for input and the
// call goes on in a further round, and a subscription may stay open; see
// [Call].Detach.
type Middleware func(Handler) Handler

// Chain wraps h so that the first middleware is the first to see a call.
func Chain(h Handler, ms ...Middleware) Handler {
	for i := len(ms) - 1; i >= 0; i-- {
		h = ms[i](h)
	}
	return h
}

// A Conn is a connection to a server that its owner closes.
type Conn interface {
	Handler
	io.Closer
}

// ChainConn is [Chain] for a connection: closing what it returns closes c.
func ChainConn(c Conn, ms ...Middleware) Conn {
	return chained{Chain(c, ms...), c}
}

type chained struct {
	Handler
	io.Closer
}
