package redistasks

import (
	"context"
	"strconv"
	"time"

	"github.com/redis/rueidis"

	"github.com/tenon-mcp/tenon/ext/tasks"
)

// deadRunners is how many runners that are gone are looked at in one go.
const deadRunners = 100

func (s *Store) runnersKey() []string { return []string{s.conn.Key("runners", "tasks")} }

func (s *Store) runsKey(runner string) []string { return []string{s.conn.Key("runs", runner)} }

// addRunScript adds a task to those of a runner.
var addRunScript = rueidis.NewLuaScript(extendFunction + `
local existed = redis.call('EXISTS', KEYS[1]) == 1
redis.call('SADD', KEYS[1], ARGV[1])
extend(KEYS[1], existed, tonumber(ARGV[2]))
return {}`)

func (s *Store) addRun(ctx context.Context, r *tasks.Record) error {
	if r.Runner == "" || r.Task.Status.Final() {
		return nil
	}
	_, in := expiry(r)
	_, err := s.script(ctx, addRunScript, s.runsKey(r.Runner), r.Task.ID, in)
	return err
}

// removeRuns removes tasks from those of a runner.
func (s *Store) removeRuns(ctx context.Context, runner string, ids ...string) {
	if len(ids) == 0 {
		return
	}
	_, _ = s.conn.Commands(ctx, func(b rueidis.Builder) []rueidis.Completed {
		return []rueidis.Completed{b.Srem().Key(s.runsKey(runner)[0]).Member(ids...).Build()}
	}) // Interrupted removes them, too
}

// nowFunction returns the time in milliseconds.
const nowFunction = `
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
`

// keepRunners is how long a runner that is gone is kept in case that it has
// tasks.
const keepRunners = 7 * 24 * time.Hour

// renewScript makes a runner alive for ARGV[2] ms.
var renewScript = rueidis.NewLuaScript(nowFunction + `
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', string.format('%.0f', now - tonumber(ARGV[3])))
redis.call('ZADD', KEYS[1], string.format('%.0f', now + tonumber(ARGV[2])), ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return {}`)

// Renew implements [tasks.Store].
func (s *Store) Renew(ctx context.Context, runner string, d time.Duration) error {
	_, err := s.script(ctx, renewScript, s.runnersKey(), runner, strconv.FormatInt(d.Milliseconds(), 10), strconv.FormatInt((keepRunners+d).Milliseconds(), 10))
	return err
}

var aliveScript = rueidis.NewLuaScript(nowFunction + `
local ends = redis.call('ZSCORE', KEYS[1], ARGV[1])
if ends and tonumber(ends) > now then return {'alive'} end
return {'gone'}`)

// Alive implements [tasks.Store].
func (s *Store) Alive(ctx context.Context, runner string) (bool, error) {
	out, err := s.script(ctx, aliveScript, s.runnersKey(), runner)
	return err == nil && out[0] == "alive", err
}

// goneScript returns runners that are gone, after it has forgotten those in
// ARGV[2] and later if they still are.
var goneScript = rueidis.NewLuaScript(nowFunction + `
for i = 2, #ARGV do
	local ends = redis.call('ZSCORE', KEYS[1], ARGV[i])
	if ends and tonumber(ends) <= now - 60000 then redis.call('ZREM', KEYS[1], ARGV[i]) end
end
return redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now, 'LIMIT', 0, ARGV[1])`)

// Interrupted implements [tasks.Store].
func (s *Store) Interrupted(ctx context.Context, limit int) (ids []string, err error) {
	gone, err := s.script(ctx, goneScript, s.runnersKey(), strconv.Itoa(deadRunners))
	if err != nil {
		return nil, err
	}
	var empty []string
	for _, runner := range gone {
		some, none, err := s.runsOf(ctx, runner, limit-len(ids))
		if err != nil {
			return nil, err
		}
		if ids = append(ids, some...); none {
			empty = append(empty, runner)
		}
		if len(ids) >= limit {
			break
		}
	}
	if len(empty) > 0 {
		_, err = s.script(ctx, goneScript, s.runnersKey(), append([]string{"0"}, empty...)...)
	}
	return ids, err
}

// runsOf returns at most limit tasks of a runner that have not ended. none
// reports that it has no task at all. Tasks that another runner has taken over
// are moved to that one.
func (s *Store) runsOf(ctx context.Context, runner string, limit int) (open []string, none bool, err error) {
	results, err := s.conn.Commands(ctx, func(b rueidis.Builder) []rueidis.Completed {
		return []rueidis.Completed{b.Srandmember().Key(s.runsKey(runner)[0]).Count(int64(limit)).Build()}
	})
	if err != nil {
		return nil, false, err
	}
	ids, err := results[0].AsStrSlice()
	if err != nil || len(ids) == 0 {
		return nil, err == nil, err
	}
	records, err := s.read(ctx, ids, "v", "d")
	if err != nil {
		return nil, false, err
	}
	var others []string
	for i, r := range records {
		if r != nil && r.Runner == runner && !r.Task.Status.Final() {
			open = append(open, ids[i])
			continue
		}
		if r != nil {
			if err := s.addRun(ctx, r); err != nil {
				return nil, false, err
			}
		}
		others = append(others, ids[i])
	}
	s.removeRuns(ctx, runner, others...)
	return open, false, nil
}
