package storetest

import (
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/cluster"
)

// acquire fails the test unless the lease has a holder.
func acquire(t *testing.T, s cluster.Store, owner, want string, ttl time.Duration) {
	t.Helper()
	holder, err := s.Acquire(t.Context(), "k", owner, ttl)
	must(t, err)
	if holder != want {
		t.Fatalf("%s acquires: %s has the lease, want %s", owner, holder, want)
	}
}

func lease(t *testing.T, s Subject) {
	ctx, a, b := t.Context(), open(t, s), open(t, s)
	acquire(t, a, "ada", "ada", time.Hour)
	acquire(t, b, "bob", "ada", time.Hour)
	acquire(t, a, "ada", "ada", time.Hour)
	must(t, b.Release(ctx, "k", "bob"))
	acquire(t, b, "bob", "ada", time.Hour)
	must(t, a.Release(ctx, "k", "ada"))
	must(t, a.Release(ctx, "k", "ada"))
	acquire(t, b, "bob", "bob", time.Hour)
	must(t, a.Release(ctx, "k", "ada"))
	acquire(t, a, "ada", "bob", time.Hour)
}

func acquireConcurrently(t *testing.T, s Subject) {
	var holders [many]string
	each(t, s, func(i int, store cluster.Store) {
		var err error
		if holders[i], err = store.Acquire(t.Context(), "k", "owner"+strconv.Itoa(i), time.Hour); err != nil {
			t.Error(err)
		}
	})
	for i, h := range holders {
		if h != holders[0] || h == "" {
			t.Errorf("%d was told that %q holds the lease, 0 that %q does", i, h, holders[0])
		}
	}
}

func leaseExpires(t *testing.T, s Subject) {
	a, b := open(t, s), open(t, s)
	acquire(t, a, "ada", "ada", moment)
	if !s.Slow {
		s.Advance(moment - time.Millisecond)
		acquire(t, b, "bob", "ada", moment)
	}
	s.Advance(moment)
	acquire(t, b, "bob", "bob", time.Hour)
	acquire(t, a, "ada", "bob", time.Hour)
}

func leaseRenewed(t *testing.T, s Subject) {
	a, b := open(t, s), open(t, s)
	acquire(t, a, "ada", "ada", moment)
	acquire(t, b, "bob", "ada", time.Hour) // renews nothing
	acquire(t, a, "ada", "ada", time.Hour)
	s.Advance(2 * moment)
	acquire(t, b, "bob", "ada", time.Hour)
}

// group fails the test unless a group has these members.
func group(t *testing.T, s cluster.Store, want map[string]string) {
	t.Helper()
	got, err := s.Members(t.Context(), "g")
	must(t, err)
	for name, data := range want {
		if string(got[name]) != data {
			t.Errorf("%s: %q, want %q", name, got[name], data)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d members, want %d", len(got), len(want))
	}
}

func members(t *testing.T, s Subject) {
	ctx, a, b := t.Context(), open(t, s), open(t, s)
	group(t, a, nil)
	must(t, a.Register(ctx, "g", "ada", []byte("1"), time.Hour))
	must(t, b.Register(ctx, "g", "bob", []byte("\x00"), time.Hour))
	must(t, b.Register(ctx, "other", "eve", nil, time.Hour))
	group(t, a, map[string]string{"ada": "1", "bob": "\x00"})
	must(t, a.Register(ctx, "g", "ada", []byte("2"), time.Hour))
	group(t, b, map[string]string{"ada": "2", "bob": "\x00"})
	must(t, b.Unregister(ctx, "g", "ada"))
	must(t, b.Unregister(ctx, "g", "ada"))
	must(t, b.Unregister(ctx, "none", "ada"))
	group(t, a, map[string]string{"bob": "\x00"})
	each(t, s, func(i int, store cluster.Store) {
		for j := range 3 {
			if err := store.Register(t.Context(), "g", strconv.Itoa(100*j+i), nil, time.Hour); err != nil {
				t.Error(err)
			}
		}
	})
	if all, err := a.Members(ctx, "g"); err != nil || len(all) != 3*many+1 {
		t.Errorf("%d members, %v, want %d", len(all), err, 3*many+1)
	}
}

func memberExpires(t *testing.T, s Subject) {
	ctx, a := t.Context(), open(t, s)
	must(t, a.Register(ctx, "g", "stays", nil, time.Hour))
	must(t, a.Register(ctx, "g", "goes", nil, moment))
	must(t, a.Register(ctx, "g", "renewed", nil, moment))
	must(t, a.Register(ctx, "g", "renewed", nil, time.Hour))
	if !s.Slow {
		s.Advance(moment - 2*time.Millisecond)
		group(t, a, map[string]string{"stays": "", "goes": "", "renewed": ""})
	}
	s.Advance(moment)
	group(t, a, map[string]string{"stays": "", "renewed": ""})
	must(t, a.Register(ctx, "g", "goes", nil, time.Hour))
	group(t, a, map[string]string{"stays": "", "renewed": "", "goes": ""})
}

// take fails the test unless tokens can be taken.
func take(t *testing.T, s cluster.Store, n int, b cluster.Bucket) {
	t.Helper()
	if wait := mustWait(t, s, n, b); wait != 0 {
		t.Fatalf("take %d: wait %v, want none", n, wait)
	}
}

func mustWait(t *testing.T, s cluster.Store, n int, b cluster.Bucket) time.Duration {
	t.Helper()
	wait, err := s.Take(t.Context(), "k", n, b)
	must(t, err)
	return wait
}

func bucket(t *testing.T, s Subject) {
	a, b := open(t, s), open(t, s)
	hourly := cluster.Bucket{Rate: 1.0 / 3600, Burst: 5}
	take(t, a, 2, hourly)
	take(t, b, 2, hourly)
	for range 2 { // a refusal takes nothing
		wait := mustWait(t, a, 3, hourly)
		if wait > 2*time.Hour || wait < 2*time.Hour-10*time.Minute {
			t.Errorf("wait %v for two more tokens, want about 2h", wait)
		}
	}
	take(t, b, 1, hourly)
	if wait := mustWait(t, a, 1, hourly); wait > time.Hour || wait < 50*time.Minute {
		t.Errorf("wait %v, want about 1h", wait)
	}
}

func bucketFills(t *testing.T, s Subject) {
	a := open(t, s)
	b := cluster.Bucket{Rate: 2, Burst: 3}
	take(t, a, 3, b)
	if s.Slow {
		s.Advance(moment)
		take(t, a, 3, b)
		return
	}
	for range 3 {
		wait := mustWait(t, a, 1, b)
		if wait != 500*time.Millisecond {
			t.Fatalf("wait %v, want 500ms", wait)
		}
		s.Advance(wait / 2)
		if wait := mustWait(t, a, 1, b); wait != 250*time.Millisecond {
			t.Fatalf("wait %v, want 250ms", wait)
		}
		s.Advance(wait / 2)
		take(t, a, 1, b)
	}
	s.Advance(time.Hour)
	take(t, a, 3, b) // no more than the burst
	if wait := mustWait(t, a, 3, b); wait != 1500*time.Millisecond {
		t.Errorf("wait %v, want 1.5s", wait)
	}
}

func bucketGivesBack(t *testing.T, s Subject) {
	a := open(t, s)
	hourly := cluster.Bucket{Rate: 1.0 / 3600, Burst: 3}
	take(t, a, -1, hourly) // a full bucket stays full
	take(t, a, 3, hourly)
	take(t, a, -2, hourly)
	take(t, a, 2, hourly)
	take(t, a, -9, hourly)
	take(t, a, 3, hourly)
	if mustWait(t, a, 1, hourly) == 0 {
		t.Error("more tokens were given back than the bucket holds")
	}
}

func takeConcurrently(t *testing.T, s Subject) {
	var taken atomic.Int32
	daily := cluster.Bucket{Rate: 1.0 / 86400, Burst: 20}
	each(t, s, func(_ int, store cluster.Store) {
		wait, err := store.Take(t.Context(), "k", 1, daily)
		if err != nil {
			t.Error(err)
		} else if wait == 0 {
			taken.Add(1)
		}
	})
	if n := taken.Load(); n != 20 {
		t.Errorf("%d tokens of 20 were taken", n)
	}
}

func epoch(t *testing.T, s Subject) {
	a, b := open(t, s), open(t, s)
	first, err := a.Epoch(t.Context())
	must(t, err)
	second, err := b.Epoch(t.Context())
	must(t, err)
	if !s.Slow {
		s.Advance(time.Minute)
	}
	again, err := a.Epoch(t.Context())
	must(t, err)
	if first == "" || first != second || first != again {
		t.Errorf("epochs %q, %q, %q", first, second, again)
	}
}

func now(t *testing.T, s Subject) {
	a, b := open(t, s), open(t, s)
	first, err := a.Now(t.Context())
	must(t, err)
	second, err := b.Now(t.Context())
	must(t, err)
	if d := second.Sub(first); first.IsZero() || d < -time.Minute || d > time.Minute {
		t.Errorf("%v and %v", first, second)
	}
}
