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

// A Verifier says whose token it is. It must check that the token was meant for
// this resource, and that it is good now.
//
// An error that is an [*InvalidToken] is shown to the client; one that wraps
// [ErrUnavailable] means that nobody can tell at present. Any other error
// refuses the token without a reason. The request is for looking at; its body
// must not be read.
type Verifier interface {
	Verify(ctx context.Context, token string, r *http.Request) (*Identity, error)
}

// An Identity is what a token says, once it was verified.
type Identity struct {
	// Principal is who the token stands for.
	Principal mcp.Principal
	// Expires is when the token ends; zero means never.
	Expires time.Time
	// KeyThumbprint is the key that the token is bound to (cnf.jkt of RFC
	// 9449). Empty means that whoever bears the token may use it.
	KeyThumbprint string
}

// ErrUnavailable is in the error of a Verifier that could not find out.
var ErrUnavailable = errors.New("tokens cannot be verified at present")

// InvalidToken refuses a token.
type InvalidToken struct {
	// Reason is told to the client. It must hold nothing that the client does
	// not know already.
	Reason string
	// foreign means that the token is of a kind that another verifier may know.
	foreign bool
}

func (e *InvalidToken) Error() string { return "invalid token: " + e.Reason }

func invalid(format string, args ...any) error {
	return &InvalidToken{Reason: fmt.Sprintf(format, args...)}
}

func foreign(reason string) error { return &InvalidToken{Reason: reason, foreign: true} }

// unavailable hides the details from clients and keeps them for the log.
func unavailable(err error) error { return fmt.Errorf("%w: %w", ErrUnavailable, err) }

// AnyOf accepts a token that one of the verifiers accepts; they are asked in
// order. If none does, and one of them could not find out, neither can AnyOf.
// Nil verifiers are left out.
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
		worst = invalid("no verifier knows this token")
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

// Principal says who sent a request that came through [Guard.Wrap], and nil for
// any other. It fits the Principal option of the HTTP transports.
func Principal(r *http.Request) *mcp.Principal {
	p, _ := r.Context().Value(principalKey{}).(*mcp.Principal)
	return p
}
