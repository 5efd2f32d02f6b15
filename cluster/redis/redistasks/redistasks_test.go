package redistasks_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"github.com/tenon-mcp/tenon/cluster/redis"
	"github.com/tenon-mcp/tenon/cluster/redis/redistasks"
	"github.com/tenon-mcp/tenon/ext/tasks"
	"github.com/tenon-mcp/tenon/ext/tasks/storetest"
	"github.com/tenon-mcp/tenon/internal/leaktest"
	"github.com/tenon-mcp/tenon/internal/redistest"
	"github.com/tenon-mcp/tenon/internal/tasktest"
)

func TestMain(m *testing.M) {
	mode, url := tasktest.Mode()
	if mode == "" {
		leaktest.Main(m)
	}
	ctx := context.Background()
	shared, err := redis.Open(ctx, url, &redis.Options{Timeout: 10 * time.Second})
	tasktest.Check(err)
	store, err := redistasks.New(ctx, shared)
	tasktest.Check(err)
	tasktest.Serve(store, func() error { return errors.Join(store.Close(), shared.Close()) })
}

// open opens a store with a connection of its own.
func open(t *testing.T, url string, o redis.Options) *redistasks.Store {
	t.Helper()
	o.Log = slog.New(slog.DiscardHandler)
	shared, err := redis.Open(t.Context(), url, &o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { shared.Close() })
	s, err := redistasks.New(t.Context(), shared)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// mini returns a function that opens stores on a miniredis per test, whose clock
// goes with the real one.
func mini() func(t *testing.T) tasks.Store {
	servers := map[string]*miniredis.Miniredis{}
	return func(t *testing.T) tasks.Store {
		if servers[t.Name()] == nil {
			m := miniredis.RunT(t)
			servers[t.Name()] = m
			done := make(chan struct{})
			go func() {
				for last := time.Now(); ; {
					select {
					case <-done:
						return
					case now := <-time.After(time.Millisecond):
						m.FastForward(now.Sub(last))
						last = now
					}
				}
			}()
			t.Cleanup(func() { close(done) })
		}
		return open(t, "redis://"+servers[t.Name()].Addr(), redis.Options{})
	}
}

// real returns a function that opens stores on a server, with a prefix per test.
func real(s *redistest.Server) func(t *testing.T) tasks.Store {
	return func(t *testing.T) tasks.Store {
		return open(t, s.URL, redis.Options{Prefix: strings.NewReplacer("{", "", "}", "").Replace(t.Name()) + ":", Timeout: 30 * time.Second})
	}
}

func TestMiniredis(t *testing.T) { storetest.Run(t, mini()) }

func TestRedis(t *testing.T) { storetest.Run(t, real(redistest.Start(t, nil))) }

func TestRedisWithTLS(t *testing.T) {
	storetest.Run(t, real(redistest.Start(t, &redistest.Options{TLS: true})))
}

func TestManagersShareMiniredis(t *testing.T) { storetest.RunManagers(t, mini()) }

func TestManagersShareRedis(t *testing.T) {
	storetest.RunManagers(t, real(redistest.Start(t, nil)))
}
