package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/cluster"
)

// awayStore is a store that can be away, or full.
type awayStore struct {
	cluster.Store
	away, full atomic.Bool
	asked      atomic.Int32 // for the members
	registered atomic.Int32
	refused    atomic.Int32 // registrations while it was away
}

func (s *awayStore) Register(ctx context.Context, group, member string, data []byte, ttl time.Duration) error {
	if s.away.Load() {
		s.refused.Add(1)
		return cluster.ErrUnavailable
	}
	if s.full.Load() {
		return cluster.ErrFull
	}
	s.registered.Add(1)
	return s.Store.Register(ctx, group, member, data, ttl)
}

func (s *awayStore) Members(ctx context.Context, group string) (map[string][]byte, error) {
	if s.away.Load() {
		return nil, cluster.ErrUnavailable
	}
	s.asked.Add(1)
	return s.Store.Members(ctx, group)
}

func (s *awayStore) Get(ctx context.Context, key string, extend time.Duration) ([]byte, int64, error) {
	if s.away.Load() {
		return nil, 0, cluster.ErrUnavailable
	}
	return s.Store.Get(ctx, key, extend)
}

// leasesEnd waits until the store lists no replica.
func (s *awayStore) leasesEnd(t *testing.T) {
	t.Helper()
	waitFor(t, func() bool { m, err := s.Store.Members(t.Context(), "replicas"); return err == nil && len(m) == 0 })
}

func forward(a *cluster.Replica, id string) error {
	return a.Forward(httptest.NewRecorder(), httptest.NewRequest("POST", "/mcp", nil), nil, id)
}

// After an outage of the store that was longer than the lease, live replicas reach
// each other, though none may have registered again yet. A stopped one is gone.
func TestLiveReplicasAreNotGoneAfterAnOutage(t *testing.T) {
	store := &awayStore{Store: cluster.NewMemory()}
	o := &cluster.Options{Lease: 3 * time.Second}
	a, b, stopped := join(t, store, o), join(t, store, o), join(t, store, o)
	var served atomic.Int64
	b.Handle(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { served.Add(1) }))
	if err := forward(a, b.ID()); err != nil {
		t.Fatal(err)
	}
	store.away.Store(true)
	store.leasesEnd(t)
	stopped.Close()
	if err := forward(a, b.ID()); err != nil {
		t.Errorf("during the outage: %v", err)
	}
	store.away.Store(false)
	if err := forward(a, b.ID()); err != nil {
		t.Errorf("after the outage: %v", err)
	}
	if err := forward(a, stopped.ID()); !errors.Is(err, cluster.ErrGone) {
		t.Errorf("a replica that has stopped: %v", err)
	}
	before := served.Load()
	if err := a.Broadcast(httptest.NewRequest("DELETE", "/mcp", nil), nil); served.Load() == before {
		t.Errorf("a broadcast did not reach the other replica: %v", err)
	}
	waitFor(t, func() bool { m, err := a.Members(t.Context()); return err == nil && len(m) == 2 })
	if err := a.Broadcast(httptest.NewRequest("DELETE", "/mcp", nil), nil); err != nil {
		t.Errorf("after all have registered again: %v", err)
	}
}

// A replica that could not renew its membership does not wait with the next attempt
// until the next renewal is due: the store may be away then, too.
func TestFailedRenewalIsTriedAgainSoon(t *testing.T) {
	t.Parallel()
	store := &awayStore{Store: cluster.NewMemory()}
	join(t, store, &cluster.Options{Lease: time.Hour})
	store.away.Store(true)
	if err := store.Publish(t.Context(), "keyring", nil); err != nil { // makes the replica renew now
		t.Fatal(err)
	}
	waitFor(t, func() bool { return store.refused.Load() > 0 })
	before := store.registered.Load()
	store.away.Store(false)
	waitFor(t, func() bool { return store.registered.Load() > before })
}

// Live replicas reach each other while the store is full. A list of members without
// the replica itself does not tell that another has stopped.
func TestLiveReplicasAreNotGoneWhenTheStoreIsFull(t *testing.T) {
	store := &awayStore{Store: cluster.NewMemory()}
	o := &cluster.Options{Lease: 300 * time.Millisecond}
	a, b := join(t, store, o), join(t, store, o)
	b.Handle(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	if err := forward(a, b.ID()); err != nil {
		t.Fatal(err)
	}
	store.full.Store(true)
	store.leasesEnd(t)
	time.Sleep(2 * o.Lease) // longer than members are kept after a renewal
	if err := forward(a, b.ID()); err != nil {
		t.Errorf("while the store is full: %v", err)
	}
	if err := forward(a, "unknown"); err == nil || errors.Is(err, cluster.ErrGone) {
		t.Errorf("a replica that may have joined meanwhile: %v", err)
	}
	if err := a.Broadcast(httptest.NewRequest("DELETE", "/mcp", nil), nil); err == nil {
		t.Error("a broadcast may have missed replicas, and says nothing")
	}
	store.full.Store(false)
	waitFor(t, func() bool { return errors.Is(forward(a, "unknown"), cluster.ErrGone) })
}

// Clients that name replicas that do not exist do not make a replica ask the store
// each time. One that has just joined is found all the same.
func TestUnknownReplicasAreLookedUpTogether(t *testing.T) {
	store := &awayStore{Store: cluster.NewMemory()}
	a := join(t, store, nil)
	before := store.asked.Load()
	var wg sync.WaitGroup
	for i := range 1000 {
		wg.Go(func() {
			if err := forward(a, fmt.Sprint("nobody", i)); !errors.Is(err, cluster.ErrGone) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := store.asked.Load() - before; n > 500 {
		t.Errorf("1000 requests asked the store %d times", n)
	}
	for range 5 {
		b := join(t, store, nil)
		b.Handle(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		if err := forward(a, b.ID()); err != nil {
			t.Errorf("a replica that has just joined: %v", err)
		}
	}
}
