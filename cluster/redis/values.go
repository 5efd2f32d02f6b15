package redis

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/rueidis"

	"github.com/tenon-mcp/tenon/cluster"
)

// Kinds of keys.
const (
	kindValue  = "v"
	kindUse    = "u"
	kindLease  = "l"
	kindGroup  = "g"
	kindBucket = "b"
	kindLog    = "s"
	kindTopic  = "t"
)

// milliseconds returns a time to live for Redis, rounded up.
func milliseconds(d time.Duration) string {
	return strconv.FormatInt(ceilMilliseconds(d), 10)
}

func ceilMilliseconds(d time.Duration) int64 {
	return int64((d + time.Millisecond - 1) / time.Millisecond)
}

// versionLen is the length of the version that a value begins with: decimal
// digits of microseconds.
const versionLen = 16

// Get implements [cluster.Store]. It is one command of Redis.
func (s *Store) Get(ctx context.Context, key string, extend time.Duration) ([]byte, int64, error) {
	if err := cluster.CheckKeys(key); err != nil {
		return nil, 0, err
	}
	r, err := s.command(ctx, func(c rueidis.Client) rueidis.Completed {
		k := s.key(kindValue, key)
		if extend > 0 {
			return c.B().Getex().Key(k).PxMilliseconds(ceilMilliseconds(extend)).Build()
		}
		return c.B().Get().Key(k).Build()
	})
	if err != nil {
		return nil, 0, err
	}
	stored, err := r.AsBytes()
	if rueidis.IsRedisNil(err) {
		return nil, 0, nil
	}
	if err != nil || len(stored) < versionLen {
		return nil, 0, errors.New("redis: a value is not one of this store")
	}
	version, err := strconv.ParseInt(string(stored[:versionLen]), 10, 64)
	if err != nil {
		return nil, 0, errors.New("redis: a value is not one of this store")
	}
	return stored[versionLen:], version, nil
}

// setScript stores ARGV[3] for ARGV[2] ms if the version is ARGV[1]. It returns
// the new version, or nothing if there is another.
var setScript = rueidis.NewLuaScript(`
local stored = redis.call('GETRANGE', KEYS[1], 0, 15)
local version = 0
if stored ~= '' then version = tonumber(stored) end
if ARGV[1] ~= '-1' and tonumber(ARGV[1]) ~= version then return '' end
local t = redis.call('TIME')
local new = string.format('%016.0f', math.max(version + 1, t[1] * 1000000 + t[2]))
redis.call('SET', KEYS[1], new .. ARGV[3], 'PX', ARGV[2])
return new`)

// Set implements [cluster.Store].
func (s *Store) Set(ctx context.Context, key string, value []byte, version int64, ttl time.Duration) (int64, error) {
	if err := errors.Join(cluster.CheckKeys(key), cluster.CheckValue(value), cluster.CheckTTL(ttl)); err != nil {
		return 0, err
	}
	r, err := s.script(ctx, setScript, s.key(kindValue, key), strconv.FormatInt(version, 10), milliseconds(ttl), string(value))
	if err != nil {
		return 0, err
	}
	text, err := r.ToString()
	if err != nil {
		return 0, fmt.Errorf("redis: %w", err)
	}
	if text == "" {
		return 0, cluster.ErrConflict
	}
	return strconv.ParseInt(text, 10, 64)
}

// Delete implements [cluster.Store].
func (s *Store) Delete(ctx context.Context, key string) error {
	if err := cluster.CheckKeys(key); err != nil {
		return err
	}
	_, err := s.command(ctx, func(c rueidis.Client) rueidis.Completed {
		return c.B().Del().Key(s.key(kindValue, key)).Build()
	})
	return err
}

// Once implements [cluster.Store].
func (s *Store) Once(ctx context.Context, key string, ttl time.Duration) (bool, error) {
	if err := errors.Join(cluster.CheckKeys(key), cluster.CheckTTL(ttl)); err != nil {
		return false, err
	}
	r, err := s.command(ctx, func(c rueidis.Client) rueidis.Completed {
		return c.B().Set().Key(s.key(kindUse, key)).Value("").Nx().PxMilliseconds(ceilMilliseconds(ttl)).Build()
	})
	if err != nil {
		return false, err
	}
	return !rueidis.IsRedisNil(r.Error()), nil
}

// acquireScript takes or renews a lease for ARGV[1] and returns its holder.
var acquireScript = rueidis.NewLuaScript(`
local holder = redis.call('GET', KEYS[1])
if not holder then
	redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
	return ARGV[1]
end
if holder == ARGV[1] then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return holder`)

// Acquire implements [cluster.Store].
func (s *Store) Acquire(ctx context.Context, key, owner string, ttl time.Duration) (string, error) {
	if err := errors.Join(cluster.CheckKeys(key, owner), cluster.CheckTTL(ttl)); err != nil {
		return "", err
	}
	r, err := s.script(ctx, acquireScript, s.key(kindLease, key), owner, milliseconds(ttl))
	if err != nil {
		return "", err
	}
	return r.ToString()
}

var releaseScript = rueidis.NewLuaScript(`
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end
return 0`)

// Release implements [cluster.Store].
func (s *Store) Release(ctx context.Context, key, owner string) error {
	if err := cluster.CheckKeys(key, owner); err != nil {
		return err
	}
	_, err := s.script(ctx, releaseScript, s.key(kindLease, key), owner)
	return err
}

// takeScript takes ARGV[1] tokens from a bucket with the rate ARGV[2] and the
// burst ARGV[3], which is full again after ARGV[4] ms. It returns how long to
// wait, in microseconds. ARGV[5] is what a token may lack because times are
// rounded.
var takeScript = rueidis.NewLuaScript(`
local n, rate, burst = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local t = redis.call('TIME')
local now = t[1] * 1000000 + t[2]
local tokens = burst
local stored = redis.call('HMGET', KEYS[1], 'tokens', 'at')
if stored[1] then
	local at = tonumber(stored[2])
	tokens = math.min(burst, tonumber(stored[1]) + math.max(0, now - at) / 1000000 * rate)
	if now < at then redis.call('HSET', KEYS[1], 'at', string.format('%.0f', now)) end
elseif n < 0 then
	return '0'
end
if n > tokens + tonumber(ARGV[5]) then
	return string.format('%.0f', math.max(1, math.ceil((n - tokens) / rate * 1000000)))
end
tokens = math.min(burst, math.max(0, tokens - n))
redis.call('HSET', KEYS[1], 'tokens', string.format('%.17g', tokens), 'at', string.format('%.0f', now))
redis.call('PEXPIRE', KEYS[1], ARGV[4])
return '0'`)

// Take implements [cluster.Store].
func (s *Store) Take(ctx context.Context, key string, n int, b cluster.Bucket) (time.Duration, error) {
	if err := errors.Join(cluster.CheckKeys(key), b.Check(n)); err != nil {
		return 0, err
	}
	r, err := s.script(ctx, takeScript, s.key(kindBucket, key), strconv.Itoa(n),
		strconv.FormatFloat(b.Rate, 'g', -1, 64), strconv.Itoa(b.Burst), milliseconds(b.FillTime()),
		strconv.FormatFloat(cluster.TokenRounding, 'g', -1, 64))
	if err != nil {
		return 0, err
	}
	text, err := r.ToString()
	if err != nil {
		return 0, fmt.Errorf("redis: %w", err)
	}
	wait, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0, fmt.Errorf("redis: %w", err)
	}
	return time.Duration(min(wait, float64(cluster.MaxWait/time.Microsecond))) * time.Microsecond, nil
}
