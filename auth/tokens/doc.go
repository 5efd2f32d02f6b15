// Package tokens stores the tokens of logins under keys: in memory, in files
// that only their owner can read, or (package tokens/keyring) in the keyring
// of the operating system.
//
// A stored value is a [Secret], which has no text form, so that neither a
// log line nor an error shows it by accident.
package tokens

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
)

// A Store stores secrets. It is safe for concurrent use. A key is any text
// and is not secret.
type Store interface {
	// Load returns the secret saved last, or an error that is [ErrNotFound].
	Load(ctx context.Context, key string) (Secret, error)
	// Save replaces the secret of a key. It is atomic: the store has the old
	// secret or the new one.
	Save(ctx context.Context, key string, s Secret) error
	// Delete deletes a secret. It is not an error if there is none.
	Delete(ctx context.Context, key string) error
}

// A Locker is a Store that several processes share and that can keep them
// apart.
type Locker interface {
	// Lock waits until no other caller, in this process or another, holds the
	// lock of a key, and takes it until unlock is called. The system releases
	// it when the process ends. Lock gives up with ctx, or with an error that
	// is [ErrLocked].
	Lock(ctx context.Context, key string) (unlock func(), err error)
}

// ErrNotFound is the error for a key without a secret.
var ErrNotFound = errors.New("no secret is stored under this key")

// ErrLocked says that another caller has held a lock for too long.
var ErrLocked = errors.New("another program has held the lock for too long; try again later")

// A Secret is bytes that must not be shown. However it is printed, logged or
// encoded, only the word for it appears; convert it to []byte to use it.
type Secret []byte

const hidden = "(secret)"

// String hides the secret.
func (Secret) String() string { return hidden }

// Format hides the secret from every verb of package fmt.
func (Secret) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(hidden)) }

// LogValue hides the secret from package log/slog.
func (Secret) LogValue() slog.Value { return slog.StringValue(hidden) }

// MarshalText hides the secret from encoders.
func (Secret) MarshalText() ([]byte, error) { return []byte(hidden), nil }

// A Memory is a Store in memory. The zero value is empty and ready to use.
type Memory struct {
	mu      sync.Mutex
	secrets map[string]Secret
}

// Load implements [Store].
func (m *Memory) Load(_ context.Context, key string) (Secret, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, ok := m.secrets[key]
	if !ok {
		return nil, ErrNotFound
	}
	return append(Secret(nil), s...), nil
}

// Save implements [Store].
func (m *Memory) Save(_ context.Context, key string, s Secret) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.secrets == nil {
		m.secrets = map[string]Secret{}
	}
	m.secrets[key] = append(Secret(nil), s...)
	return nil
}

// Delete implements [Store].
func (m *Memory) Delete(_ context.Context, key string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.secrets, key)
	return nil
}

// Format hides the secrets from every verb of package fmt.
func (*Memory) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte("(secrets in memory)")) }
