package cluster_test

import (
	"bytes"
	"context"
	"sync"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/cluster"
)

// A replaced key opens for its life, and is then dropped by every replica and from
// the store, without another rotation.
func TestReplacedKeysExpire(t *testing.T) {
	store := cluster.NewMemory()
	o := &cluster.Options{Lease: 300 * time.Millisecond, KeyLife: 10 * time.Millisecond}
	a, b := join(t, store, o), join(t, store, o)
	keysA, keysB := watchKeys(t, a), watchKeys(t, b)
	old := keysA.get()[0]
	if err := a.RotateKeys(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, k := range []*keysOf{keysA, keysB} {
		waitFor(t, func() bool { return len(k.get()) == 1 && !k.opens(old) })
	}
	if late := watchKeys(t, join(t, store, nil)); len(late.get()) != 1 || late.opens(old) {
		t.Error("the store still has the expired key")
	}
}

// rotatesAtRegister rotates the keys when a replica registers for the first time,
// and does not deliver messages.
type rotatesAtRegister struct {
	cluster.Store
	rotate func()
	once   *sync.Once
}

func (s rotatesAtRegister) Register(ctx context.Context, group, member string, data []byte, ttl time.Duration) error {
	s.once.Do(s.rotate)
	return s.Store.Register(ctx, group, member, data, ttl)
}

func (rotatesAtRegister) Subscribe(context.Context, string, func([]byte), func()) (func(), error) {
	return func() {}, nil
}

// A replica that joins during a rotation, which does not wait for it, has the key
// that seals.
func TestReplicaThatJoinsDuringARotationHasTheNewKey(t *testing.T) {
	store := cluster.NewMemory()
	a := join(t, store, nil)
	rotate := func() {
		if err := a.RotateKeys(t.Context()); err != nil {
			t.Error(err)
		}
	}
	b := join(t, rotatesAtRegister{store, rotate, new(sync.Once)}, &cluster.Options{Lease: time.Hour})
	newest := watchKeys(t, join(t, store, nil)).get()[0]
	if got := watchKeys(t, b).get(); len(got) != 2 || !bytes.Equal(got[0], newest) {
		t.Errorf("it has %d keys", len(got))
	}
}

// After the store went back to its state before a rotation, all replicas open what
// either key has sealed.
func TestKeysSurviveAStoreThatGoesBack(t *testing.T) {
	store := cluster.NewMemory()
	o := &cluster.Options{Lease: 100 * time.Millisecond}
	a, b := watchKeys(t, join(t, store, o)), join(t, store, o)
	before, _, err := store.Get(t.Context(), "keyring", 0)
	if err != nil {
		t.Fatal(err)
	}
	old := a.get()[0]
	if err := b.RotateKeys(t.Context()); err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool { return !bytes.Equal(a.get()[0], old) })
	newer := a.get()[0]
	_, version, err := store.Get(t.Context(), "keyring", 0)
	if err == nil {
		_, err = store.Set(t.Context(), "keyring", before, version, time.Hour)
	}
	if err != nil {
		t.Fatal(err)
	}
	late := watchKeys(t, join(t, store, o))
	for _, k := range []*keysOf{a, late} {
		waitFor(t, func() bool { return bytes.Equal(k.get()[0], old) && k.opens(newer) })
	}
}
