// Package storetest tests implementations of [tasks.Store].
package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/ext/tasks"
	"github.com/tenon-mcp/tenon/mcp"
)

// hangGuard is how long something may take that never does. It is not a
// measure.
const hangGuard = time.Minute

// Run tests a store. open returns a Store on the same records each time it is
// called within one test, as several processes would open it, and an empty one
// in another test. If the Store has a method Close, a test may call it, as if
// its process had ended.
func Run(t *testing.T, open func(t *testing.T) tasks.Store) {
	for name, test := range map[string]func(*testing.T, func() tasks.Store){
		"a record is found as it was stored":              stored,
		"a result is found as it was stored":              results,
		"of two changes one is refused":                   conflict,
		"concurrent changes are all kept":                 concurrent,
		"an owner has a limited number":                   limited,
		"concurrent creations keep to the limit":          limitedConcurrently,
		"a list has the records of an owner":              listed,
		"a list is complete while others change it":       paged,
		"an expired record is not found":                  expired,
		"it is known how long a record is kept":           kept,
		"an expired record does not count":                expiredDoesNotCount,
		"a change is seen by those who watch":             watched,
		"the last change is never missed":                 lastChange,
		"a watch ends":                                    unwatched,
		"a runner is alive until it stops":                runners,
		"a runner that does not renew its lease is gone":  dead,
		"tasks of a runner that is gone are found":        interrupted,
		"a record that is read may be modified":           independent,
		"a method does nothing after the end of its time": ended,
	} {
		t.Run(name, func(t *testing.T) { test(t, func() tasks.Store { return open(t) }) })
	}
}

// record returns a record with every field set but the result and the error.
func record(id, owner string) *tasks.Record {
	now := time.Now().Truncate(time.Millisecond)
	return &tasks.Record{
		Task: tasks.Task{
			ID: id, Status: tasks.InputRequired, StatusMessage: "half done", CreatedAt: now, LastUpdatedAt: now,
			TTL: time.Hour, PollInterval: 500 * time.Millisecond,
			InputRequests: map[string]mcp.InputRequest{"k": {Method: mcp.MethodElicit, Params: []byte(`{"message":"ok?"}`)}},
		},
		Owner: owner, Tool: "render", Expires: now.Add(time.Hour), Runner: "r1", Attempts: 2, Call: json.RawMessage(`{"params":{}}`),
		Responses: map[string]json.RawMessage{"j": json.RawMessage(`{"action":"decline"}`)}, Asking: map[string]string{"k": "r2"},
	}
}

func stored(t *testing.T, open func() tasks.Store) {
	ctx, s := t.Context(), open()
	want := record("a", "issuer\x00ada")
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
	if want.Version != 2 {
		t.Errorf("version %d after Update, want 2", want.Version)
	}
	got, err := open().Get(ctx, "a")
	must(t, err)
	same(t, got, want)
	if _, err := s.Get(ctx, "b"); !errors.Is(err, tasks.ErrNotFound) {
		t.Errorf("an unknown id: %v", err)
	}
	if err := s.Create(ctx, record("a", "bob"), 10); !errors.Is(err, tasks.ErrConflict) {
		t.Errorf("an id is used twice: %v", err)
	}
	got, err = s.Get(ctx, "a")
	must(t, err)
	same(t, got, want)
}

// Results are kept byte for byte, whatever their size and depth.
func results(t *testing.T, open func() tasks.Store) {
	ctx, s := t.Context(), open()
	for name, result := range map[string]string{
		"empty":  `{}`,
		"spaced": `{ "a" : 1.0, "b":12345678901234567890 }`,
		"large":  `{"text":"` + strings.Repeat("é", 2<<20) + `"}`,
		"deep":   `{"a":` + strings.Repeat("[", 1000) + strings.Repeat("]", 1000) + `}`,
	} {
		r := record(name, "")
		must(t, s.Create(ctx, r, 10))
		r.Task.Status, r.Task.Result = tasks.Completed, json.RawMessage(result)
		must(t, s.Update(ctx, r))
		got, err := open().Get(ctx, name)
		must(t, err)
		if string(got.Task.Result) != result {
			t.Errorf("the %s result has %d bytes, want %d, or others", name, len(got.Task.Result), len(result))
		}
	}
	all, err := s.List(ctx, "", tasks.Cursor{}, 10)
	must(t, err)
	if len(all) != 4 {
		t.Errorf("%d records, want 4", len(all))
	}
	for _, r := range all {
		if r.Task.Result != nil || r.Task.Status != tasks.Completed {
			t.Errorf("in a list: status %s, %d bytes of a result", r.Task.Status, len(r.Task.Result))
		}
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
	two.Task.StatusMessage = "lost"
	if err := s.Update(ctx, two); !errors.Is(err, tasks.ErrConflict) || two.Version != 1 {
		t.Errorf("a change of an old version: %v, version %d", err, two.Version)
	}
	if got, err := s.Get(ctx, "a"); err != nil || got.Task.StatusMessage == "lost" || got.Version != 2 {
		t.Errorf("after a refused change: %+v, %v", got, err)
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
	if n := len(r.Responses) - 1; n != writers*changes || r.Version != writers*changes+1 {
		t.Errorf("%d changes are kept of %d, the version is %d", n, writers*changes, r.Version)
	}
}

func limited(t *testing.T, open func() tasks.Store) {
	ctx, s := t.Context(), open()
	for _, id := range []string{"a", "b"} {
		must(t, s.Create(ctx, record(id, "x\x00ada"), 2))
	}
	if err := open().Create(ctx, record("c", "x\x00ada"), 2); !errors.Is(err, tasks.ErrTooMany) {
		t.Errorf("the third of two: %v", err)
	}
	if _, err := s.Get(ctx, "c"); !errors.Is(err, tasks.ErrNotFound) {
		t.Errorf("the refused record: %v", err)
	}
	for i, owner := range []string{"x\x00bob", "x", "", "x\x00", "x\x00ADA"} {
		must(t, s.Create(ctx, record(fmt.Sprint(i), owner), 1))
	}
}

func limitedConcurrently(t *testing.T, open func() tasks.Store) {
	ctx := t.Context()
	const writers, each, most = 4, 10, 12
	var mu sync.Mutex
	created := 0
	var wg sync.WaitGroup
	for w := range writers {
		s := open()
		wg.Go(func() {
			for n := range each {
				switch err := s.Create(ctx, record(fmt.Sprintf("%d-%d", w, n), "ada"), most); {
				case err == nil:
					mu.Lock()
					created++
					mu.Unlock()
				case !errors.Is(err, tasks.ErrTooMany):
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	all, err := open().List(ctx, "ada", tasks.Cursor{}, 100)
	must(t, err)
	if created != most || len(all) != most {
		t.Errorf("%d were created and %d are listed; the limit is %d", created, len(all), most)
	}
}

func listed(t *testing.T, open func() tasks.Store) {
	ctx, s := t.Context(), open()
	began := time.Now().Truncate(time.Millisecond)
	var records []*tasks.Record
	// The second and the third are of the same moment, and the order of their
	// creation is not that of their times.
	for i, v := range []struct {
		owner string
		at    int
	}{{"ada", 3}, {"bob", 0}, {"ada", 5}, {"ada", 5}, {"", 2}, {"ada", 1}} {
		r := record(fmt.Sprint(i), v.owner)
		r.Task.CreatedAt = began.Add(time.Duration(v.at) * time.Millisecond)
		must(t, s.Create(ctx, r, 10))
		records = append(records, r)
	}
	for _, c := range []struct {
		owner string
		after tasks.Cursor
		limit int
		want  string
	}{
		{"ada", tasks.Cursor{}, 10, "5023"}, {"ada", tasks.Cursor{}, 2, "50"}, {"ada", records[0].Cursor(), 10, "23"},
		{"ada", records[2].Cursor(), 10, "3"}, {"ada", records[3].Cursor(), 10, ""},
		{"ada", tasks.Cursor{Created: began.Add(5 * time.Millisecond), ID: "20"}, 10, "3"}, // of a record that is gone
		{"ada", tasks.Cursor{Created: began.Add(2 * time.Millisecond), ID: "zz"}, 1, "0"},
		{"bob", tasks.Cursor{}, 10, "1"}, {"", tasks.Cursor{}, 10, "4"}, {"eve", tasks.Cursor{}, 10, ""},
	} {
		all, err := open().List(ctx, c.owner, c.after, c.limit)
		must(t, err)
		if got := ids(all); got != c.want {
			t.Errorf("tasks of %q after %v, at most %d: %q, want %q", c.owner, c.after, c.limit, got, c.want)
		}
	}
}

func ids(all []*tasks.Record) (out string) {
	for _, r := range all {
		out += r.Task.ID
	}
	return out
}

// A record that exists while a list is read is on exactly one page, although
// others are created, changed and expire meanwhile.
func paged(t *testing.T, open func() tasks.Store) {
	ctx, s := t.Context(), open()
	began := time.Now().Truncate(time.Millisecond)
	const n = 30
	for i := range n {
		r := record(fmt.Sprintf("%02d", i), "ada")
		r.Task.CreatedAt = began.Add(time.Duration(i) * time.Millisecond)
		if i%3 == 1 {
			r.Expires = time.Now().Add(time.Duration(i) * 2 * time.Millisecond)
		}
		must(t, s.Create(ctx, r, 1000))
	}
	done := make(chan struct{})
	var wg sync.WaitGroup
	other := open()
	wg.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-done:
				return
			default:
			}
			r := record(fmt.Sprintf("new-%d", i), "ada")
			r.Task.CreatedAt = began.Add(time.Duration(i%n) * time.Millisecond)
			if err := other.Create(ctx, r, 1000); err != nil && !errors.Is(err, tasks.ErrTooMany) {
				t.Error(err)
				return
			}
			if r, err := other.Get(ctx, fmt.Sprintf("%02d", i/2%n)); err == nil {
				_ = other.Update(ctx, r) // it may have expired
			}
		}
	})
	for range 5 {
		seen := map[string]int{}
		var last tasks.Cursor
		for {
			page, err := s.List(ctx, "ada", last, 4)
			if err != nil {
				t.Error(err)
				break
			}
			for _, r := range page {
				if seen[r.Task.ID]++; last.ID != "" && r.Cursor().Compare(last) <= 0 {
					t.Errorf("%v comes after %v", r.Cursor(), last)
				}
				last = r.Cursor()
			}
			if len(page) < 4 {
				break
			}
		}
		for i := range n {
			if id := fmt.Sprintf("%02d", i); i%3 != 1 && seen[id] != 1 {
				t.Errorf("record %s is listed %d times", id, seen[id])
			}
		}
		if repeated := slices.Max(slices.Collect(maps.Values(seen))); repeated > 1 {
			t.Errorf("a record is listed %d times", repeated)
		}
	}
	close(done)
	wg.Wait()
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
	if all, err := s.List(ctx, "ada", tasks.Cursor{}, 10); err != nil || len(all) > 0 {
		t.Errorf("an expired record is listed: %d, %v", len(all), err)
	}
	got, err := s.Get(ctx, "b")
	must(t, err)
	if got.Expires = time.Now().Add(-time.Second); s.Update(ctx, got) != nil {
		t.Error("the end of a record cannot be changed")
	}
	if _, err := s.Get(ctx, "b"); !errors.Is(err, tasks.ErrNotFound) {
		t.Errorf("a record whose end was changed: %v", err)
	}
}

func expiredDoesNotCount(t *testing.T, open func() tasks.Store) {
	ctx, s := t.Context(), open()
	r := record("a", "ada")
	r.Expires = time.Now().Add(20 * time.Millisecond)
	must(t, s.Create(ctx, r, 1))
	time.Sleep(30 * time.Millisecond)
	must(t, open().Create(ctx, record("b", "ada"), 1))
}

func watched(t *testing.T, open func() tasks.Store) {
	ctx, s := t.Context(), open()
	r := record("a", "")
	must(t, s.Create(ctx, r, 10))
	must(t, s.Create(ctx, record("b", ""), 10))
	changed := make(chan struct{}, 100)
	stop := s.Watch("a", func() { changed <- struct{}{} })
	defer stop()
	for range 3 { // by another process, then by this one
		must(t, open().Update(ctx, r))
		wait(t, changed)
		must(t, s.Update(ctx, r))
		wait(t, changed)
	}
}

// However changes and the reading of a record mix, one who reads it after each
// call sees the last version.
func lastChange(t *testing.T, open func() tasks.Store) {
	ctx, s, other := t.Context(), open(), open()
	const changes = 100
	for round := range 3 {
		id := fmt.Sprint(round)
		r := record(id, "")
		must(t, s.Create(ctx, r, 10))
		changed := make(chan struct{}, 1)
		stop := s.Watch(id, func() {
			select {
			case changed <- struct{}{}:
			default:
			}
		})
		writing := make(chan struct{})
		go func() {
			defer close(writing)
			for range changes {
				if err := other.Update(ctx, r); err != nil {
					t.Error(err)
				}
			}
		}()
		for {
			wait(t, changed)
			got, err := s.Get(ctx, id)
			must(t, err)
			if got.Version == changes+1 {
				break
			}
		}
		stop()
		<-writing
	}
}

func unwatched(t *testing.T, open func() tasks.Store) {
	ctx, s := t.Context(), open()
	a, b := record("a", ""), record("b", "")
	must(t, s.Create(ctx, a, 10))
	must(t, s.Create(ctx, b, 10))
	var mu sync.Mutex
	calls := 0
	stop := s.Watch("a", func() {
		mu.Lock()
		defer mu.Unlock()
		calls++
	})
	other := make(chan struct{}, 100)
	defer s.Watch("b", func() { other <- struct{}{} })()
	stop()
	mu.Lock()
	before := calls
	mu.Unlock()
	must(t, open().Update(ctx, a))
	must(t, open().Update(ctx, b))
	wait(t, other) // so the change of a was seen, too
	mu.Lock()
	defer mu.Unlock()
	if calls > before+1 { // one may have been under way
		t.Errorf("%d calls after the end", calls-before)
	}
}

func runners(t *testing.T, open func() tasks.Store) {
	ctx, s := t.Context(), open()
	alive := func(runner string, want bool) {
		t.Helper()
		for _, s := range []tasks.Store{s, open()} {
			if got, err := s.Alive(ctx, runner); got != want || err != nil {
				t.Errorf("%s is alive: %v, %v; want %v", runner, got, err, want)
			}
		}
	}
	alive("r1", false)
	must(t, s.Renew(ctx, "r1", time.Hour))
	must(t, s.Renew(ctx, "r2", time.Hour))
	must(t, s.Renew(ctx, "r1", time.Hour))
	alive("r1", true)
	alive("r2", true)
	must(t, s.Renew(ctx, "r1", 0))
	alive("r1", false)
	alive("r2", true)
	must(t, s.Renew(ctx, "r1", time.Hour))
	alive("r1", true)
}

// When a process ends and does not say so, its runners are gone once their time
// has passed.
func dead(t *testing.T, open func() tasks.Store) {
	ctx, s, other := t.Context(), open(), open()
	must(t, other.Renew(ctx, "r2", time.Hour))
	must(t, s.Renew(ctx, "r1", 50*time.Millisecond))
	if c, ok := s.(io.Closer); ok {
		must(t, c.Close())
	}
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		alive, err := other.Alive(ctx, "r1")
		must(t, err)
		if !alive {
			break
		}
		if time.Since(began) > hangGuard {
			t.Fatal("it is alive for ever")
		}
	}
	if alive, err := other.Alive(ctx, "r2"); !alive || err != nil {
		t.Errorf("another runner: %v, %v", alive, err)
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

// A method whose context has ended returns an error and changes nothing.
func ended(t *testing.T, open func() tasks.Store) {
	s := open()
	r := record("a", "ada")
	must(t, s.Create(t.Context(), r, 10))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, get := s.Get(ctx, "a")
	_, list := s.List(ctx, "ada", tasks.Cursor{}, 10)
	_, alive := s.Alive(ctx, "r1")
	_, interrupted := s.Interrupted(ctx, 10)
	for name, err := range map[string]error{
		"Create": s.Create(ctx, record("b", "ada"), 10), "Get": get, "Update": s.Update(ctx, r), "List": list,
		"Renew": s.Renew(ctx, "r1", time.Hour), "Alive": alive, "Interrupted": interrupted,
	} {
		if err == nil {
			t.Errorf("%s has no error", name)
		}
	}
	all, err := open().List(t.Context(), "ada", tasks.Cursor{}, 10)
	must(t, err)
	if len(all) != 1 || all[0].Version != 1 || r.Version != 1 {
		t.Errorf("%d records, %+v", len(all), all)
	}
}

func wait(t *testing.T, c <-chan struct{}) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(hangGuard):
		t.Fatal("no change was reported")
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

func kept(t *testing.T, open func() tasks.Store) {
	s := open()
	r, forever := record("a", "ada"), record("b", "ada")
	forever.Expires = time.Time{}
	for _, r := range []*tasks.Record{r, forever} {
		if err := s.Create(t.Context(), r, 10); err != nil {
			t.Fatal(err)
		}
	}
	if left, err := s.Left(t.Context(), "a"); err != nil || left <= 0 || left > time.Hour || left < 50*time.Minute {
		t.Errorf("a record with an hour is kept for %v %v", left, err)
	}
	if left, err := s.Left(t.Context(), "b"); err != nil || left != 0 {
		t.Errorf("a record without a limit is kept for %v %v", left, err)
	}
	if _, err := s.Left(t.Context(), "c"); !errors.Is(err, tasks.ErrNotFound) {
		t.Errorf("an unknown record: %v", err)
	}
}
