package mcp

import (
	"context"
	"errors"
)

// A Handler serves calls. A server is one, and so is a connection to a server.
//
// Serve returns the result, or an error: an [*Error] reaches the far side with
// its code, a [*NeedInput] asks the caller and ends this round, and any other
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

// Middleware wraps a Handler in another: a cache, a policy, a log.
type Middleware func(Handler) Handler

// Chain wraps h so that the first middleware is the first to see a call.
func Chain(h Handler, ms ...Middleware) Handler {
	for i := len(ms) - 1; i >= 0; i-- {
		h = ms[i](h)
	}
	return h
}

// A Listener can be listened to without a goroutine that waits. A Handler that
// is not one is listened to by a [MethodSubscriptionsListen] call that stays
// open.
type Listener interface {
	// Listen starts the subscription that c asks for and returns at once.
	// Notes arrive at c.Side, the acknowledgement first, from whichever
	// goroutine makes them; Side must not block. The subscription ends when
	// stop is called, which returns what the call would have come to; no note
	// arrives after stop has returned. An error that is [ErrListenByCall] asks
	// for the call that stays open after all. Of c, only Side and what Caller
	// points to need be kept.
	Listen(c *Call) (stop func() Result, err error)
}

// ErrListenByCall is what a Listener says that has to see the subscription as
// a call, for example because of middleware.
var ErrListenByCall = errors.New("listen with a call")
