package streamable_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/transport/streamable"
)

func texts(events []streamable.StoredEvent) (all []string) {
	for _, e := range events {
		all = append(all, string(e.Data))
	}
	return all
}

// Who comes back hears what it missed of its stream, and of no other.
func TestMemoryReplays(t *testing.T) {
	var m streamable.Memory
	m.SaveSession("s", nil, time.Hour)
	m.SaveSession("other", nil, time.Hour)
	first := m.AddEvent("s", "a", []byte("1"))
	m.AddEvent("s", "b", []byte("x"))
	m.AddEvent("other", "a", []byte("y"))
	second := m.AddEvent("s", "a", []byte("2"))
	last := m.AddEvent("s", "a", []byte("3"))
	for _, c := range []struct {
		session, id string
		want        []string
		ok          bool
	}{
		{"s", first, []string{"2", "3"}, true},
		{"s", second, []string{"3"}, true},
		{"s", last, nil, true},
		{"other", last, nil, false},
		{"nobody", first, nil, false},
		{"s", "a-999", nil, false},
		{"s", "a-0", nil, false},
		{"s", "a--1", nil, false},
		{"s", "a-", nil, false},
		{"s", "a", nil, false},
		{"s", "", nil, false},
		{"s", "a-99999999999999999999", nil, false},
	} {
		stream, events, ok := m.EventsAfter(c.session, c.id)
		if ok != c.ok || !slices.Equal(texts(events), c.want) || ok && stream != "a" {
			t.Errorf("after %q of %q: %q %q %v", c.id, c.session, stream, texts(events), ok)
		}
	}
	m.DropSession("s")
	if _, _, ok := m.EventsAfter("s", first); ok {
		t.Error("the events outlived their session")
	}
	m.DropSession("other")
	if n, bytes := m.Count(); n != 0 || bytes != 0 {
		t.Errorf("%d sessions and %d bytes are left", n, bytes)
	}
}

// A million events stay within the budget; what is not whole is not replayed,
// and no id is ever given twice.
func TestMemoryBoundsEvents(t *testing.T) {
	const budget = 64 << 10
	m := streamable.Memory{Events: budget}
	m.SaveSession("s", nil, time.Hour)
	_, empty := m.Count()
	first := m.AddEvent("s", "a", []byte("first"))
	var late string
	names := []string{"b", "c", "d"}
	for i := range 1_000_000 {
		id := m.AddEvent("s", names[i%len(names)], []byte("some data"))
		if i == 999_000 {
			late = id
		}
	}
	if _, bytes := m.Count(); bytes > budget+empty {
		t.Errorf("%d bytes are kept", bytes)
	}
	for _, id := range []string{first, late} {
		if _, _, ok := m.EventsAfter("s", id); ok {
			t.Errorf("%s is replayed although events after it are lost", id)
		}
	}
	if id := m.AddEvent("s", "a", nil); id == first {
		t.Errorf("%s was given before", id)
	}
}

// Of changes that say the same, a stream of changes keeps the last. A client that comes
// back gets it, wherever it was; other messages are all kept.
func TestMemoryKeepsAChangeOnce(t *testing.T) {
	var m streamable.Memory
	m.SaveSession("s", nil, time.Hour)
	note := func(method, params string) []byte { return jsonrpc.AppendNotification(nil, method, []byte(params)) }
	log := note(mcp.NotificationMessage, `{"level":"info","data":"tools/list_changed"}`)
	changes := [][]byte{note(mcp.NotificationToolsListChanged, ""), note(mcp.NotificationPromptsListChanged, ""), note(mcp.NotificationResourceUpdated, `{"uri":"a:b"}`)}
	first, middle := m.AddEvent("s", "news", nil), ""
	for i := range 1000 {
		for _, data := range changes {
			if id := m.AddEvent("s", "news", data); i == 500 {
				middle = id
			}
		}
		if i%100 == 0 {
			m.AddEvent("s", "news", log)
		}
	}
	for id, logs := range map[string]int{first: 10, middle: 5} {
		want := slices.Repeat([]string{string(log)}, logs)
		for _, data := range changes {
			want = append(want, string(data))
		}
		if _, events, ok := m.EventsAfter("s", id); !ok || !slices.Equal(texts(events), want) {
			t.Errorf("after %s: %q, %v", id, texts(events), ok)
		}
	}
	call := m.AddEvent("s", "call", changes[0])
	for range 9 {
		m.AddEvent("s", "call", changes[0])
	}
	if _, events, ok := m.EventsAfter("s", call); !ok || len(events) != 9 {
		t.Errorf("the stream of a call has %d events, %v", len(events), ok)
	}
	m.DropSession("s")
	if n, bytes := m.Count(); n != 0 || bytes != 0 {
		t.Errorf("%d sessions and %d bytes are left", n, bytes)
	}
}

// Sessions that nobody says goodbye to are forgotten, and with the budget they
// level off.
func TestMemoryForgetsSessions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := streamable.Memory{Sessions: 100 << 10}
		for i := range 200_000 {
			m.SaveSession(fmt.Sprint("session", i), []byte(`{"some":"state"}`), time.Minute)
		}
		n, bytes := m.Count()
		if n == 0 || bytes > 100<<10 {
			t.Errorf("%d sessions with %d bytes are kept", n, bytes)
		}
		if _, ok := m.LoadSession("session199999"); !ok {
			t.Error("the newest is gone")
		}
		time.Sleep(40 * time.Second)
		m.LoadSession("session199999")
		time.Sleep(40 * time.Second)
		if !m.Sweep() {
			t.Error("the one that was used is gone")
		}
		if n, _ := m.Count(); n != 1 {
			t.Errorf("%d sessions are left", n)
		}
		time.Sleep(time.Minute + time.Second)
		if m.Sweep() {
			t.Error("the last is still there")
		}
	})
}

// What the store says that it takes is what it takes, be it many events, many
// streams or many sessions that are small.
func TestMemoryCountsAllOfIt(t *testing.T) {
	const many = 20_000
	for name, add := range map[string]func(m *streamable.Memory, i int){
		"events":  func(m *streamable.Memory, _ int) { m.AddEvent("s", "a", []byte("x")) },
		"streams": func(m *streamable.Memory, i int) { m.AddEvent("s", fmt.Sprint("s", i), []byte("x")) },
		"sessions": func(m *streamable.Memory, i int) {
			id := fmt.Sprintf("%052d", i)
			m.SaveSession(id, []byte(`{}`), time.Hour)
			m.AddEvent(id, "news", nil)
		},
		"bare sessions": func(m *streamable.Memory, i int) { m.SaveSession(fmt.Sprintf("%052d", i), []byte(`{}`), time.Hour) },
	} {
		m := &streamable.Memory{Sessions: 1 << 30, Events: 1 << 30}
		m.SaveSession("s", nil, time.Hour)
		before := heapAfterGC()
		for i := range many {
			add(m, i)
		}
		takes := heapAfterGC() - before
		_, says := m.Count()
		t.Logf("%s: %d bytes each, and says %d", name, takes/many, says/many)
		if takes > says*11/10 || takes < says/4 {
			t.Errorf("%s take %d bytes, and are said to take %d", name, takes, says)
		}
		m.DropSession("s")
		if _, left := m.Count(); name != "sessions" && name != "bare sessions" && left != 0 {
			t.Errorf("%s: %d bytes are left", name, left)
		}
	}
}
