package protect

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
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
