package redis

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"github.com/tenon-mcp/tenon/cluster"
)

// do runs one operation: it applies the timeout, fails at once during an outage,
// and turns errors into those of package cluster. A missing key is no error: the
// result is nil then.
func (s *Store) do(ctx context.Context, f func(ctx context.Context, c rueidis.Client) rueidis.RedisResult) (rueidis.RedisResult, error) {
	if err := ctx.Err(); err != nil {
		return rueidis.RedisResult{}, err
	}
	if s.ctx.Err() != nil {
		return rueidis.RedisResult{}, cluster.ErrClosed
	}
	if o := s.outage.Load(); o != nil {
		return rueidis.RedisResult{}, o.err
	}
	timed, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	r := f(timed, s.client())
	err := r.Error()
	if err == nil || rueidis.IsRedisNil(err) {
		return r, nil
	}
	if ctx.Err() != nil {
		return r, ctx.Err()
	}
	if s.ctx.Err() != nil {
		return r, cluster.ErrClosed
	}
	err, away := explain(err)
	if away {
		s.lose(err)
	}
	return r, err
}

// command runs a command.
func (s *Store) command(ctx context.Context, build func(rueidis.Client) rueidis.Completed) (rueidis.RedisResult, error) {
	return s.do(ctx, func(ctx context.Context, c rueidis.Client) rueidis.RedisResult { return c.Do(ctx, build(c)) })
}

// script runs a script by its digest, or sends it if Redis does not have it.
func (s *Store) script(ctx context.Context, l *rueidis.Lua, key string, args ...string) (rueidis.RedisResult, error) {
	return s.do(ctx, func(ctx context.Context, c rueidis.Client) rueidis.RedisResult {
		return l.Exec(ctx, c, []string{key}, args)
	})
}

// answersOfAbsence begin the errors with which a Redis server says that it cannot
// serve now, or not us.
var answersOfAbsence = []string{
	"READONLY", "LOADING", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN", "NOREPLICAS", "MISCONF", "BUSY",
	"NOAUTH", "WRONGPASS", "NOPERM", "UNBLOCKED",
}

// explain turns an error of the client into one of package cluster, and reports
// whether it means that Redis is away.
func explain(err error) (explained error, away bool) {
	answer, ok := rueidis.IsRedisErr(err)
	if !ok {
		if errors.Is(err, context.DeadlineExceeded) {
			err = errors.New("no answer in time")
		}
		return fmt.Errorf("redis: %w: %w", cluster.ErrUnavailable, err), true
	}
	text := answer.Error()
	if strings.HasPrefix(text, "OOM") {
		return fmt.Errorf("redis: %w", cluster.ErrFull), false
	}
	for _, prefix := range answersOfAbsence {
		if strings.HasPrefix(text, prefix) {
			return fmt.Errorf("redis: %w: %s", cluster.ErrUnavailable, text), true
		}
	}
	return fmt.Errorf("redis: %s", text), false
}

// An outage is the time during which Redis is away.
type outage struct {
	err   error
	since time.Time
}

const (
	firstProbe = 50 * time.Millisecond
	slowProbe  = time.Second
)

// lose begins an outage and probes until it ends.
func (s *Store) lose(err error) {
	s.mu.Lock()
	begins := s.outage.Load() == nil && !s.closed
	if begins {
		s.outage.Store(&outage{err: err, since: time.Now()})
		s.wg.Go(func() { s.probe(err) })
	}
	s.mu.Unlock()
	if begins {
		s.log.Error("cluster: Redis is unavailable", "error", err)
	}
}

// probe tries to use Redis until it works or the Store is closed.
func (s *Store) probe(cause error) {
	for wait := firstProbe; ; wait = min(2*wait, slowProbe) {
		select {
		case <-s.ctx.Done():
			return
		case <-time.After(wait):
		}
		if strings.Contains(cause.Error(), "READONLY") {
			s.reconnect()
		}
		ctx, cancel := context.WithTimeout(s.ctx, s.timeout)
		err := s.epoch.refresh(ctx, s)
		cancel()
		if err != nil {
			err, _ = explain(err)
		}
		if err == nil || errors.Is(err, cluster.ErrFull) {
			break
		}
		s.worsen(cause, err)
		cause = err
	}
	since := s.outage.Swap(nil).since
	s.log.Info("cluster: Redis is available again", "after", time.Since(since).Round(time.Millisecond))
}

// worsen makes callers and the log see the present cause of an outage.
func (s *Store) worsen(before, err error) {
	s.outage.Store(&outage{err: err, since: s.outage.Load().since})
	digits := regexp.MustCompile(`[0-9]+`) // ports differ from try to try
	if digits.ReplaceAllString(before.Error(), "") != digits.ReplaceAllString(err.Error(), "") {
		s.log.Error("cluster: Redis is still unavailable", "error", err)
	}
}

// reconnect makes new connections: the name of the server may lead to another
// one now, which can be written to.
func (s *Store) reconnect() {
	client, err := rueidis.NewClient(s.option)
	if err != nil {
		return
	}
	s.mu.Lock()
	old := client
	if !s.closed {
		old = *s.conn.Swap(&client)
	}
	s.mu.Unlock()
	old.Close()
	s.hub.disconnect()
}
