package streamable_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenon-mcp/tenon/internal/racetest"
	"github.com/tenon-mcp/tenon/transport/streamable"
)

// A desk takes requests without a network, so that many fit into a test.
type desk struct {
	*fixture
	t     *testing.T
	h     *streamable.Handler
	store *streamable.Memory
}

func newDesk(t *testing.T, store *streamable.Memory) *desk {
	t.Helper()
	return newDeskWith(t, &streamable.Options{Store: store})
}

// newDeskWith has options, of which Store must be a Memory.
func newDeskWith(t *testing.T, o *streamable.Options) *desk {
	t.Helper()
	d := &desk{fixture: newFixture(t), t: t, store: o.Store.(*streamable.Memory)}
	var err error
	if d.h, err = streamable.NewHandler(d.fixture.Server, o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.h.Shutdown)
	return d
}

// send sends a request; headers are names and values in turn.
func (d *desk) send(ctx context.Context, verb, session, body string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(ctx, verb, "http://localhost/mcp", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if session != "" {
		r.Header.Set("Mcp-Session-Id", session)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	d.h.ServeHTTP(w, r)
	return w
}

// enter opens a session that then says nothing more.
func (d *desk) enter() string {
	d.t.Helper()
	w := d.send(d.t.Context(), "POST", "", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"`+rev2025+`","capabilities":{"roots":{"listChanged":true},"sampling":{},"elicitation":{}},"clientInfo":{"name":"flood","version":"1"}}}`)
	id := w.Header().Get("Mcp-Session-Id")
	if w.Code != 200 || id == "" {
		d.t.Fatalf("initialize: %d %s", w.Code, w.Body)
	}
	return id
}

// works reports whether a session can be used.
func (d *desk) works(session string) bool {
	w := d.send(d.t.Context(), "POST", session, oldTool("1", "echo", `"msg":"hi"`))
	return w.Code == 200 && strings.Contains(w.Body.String(), `"text":"hi"`)
}

func heapAfterGC() int {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// Clients that open sessions and never say goodbye do not fill the memory: it
// levels off, and who is there can go on.
func TestSessionFlood(t *testing.T) {
	flood := 200_000
	if testing.Short() || racetest.Enabled {
		flood = 40_000
	}
	const budget = 4 << 20
	d := newDesk(t, &streamable.Memory{Sessions: budget})
	regular, first := d.enter(), d.enter()
	var halfway int
	last := ""
	for i := range flood {
		last = d.enter()
		if i%1000 == 0 && !d.works(regular) {
			t.Fatalf("the session in use is gone after %d others", i)
		}
		if i == flood/2 {
			halfway = heapAfterGC()
		}
	}
	n, bytes := d.store.Count()
	if bytes > budget || n >= flood/2 || n < 1000 {
		t.Errorf("%d sessions with %d bytes are kept", n, bytes)
	}
	if end := heapAfterGC(); end > halfway+budget/4 || end > 8*budget {
		t.Errorf("the heap has %d bytes, and had %d half-way", end, halfway)
	}
	if d.works(first) || !d.works(last) || !d.works(regular) {
		t.Errorf("first %v, last %v, regular %v", d.works(first), d.works(last), d.works(regular))
	}
	if w := d.send(t.Context(), "POST", first, oldTool("1", "echo", "")); w.Code != http.StatusNotFound {
		t.Errorf("the first is told %d", w.Code)
	}
}

// A session in which nothing goes on has no goroutine and little memory.
func TestIdleSessionsAreCheap(t *testing.T) {
	const many = 20_000
	d := newDesk(t, &streamable.Memory{})
	d.works(d.enter())
	goroutines, before := runtime.NumGoroutine(), heapAfterGC()
	for range many {
		d.enter()
	}
	if n := runtime.NumGoroutine() - goroutines; n > 5 {
		t.Errorf("%d goroutines more", n)
	}
	each := (heapAfterGC() - before) / many
	if n, _ := d.store.Count(); n != many+1 {
		t.Errorf("%d sessions are kept", n)
	}
	t.Logf("%d bytes each", each)
	if each > 2<<10 {
		t.Errorf("a session costs %d bytes", each)
	}
}

// Sessions are swept without any request; those in which something goes on are
// not, unless it is only a call that its client has left.
func TestSessionsAreSwept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, &streamable.Memory{})
		for range 100 {
			d.enter()
		}
		hears, stops := d.enter(), d.enter()
		listening, hangUp := context.WithCancel(t.Context())
		go d.send(listening, "GET", hears, "")
		gone, leave := context.WithCancel(t.Context())
		go d.send(gone, "POST", stops, oldGated("1", "left", 1))
		<-d.began
		leave()
		time.Sleep(10 * time.Minute)
		if n, _ := d.store.Count(); n != 102 {
			t.Errorf("%d sessions are left after ten minutes", n)
		}
		time.Sleep(50 * time.Minute)
		if got := <-d.cancelled; got != "left" {
			t.Errorf("%s was cancelled", got)
		}
		time.Sleep(time.Hour)
		if n, _ := d.store.Count(); n != 1 || !d.works(hears) || d.works(stops) {
			t.Errorf("%d sessions are left after two hours", n)
		}
		hangUp()
		time.Sleep(time.Hour)
		if n, bytes := d.store.Count(); n != 0 || bytes != 0 {
			t.Errorf("%d sessions and %d bytes are left", n, bytes)
		}
		if d.works(hears) {
			t.Error("a session that was swept works")
		}
	})
}

// Sessions that remember much are as bounded as those that are many.
func TestLargeSessions(t *testing.T) {
	d := newDesk(t, &streamable.Memory{Sessions: 4 << 20})
	hello := func(size int) string {
		return `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"` + rev2025 + `","capabilities":{},"clientInfo":{"name":"` + strings.Repeat("x", size) + `","version":"1"}}}`
	}
	if w := d.send(t.Context(), "POST", "", hello(100<<10)); w.Code != 400 || !strings.Contains(w.Body.String(), "-32602") {
		t.Errorf("a long hello: %d %s", w.Code, w.Body)
	}
	before := heapAfterGC()
	long := hello(60 << 10)
	id := ""
	for range 700 {
		w := d.send(t.Context(), "POST", "", long)
		if id = w.Header().Get("Mcp-Session-Id"); id == "" {
			t.Fatal(w.Body)
		}
	}
	if grown := heapAfterGC() - before; grown > 56<<20 {
		t.Errorf("%d bytes are held", grown)
	}
	subscribed := 0
	for i := range 60 {
		w := d.send(t.Context(), "POST", id, `{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"test://`+fmt.Sprint(i)+strings.Repeat("x", 10<<10)+`"}}`)
		if !strings.Contains(w.Body.String(), "-32602") {
			subscribed++
		}
	}
	if subscribed == 0 || subscribed > 30 {
		t.Errorf("%d long URIs could be subscribed to", subscribed)
	}
	if !d.works(id) {
		t.Error("the session does not work any more")
	}
}
