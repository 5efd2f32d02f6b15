package redistasks

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"time"

	"github.com/redis/rueidis"

	"github.com/tenon-mcp/tenon/ext/tasks"
)

// A task is in another slot of a Redis Cluster than the indexes of its owner and
// its runner. They are written before the record, so an index may have ids
// without a record, or with one that has ended: readers skip those.

// ownerKeys returns the keys of the indexes of an owner.
func (s *Store) ownerKeys(owner string) []string {
	digest := sha256.Sum256([]byte(owner))
	key := s.conn.Key("tasks", hex.EncodeToString(digest[:16]))
	return []string{key + ":created", key + ":expires"}
}

// extendFunction makes a key live as long as what was added to it; 0 means for
// ever. A key that did not exist before has no time to live yet.
const extendFunction = `
local function extend(key, existed, ttl)
	if ttl == 0 then redis.call('PERSIST', key) return end
	ttl = math.max(1, ttl)
	local left = redis.call('PTTL', key)
	if not existed or left >= 0 and left < ttl then redis.call('PEXPIRE', key, ttl) end
end
`

// reserveScript adds an id to the indexes of its owner, unless they have
// ARGV[4] ids that have not expired; -1 means any number. It replaces the time
// of expiry of an id that they have.
var reserveScript = rueidis.NewLuaScript(extendFunction + `
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
for _, id in ipairs(redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', now)) do
	redis.call('ZREM', KEYS[1], id)
	redis.call('ZREM', KEYS[2], id)
end
local known = redis.call('ZSCORE', KEYS[1], ARGV[1])
local most, ttl = tonumber(ARGV[4]), tonumber(ARGV[3])
if not known and most >= 0 and redis.call('ZCARD', KEYS[1]) >= most then return {'full'} end
local existed = redis.call('EXISTS', KEYS[1]) == 1
local expires = '+inf'
if ttl ~= 0 then expires = string.format('%.0f', now + ttl) end
redis.call('ZADD', KEYS[1], ARGV[2], ARGV[1])
redis.call('ZADD', KEYS[2], expires, ARGV[1])
extend(KEYS[1], existed, ttl)
extend(KEYS[2], existed, ttl)
if known then return {'known'} end
return {'ok'}`)

// reserve counts a record among those of its owner. added reports whether it was
// not counted before.
func (s *Store) reserve(ctx context.Context, r *tasks.Record, most int) (added bool, err error) {
	_, in := expiry(r)
	out, err := s.script(ctx, reserveScript, s.ownerKeys(r.Owner), r.Task.ID, strconv.FormatInt(r.Task.CreatedAt.UnixMilli(), 10), in, strconv.Itoa(most))
	if err != nil {
		return false, err
	}
	if out[0] == "full" {
		return false, tasks.ErrTooMany
	}
	return out[0] == "ok", nil
}

// unreserve reverses reserve.
func (s *Store) unreserve(ctx context.Context, r *tasks.Record) {
	_, _ = s.conn.Commands(ctx, func(b rueidis.Builder) (cmds []rueidis.Completed) {
		for _, key := range s.ownerKeys(r.Owner) {
			cmds = append(cmds, b.Zrem().Key(key).Member(r.Task.ID).Build())
		}
		return cmds
	}) // it expires
}

// List implements [tasks.Store].
func (s *Store) List(ctx context.Context, owner string, after tasks.Cursor, limit int) (all []*tasks.Record, err error) {
	for count := limit + 10; len(all) < limit; {
		page, more, err := s.page(ctx, owner, after, count)
		if err != nil {
			return nil, err
		}
		if len(page) == 0 && more { // all are of one moment
			count *= 2
			continue
		}
		ids := make([]string, len(page))
		for i, c := range page {
			ids[i] = c.ID
		}
		records, err := s.read(ctx, ids, "v", "d")
		if err != nil {
			return nil, err
		}
		for _, r := range records {
			if r != nil && r.Owner == owner && len(all) < limit {
				all = append(all, r)
			}
		}
		if !more {
			break
		}
		after = page[len(page)-1]
	}
	return all, nil
}

// page reads count entries of the index of an owner and returns those after a
// cursor. more reports whether there may be others.
func (s *Store) page(ctx context.Context, owner string, after tasks.Cursor, count int) (page []tasks.Cursor, more bool, err error) {
	from := "-inf"
	if after.ID != "" {
		from = strconv.FormatInt(after.Created.UnixMilli(), 10)
	}
	results, err := s.conn.Commands(ctx, func(b rueidis.Builder) []rueidis.Completed {
		return []rueidis.Completed{b.Zrangebyscore().Key(s.ownerKeys(owner)[0]).Min(from).Max("+inf").Withscores().Limit(0, int64(count)).Build()}
	})
	if err != nil {
		return nil, false, err
	}
	scores, err := results[0].AsZScores()
	if err != nil {
		return nil, false, err
	}
	for _, z := range scores {
		if c := (tasks.Cursor{Created: time.UnixMilli(int64(z.Score)), ID: z.Member}); after.ID == "" || c.Compare(after) > 0 {
			page = append(page, c)
		}
	}
	return page, len(scores) == count, nil
}
