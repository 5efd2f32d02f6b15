package protect

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/tenon-mcp/tenon/mcp"
)

// A Guard protects one resource. It is safe for concurrent use. Create one
// with [New].
type Guard struct {
	opts     Options
	resource *url.URL
	verifier Verifier
	grants   hierarchy
	proofs   *proofs

	document    []byte   // the metadata document; nil if there is none
	documentURL string   // its URL, for challenges
	documentAt  []string // its paths
}

// Wrap returns a handler that calls h only for requests with a valid token
// and the required scopes. h gets the caller from [Principal], but neither
// the token nor its proof. The returned handler also serves the metadata
// document, if it receives requests for it. A CORS preflight, which never
// has a token, is passed to h without a body. A stream of notifications ends
// when its token expires.
func (g *Guard) Wrap(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if g.isDocument(r.URL.Path) {
			g.serveDocument(w, r)
			return
		}
		onwards := without(r)
		if isPreflight(r) {
			onwards.Body, onwards.ContentLength = http.NoBody, 0
			h.ServeHTTP(w, onwards)
			return
		}
		principal, until, no := g.admit(r)
		if no == nil {
			g.offerNonce(w, r)
			no = g.permit(w, onwards, principal)
		}
		if no != nil {
			g.record(r, no)
			g.refuse(w, no)
			return
		}
		ctx := context.WithValue(r.Context(), principalKey{}, principal)
		if isStream(r) && !until.IsZero() {
			limited, cancel := context.WithDeadline(ctx, until.Add(skew))
			defer cancel()
			ctx = limited
		}
		h.ServeHTTP(w, onwards.WithContext(ctx))
	})
}

// admit returns the principal of a request and when its token expires.
func (g *Guard) admit(r *http.Request) (*mcp.Principal, time.Time, *refusal) {
	var never time.Time
	given, no := readCredentials(r)
	if no != nil {
		return nil, never, no
	}
	id, err := g.verifier.Verify(r.Context(), given.token, r)
	if err != nil {
		return nil, never, g.unverified(given, err)
	}
	if id == nil || id.Principal.ID == "" {
		return nil, never, &refusal{status: http.StatusUnauthorized, scheme: given.scheme, code: "invalid_token", description: "the token has no subject"}
	}
	if no := g.proofs.check(r, given, id.KeyThumbprint); no != nil {
		return nil, never, no
	}
	principal := id.Principal // a copy: a verifier may return the same Identity for many requests
	principal.Scopes, principal.Claims = slices.Clone(principal.Scopes), maps.Clone(principal.Claims)
	return &principal, id.Expires, nil
}

// unverified converts the error of a verifier to a refusal.
func (g *Guard) unverified(given credentials, err error) *refusal {
	if errors.Is(err, ErrUnavailable) {
		g.opts.Log.Warn("verifying a token failed", "resource", g.opts.Resource, "error", err)
		no := &refusal{status: http.StatusServiceUnavailable, code: "temporarily_unavailable", description: ErrUnavailable.Error() + "; try again"}
		if paused, ok := errors.AsType[*pausedError](err); ok {
			no.retry = paused.wait
		}
		return no
	}
	no := &refusal{status: http.StatusUnauthorized, scheme: given.scheme, code: "invalid_token", description: "the token was not accepted"}
	if reason, ok := errors.AsType[*InvalidToken](err); ok {
		no.description = reason.Reason
	}
	return no
}

// permit checks the scopes of a request.
func (g *Guard) permit(w http.ResponseWriter, r *http.Request, principal *mcp.Principal) *refusal {
	needed, no := g.needs(w, r)
	if no != nil || g.grants.cover(principal.Scopes, needed) {
		return no
	}
	return &refusal{status: http.StatusForbidden, code: "insufficient_scope", description: "this operation needs more scopes than the token has", scopes: needed}
}

// without returns a copy of a request without its credentials.
func without(r *http.Request) *http.Request {
	bare := r.WithContext(r.Context())
	bare.Header = maps.Clone(r.Header)
	for _, name := range []string{"Authorization", "Dpop"} {
		delete(bare.Header, name)
	}
	return bare
}

// isStream reports whether a request opens a stream without an end, which
// would outlive the token. Other calls may finish. The header is sufficient,
// because an MCP handler refuses one that does not match the body.
func isStream(r *http.Request) bool {
	return r.Method == http.MethodGet || r.Header.Get("Mcp-Method") == "subscriptions/listen"
}

func isPreflight(r *http.Request) bool {
	return r.Method == http.MethodOptions && r.Header.Get("Origin") != "" && r.Header.Get("Access-Control-Request-Method") != ""
}
