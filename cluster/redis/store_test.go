package redis_test

import (
	"errors"
	"io"
	"log/slog"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"github.com/tenon-mcp/tenon/cluster"
	"github.com/tenon-mcp/tenon/cluster/redis"
	"github.com/tenon-mcp/tenon/cluster/storetest"
	"github.com/tenon-mcp/tenon/internal/redistest"
)

// quiet discards log messages.
var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

func open(t testing.TB, url string, o *redis.Options) *redis.Store {
	t.Helper()
	if o == nil {
		o = &redis.Options{}
	}
	if o.Log == nil {
		o.Log = quiet
	}
	s, err := redis.Open(t.Context(), url, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func TestMiniredis(t *testing.T) {
	storetest.Run(t, func(t *testing.T) storetest.Subject {
		m := miniredis.RunT(t)
		now := time.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC) // not that of the process
		m.SetTime(now)
		return storetest.Subject{
			Open: func() cluster.Store { return open(t, "redis://"+m.Addr(), &redis.Options{Timeout: 30 * time.Second}) },
			Advance: func(d time.Duration) {
				now = now.Add(d)
				m.SetTime(now)
				m.FastForward(d)
			},
		}
	}, nil)
}

// runReal runs the suite on a server, or on several that are one Redis Cluster;
// each test has a prefix of its own.
func runReal(t *testing.T, nodes ...*redistest.Server) {
	var n atomic.Int32
	storetest.Run(t, func(t *testing.T) storetest.Subject {
		prefix := "test" + strconv.Itoa(int(n.Add(1))) + ":"
		var opened atomic.Int32
		return storetest.Subject{
			Open: func() cluster.Store {
				s := nodes[int(opened.Add(1))%len(nodes)]
				return open(t, s.URL, &redis.Options{Prefix: prefix, Timeout: 30 * time.Second})
			},
			Advance: func(d time.Duration) { time.Sleep(d + 100*time.Millisecond) }, // Redis counts milliseconds
			Slow:    true,
		}
	}, nil)
}

func TestRedis(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, nil)
	t.Run("suite", func(t *testing.T) { runReal(t, s) })
	everyKeyExpires(t, s)
}

func TestRedisWithTLS(t *testing.T) {
	t.Parallel()
	runReal(t, redistest.Start(t, &redistest.Options{TLS: true}))
}

// everyKeyExpires fails the test if a key has no time to live.
func everyKeyExpires(t *testing.T, s *redistest.Server) {
	t.Helper()
	got := s.Do("EVAL", `
		local all = redis.call('KEYS', '*')
		for _, key in ipairs(all) do
			if redis.call('PTTL', key) < 0 then return key end
		end
		return 'all of ' .. (#all > 50 and 'many' or 'few')`, "0")
	if got != "all of many" {
		t.Errorf("a key without a time to live: %s", got)
	}
}

// Clusters that share a Redis with another database or prefix share nothing: neither
// values nor messages, which Redis itself delivers to all databases.
func TestClustersInOneRedis(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, nil)
	one := open(t, s.URL, nil)
	for name, other := range map[string]*redis.Store{
		"database": open(t, s.URL+"/1", nil),
		"prefix":   open(t, s.URL+"?prefix=other:", nil),
	} {
		got := make(chan string, 10)
		stop, err := other.Subscribe(t.Context(), "news", func(data []byte) { got <- string(data) }, func() {})
		if err != nil {
			t.Fatal(err)
		}
		defer stop()
		for _, m := range []struct {
			by   *redis.Store
			text string
		}{{one, "of another cluster"}, {other, "its own"}} {
			if err := m.by.Publish(t.Context(), "news", []byte(m.text)); err != nil {
				t.Fatal(err)
			}
		}
		if text := <-got; text != "its own" {
			t.Errorf("another %s: the first message is %q", name, text)
		}
		if _, err := one.Set(t.Context(), "k", []byte("v"), 0, time.Minute); err != nil && !errors.Is(err, cluster.ErrConflict) {
			t.Fatal(err)
		}
		if _, version, err := other.Get(t.Context(), "k", 0); err != nil || version != 0 {
			t.Errorf("another %s: the value of another cluster has version %d, %v", name, version, err)
		}
	}
}
