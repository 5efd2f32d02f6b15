package clusterkeys_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenon-mcp/tenon/auth/protect"
	"github.com/tenon-mcp/tenon/auth/protect/clusterkeys"
	"github.com/tenon-mcp/tenon/cluster"
)

// A change that was acknowledged after the store went back to an earlier state, or
// was emptied, is not undone by replicas that have seen more changes.
func TestChangesAfterTheStoreWentBackAreKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := cluster.NewMemory()
		defer store.Close()
		o := &clusterkeys.Options{Log: quiet()}
		add(t, store, o, "ada")
		bob := add(t, store, o, "bob")
		before, _, err := store.Get(t.Context(), "api keys", 0)
		if err != nil {
			t.Fatal(err)
		}
		add(t, store, o, "carl")
		add(t, store, o, "dan")
		far := &line{Store: store} // does not write the newest keys back before the change
		k := open(t, far, o)
		synctest.Wait()

		far.cut.Store(true)
		time.Sleep(time.Minute)
		if _, err := store.Set(t.Context(), "api keys", before, cluster.AnyVersion, time.Hour); err != nil {
			t.Fatal(err)
		}
		remove(t, store, o, "bob")
		far.cut.Store(false)
		time.Sleep(5 * time.Second)
		if got := verdict(t, k, bob); got != "refused" {
			t.Errorf("a key that was removed after the store went back: %s", got)
		}

		far.cut.Store(true)
		if err := store.Delete(t.Context(), "api keys"); err != nil {
			t.Fatal(err)
		}
		eve := add(t, store, o, "eve")
		far.cut.Store(false)
		time.Sleep(5 * time.Second)
		if got := verdict(t, k, eve); got != "ok" {
			t.Errorf("a key that was added after the store was emptied: %s", got)
		}
	})
}

// A full store answers, but stores nothing.
type full struct {
	cluster.Store
	is atomic.Bool
}

func (f *full) Set(ctx context.Context, key string, value []byte, version int64, ttl time.Duration) (int64, error) {
	if f.is.Load() {
		return 0, cluster.ErrFull
	}
	return f.Store.Set(ctx, key, value, version, ttl)
}

// Keys are accepted while the store answers, also if they cannot be stored again.
func TestKeysWhileTheStoreIsFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &full{Store: cluster.NewMemory()}
		defer store.Close()
		o := &clusterkeys.Options{Log: quiet()}
		ada := add(t, store, o, "ada")
		k := open(t, store, o)
		store.is.Store(true)
		if err := store.Delete(t.Context(), "api keys"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * clusterkeys.DefaultMaxAge)
		if got := verdict(t, k, ada); got != "ok" {
			t.Errorf("while the store is full: %s", got)
		}
		store.is.Store(false)
		time.Sleep(5 * time.Second)
		if keys, err := clusterkeys.List(t.Context(), store, o); err != nil || len(keys) != 1 {
			t.Errorf("afterwards the store has %v %v", keys, err)
		}
	})
}

// An empty secret is none, and a short one is refused.
func TestSecretLength(t *testing.T) {
	store := cluster.NewMemory()
	defer store.Close()
	short := &clusterkeys.Options{Secret: []byte("0123456789abcde"), Log: quiet()}
	refused := func(what string, err error) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), "at least 16 bytes") {
			t.Errorf("%s with a secret of 15 bytes: %v", what, err)
		}
	}
	for range 2 { // without keys, and with some
		_, err := clusterkeys.Open(t.Context(), store, short)
		refused("Open", err)
		_, err = clusterkeys.List(t.Context(), store, short)
		refused("List", err)
		refused("Update", clusterkeys.Update(t.Context(), store, short, func([]protect.StoredKey) ([]protect.StoredKey, error) {
			t.Error("Update calls change")
			return nil, errors.New("change was called")
		}))
		add(t, store, &clusterkeys.Options{Secret: []byte{}}, "ada"+time.Now().String())
	}
	if keys, err := clusterkeys.List(t.Context(), store, nil); err != nil || len(keys) != 2 {
		t.Errorf("what was stored with an empty secret is read without one as %v %v", keys, err)
	}
	open(t, store, &clusterkeys.Options{Secret: []byte{}, Log: quiet()})
}

// Update stores no keys that replicas cannot use.
func TestUpdateChecksTheKeys(t *testing.T) {
	store := cluster.NewMemory()
	defer store.Close()
	add(t, store, nil, "ada")
	for name, change := range map[string]func([]protect.StoredKey) []protect.StoredKey{
		"a name twice": func(keys []protect.StoredKey) []protect.StoredKey { return append(keys, keys[0]) },
		"a key without hash": func(keys []protect.StoredKey) []protect.StoredKey {
			return append(keys, protect.StoredKey{Name: "bob"})
		},
	} {
		err := clusterkeys.Update(t.Context(), store, nil, func(keys []protect.StoredKey) ([]protect.StoredKey, error) { return change(keys), nil })
		if err == nil {
			t.Errorf("%s is stored", name)
		}
		if keys, err := clusterkeys.List(t.Context(), store, nil); err != nil || len(keys) != 1 {
			t.Errorf("%s: the store has %v %v", name, keys, err)
		}
	}
}
