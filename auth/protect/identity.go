package protect

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/mcp"
)

// A Verifier returns the identity of a token. It must check that the token
// is for this resource and valid now.
//
// An [*InvalidToken] error is shown to the client. An error that wraps
// [ErrUnavailable] means that the token cannot be verified now. Any other
// error refuses the token without a reason. A Verifier must not read the
// body of the request.
type Verifier interface {
	Verify(ctx context.Context, token string, r *http.Request) (*Identity, error)
}

// An Identity is the result of verifying a token.
type Identity struct {
	// Principal is the subject of the token.
	Principal mcp.Principal
	// Expires is when the token expires; zero means never.
	Expires time.Time
	// KeyThumbprint identifies the key that the token is bound to (cnf.jkt
	// of RFC 9449). Empty means a bearer token.
	KeyThumbprint string
}

// ErrUnavailable is wrapped by the error of a Verifier that cannot verify
// tokens now.
var ErrUnavailable = errors.New("tokens cannot be verified now")

// An InvalidToken is the error for a token that is refused.
type InvalidToken struct {
	// Reason is shown to the client. It must not contain anything that the
	// client does not know.
	Reason string
	// foreign means that another verifier may accept the token.
	foreign bool
}

func (e *InvalidToken) Error() string { return "invalid token: " + e.Reason }

func invalid(format string, args ...any) error {
	return &InvalidToken{Reason: fmt.Sprintf(format, args...)}
}

func foreign(reason string) error { return &InvalidToken{Reason: reason, foreign: true} }

// unavailable wraps an error that is logged but not shown to clients.
func unavailable(err error) error { return fmt.Errorf("%w: %w", ErrUnavailable, err) }

// AnyOf returns a Verifier that accepts a token if one of the verifiers
// accepts it; they are tried in order. If none does and one of them is
// unavailable, the error is ErrUnavailable. Nil verifiers are skipped.
func AnyOf(verifiers ...Verifier) Verifier {
	return anyOf(slices.DeleteFunc(slices.Clone(verifiers), func(v Verifier) bool { return v == nil }))
}

type anyOf []Verifier

func (all anyOf) Verify(ctx context.Context, token string, r *http.Request) (*Identity, error) {
	var worst error
	for _, v := range all {
		id, err := v.Verify(ctx, token, r)
		if err == nil {
			return id, nil
		}
		if worst == nil || weight(err) > weight(worst) {
			worst = err
		}
	}
	if worst == nil {
		worst = invalid("no verifier accepts this token")
	}
	return nil, worst
}

// weight orders errors by how much they say about a token.
func weight(err error) int {
	refused, ok := errors.AsType[*InvalidToken](err)
	switch {
	case errors.Is(err, ErrUnavailable):
		return 3
	case ok && !refused.foreign:
		return 2
	case !ok:
		return 1
	}
	return 0
}

type principalKey struct{}

// Principal returns the principal of a request that passed [Guard.Wrap], or
// nil. It can be used as the Principal option of the HTTP transports.
func Principal(r *http.Request) *mcp.Principal {
	p, _ := r.Context().Value(principalKey{}).(*mcp.Principal)
	return p
}

type tokenKey struct{}

// A keptToken is the token of a caller. It is not printed.
type keptToken struct{ text string }

func (keptToken) String() string               { return "(token)" }
func (t keptToken) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(t.String())) }
func (t keptToken) LogValue() slog.Value       { return slog.StringValue(t.String()) }

// withToken returns a context that has the token of a request that was
// admitted.
func withToken(ctx context.Context, r *http.Request) context.Context {
	given, no := readCredentials(r)
	if no != nil {
		return ctx
	}
	return context.WithValue(ctx, tokenKey{}, keptToken{given.token})
}

// Token returns the verified token of the caller of a request that passed
// [Guard.Wrap] with KeepToken, or "". ctx is the context of the request, or of an
// MCP call in it. The token is for this resource only: exchange it (RFC 8693),
// and never pass it on.
func Token(ctx context.Context) string {
	t, _ := ctx.Value(tokenKey{}).(keptToken)
	return t.text
}

const maxToken = 16 << 10

// The supported schemes of the Authorization header.
const (
	bearer = "Bearer"
	dpop   = "DPoP"
)

type credentials struct{ scheme, token string }

// readCredentials returns the token of a request. It must be in a single
// Authorization header; in a URL it would be logged.
func readCredentials(r *http.Request) (credentials, *refusal) {
	if strings.Contains(r.URL.RawQuery, "access_token") {
		if q, err := url.ParseQuery(r.URL.RawQuery); err != nil || q.Has("access_token") {
			return credentials{}, badRequest("a token must not be in the URL; send it in the Authorization header")
		}
	}
	switch given := r.Header["Authorization"]; {
	case len(given) == 0:
		return credentials{}, &refusal{status: http.StatusUnauthorized}
	case len(given) > 1:
		return credentials{}, badRequest("there must be only one Authorization header")
	case len(given[0]) > maxToken:
		return credentials{}, &refusal{status: http.StatusRequestHeaderFieldsTooLarge, code: "invalid_request", description: "the token is too long"}
	default:
		return parseCredentials(given[0])
	}
}

func parseCredentials(header string) (credentials, *refusal) {
	scheme, token, _ := strings.Cut(header, " ")
	token = strings.Trim(token, " ")
	switch {
	case strings.EqualFold(scheme, bearer):
		scheme = bearer
	case strings.EqualFold(scheme, dpop):
		scheme = dpop
	default:
		return credentials{}, &refusal{status: http.StatusUnauthorized} // as without credentials: RFC 6750 has no code for it
	}
	if !isToken(token) {
		return credentials{}, &refusal{status: http.StatusUnauthorized, scheme: scheme, code: "invalid_token", description: "the token is empty or has invalid characters"}
	}
	return credentials{scheme, token}, nil
}

// isToken reports whether s is a b64token of RFC 6750.
func isToken(s string) bool {
	body := strings.TrimRight(s, "=")
	for i := range len(body) {
		c := body[i]
		alphanumeric := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
		if !alphanumeric && strings.IndexByte("-._~+/", c) < 0 {
			return false
		}
	}
	return body != ""
}
