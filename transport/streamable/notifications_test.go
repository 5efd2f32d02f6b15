package streamable_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
	"github.com/tenon-mcp/tenon/transport/streamable"
)

// Changes that happen while a client of an older revision is away are kept for when
// it comes back, in the order in which they happened; of those that say the same, the
// last.
func TestNewsIsKept(t *testing.T) {
	for _, rev := range []string{"2025-06-18", rev2025} {
		var store streamable.Memory
		f := newFort(t, false, &streamable.Options{Store: &store})
		in := f.enter(rev, "")
		s, e := f.listen(in(""))
		if rev != rev2025 { // which is not told from where to come back before there is something
			addOne(f.fixture)
			e.expect("tools/list_changed")
		} else {
			for e.last == "" && e.lines.Scan() {
				fmt.Sscanf(e.lines.Text(), "id: %s", &e.last)
			}
		}
		s.c.Close()
		kept := func() string {
			_, events, _ := store.EventsAfter(sessionID(in("x")), e.last)
			if len(events) == 0 {
				return ""
			}
			return events[len(events)-1].ID
		}
		prompt := func() {
			server.AddPrompt(f.Server, "new", "", func(context.Context, *mcp.Call, empty) (string, error) { return "", nil }, nil)
		}
		for _, change := range []func(){func() { addOne(f.fixture) }, prompt, func() { addOne(f.fixture) }, func() { addOne(f.fixture) }} {
			before := kept()
			change()
			waitFor(t, "a change is kept", func() bool { return kept() != before })
		}
		_, back := f.listen(in("").header("Last-Event-ID", "Last-Event-ID: "+e.last))
		back.expect("prompts/list_changed", "tools/list_changed")
		if a := f.raw(in(oldTool("1", "echo", "")).on(f)); a.short() != "200 1 ok" {
			t.Errorf("%s: afterwards %s", rev, a.short())
		}
		addOne(f.fixture)
		back.expect("tools/list_changed")
	}
}

// enterReady opens a session that hears news.
func (d *desk) enterReady() string {
	id := d.enter()
	d.send(d.t.Context(), "POST", id, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return id
}

// It is kept for a while only, and nothing of it outlives the session.
func TestNewsIsNotKeptForEver(t *testing.T) {
	for name, end := range map[string]func(d *desk, id string){
		"time":    func(*desk, string) { time.Sleep(10 * time.Minute) },
		"goodbye": func(d *desk, id string) { d.send(context.Background(), "DELETE", id, "") },
		"another": func(d *desk, id string) { // who comes from the beginning hears what comes from now on
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			d.send(ctx, "GET", id, "")
			time.Sleep(10 * time.Minute)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDesk(t, &streamable.Memory{})
				id := d.enterReady()
				ctx, hangUp := context.WithTimeout(t.Context(), time.Second)
				d.send(ctx, "GET", id, "")
				hangUp()
				synctest.Wait()
				_, before := d.store.Count()
				addOne(d.fixture)
				time.Sleep(time.Second)
				if _, now := d.store.Count(); now <= before {
					t.Errorf("nothing is kept: %d bytes, and %d before", now, before)
				}
				end(d, id)
				synctest.Wait()
				_, before = d.store.Count()
				addOne(d.fixture)
				time.Sleep(time.Second)
				if _, now := d.store.Count(); now > before {
					t.Errorf("%d bytes are kept, and %d before", now, before)
				}
			})
		})
	}
}

// Only so many clients are waited for, and those of calls are not let down
// for them.
func TestNewsIsKeptForSoMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, &streamable.Memory{})
		call, leave := context.WithCancel(t.Context())
		go d.send(call, "POST", d.enter(), oldGated("1", "left", 1))
		<-d.began
		leave()
		for range 3000 {
			ctx, hangUp := context.WithCancel(t.Context())
			hangUp()
			d.send(ctx, "GET", d.enterReady(), "")
		}
		synctest.Wait()
		_, before := d.store.Count()
		addOne(d.fixture)
		time.Sleep(time.Second)
		_, now := d.store.Count()
		if each := (now - before) / 1024; each < 100 || each > 1000 {
			t.Errorf("%d bytes of news are kept for 1024 clients", now-before)
		}
		d.gate <- true // it still waits
	})
}
