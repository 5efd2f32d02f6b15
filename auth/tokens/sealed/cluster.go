package sealed

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/auth/tokens"
	"github.com/tenon-mcp/tenon/cluster"
)

const (
	loginKey   = "login " // begins the keys of values and locks, before the digest
	loginGroup = "logins" // has the digests of all values
	defaultTTL = 90 * 24 * time.Hour
	lockTTL    = 30 * time.Second
	lockPoll   = 50 * time.Millisecond
	listTurn   = 24 * time.Hour // interval for listing a value that is used again
)

// Cluster is a [Store] in a cluster's store, for replicas that share it. Its locks
// go by the clock of the store, and end after 30 seconds at the latest.
type Cluster struct {
	// Store has the values. It is required.
	Store cluster.Store
	// Keys seal and open the values. They are required.
	Keys *Keys
	// TTL is how long a value is kept after it was last used. 0 means 90 days.
	TTL time.Duration

	mu     sync.Mutex
	listed map[string]time.Time // when this process listed a value last
}

func (c *Cluster) ttl() time.Duration { return cmp.Or(c.TTL, defaultTTL) }

// Load implements [tokens.Store]. A value that no key opens is an error that is
// [ErrKey].
func (c *Cluster) Load(ctx context.Context, name string) (tokens.Secret, error) {
	found, value, _, err := c.read(ctx, digest(name))
	if err == nil && found != name {
		err = ErrKey
	}
	if err != nil {
		return nil, err
	}
	return value, c.list(ctx, digest(name), false)
}

// Save implements [tokens.Store].
func (c *Cluster) Save(ctx context.Context, name string, s tokens.Secret) error {
	if err := c.list(ctx, digest(name), true); err != nil { // first, so that every value is listed
		return fmt.Errorf("save a token: %w", err)
	}
	if _, err := c.Store.Set(ctx, loginKey+digest(name), c.Keys.seal(name, s), cluster.AnyVersion, c.ttl()); err != nil {
		return fmt.Errorf("save a token: %w", err)
	}
	return nil
}

// list adds a value to the list, for twice as long as the value itself lives; if
// it is not new, once a day.
func (c *Cluster) list(ctx context.Context, digest string, isNew bool) error {
	now := time.Now()
	c.mu.Lock()
	due := isNew || now.Sub(c.listed[digest]) > min(listTurn, c.ttl()/2)
	c.mu.Unlock()
	if !due {
		return nil
	}
	if err := c.Store.Register(ctx, loginGroup, digest, nil, 2*c.ttl()); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.listed == nil || len(c.listed) > maxListed {
		c.listed = map[string]time.Time{}
	}
	c.listed[digest] = now
	return nil
}

// maxListed bounds what is remembered about values.
const maxListed = 100_000

// Delete implements [tokens.Store].
func (c *Cluster) Delete(ctx context.Context, name string) error {
	return c.remove(ctx, digest(name))
}

func (c *Cluster) remove(ctx context.Context, digest string) error {
	if err := c.Store.Delete(ctx, loginKey+digest); err != nil {
		return fmt.Errorf("delete a token: %w", err)
	}
	c.mu.Lock()
	delete(c.listed, digest)
	c.mu.Unlock()
	return c.Store.Unregister(ctx, loginGroup, digest)
}

// A lockError is why a lock could not be taken though nobody is known to have it.
// For a caller it is a [tokens.ErrLocked]: without the lock it must not go on.
type lockError struct{ cause error }

func (e *lockError) Error() string   { return "lock a token: " + e.cause.Error() }
func (e *lockError) Unwrap() error   { return e.cause }
func (*lockError) Is(err error) bool { return err == tokens.ErrLocked }

// Lock implements [tokens.Locker]. It waits 30 seconds at most. If the store is
// unavailable, the error is also a [tokens.ErrLocked].
func (c *Cluster) Lock(ctx context.Context, name string) (unlock func(), err error) {
	key, owner := loginKey+digest(name), rand.Text()
	timeout := time.NewTimer(lockTTL)
	defer timeout.Stop()
	for {
		holder, err := c.Store.Acquire(ctx, key, owner, lockTTL)
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil:
			return nil, &lockError{err}
		case holder == owner:
			return func() { _ = c.Store.Release(context.WithoutCancel(ctx), key, owner) }, nil // else it ends by itself
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-timeout.C:
			return nil, fmt.Errorf("lock a token: %w", tokens.ErrLocked)
		case <-time.After(lockPoll):
		}
	}
}

// Names implements [Store].
func (c *Cluster) Names(ctx context.Context) (names []string, unreadable int, err error) {
	return namesIn(ctx, c)
}

// Reseal implements [Store].
func (c *Cluster) Reseal(ctx context.Context) (n int, err error) { return resealIn(ctx, c) }

// DeleteUnreadable implements [Store].
func (c *Cluster) DeleteUnreadable(ctx context.Context) (n int, err error) {
	return deleteUnreadableIn(ctx, c)
}

func (c *Cluster) digests(ctx context.Context) ([]string, error) {
	all, err := c.Store.Members(ctx, loginGroup)
	if err != nil {
		return nil, fmt.Errorf("list the stored logins: %w", err)
	}
	return slices.Collect(maps.Keys(all)), nil
}

func (c *Cluster) read(ctx context.Context, digest string) (name string, value []byte, current bool, err error) {
	data, version, err := c.Store.Get(ctx, loginKey+digest, c.ttl())
	if err != nil {
		return "", nil, false, fmt.Errorf("load a token: %w", err)
	}
	if version == 0 {
		return "", nil, false, tokens.ErrNotFound
	}
	return c.Keys.open(digest, data)
}
