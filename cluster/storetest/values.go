package storetest

import (
	"bytes"
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/cluster"
)

const many = 50

// each runs f for every replica of many at once and waits for all.
func each(t *testing.T, s Subject, f func(i int, store cluster.Store)) {
	stores := []cluster.Store{open(t, s), open(t, s), open(t, s)}
	var wg sync.WaitGroup
	for i := range many {
		wg.Go(func() { f(i, stores[i%len(stores)]) })
	}
	wg.Wait()
}

// expect fails the test unless key has a value.
func expect(t *testing.T, s cluster.Store, key, want string) (version int64) {
	t.Helper()
	got, version, err := s.Get(t.Context(), key, 0)
	must(t, err)
	if version == 0 || string(got) != want {
		t.Fatalf("%s: %q with version %d, want %q", key, got, version, want)
	}
	return version
}

func values(t *testing.T, s Subject) {
	ctx, a, b := t.Context(), open(t, s), open(t, s)
	for name, value := range map[string]string{
		"empty": "", "text": "héllo", "binary": "\x00\r\n\xff", "large": strings.Repeat("x", cluster.MaxValue),
		"{braces}": "1", "}": "2", "a:{b": "3", "with space\n\x00": "4", strings.Repeat("k", cluster.MaxKey): "5",
	} {
		version, err := a.Set(ctx, name, []byte(value), 0, time.Hour)
		must(t, err)
		got, stored, err := b.Get(ctx, name, 0)
		must(t, err)
		if string(got) != value || stored != version || version < 1 {
			t.Errorf("%.20q: %d bytes with version %d, want %d with %d", name, len(got), stored, len(value), version)
		}
	}
	must(t, a.Delete(ctx, "text"))
	must(t, a.Delete(ctx, "none"))
	for _, name := range []string{"text", "none"} {
		if got, version, err := b.Get(ctx, name, time.Hour); got != nil || version != 0 || err != nil {
			t.Errorf("%s: %q, %d, %v, want nothing", name, got, version, err)
		}
	}
}

func versions(t *testing.T, s Subject) {
	ctx, a, b := t.Context(), open(t, s), open(t, s)
	_, err := a.Set(ctx, "k", []byte("0"), 7, time.Hour)
	if !errors.Is(err, cluster.ErrConflict) {
		t.Errorf("a version of a value that does not exist: %v", err)
	}
	v1, err := a.Set(ctx, "k", []byte("1"), 0, time.Hour)
	must(t, err)
	if _, err := b.Set(ctx, "k", []byte("2"), 0, time.Hour); !errors.Is(err, cluster.ErrConflict) {
		t.Errorf("create what exists: %v", err)
	}
	v2, err := b.Set(ctx, "k", []byte("2"), v1, time.Hour)
	must(t, err)
	if v2 <= v1 {
		t.Errorf("version %d after %d", v2, v1)
	}
	if _, err := a.Set(ctx, "k", []byte("3"), v1, time.Hour); !errors.Is(err, cluster.ErrConflict) {
		t.Errorf("an old version: %v", err)
	}
	expect(t, a, "k", "2")
	v3, err := a.Set(ctx, "k", []byte("4"), cluster.AnyVersion, time.Hour)
	must(t, err)
	if v3 <= v2 {
		t.Errorf("version %d after %d", v3, v2)
	}
	expect(t, b, "k", "4")
	_, err = a.Set(ctx, "new", []byte("5"), cluster.AnyVersion, time.Hour)
	must(t, err)
	expect(t, b, "new", "5")
}

func freshVersions(t *testing.T, s Subject) {
	ctx, a := t.Context(), open(t, s)
	v1, err := a.Set(ctx, "k", []byte("1"), 0, time.Hour)
	must(t, err)
	must(t, a.Delete(ctx, "k"))
	s.Advance(time.Millisecond)
	v2, err := a.Set(ctx, "k", []byte("2"), 0, time.Hour)
	must(t, err)
	if v2 <= v1 {
		t.Errorf("version %d after %d was deleted", v2, v1)
	}
	if _, err := a.Set(ctx, "k", []byte("3"), v1, time.Hour); !errors.Is(err, cluster.ErrConflict) {
		t.Errorf("the version of a deleted value: %v", err)
	}
}

func createConcurrently(t *testing.T, s Subject) {
	var created atomic.Int32
	each(t, s, func(i int, store cluster.Store) {
		_, err := store.Set(t.Context(), "k", []byte(strconv.Itoa(i)), 0, time.Hour)
		if err == nil {
			created.Add(1)
		} else if !errors.Is(err, cluster.ErrConflict) {
			t.Error(err)
		}
	})
	if n := created.Load(); n != 1 {
		t.Errorf("%d created the value, want 1", n)
	}
}

func changeConcurrently(t *testing.T, s Subject) {
	each(t, s, func(_ int, store cluster.Store) {
		for {
			old, version, err := store.Get(t.Context(), "n", 0)
			if err != nil {
				t.Error(err)
				return
			}
			n, _ := strconv.Atoi(string(old))
			_, err = store.Set(t.Context(), "n", []byte(strconv.Itoa(n+1)), version, time.Hour)
			if err == nil {
				return
			}
			if !errors.Is(err, cluster.ErrConflict) {
				t.Error(err)
				return
			}
		}
	})
	expect(t, open(t, s), "n", strconv.Itoa(many))
}

func valueExpires(t *testing.T, s Subject) {
	ctx, a, b := t.Context(), open(t, s), open(t, s)
	version, err := a.Set(ctx, "k", []byte("1"), 0, moment)
	must(t, err)
	_, err = a.Set(ctx, "replaced", []byte("1"), 0, moment)
	must(t, err)
	_, err = a.Set(ctx, "replaced", []byte("2"), cluster.AnyVersion, time.Hour)
	must(t, err)
	if !s.Slow {
		s.Advance(moment - time.Millisecond)
		expect(t, b, "k", "1")
	}
	s.Advance(moment)
	if _, version, err := b.Get(ctx, "k", 0); version != 0 || err != nil {
		t.Errorf("version %d, %v after the time to live", version, err)
	}
	if _, err := b.Set(ctx, "k", []byte("2"), version, time.Hour); !errors.Is(err, cluster.ErrConflict) {
		t.Errorf("change an expired value: %v", err)
	}
	_, err = b.Set(ctx, "k", []byte("2"), 0, time.Hour)
	must(t, err)
	expect(t, a, "k", "2")
	expect(t, a, "replaced", "2")
}

func extend(t *testing.T, s Subject) {
	ctx, a := t.Context(), open(t, s)
	for _, key := range []string{"longer", "shorter", "read"} {
		ttl := moment
		if key == "shorter" {
			ttl = time.Hour
		}
		_, err := a.Set(ctx, key, []byte(key), 0, ttl)
		must(t, err)
	}
	for key, extend := range map[string]time.Duration{"longer": time.Hour, "shorter": moment, "read": 0} {
		if _, version, err := a.Get(ctx, key, extend); version == 0 || err != nil {
			t.Fatalf("%s: version %d, %v", key, version, err)
		}
	}
	s.Advance(2 * moment)
	expect(t, a, "longer", "longer")
	for _, key := range []string{"shorter", "read"} {
		if _, version, err := a.Get(ctx, key, 0); version != 0 || err != nil {
			t.Errorf("%s: version %d, %v after the time to live", key, version, err)
		}
	}
}

func independent(t *testing.T, s Subject) {
	ctx, a := t.Context(), open(t, s)
	value := []byte("value")
	limit := cluster.LogLimit{Entries: 9, Bytes: 99, TTL: time.Hour}
	_, err := a.Set(ctx, "k", value, 0, time.Hour)
	must(t, err)
	must(t, a.Register(ctx, "g", "m", value, time.Hour))
	_, err = a.Append(ctx, "l", value, limit)
	must(t, err)
	value[0] = 'X'
	for range 2 {
		got, _, err := a.Get(ctx, "k", 0)
		must(t, err)
		group, err := a.Members(ctx, "g")
		must(t, err)
		entries, _, err := a.Read(ctx, "l", "")
		must(t, err)
		if string(got) != "value" || string(group["m"]) != "value" || len(entries) != 1 || string(entries[0].Data) != "value" {
			t.Fatalf("%q, %q, %q, want value", got, group["m"], entries)
		}
		got[0], group["m"][0], entries[0].Data[0] = 'X', 'X', 'X'
	}
}

func once(t *testing.T, s Subject) {
	var first atomic.Int32
	each(t, s, func(_ int, store cluster.Store) {
		ok, err := store.Once(t.Context(), "k", time.Hour)
		if err != nil {
			t.Error(err)
		} else if ok {
			first.Add(1)
		}
	})
	if n := first.Load(); n != 1 {
		t.Errorf("%d uses are the first, want 1", n)
	}
	if ok, err := open(t, s).Once(t.Context(), "other", time.Hour); !ok || err != nil {
		t.Errorf("another key: %v, %v", ok, err)
	}
}

func onceExpires(t *testing.T, s Subject) {
	ctx, a := t.Context(), open(t, s)
	for round := range 2 {
		if first, err := a.Once(ctx, "k", moment); !first || err != nil {
			t.Fatalf("round %d: %v, %v", round, first, err)
		}
		if !s.Slow {
			s.Advance(moment - time.Millisecond)
			if first, err := a.Once(ctx, "k", time.Hour); first || err != nil {
				t.Fatalf("again in round %d: %v, %v", round, first, err)
			}
		}
		s.Advance(moment)
	}
}

func kinds(t *testing.T, s Subject) {
	ctx, a := t.Context(), open(t, s)
	_, err := a.Set(ctx, "k", []byte("v"), 0, time.Hour)
	must(t, err)
	if first, err := a.Once(ctx, "k", time.Hour); !first || err != nil {
		t.Error(first, err)
	}
	if holder, err := a.Acquire(ctx, "k", "me", time.Hour); holder != "me" || err != nil {
		t.Error(holder, err)
	}
	must(t, a.Register(ctx, "k", "k", nil, time.Hour))
	if wait, err := a.Take(ctx, "k", 1, cluster.Bucket{Rate: 1, Burst: 1}); wait != 0 || err != nil {
		t.Error(wait, err)
	}
	_, err = a.Append(ctx, "k", []byte("v"), cluster.LogLimit{Entries: 1, Bytes: 9, TTL: time.Hour})
	must(t, err)
	stop, err := a.Subscribe(ctx, "k", func([]byte) {}, func() {})
	must(t, err)
	stop()
	must(t, a.Delete(ctx, "k"))
	if holder, err := a.Acquire(ctx, "k", "you", time.Hour); holder != "me" || err != nil {
		t.Error("a lease was deleted with a value:", holder, err)
	}
}

func invalid(t *testing.T, s Subject) {
	ctx, a := t.Context(), open(t, s)
	long, huge := strings.Repeat("k", cluster.MaxKey+1), bytes.Repeat([]byte("x"), cluster.MaxValue+1)
	limit := cluster.LogLimit{Entries: 1, Bytes: 2 * cluster.MaxValue, TTL: time.Hour}
	one := func(_ any, err error) error { return err }
	two := func(_, _ any, err error) error { return err }
	subscribe := func(topic string) error {
		_, err := a.Subscribe(ctx, topic, func([]byte) {}, func() {})
		return err
	}
	large := map[string]error{
		"get":       two(a.Get(ctx, long, 0)),
		"set":       one(a.Set(ctx, long, nil, 0, time.Hour)),
		"value":     one(a.Set(ctx, "k", huge, 0, time.Hour)),
		"once":      one(a.Once(ctx, long, time.Hour)),
		"acquire":   one(a.Acquire(ctx, long, "o", time.Hour)),
		"owner":     one(a.Acquire(ctx, "k", long, time.Hour)),
		"member":    a.Register(ctx, "g", long, nil, time.Hour),
		"data":      a.Register(ctx, "g", "m", huge, time.Hour),
		"entry":     one(a.Append(ctx, "l", huge, limit)),
		"limit":     one(a.Append(ctx, "l", []byte("xyz"), cluster.LogLimit{Entries: 1, Bytes: 2, TTL: time.Hour})),
		"publish":   a.Publish(ctx, "t", huge),
		"subscribe": subscribe(long),
	}
	for name, err := range large {
		if !errors.Is(err, cluster.ErrTooLarge) {
			t.Errorf("%s: %v, want %v", name, err, cluster.ErrTooLarge)
		}
	}
	for name, err := range map[string]error{
		"get": two(a.Get(ctx, "", 0)), "delete": a.Delete(ctx, ""), "no time": one(a.Set(ctx, "k", nil, 0, 0)),
		"negative time": one(a.Set(ctx, "k", nil, 0, -time.Second)), "once": one(a.Once(ctx, "k", 0)),
		"lease": one(a.Acquire(ctx, "k", "o", 0)), "owner": one(a.Acquire(ctx, "k", "", time.Hour)),
		"release": a.Release(ctx, "k", ""), "group": a.Unregister(ctx, "", "m"), "members": one(a.Members(ctx, "")),
		"bucket": one(a.Take(ctx, "k", 1, cluster.Bucket{})), "too many": one(a.Take(ctx, "k", 3, cluster.Bucket{Rate: 1, Burst: 2})),
		"none": one(a.Take(ctx, "k", 0, cluster.Bucket{Rate: 1, Burst: 2})), "log": one(a.Append(ctx, "l", nil, cluster.LogLimit{})),
		"position": two(a.Read(ctx, "l", "yesterday")), "negative position": two(a.Read(ctx, "l", "5--1")), "topic": subscribe(""),
	} {
		if err == nil || errors.Is(err, cluster.ErrUnavailable) {
			t.Errorf("%s: %v, want an error about the argument", name, err)
		}
	}
	if _, version, err := a.Get(ctx, "k", 0); version != 0 || err != nil {
		t.Errorf("a refused value is stored: version %d, %v", version, err)
	}
}

func ended(t *testing.T, s Subject) {
	a := open(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := a.Set(ctx, "k", []byte("v"), 0, time.Hour); !errors.Is(err, context.Canceled) {
		t.Errorf("set: %v", err)
	}
	if _, err := a.Once(ctx, "k", time.Hour); !errors.Is(err, context.Canceled) {
		t.Errorf("once: %v", err)
	}
	if _, err := a.Subscribe(ctx, "k", func([]byte) {}, func() {}); !errors.Is(err, context.Canceled) {
		t.Errorf("subscribe: %v", err)
	}
	if _, version, err := a.Get(t.Context(), "k", 0); version != 0 || err != nil {
		t.Errorf("version %d, %v", version, err)
	}
	if first, err := a.Once(t.Context(), "k", time.Hour); !first || err != nil {
		t.Errorf("once: %v, %v", first, err)
	}
}

func closed(t *testing.T, s Subject) {
	ctx, a, b := t.Context(), open(t, s), open(t, s)
	_, err := a.Set(ctx, "k", []byte("v"), 0, time.Hour)
	must(t, err)
	stop, err := a.Subscribe(ctx, "t", func([]byte) {}, func() {})
	must(t, err)
	must(t, a.Close())
	must(t, a.Close())
	stop()
	for name, err := range map[string]error{
		"get":     func() error { _, _, err := a.Get(ctx, "k", 0); return err }(),
		"publish": a.Publish(ctx, "t", nil),
		"epoch":   func() error { _, err := a.Epoch(ctx); return err }(),
		"subscribe": func() error {
			_, err := a.Subscribe(ctx, "t", func([]byte) {}, func() {})
			return err
		}(),
	} {
		if !errors.Is(err, cluster.ErrClosed) {
			t.Errorf("%s: %v, want %v", name, err, cluster.ErrClosed)
		}
	}
	if a != b {
		expect(t, b, "k", "v")
	}
}
