package redistasks_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
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

// A timedStore makes the clock of a miniredis follow the real one.
type timedStore struct {
	*redistasks.Store
	tick func()
}

func (s timedStore) Create(ctx context.Context, r *tasks.Record, most int) error {
	s.tick()
	return s.Store.Create(ctx, r, most)
}

func (s timedStore) Get(ctx context.Context, id string) (*tasks.Record, error) {
	s.tick()
	return s.Store.Get(ctx, id)
}

func (s timedStore) Update(ctx context.Context, r *tasks.Record) error {
	s.tick()
	return s.Store.Update(ctx, r)
}

func (s timedStore) List(ctx context.Context, owner string, after tasks.Cursor, limit int) ([]*tasks.Record, error) {
	s.tick()
	return s.Store.List(ctx, owner, after, limit)
}

func (s timedStore) Interrupted(ctx context.Context, limit int) ([]string, error) {
	s.tick()
	return s.Store.Interrupted(ctx, limit)
}

// mini returns a function that opens stores on a miniredis per test.
func mini() func(t *testing.T) tasks.Store {
	type clock struct {
		*miniredis.Miniredis
		sync.Mutex
		last time.Time
	}
	servers := map[string]*clock{}
	return func(t *testing.T) tasks.Store {
		m := servers[t.Name()]
		if m == nil {
			m = &clock{Miniredis: miniredis.RunT(t), last: time.Now()}
			servers[t.Name()] = m
		}
		return timedStore{open(t, "redis://"+m.Addr(), redis.Options{}), func() {
			m.Mutex.Lock()
			defer m.Mutex.Unlock()
			now := time.Now()
			m.FastForward(now.Sub(m.last))
			m.last = now
		}}
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
