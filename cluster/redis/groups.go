package redis

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/rueidis"

	"github.com/tenon-mcp/tenon/cluster"
)

// registerScript adds the member ARGV[1] with the data ARGV[3] for ARGV[2] ms.
// A member's field begins with the time in ms at which it expires. From time to
// time it removes expired members, in case nobody asks for them.
var registerScript = rueidis.NewLuaScript(`
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local ttl = tonumber(ARGV[2])
redis.call('HSET', KEYS[1], ARGV[1], string.format('%016.0f', now + ttl) .. ARGV[3])
if redis.call('PTTL', KEYS[1]) < ttl then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
if t[2] % 256 == 0 then
	local all = redis.call('HGETALL', KEYS[1])
	for i = 1, #all, 2 do
		if tonumber(string.sub(all[i + 1], 1, 16)) <= now then redis.call('HDEL', KEYS[1], all[i]) end
	end
end
return 0`)

// Register implements [cluster.Store].
func (s *Store) Register(ctx context.Context, group, member string, data []byte, ttl time.Duration) error {
	if err := errors.Join(cluster.CheckKeys(group, member), cluster.CheckValue(data), cluster.CheckTTL(ttl)); err != nil {
		return err
	}
	_, err := s.script(ctx, registerScript, s.key(kindGroup, group), member, milliseconds(ttl), string(data))
	return err
}

// Unregister implements [cluster.Store].
func (s *Store) Unregister(ctx context.Context, group, member string) error {
	if err := cluster.CheckKeys(group, member); err != nil {
		return err
	}
	_, err := s.command(ctx, func(c rueidis.Client) rueidis.Completed {
		return c.B().Hdel().Key(s.key(kindGroup, group)).Field(member).Build()
	})
	return err
}

// membersScript returns the live members with their data and removes the others.
var membersScript = rueidis.NewLuaScript(`
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local all, live = redis.call('HGETALL', KEYS[1]), {}
for i = 1, #all, 2 do
	if tonumber(string.sub(all[i + 1], 1, 16)) > now then
		live[#live + 1] = all[i]
		live[#live + 1] = string.sub(all[i + 1], 17)
	else
		redis.call('HDEL', KEYS[1], all[i])
	end
end
return live`)

// Members implements [cluster.Store].
func (s *Store) Members(ctx context.Context, group string) (map[string][]byte, error) {
	if err := cluster.CheckKeys(group); err != nil {
		return nil, err
	}
	r, err := s.script(ctx, membersScript, s.key(kindGroup, group))
	if err != nil {
		return nil, err
	}
	flat, err := r.AsStrSlice()
	if err != nil {
		return nil, fmt.Errorf("redis: %w", err)
	}
	members := map[string][]byte{}
	for i := 0; i+1 < len(flat); i += 2 {
		members[flat[i]] = []byte(flat[i+1])
	}
	return members, nil
}
