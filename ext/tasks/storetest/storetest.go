// Package storetest tests implementations of [tasks.Store].
package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/ext/tasks"
	"github.com/tenon-mcp/tenon/mcp"
)

// Run tests a store. open returns a Store on the same records each time it is
// called within one test, as several processes would open it, and an empty one
// in another test.
func Run(t *testing.T, open func(t *testing.T) tasks.Store) {
	for name, test := range map[string]func(*testing.T, func() tasks.Store){
		"a record is found as it was stored":    stored,
		"of two changes one is refused":         conflict,
		"concurrent changes are all kept":       concurrent,
		"an owner has a limited number":         limited,
		"a list has the records of an owner":    listed,
		"an expired record is not found":        expired,
		"a change is seen by those who watch":   watched,
		"a record that is read may be modified": independent,
	} {
		t.Run(name, func(t *testing.T) { test(t, func() tasks.Store { return open(t) }) })
	}
}

// record returns a record with every field set.
func record(id, owner string) *tasks.Record {
	now := time.Now().Truncate(time.Millisecond)
	return &tasks.Record{
		Task: tasks.Task{
			ID: id, Status: tasks.InputRequired, StatusMessage: "half done", CreatedAt: now, LastUpdatedAt: now,
			TTL: time.Hour, PollInterval: 500 * time.Millisecond,
			InputRequests: map[string]mcp.InputRequest{"k": {Method: mcp.MethodElicit, Params: []byte(`{"message":"ok?"}`)}},
		},
		Owner: owner, Tool: "render", Expires: now.Add(time.Hour), Lease: now.Add(time.Minute),
		Responses: map[string]json.RawMessage{"j": json.RawMessage(`{"action":"decline"}`)},
	}
}

func stored(t *testing.T, open func() tasks.Store) {
	ctx, s := t.Context(), open()
	want := record("a", "ada")
	must(t, s.Create(ctx, want, 10))
	if want.Version != 1 {
		t.Errorf("version %d after Create, want 1", want.Version)
	}
	for _, s := range []tasks.Store{s, open()} {
		got, err := s.Get(ctx, "a")
		must(t, err)
		same(t, got, want)
	}
	want.Task.Status, want.Task.InputRequests, want.Responses = tasks.Failed, nil, nil
	want.Task.Error = mcp.Errorf(mcp.CodeInternal, "broken").With(map[string]int{"n": 1})
	must(t, s.Update(ctx, want))
	got, err := open().Get(ctx, "a")
	must(t, err)
	same(t, got, want)
	if _, err := s.Get(ctx, "b"); !errors.Is(err, tasks.ErrNotFound) {
		t.Errorf("an unknown id: %v", err)
	}
	if err := s.Create(ctx, record("a", "bob"), 10); err == nil {
		t.Error("an id can be used twice")
	}
}

func conflict(t *testing.T, open func() tasks.Store) {
	ctx, s := t.Context(), open()
	must(t, s.Create(ctx, record("a", ""), 10))
	one, err := s.Get(ctx, "a")
	must(t, err)
	two, err := open().Get(ctx, "a")
	must(t, err)
	must(t, s.Update(ctx, one))
	if err := s.Update(ctx, two); !errors.Is(err, tasks.ErrConflict) {
		t.Errorf("a change of an old version: %v", err)
	}
	if err := s.Update(ctx, record("b", "")); !errors.Is(err, tasks.ErrNotFound) {
		t.Errorf("a change of nothing: %v", err)
	}
}

func concurrent(t *testing.T, open func() tasks.Store) {
	ctx := t.Context()
	must(t, open().Create(ctx, record("a", ""), 10))
	const writers, changes = 4, 25
	var wg sync.WaitGroup
	for w := range writers {
		s := open()
		wg.Go(func() {
			for n := 0; n < changes; {
				r, err := s.Get(ctx, "a")
				if err != nil {
					t.Error(err)
					return
				}
				r.Responses[fmt.Sprintf("%d-%d", w, n)] = json.RawMessage("{}")
				switch err := s.Update(ctx, r); {
				case err == nil:
					n++
				case !errors.Is(err, tasks.ErrConflict):
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	r, err := open().Get(ctx, "a")
	must(t, err)
	if n := len(r.Responses) - 1; n != writers*changes {
		t.Errorf("%d changes are kept of %d", n, writers*changes)
	}
}

func limited(t *testing.T, open func() tasks.Store) {
	ctx, s := t.Context(), open()
	for _, id := range []string{"a", "b"} {
		must(t, s.Create(ctx, record(id, "ada"), 2))
	}
	if err := open().Create(ctx, record("c", "ada"), 2); !errors.Is(err, tasks.ErrTooMany) {
		t.Errorf("the third of two: %v", err)
	}
	if _, err := s.Get(ctx, "c"); !errors.Is(err, tasks.ErrNotFound) {
		t.Errorf("the refused record: %v", err)
	}
	must(t, s.Create(ctx, record("d", "bob"), 2))
}

func listed(t *testing.T, open func() tasks.Store) {
	ctx, s := t.Context(), open()
	for i, owner := range []string{"ada", "bob", "ada", "ada", ""} {
		must(t, s.Create(ctx, record(fmt.Sprint(i), owner), 10))
	}
	ids := func(owner, after string, limit int) (out string) {
		rs, err := open().List(ctx, owner, after, limit)
		must(t, err)
		for _, r := range rs {
			out += r.Task.ID
		}
		return out
	}
	for _, c := range []struct {
		owner, after string
		limit        int
		want         string
	}{{"ada", "", 10, "023"}, {"ada", "", 2, "02"}, {"ada", "2", 10, "3"}, {"ada", "3", 10, ""}, {"bob", "", 10, "1"}, {"", "", 10, "4"}, {"eve", "", 10, ""}} {
		if got := ids(c.owner, c.after, c.limit); got != c.want {
			t.Errorf("tasks of %q after %q, at most %d: %q, want %q", c.owner, c.after, c.limit, got, c.want)
		}
	}
	if _, err := s.List(ctx, "ada", "unknown", 10); !errors.Is(err, tasks.ErrNotFound) {
		t.Errorf("after an unknown id: %v", err)
	}
}

func expired(t *testing.T, open func() tasks.Store) {
	ctx, s := t.Context(), open()
	r := record("a", "ada")
	r.Expires = time.Now().Add(50 * time.Millisecond)
	must(t, s.Create(ctx, r, 1))
	forever := record("b", "bob")
	forever.Expires = time.Time{}
	must(t, s.Create(ctx, forever, 1))
	time.Sleep(60 * time.Millisecond)
	if _, err := s.Get(ctx, "a"); !errors.Is(err, tasks.ErrNotFound) {
		t.Errorf("an expired record: %v", err)
	}
	if err := s.Update(ctx, r); !errors.Is(err, tasks.ErrNotFound) {
		t.Errorf("a change of an expired record: %v", err)
	}
	if _, err := s.Get(ctx, "b"); err != nil {
		t.Errorf("a record without an end: %v", err)
	}
	for { // the store makes room for new ones, perhaps a moment later
		err := s.Create(ctx, record("c", "ada"), 1)
		if err == nil {
			break
		}
		if !errors.Is(err, tasks.ErrTooMany) {
			t.Fatal(err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func watched(t *testing.T, open func() tasks.Store) {
	ctx, s := t.Context(), open()
	r := record("a", "")
	must(t, s.Create(ctx, r, 10))
	must(t, s.Create(ctx, record("b", ""), 10))
	changed := make(chan struct{}, 100)
	stop := s.Watch("a", func() { changed <- struct{}{} })
	must(t, open().Update(ctx, r))
	<-changed
	stop()
	must(t, open().Update(ctx, r))
	select {
	case <-changed: // one may have been under way
	case <-time.After(20 * time.Millisecond):
	}
}

func independent(t *testing.T, open func() tasks.Store) {
	ctx, s := t.Context(), open()
	r := record("a", "")
	must(t, s.Create(ctx, r, 10))
	delete(r.Responses, "j")
	got, err := s.Get(ctx, "a")
	must(t, err)
	if len(got.Responses) != 1 {
		t.Error("a record that was stored is shared with its creator")
	}
	delete(got.Responses, "j")
	if again, err := s.Get(ctx, "a"); err != nil || len(again.Responses) != 1 {
		t.Error("a record that was read is shared")
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func same(t *testing.T, got, want *tasks.Record) {
	t.Helper()
	g, err := mcp.Marshal(got)
	must(t, err)
	w, err := mcp.Marshal(want)
	must(t, err)
	if string(g) != string(w) {
		t.Errorf("got  %s\nwant %s", g, w)
	}
}
