package sealed_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenon-mcp/tenon/auth/tokens"
	"github.com/tenon-mcp/tenon/auth/tokens/sealed"
	"github.com/tenon-mcp/tenon/cluster"
	"github.com/tenon-mcp/tenon/cluster/storetest"
)

// A spy is a Store that records everything that is written to it.
type spy struct {
	cluster.Store
	mu      sync.Mutex
	written bytes.Buffer
	last    []byte
}

func (s *spy) Set(ctx context.Context, key string, value []byte, version int64, ttl time.Duration) (int64, error) {
	s.mu.Lock()
	fmt.Fprintf(&s.written, "%s %s\n", key, value)
	s.last = bytes.Clone(value)
	s.mu.Unlock()
	return s.Store.Set(ctx, key, value, version, ttl)
}

func (s *spy) Register(ctx context.Context, group, member string, data []byte, ttl time.Duration) error {
	s.mu.Lock()
	fmt.Fprintf(&s.written, "%s %s %s\n", group, member, data)
	s.mu.Unlock()
	return s.Store.Register(ctx, group, member, data, ttl)
}

// A replica finds what another one has stored; the store sees neither a token nor
// whose it is, and cannot give a token to another user.
func TestReplicasShareTokens(t *testing.T) {
	ctx, key := t.Context(), sealed.NewKey()
	store := &spy{Store: cluster.NewMemory()}
	one, two := &sealed.Cluster{Store: store, Keys: keys(t, key)}, &sealed.Cluster{Store: store, Keys: keys(t, key)}
	const name, token = "token https://notes.example/mcp for https://idp.example\x00alice", "refresh-token-of-alice"
	if _, err := two.Load(ctx, name); !errors.Is(err, tokens.ErrNotFound) {
		t.Fatalf("an empty store: %v", err)
	}
	for _, value := range []string{"old", token} {
		if err := one.Save(ctx, name, tokens.Secret(value)); err != nil {
			t.Fatal(err)
		}
		if got, err := two.Load(ctx, name); err != nil || string(got) != value {
			t.Fatalf("%q, %v", []byte(got), err)
		}
	}
	for _, secret := range []string{token, "alice", "notes", "idp"} {
		if strings.Contains(store.written.String(), secret) {
			t.Errorf("%q is readable", secret)
		}
	}
	ofAlice := store.last
	other := &sealed.Cluster{Store: store, Keys: keys(t, sealed.NewKey())}
	if _, err := other.Load(ctx, name); !errors.Is(err, sealed.ErrKey) {
		t.Errorf("another key: %v", err)
	}
	if names, bad, err := two.Names(ctx); err != nil || bad != 0 || !slices.Equal(names, []string{name}) {
		t.Errorf("names %q, %d unreadable, %v", names, bad, err)
	}
	if err := one.Save(ctx, "mallory", tokens.Secret("x")); err != nil {
		t.Fatal(err)
	}
	line := strings.TrimSpace(store.written.String()[strings.LastIndex(store.written.String(), "login "):])
	mallory, _, _ := strings.Cut(line, " tenon-sealed")
	if _, err := store.Store.Set(ctx, mallory, ofAlice, cluster.AnyVersion, time.Hour); err != nil {
		t.Fatal(err)
	}
	if got, err := two.Load(ctx, "mallory"); !errors.Is(err, sealed.ErrKey) {
		t.Errorf("the token of alice for mallory: %q, %v", []byte(got), err)
	}
	if n, err := two.DeleteUnreadable(ctx); n != 1 || err != nil {
		t.Errorf("deleted %d, %v", n, err)
	}
	if err := two.Delete(ctx, name); err != nil {
		t.Fatal(err)
	}
	if _, err := one.Load(ctx, name); !errors.Is(err, tokens.ErrNotFound) {
		t.Errorf("a deleted token: %v", err)
	}
	if names, bad, err := one.Names(ctx); len(names) != 0 || bad != 0 || err != nil {
		t.Errorf("names %q, %d unreadable, %v", names, bad, err)
	}
}

func TestKeysOfReplicasAreRotated(t *testing.T) {
	ctx, store := t.Context(), cluster.NewMemory()
	first, second := sealed.NewKey(), sealed.NewKey()
	old := &sealed.Cluster{Store: store, Keys: keys(t, first)}
	for i := range 5 {
		if err := old.Save(ctx, fmt.Sprint(i), tokens.Secret("secret")); err != nil {
			t.Fatal(err)
		}
	}
	both := &sealed.Cluster{Store: store, Keys: keys(t, second, first)}
	if n, err := both.Reseal(ctx); n != 5 || err != nil {
		t.Errorf("resealed %d, %v", n, err)
	}
	after := &sealed.Cluster{Store: store, Keys: keys(t, second)}
	for i := range 5 {
		if got, err := after.Load(ctx, fmt.Sprint(i)); err != nil || string(got) != "secret" {
			t.Errorf("%d: %q, %v", i, []byte(got), err)
		}
	}
}

// A token lives and is listed for as long as it is used.
func TestTokensOfReplicasExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const ttl = 10 * 24 * time.Hour
		ctx, c := t.Context(), &sealed.Cluster{Store: cluster.NewMemory(), Keys: keys(t, sealed.NewKey()), TTL: ttl}
		for _, name := range []string{"used", "unused"} {
			if err := c.Save(ctx, name, tokens.Secret("secret")); err != nil {
				t.Fatal(err)
			}
		}
		for range 10 {
			time.Sleep(ttl / 2)
			if _, err := c.Load(ctx, "used"); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := c.Load(ctx, "unused"); !errors.Is(err, tokens.ErrNotFound) {
			t.Errorf("an unused token: %v", err)
		}
		if names, bad, err := c.Names(ctx); !slices.Equal(names, []string{"used"}) || bad != 0 || err != nil {
			t.Errorf("names %q, %d unreadable, %v", names, bad, err)
		}
	})
}

// One replica at a time has the lock of a token. A replica that dies with it
// blocks the others for 30 seconds at most, and without the store nobody has it.
func TestLocksOfReplicas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, store, key := t.Context(), &storetest.Switch{Store: cluster.NewMemory()}, sealed.NewKey()
		var inside, entered atomic.Int32
		var wg sync.WaitGroup
		for range 10 {
			c := &sealed.Cluster{Store: store, Keys: keys(t, key)}
			wg.Go(func() {
				unlock, err := c.Lock(ctx, "token")
				if err != nil {
					t.Error(err)
					return
				}
				if inside.Add(1) != 1 {
					t.Error("two replicas have the lock")
				}
				time.Sleep(time.Second)
				entered.Add(1)
				inside.Add(-1)
				unlock()
			})
		}
		wg.Wait()
		if n := entered.Load(); n != 10 {
			t.Errorf("%d replicas had the lock, want 10", n)
		}
		c := &sealed.Cluster{Store: store, Keys: keys(t, key)}
		if _, err := c.Lock(ctx, "token"); err != nil { // and it dies
			t.Fatal(err)
		}
		short, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		if _, err := c.Lock(short, "token"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a held lock: %v", err)
		}
		time.Sleep(30 * time.Second)
		unlock, err := c.Lock(ctx, "token")
		if err != nil {
			t.Fatalf("the lock of a dead replica: %v", err)
		}
		unlock()
		store.Turn(false)
		if _, err := c.Lock(ctx, "token"); !errors.Is(err, tokens.ErrLocked) || !errors.Is(err, cluster.ErrUnavailable) {
			t.Errorf("while the store is away: %v", err)
		}
		if _, err := c.Load(ctx, "token"); !errors.Is(err, cluster.ErrUnavailable) || errors.Is(err, tokens.ErrNotFound) {
			t.Errorf("while the store is away: %v", err)
		}
	})
}
