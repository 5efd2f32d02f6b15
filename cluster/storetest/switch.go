package storetest

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/tenon-mcp/tenon/cluster"
)

// A Switch is a Store that a test can make unavailable. Subscriptions that exist
// then go on.
type Switch struct {
	cluster.Store
	off atomic.Bool
}

// Turn makes the Store available or unavailable.
func (s *Switch) Turn(on bool) { s.off.Store(!on) }

func (s *Switch) err() error {
	if s.off.Load() {
		return cluster.ErrUnavailable
	}
	return nil
}

// Get implements [cluster.Store].
func (s *Switch) Get(ctx context.Context, key string, extend time.Duration) ([]byte, int64, error) {
	if err := s.err(); err != nil {
		return nil, 0, err
	}
	return s.Store.Get(ctx, key, extend)
}

// Set implements [cluster.Store].
func (s *Switch) Set(ctx context.Context, key string, value []byte, version int64, ttl time.Duration) (int64, error) {
	if err := s.err(); err != nil {
		return 0, err
	}
	return s.Store.Set(ctx, key, value, version, ttl)
}

// Delete implements [cluster.Store].
func (s *Switch) Delete(ctx context.Context, key string) error {
	if err := s.err(); err != nil {
		return err
	}
	return s.Store.Delete(ctx, key)
}

// Once implements [cluster.Store].
func (s *Switch) Once(ctx context.Context, key string, ttl time.Duration) (bool, error) {
	if err := s.err(); err != nil {
		return false, err
	}
	return s.Store.Once(ctx, key, ttl)
}

// Acquire implements [cluster.Store].
func (s *Switch) Acquire(ctx context.Context, key, owner string, ttl time.Duration) (string, error) {
	if err := s.err(); err != nil {
		return "", err
	}
	return s.Store.Acquire(ctx, key, owner, ttl)
}

// Release implements [cluster.Store].
func (s *Switch) Release(ctx context.Context, key, owner string) error {
	if err := s.err(); err != nil {
		return err
	}
	return s.Store.Release(ctx, key, owner)
}

// Register implements [cluster.Store].
func (s *Switch) Register(ctx context.Context, group, member string, data []byte, ttl time.Duration) error {
	if err := s.err(); err != nil {
		return err
	}
	return s.Store.Register(ctx, group, member, data, ttl)
}

// Unregister implements [cluster.Store].
func (s *Switch) Unregister(ctx context.Context, group, member string) error {
	if err := s.err(); err != nil {
		return err
	}
	return s.Store.Unregister(ctx, group, member)
}

// Members implements [cluster.Store].
func (s *Switch) Members(ctx context.Context, group string) (map[string][]byte, error) {
	if err := s.err(); err != nil {
		return nil, err
	}
	return s.Store.Members(ctx, group)
}

// Take implements [cluster.Store].
func (s *Switch) Take(ctx context.Context, key string, n int, b cluster.Bucket) (time.Duration, error) {
	if err := s.err(); err != nil {
		return 0, err
	}
	return s.Store.Take(ctx, key, n, b)
}

// Append implements [cluster.Store].
func (s *Switch) Append(ctx context.Context, log string, data []byte, limit cluster.LogLimit) (string, error) {
	if err := s.err(); err != nil {
		return "", err
	}
	return s.Store.Append(ctx, log, data, limit)
}

// Read implements [cluster.Store].
func (s *Switch) Read(ctx context.Context, log, after string) ([]cluster.Entry, bool, error) {
	if err := s.err(); err != nil {
		return nil, false, err
	}
	return s.Store.Read(ctx, log, after)
}

// Publish implements [cluster.Store].
func (s *Switch) Publish(ctx context.Context, topic string, data []byte) error {
	if err := s.err(); err != nil {
		return err
	}
	return s.Store.Publish(ctx, topic, data)
}

// Subscribe implements [cluster.Store].
func (s *Switch) Subscribe(ctx context.Context, topic string, receive func(data []byte), lost func()) (func(), error) {
	if err := s.err(); err != nil {
		return nil, err
	}
	return s.Store.Subscribe(ctx, topic, receive, lost)
}

// Epoch implements [cluster.Store].
func (s *Switch) Epoch(ctx context.Context) (string, error) {
	if err := s.err(); err != nil {
		return "", err
	}
	return s.Store.Epoch(ctx)
}

// Now implements [cluster.Store].
func (s *Switch) Now(ctx context.Context) (time.Time, error) {
	if err := s.err(); err != nil {
		return time.Time{}, err
	}
	return s.Store.Now(ctx)
}
