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

// A Guard protects one resource. Make one with [New]; it may be used by many
// goroutines at once.
type Guard struct {
	opts     Options
	resource *url.URL
	verifier Verifier
	grants   hierarchy
	proofs   *proofs

	document    []byte   // the metadata document; nil if there is none
	documentURL string   // where it is, for challenges
	documentAt  []string // the paths that answer with it
}

// Wrap lets only those requests reach h that carry a good token with the scopes
// they need. h finds the caller with [Principal], and neither the token nor its
// proof. Requests for the metadata document are answered here, if they come
// this way at all; a preflight of CORS, which never carries a token, goes to h
// without a body. A stream of news ends with the token it was opened with.
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
		who, until, no := g.admit(r)
		if no == nil {
			g.offerNonce(w, r)
			no = g.permit(w, onwards, who)
		}
		if no != nil {
			g.record(r, no)
			g.refuse(w, no)
			return
		}
		ctx := context.WithValue(r.Context(), principalKey{}, who)
		if isStream(r) && !until.IsZero() {
			limited, cancel := context.WithDeadline(ctx, until.Add(skew))
			defer cancel()
			ctx = limited
		}
		h.ServeHTTP(w, onwards.WithContext(ctx))
	})
}

// admit says who sent a request, and until when that is known.
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
		return nil, never, &refusal{status: http.StatusUnauthorized, scheme: given.scheme, code: "invalid_token", description: "the token names nobody"}
	}
	if no := g.proofs.check(r, given, id.KeyThumbprint); no != nil {
		return nil, never, no
	}
	who := id.Principal // a copy: a verifier may give the same Identity to many requests
	who.Scopes, who.Claims = slices.Clone(who.Scopes), maps.Clone(who.Claims)
	return &who, id.Expires, nil
}

// unverified turns the error of a verifier into an answer.
func (g *Guard) unverified(given credentials, err error) *refusal {
	if errors.Is(err, ErrUnavailable) {
		g.opts.Log.Warn("a token could not be verified", "resource", g.opts.Resource, "error", err)
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

// permit checks the scopes that a request needs.
func (g *Guard) permit(w http.ResponseWriter, r *http.Request, who *mcp.Principal) *refusal {
	needed, no := g.needs(w, r)
	if no != nil || g.grants.cover(who.Scopes, needed) {
		return no
	}
	return &refusal{status: http.StatusForbidden, code: "insufficient_scope", description: "this operation needs more than the token grants", scopes: needed}
}

// without copies a request and leaves the credentials out.
func without(r *http.Request) *http.Request {
	bare := r.WithContext(r.Context())
	bare.Header = maps.Clone(r.Header)
	for _, name := range []string{"Authorization", "Dpop"} {
		delete(bare.Header, name)
	}
	return bare
}

// isStream reports whether a request opens a stream that ends only when one side
// wants it to: those would outlive the token. Other calls may be finished. The
// header is enough to go by, because a handler of MCP refuses one that does not
// agree with the body.
func isStream(r *http.Request) bool {
	return r.Method == http.MethodGet || r.Header.Get("Mcp-Method") == "subscriptions/listen"
}

func isPreflight(r *http.Request) bool {
	return r.Method == http.MethodOptions && r.Header.Get("Origin") != "" && r.Header.Get("Access-Control-Request-Method") != ""
}
