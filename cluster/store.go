// Package cluster lets several processes serve as one.
//
// A [Store] holds the little that such processes, called replicas, share:
// values with versions, leases, members, token buckets, bounded logs and
// published messages. [Memory] is a Store for one process; package
// cluster/redis has one for many machines.
package cluster

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"
)

// Errors of a [Store]. They are wrapped: test them with [errors.Is].
var (
	// ErrUnavailable means that the store cannot be reached or does not answer
	// in time. Whether a write took effect is unknown.
	ErrUnavailable = errors.New("the cluster store is unavailable")
	// ErrConflict means that the stored version is not the expected one.
	ErrConflict = errors.New("the value was changed")
	// ErrFull means that the store has no memory left for another write.
	ErrFull = errors.New("the cluster store is full")
	// ErrTooLarge means that a value, message or log entry exceeds its limit.
	ErrTooLarge = errors.New("too large for the cluster store")
	// ErrClosed means that the store was closed by its owner.
	ErrClosed = errors.New("the cluster store is closed")
)

// Bounds of every [Store].
const (
	MaxKey   = 1024    // bytes of a key, owner, member, log or topic
	MaxValue = 4 << 20 // bytes of a value, message or log entry
)

// AnyVersion makes [Store.Set] replace whatever is stored.
const AnyVersion int64 = -1

// A Store is what replicas share.
//
// Keys of values, uses, leases, groups, buckets and logs are separate: the same
// key names a different thing in each. Everything that is stored has a time to
// live, which must be positive and is measured by the clock of the store: the
// clocks of replicas do not matter.
//
// Every method returns within a deadline of the store's own (a few seconds)
// even if ctx has none, and returns [ErrUnavailable] at once while the store is
// known to be away; a store recovers by itself. All methods may be called
// concurrently.
type Store interface {
	// Get returns the value of key and its version. If extend is positive, the
	// value's time to live is set to extend. Version 0 means that there is no
	// value. The caller owns the returned bytes.
	Get(ctx context.Context, key string, extend time.Duration) (value []byte, version int64, err error)

	// Set stores a value if version is the stored one: 0 requires that there is
	// none, AnyVersion replaces any. Otherwise it returns ErrConflict. Versions
	// are positive and grow; a key that was deleted does not get an earlier
	// version again.
	Set(ctx context.Context, key string, value []byte, version int64, ttl time.Duration) (newVersion int64, err error)

	// Delete removes the value of key, if there is one.
	Delete(ctx context.Context, key string) error

	// Once reports whether this is the first use of key within ttl: of all
	// callers, exactly one is told true.
	Once(ctx context.Context, key string, ttl time.Duration) (first bool, err error)

	// Acquire takes the lease of key for owner if it is free, or renews it if
	// owner has it, and returns who holds it now. The caller holds the lease if
	// that is owner.
	Acquire(ctx context.Context, key, owner string, ttl time.Duration) (holder string, err error)

	// Release frees the lease of key if owner has it.
	Release(ctx context.Context, key, owner string) error

	// Register adds a member with its data to a group, or replaces its data and
	// time to live. A member that is not registered again within ttl is gone.
	Register(ctx context.Context, group, member string, data []byte, ttl time.Duration) error

	// Unregister removes a member of a group.
	Unregister(ctx context.Context, group, member string) error

	// Members returns the live members of a group with their data, in no order.
	Members(ctx context.Context, group string) (map[string][]byte, error)

	// Take takes n tokens from a bucket, which is full when first used. If it
	// has fewer, Take takes none and returns how long to wait for them. A
	// negative n gives tokens back.
	Take(ctx context.Context, key string, n int, b Bucket) (wait time.Duration, err error)

	// Append adds an entry to a log and returns its position. It drops the
	// oldest entries beyond limit and sets the log's time to live.
	Append(ctx context.Context, log string, data []byte, limit LogLimit) (position string, err error)

	// Read returns the entries of a log that follow a position ("": the start
	// of the log), oldest first. complete reports that none is missing between
	// that position and the first entry returned: false if entries were
	// dropped, or if the log that the position is of has expired.
	Read(ctx context.Context, log, after string) (entries []Entry, complete bool, err error)

	// Publish sends data to all present subscribers of a topic, those of this
	// replica included. Nothing is stored.
	Publish(ctx context.Context, topic string, data []byte) error

	// Subscribe calls receive with each message published to topic, one at a
	// time in order, from when Subscribe returns until stop is called. It calls
	// lost, never at the same time as receive, after messages may have been
	// missed: the connection failed and is restored, or the receiver was too
	// slow. ctx applies to Subscribe itself only. stop waits until a running
	// callback has returned; it must not be called by a callback.
	Subscribe(ctx context.Context, topic string, receive func(data []byte), lost func()) (stop func(), err error)

	// Epoch identifies the data set: it changes when the store was emptied, for
	// example restarted without its data. It is cheap: most calls answer from
	// memory, refreshed after each reconnection and every few seconds.
	Epoch(ctx context.Context) (string, error)

	// Now returns the time by the clock of the store, within about the time of
	// a round trip. It is as cheap as Epoch.
	Now(ctx context.Context) (time.Time, error)

	// Close ends all subscriptions and releases resources.
	Close() error
}

// A Bucket describes a token bucket.
type Bucket struct {
	Rate  float64 // tokens per second that are added
	Burst int     // tokens that the bucket can hold
}

// A LogLimit bounds a log.
type LogLimit struct {
	Entries int           // number of entries kept
	Bytes   int           // total size of the entries kept; an entry alone must not exceed it
	TTL     time.Duration // time to live after the last Append
}

// An Entry is one entry of a log.
type Entry struct {
	Position string
	Data     []byte
}

// The following checks are the same for every Store; they are exported for
// implementations.

// CheckKeys returns an error if a key is empty or longer than MaxKey.
func CheckKeys(keys ...string) error {
	for _, k := range keys {
		if k == "" {
			return errors.New("cluster store: empty key")
		}
		if len(k) > MaxKey {
			return fmt.Errorf("cluster store: key of %d bytes: %w", len(k), ErrTooLarge)
		}
	}
	return nil
}

// CheckValue returns an error if a value exceeds MaxValue.
func CheckValue(value []byte) error {
	if len(value) > MaxValue {
		return fmt.Errorf("cluster store: value of %d bytes: %w", len(value), ErrTooLarge)
	}
	return nil
}

// CheckTTL returns an error unless ttl is at least a millisecond.
func CheckTTL(ttl time.Duration) error {
	if ttl < time.Millisecond {
		return fmt.Errorf("cluster store: time to live %v is less than a millisecond", ttl)
	}
	return nil
}

// Check returns an error unless n tokens can ever be taken from the bucket.
func (b Bucket) Check(n int) error {
	switch {
	case !(b.Rate > 0) || math.IsInf(b.Rate, 0) || b.Burst < 1:
		return fmt.Errorf("cluster store: bucket with rate %v and burst %d", b.Rate, b.Burst)
	case n == 0 || n > b.Burst:
		return fmt.Errorf("cluster store: cannot take %d tokens from a bucket that holds %d", n, b.Burst)
	}
	return nil
}

// Check returns an error unless the limit is valid and allows the entry.
func (l LogLimit) Check(data []byte) error {
	if l.Entries < 1 || l.Bytes < 1 {
		return fmt.Errorf("cluster store: log limit of %d entries and %d bytes", l.Entries, l.Bytes)
	}
	if len(data) > l.Bytes {
		return fmt.Errorf("cluster store: entry of %d bytes in a log of %d: %w", len(data), l.Bytes, ErrTooLarge)
	}
	if err := CheckTTL(l.TTL); err != nil {
		return err
	}
	return CheckValue(data)
}

// FillTime returns how long an empty bucket takes to fill.
func (b Bucket) FillTime() time.Duration {
	s := float64(b.Burst) / b.Rate * float64(time.Second)
	return max(time.Millisecond, time.Duration(min(s, float64(MaxWait))))
}

const (
	// MaxWait is the longest time that Take tells a caller to wait, and for which
	// a bucket is stored.
	MaxWait = 365 * 24 * time.Hour
	// TokenRounding is the part of a token that a bucket may lack because times
	// are rounded.
	TokenRounding = 1e-4
)
