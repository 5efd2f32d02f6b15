// Package tokens keeps what a login has brought, under a key, until it is
// needed again: in memory, in a file that only its owner can read, or (package
// tokens/keyring) in the keyring of the operating system.
//
// What is kept is a [Secret]: it has no text form, so that neither a log line
// nor an error shows it by accident.
package tokens

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
)

// A Store keeps secrets. It may be used by many goroutines at once. A key is
// any text; it is not secret.
type Store interface {
	// Load returns what was saved last, or an error that is [ErrNotFound].
	Load(ctx context.Context, key string) (Secret, error)
	// Save keeps a secret in place of the one before. Either the old one or
	// the new one is there afterwards, never a part.
	Save(ctx context.Context, key string, s Secret) error
	// Delete forgets a secret. That there is none is no error.
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

// ErrNotFound says that nothing is kept under a key.
var ErrNotFound = errors.New("nothing is kept under this key")

// ErrLocked says that another caller has held a lock for too long.
var ErrLocked = errors.New("another program has kept the lock for too long: try again later")

// A Secret is bytes that nobody may see. However it is printed, logged or
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

// A Memory is a Store that ends with the process. The zero value is empty and
// ready.
type Memory struct {
	mu   sync.Mutex
	kept map[string]Secret
}

// Load implements [Store].
func (m *Memory) Load(_ context.Context, key string) (Secret, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, ok := m.kept[key]
	if !ok {
		return nil, ErrNotFound
	}
	return append(Secret(nil), s...), nil
}

// Save implements [Store].
func (m *Memory) Save(_ context.Context, key string, s Secret) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.kept == nil {
		m.kept = map[string]Secret{}
	}
	m.kept[key] = append(Secret(nil), s...)
	return nil
}

// Delete implements [Store].
func (m *Memory) Delete(_ context.Context, key string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.kept, key)
	return nil
}

// Format hides what is kept from every verb of package fmt.
func (*Memory) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte("(secrets in memory)")) }
