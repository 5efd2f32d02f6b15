package streamable_test

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/transport/streamable"
)

// A hookedStore calls before in place of what it would save, if it returns an
// error.
type hookedStore struct {
	streamable.Memory
	before func(state string) error
}

func (s *hookedStore) SaveSession(id string, state []byte, ttl time.Duration) error {
	if err := s.before(string(state)); err != nil {
		return err
	}
	return s.Memory.SaveSession(id, state, ttl)
}

func sessionID(r *request) string {
	for _, line := range r.lines {
		if id, ok := strings.CutPrefix(line, "Mcp-Session-Id: "); ok {
			return id
		}
	}
	return ""
}

const (
	setDebug  = `{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"debug"}}`
	subscribe = `{"jsonrpc":"2.0","id":2,"method":"resources/subscribe","params":{"uri":"test://one"}}`
)

// A state that could not be saved is saved with the next change, also if that
// changes nothing (L13).
func TestFailedSaveIsTriedAgain(t *testing.T) {
	var mu sync.Mutex
	fails := false
	store := &hookedStore{before: func(string) error {
		mu.Lock()
		defer mu.Unlock()
		if fails {
			return errors.New("the store is away")
		}
		return nil
	}}
	set := func(now bool) { mu.Lock(); fails = now; mu.Unlock() }
	f := newFort(t, false, &streamable.Options{Store: store})
	in := f.enter(rev2025, "")
	set(true)
	f.raw(in(setDebug).on(f))
	set(false)
	f.raw(in(setDebug).on(f))
	if state, _ := store.LoadSession(sessionID(in("x"))); !strings.Contains(string(state), "debug") {
		t.Errorf("saved is %s", state)
	}
}

// Of two changes at the same time, none takes back the other (L13).
func TestNewestStateIsSavedLast(t *testing.T) {
	held, release := make(chan bool, 1), make(chan bool)
	store := &hookedStore{before: func(state string) error {
		if strings.Contains(state, "debug") && !strings.Contains(state, "test://one") {
			held <- true
			<-release
		}
		return nil
	}}
	f := newFort(t, false, &streamable.Options{Store: store})
	in := f.enter(rev2025, "")
	first, second := make(chan *answer, 1), make(chan *answer, 1)
	go func() { first <- f.raw(in(setDebug).on(f)) }()
	<-held
	go func() { second <- f.raw(in(subscribe).on(f)) }()
	select {
	case a := <-second:
		t.Errorf("%s before the state it is based on was saved", a.short())
	case <-time.After(100 * time.Millisecond):
	}
	close(release)
	<-first
	select {
	case <-second:
	case <-time.After(time.Minute):
		t.Fatal("the second change hangs")
	}
	state, _ := store.LoadSession(sessionID(in("x")))
	if !strings.Contains(string(state), "test://one") || !strings.Contains(string(state), "debug") {
		t.Errorf("saved is %s", state)
	}
}

// What one instance changes in a session, the others see with the next request.
func TestChangedSessionIsRestoredAgain(t *testing.T) {
	var store streamable.Memory
	one, two := newFort(t, false, &streamable.Options{Store: &store}), newFort(t, false, &streamable.Options{Store: &store})
	in := one.enter(rev2025, "")
	log := in(oldTool("1", "log", ""))
	if a := one.raw(log.on(one)); strings.Contains(a.Text, "quiet") || !strings.Contains(a.Text, "loud") {
		t.Fatalf("before: %s", a.Text)
	}
	if a := two.raw(in(setDebug).on(two)); a.short() != "200 1 ok" {
		t.Fatalf("logging/setLevel: %s", a.Text)
	}
	if a := one.raw(log.on(one)); !strings.Contains(a.Text, "quiet") {
		t.Errorf("after: %s", a.Text)
	}
}

// A client that comes back to another instance gets what the store has of its
// stream, and the rest when it comes back again.
func TestResumeAtAnotherInstance(t *testing.T) {
	var store streamable.Memory
	one, two := newFort(t, false, &streamable.Options{Store: &store}), newFort(t, false, &streamable.Options{Store: &store})
	in := one.enter(rev2025, "")
	s := one.dial()
	s.write(in(oldGated("1", "a", 2)).on(one))
	<-one.began
	one.gate <- true
	e := hear(t, s.head().Body)
	e.expect(`"progress":1`)
	s.c.Close()
	back := func() *ear {
		_, at := two.listen(in("").header("Last-Event-ID", "Last-Event-ID: "+e.last))
		return at
	}
	if rest := back().next(); rest != "" {
		t.Errorf("before anything else has happened: %q", rest)
	}
	one.gate <- true
	waitFor(t, "the call has ended", func() bool {
		_, events, _ := store.EventsAfter(sessionID(in("x")), e.last)
		return len(events) == 2
	})
	back().expect(`"progress":2`, `"id":1,"result"`)
	news, _ := one.listen(in(""))
	news.c.Close()
	if a := two.raw(in("").header("Last-Event-ID", "Last-Event-ID: news-1").on(two)); a.Status != 400 {
		t.Errorf("a stream of changes: %d %s", a.Status, a.Text)
	}
	_, changes := two.listen(in("")) // without the id it goes on in the same session
	changes.lines.Scan()
	two.RemoveTools("none")
	changes.expect("notifications/tools/list_changed")
}
