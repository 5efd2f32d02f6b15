// Package timeoutpause pauses the timeouts of a call while a user is being
// asked. The code that asks and the code that has the timeout need not know
// each other: they share a context.
package timeoutpause

import "context"

type key struct{}

// With returns a context for a call with a timeout. pause is called with +1
// for each [Hold] of the context and with -1 for its release, from any
// goroutine. A function that ctx already has is called too.
func With(ctx context.Context, pause func(n int)) context.Context {
	above, _ := ctx.Value(key{}).(func(int))
	if above == nil {
		return context.WithValue(ctx, key{}, pause)
	}
	return context.WithValue(ctx, key{}, func(n int) { above(n); pause(n) })
}

// Hold pauses the timeouts of a context until release is called. Call
// release once.
func Hold(ctx context.Context) (release func()) {
	hold, _ := ctx.Value(key{}).(func(int))
	if hold == nil {
		return func() {}
	}
	hold(1)
	return func() { hold(-1) }
}
