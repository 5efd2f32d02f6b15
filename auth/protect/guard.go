package protect

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/internal/credheader"
	"github.com/tenon-mcp/tenon/internal/rawjson"
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
// the token (see KeepToken in [Options]) nor its proof. The returned handler also serves the metadata
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
		ctx := context.WithValue(credheader.With(r.Context(), r.Header), principalKey{}, principal)
		if g.opts.KeepToken && principal.Issuer != ownIssuer { // an API key is for this resource alone
			ctx = withToken(ctx, r)
		}
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
	for _, name := range credheader.Names {
		delete(bare.Header, name)
	}
	return bare
}

// isStream reports whether a request opens a stream without an end, which
// would outlive the token. Other calls may finish. The header is sufficient,
// because an MCP handler refuses one that does not match the body.
func isStream(r *http.Request) bool {
	return r.Method == http.MethodGet || r.Header.Get("Mcp-Method") == mcp.MethodSubscriptionsListen
}

func isPreflight(r *http.Request) bool {
	return r.Method == http.MethodOptions && r.Header.Get("Origin") != "" && r.Header.Get("Access-Control-Request-Method") != ""
}

// A refusal is an error response sent instead of calling the handler.
type refusal struct {
	status      int
	scheme      string   // the scheme of the request; empty means none or either
	code        string   // error code of RFC 6750 or 9449; empty without credentials
	description string   // error_description
	scopes      []string // required scopes, for insufficient_scope
	nonce       string   // nonce for the next proof
	message     int      // JSON-RPC error code, for an invalid message

	retry time.Duration // Retry-After of a 503; 0 means 5 s
}

func badRequest(description string) *refusal {
	return &refusal{status: http.StatusBadRequest, code: "invalid_request", description: description}
}

func badMessage(code int, description string) *refusal {
	return &refusal{status: http.StatusBadRequest, code: "invalid_request", description: description, message: code}
}

// refuse writes an error response.
func (g *Guard) refuse(w http.ResponseWriter, no *refusal) {
	h := w.Header()
	switch no.status {
	case http.StatusUnauthorized, http.StatusForbidden:
		for _, scheme := range g.schemes(no) {
			h.Add("WWW-Authenticate", g.challenge(scheme, no))
		}
	case http.StatusServiceUnavailable:
		retry := cmp.Or(no.retry, defaultPause)
		h.Set("Retry-After", strconv.Itoa(int((retry+time.Second-1)/time.Second)))
	}
	if no.nonce != "" {
		h.Set("DPoP-Nonce", no.nonce)
	}
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Type", "application/json")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(no.status)
	_, _ = w.Write(no.body())
}

// record logs a refused request without its token. A request without a token
// is how a login begins, so it is logged at the debug level.
func (g *Guard) record(r *http.Request, no *refusal) {
	level := slog.LevelWarn
	if no.code == "" {
		level = slog.LevelDebug
	}
	g.opts.Log.LogAttrs(r.Context(), level, "request refused",
		slog.Int("status", no.status), slog.String("error", no.code), slog.String("reason", no.description),
		slog.String("method", r.Method), slog.String("remote", r.RemoteAddr))
}

// schemes returns the schemes of the challenge. Bearer comes first, for
// clients that read only one challenge.
func (g *Guard) schemes(no *refusal) []string {
	switch {
	case g.proofs.required || no.scheme == dpop:
		return []string{dpop}
	case g.opts.DPoP != nil:
		return []string{bearer, dpop}
	}
	return []string{bearer}
}

func (g *Guard) challenge(scheme string, no *refusal) string {
	var params []string
	add := func(name, value string) {
		if value != "" {
			params = append(params, name+`="`+value+`"`)
		}
	}
	add("error", no.code)
	add("error_description", quotable(no.description))
	scopes := no.scopes
	if no.status == http.StatusUnauthorized {
		scopes = g.opts.Scopes
	}
	add("scope", strings.Join(slices.DeleteFunc(slices.Clone(scopes), func(s string) bool { return !isScope(s) }), " "))
	if scheme == dpop {
		add("algs", strings.Join(g.proofs.algorithmNames(), " "))
	}
	add("resource_metadata", g.documentURL)
	if len(params) == 0 {
		return scheme
	}
	return scheme + " " + strings.Join(params, ", ")
}

// quotable removes characters that cannot be quoted in a challenge.
func quotable(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '"' || r == '\\' || r < ' ' || r > '~' {
			return '\''
		}
		return r
	}, s)
}

// body returns the response body: a JSON-RPC error for an invalid message,
// and an OAuth error otherwise.
func (no *refusal) body() []byte {
	description := no.description
	if description == "" {
		description = "a token is required; see WWW-Authenticate"
	}
	if no.message != 0 {
		b := append([]byte(`{"jsonrpc":"2.0","id":null,"error":{"code":`), strconv.Itoa(no.message)...)
		b = rawjson.AppendString(append(b, `,"message":`...), description)
		return append(b, "}}\n"...)
	}
	code := no.code
	if code == "" {
		code = "unauthorized"
	}
	b := rawjson.AppendString([]byte(`{"error":`), code)
	b = rawjson.AppendString(append(b, `,"error_description":`...), description)
	return append(b, "}\n"...)
}

// Identify returns the principal of a token that a user has given in another way
// than in the Authorization header of a request, such as on a login page that the
// resource server shows in a browser. It verifies the token as [Guard.Wrap] does,
// except that it needs neither scopes nor a proof of possession. r is the request
// that it came with. The error says nothing about the token.
func (g *Guard) Identify(ctx context.Context, token string, r *http.Request) (*mcp.Principal, error) {
	if len(token) > maxToken || !isToken(token) {
		return nil, invalid("the token is empty or has invalid characters")
	}
	id, err := g.verifier.Verify(ctx, token, r)
	if err != nil {
		return nil, err
	}
	if id == nil || id.Principal.ID == "" {
		return nil, invalid("the token has no subject")
	}
	principal := id.Principal
	return &principal, nil
}
