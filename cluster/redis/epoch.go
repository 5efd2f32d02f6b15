package redis

import (
	"context"
	"crypto/rand"
	"errors"
	"strconv"
	"sync"
	"time"

	"github.com/redis/rueidis"
)

const (
	epochTTL = 90 * 24 * time.Hour
	epochAge = 5 * time.Second // after which the epoch is read again
)

// An epoch is what is known of the data set and the clock of Redis.
type epoch struct {
	mu    sync.Mutex
	id    string
	skew  time.Duration // Redis's clock minus ours
	dials int64         // when it was read
	read  time.Time     // zero: never
	asked time.Time     // when somebody began to read it because of its age
}

// epochScript reads the name of the data set, which ARGV[1] becomes if there is
// none, and the time.
var epochScript = rueidis.NewLuaScript(`
local id = redis.call('GET', KEYS[1])
if not id then
	id = ARGV[1]
	redis.call('SET', KEYS[1], id, 'PX', ARGV[2])
else
	redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
local t = redis.call('TIME')
return {id, t[1], t[2]}`)

// fresh returns the epoch and the difference of the clocks if they were read a
// short time ago and over the present connections. If only their age requires to
// read them again, one caller does so.
func (e *epoch) fresh(s *Store) (id string, skew time.Duration, ok bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.read.IsZero() || e.dials != s.dials.Load() {
		return "", 0, false
	}
	if time.Since(e.read) >= epochAge && time.Since(e.asked) >= s.timeout {
		e.asked = time.Now()
		return "", 0, false
	}
	return e.id, e.skew, true
}

// refresh reads the epoch, also during an outage.
func (e *epoch) refresh(ctx context.Context, s *Store) error {
	from := s.mark()
	return e.readFrom(epochScript.Exec(ctx, s.client(), []string{s.key("e", "epoch")}, s.epochArgs()), from)
}

func (s *Store) epochArgs() []string { return []string{rand.Text(), milliseconds(epochTTL)} }

// A mark is the moment before the epoch is read.
type mark struct {
	at    time.Time
	dials int64
}

func (s *Store) mark() mark { return mark{time.Now(), s.dials.Load()} }

// readFrom stores what the script returned.
func (e *epoch) readFrom(r rueidis.RedisResult, from mark) error {
	answer, err := r.AsStrSlice()
	if err != nil {
		return err
	}
	now := time.Now()
	if len(answer) != 3 {
		return errors.New("redis: unexpected answer of a script")
	}
	seconds, err1 := strconv.ParseInt(answer[1], 10, 64)
	micros, err2 := strconv.ParseInt(answer[2], 10, 64)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	middle := from.at.Add(now.Sub(from.at) / 2)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.id, e.skew = answer[0], time.Unix(seconds, micros*1000).Sub(middle.Round(0))
	e.dials, e.read = from.dials, now
	return nil
}

// get returns the epoch and the difference of the clocks.
func (e *epoch) get(ctx context.Context, s *Store) (id string, skew time.Duration, err error) {
	if err := ctx.Err(); err != nil {
		return "", 0, err
	}
	if o := s.outage.Load(); o != nil {
		return "", 0, o.err
	}
	id, skew, ok := e.fresh(s)
	if ok && s.ctx.Err() == nil {
		return id, skew, nil
	}
	from := s.mark()
	r, err := s.script(ctx, epochScript, s.key("e", "epoch"), s.epochArgs()...)
	if err == nil {
		err = e.readFrom(r, from)
	}
	if err != nil {
		return "", 0, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.id, e.skew, nil
}

// Epoch implements [cluster.Store].
func (s *Store) Epoch(ctx context.Context) (string, error) {
	id, _, err := s.epoch.get(ctx, s)
	return id, err
}

// Now implements [cluster.Store].
func (s *Store) Now(ctx context.Context) (time.Time, error) {
	_, skew, err := s.epoch.get(ctx, s)
	if err != nil {
		return time.Time{}, err
	}
	return time.Now().Round(0).Add(skew), nil
}
