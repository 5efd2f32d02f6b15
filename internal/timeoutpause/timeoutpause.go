// Package timeoutpause pauses the timeouts of a call while a user is being
// asked. The code that asks and the code that has the timeout need not know
// each other: they share a context.
package timeoutpause

import "context"

type key struct{}

// A Limits has the timeouts of a call. Its methods are called from any
// goroutine.
type Limits interface {
	// Pause is called with +1 for each [Hold] of the context and with -1 for
	// its release.
	Pause(n int)
	// Lift is called for each [Lift] of the context.
	Lift()
}

// With returns a context for a call with a timeout. pause is called with +1
// for each [Hold] of the context and with -1 for its release, from any
// goroutine. A function that ctx already has is called too.
func With(ctx context.Context, pause func(n int)) context.Context {
	return WithLimits(ctx, pauseFunc(pause))
}

// WithLimits is With for timeouts that can be lifted.
func WithLimits(ctx context.Context, l Limits) context.Context {
	if above, _ := ctx.Value(key{}).(Limits); above != nil {
		l = both{above, l}
	}
	return context.WithValue(ctx, key{}, l)
}

type pauseFunc func(int)

func (f pauseFunc) Pause(n int) { f(n) }
func (f pauseFunc) Lift()       {}

type both [2]Limits

func (b both) Pause(n int) { b[0].Pause(n); b[1].Pause(n) }
func (b both) Lift()       { b[0].Lift(); b[1].Lift() }

// Hold pauses the timeouts of a context until release is called. Call
// release once.
func Hold(ctx context.Context) (release func()) {
	l, _ := ctx.Value(key{}).(Limits)
	if l == nil {
		return func() {}
	}
	l.Pause(1)
	return func() { l.Pause(-1) }
}

// Lift says that the call of the context takes as long as the server needs:
// limits of its whole time that nobody has set explicitly end.
func Lift(ctx context.Context) {
	if l, _ := ctx.Value(key{}).(Limits); l != nil {
		l.Lift()
	}
}
