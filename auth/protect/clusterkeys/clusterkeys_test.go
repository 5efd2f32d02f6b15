package clusterkeys_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenon-mcp/tenon/auth/protect"
	"github.com/tenon-mcp/tenon/auth/protect/clusterkeys"
	"github.com/tenon-mcp/tenon/cluster"
	"github.com/tenon-mcp/tenon/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// A line is the connection of one replica to a store.
type line struct {
	cluster.Store
	cut atomic.Bool
}

func (l *line) Get(ctx context.Context, key string, extend time.Duration) ([]byte, int64, error) {
	if l.cut.Load() {
		return nil, 0, cluster.ErrUnavailable
	}
	return l.Store.Get(ctx, key, extend)
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// add makes a key for all replicas.
func add(t *testing.T, store cluster.Store, o *clusterkeys.Options, name string) string {
	t.Helper()
	key := protect.NewKey()
	hash, err := protect.HashKey(key)
	if err != nil {
		t.Fatal(err)
	}
	err = clusterkeys.Update(t.Context(), store, o, func(keys []protect.StoredKey) ([]protect.StoredKey, error) {
		return append(keys, protect.StoredKey{Name: name, Hash: hash, Groups: []string{"dev"}}), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func remove(t *testing.T, store cluster.Store, o *clusterkeys.Options, name string) {
	t.Helper()
	err := clusterkeys.Update(t.Context(), store, o, func(keys []protect.StoredKey) ([]protect.StoredKey, error) {
		return slices.DeleteFunc(keys, func(k protect.StoredKey) bool { return k.Name == name }), nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// verdict returns "ok", "refused" or "unavailable".
func verdict(t *testing.T, k *clusterkeys.Keys, key string) string {
	t.Helper()
	id, err := k.Verify(t.Context(), key, nil)
	var refused *protect.InvalidToken
	switch {
	case err == nil && id.Principal.Issuer == "api-key" && string(id.Principal.Claims["groups"]) == `["dev"]`:
		return "ok"
	case errors.As(err, &refused):
		return "refused"
	case errors.Is(err, protect.ErrUnavailable):
		return "unavailable"
	}
	t.Fatalf("%+v %v", id, err)
	return ""
}

func open(t *testing.T, store cluster.Store, o *clusterkeys.Options) *clusterkeys.Keys {
	t.Helper()
	k, err := clusterkeys.Open(t.Context(), store, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(k.Close)
	return k
}

// A change of the keys counts at once for all replicas, and for one that was cut off
// when it reaches the store again.
func TestChangesReachAllReplicas(t *testing.T) {
	for name, secret := range map[string][]byte{"plain": nil, "encrypted": []byte("0123456789abcdef")} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := cluster.NewMemory()
				defer store.Close()
				o := &clusterkeys.Options{Secret: secret, Log: quiet()}
				if _, err := clusterkeys.Open(t.Context(), store, o); !errors.Is(err, clusterkeys.ErrNone) {
					t.Fatalf("without keys: %v", err)
				}
				ada := add(t, store, o, "ada")
				far := &line{Store: store}
				replicas := []*clusterkeys.Keys{open(t, store, o), open(t, far, o)}
				bob := add(t, store, o, "bob")
				synctest.Wait()
				for _, r := range replicas {
					if got := verdict(t, r, ada) + verdict(t, r, bob) + verdict(t, r, protect.NewKey()); got != "okokrefused" {
						t.Errorf("after keys were added: %s", got)
					}
				}
				remove(t, store, o, "bob")
				synctest.Wait()
				for _, r := range replicas {
					if got := verdict(t, r, ada) + verdict(t, r, bob); got != "okrefused" {
						t.Errorf("after a key was removed: %s", got)
					}
				}
				far.cut.Store(true)
				remove(t, store, o, "ada")
				time.Sleep(clusterkeys.DefaultMaxAge - 5*time.Second)
				if got := verdict(t, replicas[0], ada) + verdict(t, replicas[1], ada); got != "refusedok" {
					t.Errorf("while one is cut off: %s", got)
				}
				time.Sleep(10 * time.Second)
				if got := verdict(t, replicas[1], ada) + verdict(t, replicas[1], bob); got != "unavailableunavailable" {
					t.Errorf("after 15 minutes: %s", got)
				}
				far.cut.Store(false)
				time.Sleep(3 * time.Second)
				if got := verdict(t, replicas[1], ada); got != "refused" {
					t.Errorf("when it is back: %s", got)
				}
			})
		})
	}
}

// Replicas store the newest keys again if the store was emptied, or went back to an
// earlier state.
func TestNewestKeysAreStoredAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := cluster.NewMemory()
		defer store.Close()
		o := &clusterkeys.Options{Log: quiet()}
		ada := add(t, store, o, "ada")
		before, _, err := store.Get(t.Context(), "api keys", 0)
		if err != nil {
			t.Fatal(err)
		}
		bob := add(t, store, o, "bob")
		remove(t, store, o, "ada")
		k := open(t, store, o)
		for name, change := range map[string]func() error{
			"emptied": func() error { return store.Delete(t.Context(), "api keys") },
			"restored": func() error {
				_, err := store.Set(t.Context(), "api keys", before, cluster.AnyVersion, time.Hour)
				return err
			},
		} {
			if err := change(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(5 * time.Second)
			keys, err := clusterkeys.List(t.Context(), store, o)
			if err != nil || len(keys) != 1 || keys[0].Name != "bob" {
				t.Errorf("%s: %v %v", name, keys, err)
			}
			if got := verdict(t, k, ada) + verdict(t, k, bob); got != "refusedok" {
				t.Errorf("%s: %s", name, got)
			}
		}
	})
}

// With a secret, keys that somebody else has put into the store are not used, and
// nothing of the keys can be read there.
func TestForeignKeysAreNotUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := cluster.NewMemory()
		defer store.Close()
		var log strings.Builder
		o := &clusterkeys.Options{Secret: []byte("0123456789abcdef"), Log: slog.New(slog.NewTextHandler(&log, nil))}
		ada := add(t, store, o, "ada")
		k := open(t, store, o)
		if raw, _, _ := store.Get(t.Context(), "api keys", 0); strings.Contains(string(raw), "ada") {
			t.Error("the store has the name of a key")
		}
		for _, other := range []*clusterkeys.Options{nil, {Secret: []byte("another secret of 16")}} {
			if _, err := clusterkeys.List(t.Context(), store, other); err == nil || !strings.Contains(err.Error(), "cluster secret") {
				t.Errorf("with another secret: %v", err)
			}
			elsewhere := cluster.NewMemory()
			eve := add(t, elsewhere, other, "eve")
			foreign, _, err := elsewhere.Get(t.Context(), "api keys", 0)
			elsewhere.Close()
			if err != nil {
				t.Fatal(err)
			}
			if _, err := store.Set(t.Context(), "api keys", foreign, cluster.AnyVersion, time.Hour); err != nil {
				t.Fatal(err)
			}
			time.Sleep(5 * time.Second)
			if got := verdict(t, k, ada) + verdict(t, k, eve); got != "okrefused" {
				t.Error(got)
			}
			if _, err := clusterkeys.Open(t.Context(), store, o); err == nil {
				t.Error("a replica starts with keys of somebody else")
			}
			store.Delete(t.Context(), "api keys")
			time.Sleep(5 * time.Second) // the replica stores its own again
		}
		if n := strings.Count(log.String(), "are not used"); n != 2 {
			t.Errorf("it was logged %d times: %s", n, &log)
		}
		if got := verdict(t, k, ada); got != "ok" {
			t.Error(got)
		}
	})
}

// Two changes at once are both kept.
func TestConcurrentChanges(t *testing.T) {
	store := cluster.NewMemory()
	defer store.Close()
	o := &clusterkeys.Options{Log: quiet()}
	first := true
	err := clusterkeys.Update(t.Context(), store, o, func(keys []protect.StoredKey) ([]protect.StoredKey, error) {
		if first {
			first = false
			add(t, store, o, "other")
		}
		hash, err := protect.HashKey(protect.NewKey())
		return append(keys, protect.StoredKey{Name: "own", Hash: hash}), err
	})
	keys, listed := clusterkeys.List(t.Context(), store, o)
	if err != nil || listed != nil || len(keys) != 2 {
		t.Errorf("%v %v %v", keys, err, listed)
	}
}
