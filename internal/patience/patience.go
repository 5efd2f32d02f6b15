// Package patience lets somebody deep down in a call say that a person is being
// asked, so that limits on how long a server may be silent do not count.
package patience

import "context"

type key struct{}

// With returns a context whose holders are told of: hold gets +1 when one comes
// and -1 when it goes, from any goroutine. Those of ctx are told, too.
func With(ctx context.Context, hold func(n int)) context.Context {
	above, _ := ctx.Value(key{}).(func(int))
	if above == nil {
		return context.WithValue(ctx, key{}, hold)
	}
	return context.WithValue(ctx, key{}, func(n int) { above(n); hold(n) })
}

// Hold stops the limits of a context until release is called, once.
func Hold(ctx context.Context) (release func()) {
	hold, _ := ctx.Value(key{}).(func(int))
	if hold == nil {
		return func() {}
	}
	hold(1)
	return func() { hold(-1) }
}
