// Package credheader keeps the credentials of an HTTP request for a replica that
// forwards the request. Middleware that verifies credentials removes them, so that
// no handler passes them on; but the replica that a request is forwarded to has to
// verify them, too.
package credheader

import (
	"context"
	"net/http"
)

type key struct{}

// Names are the headers with credentials, in canonical form.
var Names = []string{"Authorization", "Dpop"}

// With returns a context with the credentials of a request.
func With(ctx context.Context, h http.Header) context.Context {
	kept := http.Header{}
	for _, name := range Names {
		if values := h[name]; len(values) > 0 {
			kept[name] = values
		}
	}
	if len(kept) == 0 {
		return ctx
	}
	return context.WithValue(ctx, key{}, kept)
}

// Restore adds the credentials in ctx, if any, to the headers of a request.
func Restore(ctx context.Context, h http.Header) {
	kept, _ := ctx.Value(key{}).(http.Header)
	for name, values := range kept {
		h[name] = values
	}
}
