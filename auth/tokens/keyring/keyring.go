// Package keyring stores tokens in the keyring of the operating system:
// Keychain on macOS, the Secret Service on Linux, the Credential Manager on
// Windows.
//
// It is a separate package, so that only programs that import it link the
// libraries for these.
package keyring

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"

	"github.com/tenon-mcp/tenon/auth/tokens"
	system "github.com/zalando/go-keyring"
)

// A Store is a [tokens.Store] in the keyring of the operating system.
type Store struct {
	// Service is the name of the entries in the keyring. Empty means "tenon".
	Service string

	// Fallback stores what the keyring cannot: everything if there is no
	// keyring (a server, a container), or a secret that is too long for it
	// (more than 2,560 bytes on Windows). Nil means that these are errors.
	Fallback tokens.Store
}

func (s *Store) service() string {
	if s.Service == "" {
		return "tenon"
	}
	return s.Service
}

// Load implements [tokens.Store].
func (s *Store) Load(ctx context.Context, key string) (tokens.Secret, error) {
	text, err := system.Get(s.service(), key)
	switch {
	case err == nil:
		secret, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return nil, fmt.Errorf("invalid keyring entry for %q", key)
		}
		return secret, nil
	case s.Fallback != nil:
		return s.Fallback.Load(ctx, key)
	case errors.Is(err, system.ErrNotFound):
		return nil, tokens.ErrNotFound
	}
	return nil, fmt.Errorf("load from the keyring: %w", err)
}

// Lock implements [tokens.Locker] with the Fallback. If the Fallback cannot
// lock, it does nothing.
func (s *Store) Lock(ctx context.Context, key string) (unlock func(), err error) {
	if l, ok := s.Fallback.(tokens.Locker); ok {
		return l.Lock(ctx, key)
	}
	return func() {}, nil
}

// Save implements [tokens.Store].
func (s *Store) Save(ctx context.Context, key string, secret tokens.Secret) error {
	err := system.Set(s.service(), key, base64.StdEncoding.EncodeToString(secret))
	switch {
	case err != nil && s.Fallback != nil:
		// Remove the old entry, so that it is not found again.
		_ = system.Delete(s.service(), key)
		return s.Fallback.Save(ctx, key, secret)
	case err != nil:
		return fmt.Errorf("save in the keyring: %w", err)
	case s.Fallback != nil:
		return s.Fallback.Delete(ctx, key)
	}
	return nil
}

// Delete implements [tokens.Store].
func (s *Store) Delete(ctx context.Context, key string) error {
	err := system.Delete(s.service(), key)
	if s.Fallback != nil {
		return s.Fallback.Delete(ctx, key)
	}
	if err != nil && !errors.Is(err, system.ErrNotFound) {
		return fmt.Errorf("delete from the keyring: %w", err)
	}
	return nil
}
