package credential

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/auth/tokens"
)

// A Login is a login of a caller at an API, without its tokens.
type Login struct {
	API     string    // the name in the file; empty for a login of an older version
	Issuer  string    // of the caller
	Subject string    // the ID of the caller
	At      time.Time // zero for a login of an older version

	key string
}

// callerKey begins the keys of callers, after the prefix of the API.
const callerKey = "caller "

// Logins returns the logins of callers in a store of which these are all keys, sorted
// by API and caller.
func Logins(ctx context.Context, store tokens.Store, keys []string) ([]Login, error) {
	var all []Login
	for _, key := range keys {
		words := strings.SplitN(key, " ", 3)
		if len(words) != 3 || words[0] != "api" {
			continue
		}
		who, ok := strings.CutPrefix(words[2], callerKey)
		if !ok {
			continue
		}
		raw, err := store.Load(ctx, key)
		if errors.Is(err, tokens.ErrNotFound) {
			continue // removed meanwhile
		}
		if err != nil {
			return nil, err
		}
		one := Login{key: key}
		one.Issuer, one.Subject, _ = strings.Cut(who, "\x00")
		if t := decodeToken(raw); t != nil {
			one.API, one.At = t.API, t.Since
		}
		all = append(all, one)
	}
	slices.SortFunc(all, func(a, b Login) int {
		return cmp.Or(cmp.Compare(a.API, b.API), cmp.Compare(a.Issuer, b.Issuer), cmp.Compare(a.Subject, b.Subject))
	})
	return all, nil
}

// Remove removes the login from its store. Servers that run notice it within seconds.
func (l *Login) Remove(ctx context.Context, store tokens.Store) error {
	return store.Delete(ctx, l.key)
}
