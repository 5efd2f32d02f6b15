// Package redistasks keeps tasks in Redis, so that they survive a machine and
// every replica of a server finds them.
//
//	shared, err := redis.Open(ctx, "redis://localhost", nil) // cluster/redis
//	store, err := redistasks.New(ctx, shared)
//	m, err := tasks.NewManager(s, &tasks.Options{Store: store})
//
// What is stored, all with a time to live and below the prefix of the
// connection:
//
//	task:{id}              a hash: the record, its version, its result
//	tasks:{owner}:created  the ids of an owner (a digest), by the time of creation
//	tasks:{owner}:expires  the same ids, by the time when they expire
//	runs:{runner}          the ids of the tasks that a process runs
//	runners:{tasks}        the processes, by the time when their leases end
//
// A record changes in one step, a script that compares the version first and
// publishes the id of the task. The version is also the position of a
// subscriber, and tells which changes it has seen.
//
// All times are those of the Redis server. The clocks of replicas matter only
// for the times that clients see.
package redistasks

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"github.com/tenon-mcp/tenon/cluster"
	"github.com/tenon-mcp/tenon/cluster/redis"
	"github.com/tenon-mcp/tenon/cluster/redis/internal/raw"
	"github.com/tenon-mcp/tenon/ext/tasks"
	"github.com/tenon-mcp/tenon/mcp"
)

// A Store is a [tasks.Store] in Redis. While Redis is away, its methods fail at
// once; it recovers by itself.
type Store struct {
	conn  raw.Conn
	watch tasks.Watchers
	stop  func() // ends the subscription to changes
	poll  func() // ends the calls of pollEvery
}

// pollEvery is how long the hint of a change may be missing on a Redis Cluster.
// The node that has a task publishes its changes, and while the connection from
// there to the node of the subscription is interrupted, they are lost, which
// neither end notices.
const pollEvery = 5 * time.Second

var _ tasks.Store = (*Store)(nil)

// topic has the ids of the tasks that change.
const topic = "tasks"

// maxID is the largest size of an id in bytes; longer ids are unknown.
const maxID = 256

// New returns a store on a connection, which the caller closes after the store.
func New(ctx context.Context, shared *redis.Store) (*Store, error) {
	s := &Store{conn: shared.Raw()}
	var err error
	s.stop, err = shared.Subscribe(ctx, topic, func(id []byte) { s.watch.Notify(string(id)) }, s.watch.NotifyAll)
	if err != nil {
		return nil, fmt.Errorf("open the task store: %w", err)
	}
	s.poll = func() {}
	if s.conn.Clustered() {
		s.poll = every(pollEvery, s.watch.NotifyAll)
	}
	return s, nil
}

// every calls f at intervals until stop is called.
func every(d time.Duration, f func()) (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(d)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				f()
			case <-done:
				return
			}
		}
	}()
	return sync.OnceFunc(func() { close(done); <-ended })
}

// Close ends the store. Its tasks stay.
func (s *Store) Close() error {
	s.poll()
	s.stop()
	return nil
}

func (s *Store) taskKey(id string) []string { return []string{s.conn.Key("task", id)} }

// script runs a script that returns a list of texts.
func (s *Store) script(ctx context.Context, l *rueidis.Lua, keys []string, args ...string) ([]string, error) {
	r, err := s.conn.Script(ctx, l, keys, args...)
	if errors.Is(err, cluster.ErrFull) {
		return nil, fmt.Errorf("%w: %w", tasks.ErrFull, err)
	}
	if err != nil {
		return nil, err
	}
	return r.AsStrSlice()
}

// encode returns a record without its result.
func encode(r *tasks.Record) (string, error) {
	c := *r
	c.Task.Result = nil
	raw, err := mcp.Marshal(c)
	return string(raw), err
}

// expiry returns when a record expires, as it says itself, and in how many
// milliseconds that is, -1 if that has passed; both are 0 if never.
func expiry(r *tasks.Record) (at, in string) {
	if r.Expires.IsZero() {
		return "0", "0"
	}
	left := time.Until(r.Expires).Milliseconds()
	if left <= 0 {
		left = -1
	}
	return strconv.FormatInt(r.Expires.UnixMilli(), 10), strconv.FormatInt(left, 10)
}

// createScript stores a new record.
var createScript = rueidis.NewLuaScript(`
if redis.call('EXISTS', KEYS[1]) == 1 then return {'conflict'} end
local ttl = tonumber(ARGV[4])
if ttl < 0 then return {'ok'} end
redis.call('HSET', KEYS[1], 'v', 1, 'd', ARGV[1], 'r', ARGV[2], 'x', ARGV[3], 'u', ARGV[5])
if ttl > 0 then redis.call('PEXPIRE', KEYS[1], ttl) end
return {'ok'}`)

// Create implements [tasks.Store]. The indexes come first: what they have too
// much is found out when it is used.
func (s *Store) Create(ctx context.Context, r *tasks.Record, most int) error {
	data, err := encode(r)
	if err != nil {
		return err
	}
	reserved, err := s.reserve(ctx, r, most)
	if err != nil {
		return err
	}
	if err := s.addRun(ctx, r); err != nil {
		return err
	}
	at, in := expiry(r)
	out, err := s.script(ctx, createScript, s.taskKey(r.Task.ID), data, string(r.Task.Result), at, in, r.Runner)
	if err != nil {
		return err
	}
	if out[0] != "ok" {
		if reserved {
			s.unreserve(ctx, r)
		}
		return tasks.ErrConflict
	}
	r.Version = 1
	return nil
}

// Get implements [tasks.Store].
func (s *Store) Get(ctx context.Context, id string) (*tasks.Record, error) {
	all, err := s.read(ctx, []string{id}, "v", "d", "r")
	if err != nil {
		return nil, err
	}
	if all[0] == nil {
		return nil, tasks.ErrNotFound
	}
	return all[0], nil
}

// Left implements [tasks.Store].
func (s *Store) Left(ctx context.Context, id string) (time.Duration, error) {
	if len(id) > maxID {
		return 0, tasks.ErrNotFound
	}
	results, err := s.conn.Commands(ctx, func(b rueidis.Builder) []rueidis.Completed {
		return []rueidis.Completed{b.Pttl().Key(s.taskKey(id)[0]).Build()}
	})
	if err != nil {
		return 0, err
	}
	ms, err := results[0].AsInt64()
	switch {
	case err != nil:
		return 0, err
	case ms == -2:
		return 0, tasks.ErrNotFound
	case ms < 0:
		return 0, nil
	}
	return time.Duration(max(ms, 1)) * time.Millisecond, nil
}

// read returns records by their ids; nil for one that does not exist. The fields
// are v and d, and r for the result.
func (s *Store) read(ctx context.Context, ids []string, fields ...string) ([]*tasks.Record, error) {
	results, err := s.conn.Commands(ctx, func(b rueidis.Builder) (cmds []rueidis.Completed) {
		for _, id := range ids {
			if len(id) > maxID {
				id = ""
			}
			cmds = append(cmds, b.Hmget().Key(s.taskKey(id)[0]).Field(fields...).Build())
		}
		return cmds
	})
	if err != nil {
		return nil, err
	}
	all := make([]*tasks.Record, len(ids))
	for i, r := range results {
		values, err := r.ToArray()
		if err != nil {
			return nil, err
		}
		if all[i], err = decode(values); err != nil {
			return nil, fmt.Errorf("task %q in Redis: %w", ids[i], err)
		}
	}
	return all, nil
}

// decode returns the record in the fields v, d and r; nil if there is none.
func decode(values []rueidis.RedisMessage) (*tasks.Record, error) {
	if values[0].IsNil() {
		return nil, nil
	}
	version, err := values[0].AsInt64()
	if err != nil {
		return nil, err
	}
	data, err := values[1].AsBytes()
	if err != nil {
		return nil, err
	}
	r := new(tasks.Record)
	if err := mcp.Unmarshal(data, r); err != nil {
		return nil, err
	}
	r.Version = version
	if len(values) > 2 {
		result, err := values[2].AsBytes()
		if err != nil {
			return nil, err
		}
		if len(result) > 0 {
			r.Task.Result = result
		}
	}
	return r, nil
}

// updateScript replaces a record. It returns the runner that the record had, and
// whether it expires at another time than before; the present time of expiry
// stays otherwise, whatever the clock of the caller says.
var updateScript = rueidis.NewLuaScript(`
local old = redis.call('HMGET', KEYS[1], 'v', 'x', 'u')
if not old[1] then return {'gone'} end
if old[1] ~= ARGV[1] then return {'conflict'} end
redis.call('HSET', KEYS[1], 'd', ARGV[2], 'r', ARGV[3], 'x', ARGV[4], 'u', ARGV[6])
redis.call('HINCRBY', KEYS[1], 'v', 1)
local moved = ''
if old[2] ~= ARGV[4] then
	moved = 'moved'
	local ttl = tonumber(ARGV[5])
	if ttl == 0 then redis.call('PERSIST', KEYS[1])
	elseif ttl < 0 then redis.call('DEL', KEYS[1])
	else redis.call('PEXPIRE', KEYS[1], ttl) end
end
redis.call('PUBLISH', ARGV[7], ARGV[8])
return {'ok', old[3], moved}`)

// Update implements [tasks.Store].
func (s *Store) Update(ctx context.Context, r *tasks.Record) error {
	data, err := encode(r)
	if err != nil {
		return err
	}
	at, in := expiry(r)
	out, err := s.script(ctx, updateScript, s.taskKey(r.Task.ID), strconv.FormatInt(r.Version, 10), data, string(r.Task.Result),
		at, in, r.Runner, s.conn.Channel(topic), r.Task.ID)
	if err != nil {
		return err
	}
	switch out[0] {
	case "gone":
		return tasks.ErrNotFound
	case "conflict":
		return tasks.ErrConflict
	}
	r.Version++
	// The record is changed; the indexes follow. If that fails, they are mended
	// when they are used.
	if out[2] != "" {
		_, _ = s.reserve(ctx, r, -1)
	}
	switch {
	case r.Task.Status.Final():
		s.removeRuns(ctx, r.Runner, r.Task.ID)
	case out[1] != r.Runner:
		_ = s.addRun(ctx, r)
	}
	return nil
}

// Watch implements [tasks.Store]. It calls changed after each change that is
// published, and after each interruption of the connection; on a Redis Cluster also
// every few seconds.
func (s *Store) Watch(id string, changed func()) (stop func()) { return s.watch.Watch(id, changed) }
