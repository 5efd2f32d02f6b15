package streamable_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/tenon-mcp/tenon/internal/racetest"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/transport/streamable"
)

const rev2025 = "2025-11-25"

// L02: what needs no session makes none.
func TestHostileDiscoverKeepsNothing(t *testing.T) {
	var store streamable.Memory
	f := newFort(t, false, &streamable.Options{Store: &store})
	s := f.dial()
	one := ask("1", "server/discover", "", "").on(f)
	for range 3000 {
		s.write(one)
		if a := s.read(); a.short() != "200 1 ok" || a.Header.Get("Mcp-Session-Id") != "" {
			t.Fatalf("%s %v", a.short(), a.Header)
		}
	}
	if n, bytes := store.Count(); n != 0 || bytes != 0 {
		t.Errorf("%d sessions and %d bytes are kept", n, bytes)
	}
}

// L04 (CVE-2026-33946, go-sdk#696): a session is its owner's, and nobody else
// learns that it is there.
func TestHostileForeignSession(t *testing.T) {
	f := newFort(t, false, &streamable.Options{Principal: func(r *http.Request) *mcp.Principal {
		if who := r.Header.Get("X-User"); who != "" {
			return &mcp.Principal{ID: who, Issuer: "https://id.example"}
		}
		return nil
	}})
	in := f.enter(rev2025, "", "X-User: ada")
	unknown := f.raw(in(oldTool("1", "echo", `"msg":"hi"`)).header("Mcp-Session-Id", "Mcp-Session-Id: nobodys").on(f))
	for _, who := range [][]string{nil, {"X-User: bob"}, {"X-User: ADA"}} {
		for verb, body := range map[string]string{"POST": oldTool("1", "echo", `"msg":"hi"`), "GET": "", "DELETE": ""} {
			a := f.raw(in(body).method(verb).header("X-User", who...).on(f))
			if a.Status != 404 || a.Text != unknown.Text {
				t.Errorf("%q %s: %d %s, and of an unknown session %s", who, verb, a.Status, a.Text, unknown.Text)
			}
		}
	}
	if a := f.raw(in(oldTool("1", "echo", `"msg":"hi"`)).on(f)); a.short() != "200 1 ok" {
		t.Errorf("the owner is served %s", a.short())
	}
}

// L06, L08 and their neighbours.
func TestHostileSessionRows(t *testing.T) {
	f := newFort(t, false, nil)
	in := f.enter(rev2025, "")
	call := oldTool("1", "echo", `"msg":"hi"`)
	initialize := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"` + rev2025 + `","capabilities":{},"clientInfo":{"name":"p","version":"1"}}}`
	for _, c := range []struct {
		name string
		send *request
		want string
	}{
		{"good", in(call), "200 1 ok"},
		{"no version header", in(call).header("Mcp-Protocol-Version"), "200 1 ok"},
		{"L06 unknown session", in(call).header("Mcp-Session-Id", "Mcp-Session-Id: 0123456789"), "404 - -32600"},
		{"L06 odd session", in(call).header("Mcp-Session-Id", "Mcp-Session-Id: ../../x"), "404 - -32600"},
		{"no session", in(call).header("Mcp-Session-Id"), "400 - -32600"},
		{"empty session", in(call).header("Mcp-Session-Id", "Mcp-Session-Id:"), "400 - -32600"},
		{"session twice", in(call).header("Mcp-Session-Id", "Mcp-Session-Id: a", "Mcp-Session-Id: b"), "400 - -32600"},
		{"L08 initialize again", in(initialize), "200 1 -32600"},
		{"request before initialize", in(call).header("Mcp-Session-Id").header("Mcp-Protocol-Version"), "400 - -32600"},
		{"initialize as a notification", in(strings.Replace(initialize, `"id":1,`, ``, 1)).header("Mcp-Session-Id"), "400 - -32600"},
		{"§4 initialize asking for the newest", in(strings.Replace(initialize, rev2025, "2026-07-28", 1)).header("Mcp-Session-Id").header("Mcp-Protocol-Version"), "200 1 ok"},
		{"unknown version header", in(call).header("Mcp-Protocol-Version", "Mcp-Protocol-Version: 1999-01-01"), "400 1 -32602"},
		{"an answer to nothing", in(`{"jsonrpc":"2.0","id":77,"result":{}}`), "421 - -32600"},
		{"an odd answer", in(`{"jsonrpc":"2.0","id":"x","result":{}}`), "421 - -32600"},
		{"a notification", in(`{"jsonrpc":"2.0","method":"notifications/nonsense"}`), "202"},
		{"cancelling nothing", in(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{"a":[]}}}`), "202"},
		{"a batch", in("[" + call + "]"), "400 - -32600"},
		{"unknown method", in(`{"jsonrpc":"2.0","id":1,"method":"tools/steal"}`), "200 1 -32601"},
		{"missing resource", in(`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"test://missing"}}`), "200 1 -32002"},
		{"not JSON", in("{"), "400 - -32700"},
		{"a panic", in(oldTool("1", "panic", "")), "200 1 -32603"},
		{"two Last-Event-IDs", in("").header("Last-Event-ID", "Last-Event-ID: a", "Last-Event-ID: b"), "400 - -32600"},
		{"asks one that cannot be asked", in(oldTool("1", "ask", "")), "200 1 -32600"},
	} {
		a := f.raw(c.send.on(f))
		if got := a.short(); got != c.want {
			t.Errorf("%s: %s, want %s: %.300s", c.name, got, c.want, a.Text)
		}
		a.hold(t, false)
		if alive := f.raw(in(call).on(f)); alive.short() != "200 1 ok" {
			t.Fatalf("%s: afterwards %s", c.name, alive.short())
		}
	}
	newest := in(strings.Replace(initialize, rev2025, "2026-07-28", 1)).header("Mcp-Session-Id").header("Mcp-Protocol-Version")
	if a := f.raw(newest.on(f)); !strings.Contains(a.Text, `"protocolVersion":"`+rev2025+`"`) {
		t.Errorf("§4 initialize asking for the newest: %s", a.Text)
	}
	if a := f.raw(in("").method("DELETE").on(f)); a.Status != 204 {
		t.Errorf("DELETE: %d", a.Status)
	}
	for name, r := range map[string]*request{"POST": in(call), "GET": in(""), "DELETE": in("").method("DELETE")} {
		if a := f.raw(r.on(f)); a.Status != 404 {
			t.Errorf("L06 %s after the end: %d", name, a.Status)
		}
	}
}

// L10: clients that use the same ids at the same time get their own answers and
// their own progress, in both eras on one server.
func TestHostileSameIDs(t *testing.T) {
	rounds := 10_000
	if testing.Short() || racetest.Enabled {
		rounds = 1000
	}
	f := newFort(t, false, nil)
	in, other := f.enter(rev2025, ""), f.enter("2025-06-18", "")
	const meta = `"_meta":{"progressToken":0`
	asking := map[string]func(who string) *request{
		"older": func(who string) *request {
			return in(strings.Replace(oldTool("0", "count", `"n":2,"who":"`+who+`"`), `"params":{`, `"params":{`+meta+`},`, 1))
		},
		"older too": func(who string) *request {
			return other(strings.Replace(oldTool("0", "count", `"n":2,"who":"`+who+`"`), `"params":{`, `"params":{`+meta+`},`, 1))
		},
		"newest": func(who string) *request {
			return askTool("0", "count", `"n":2,"who":"`+who+`"`).swap(`"_meta":{`, meta+`,`)
		},
		"newest too": func(who string) *request {
			return askTool("0", "count", `"n":2,"who":"`+who+`"`).swap(`"_meta":{`, meta+`,`)
		},
	}
	var all sync.WaitGroup
	for name, r := range asking {
		s := f.dial()
		all.Go(func() {
			for i := range rounds {
				who := fmt.Sprint(name, " ", i, ".")
				s.live()
				if _, err := s.c.Write([]byte(r(who).on(f))); err != nil {
					t.Error(err)
					return
				}
				a := s.read()
				if a.short() != "200 0 ok" || strings.Count(a.Text, who) != 3 || strings.Count(a.Text, `data: {`) != 3 {
					t.Errorf("%s heard %q", who, a.Text)
					return
				}
			}
		})
	}
	all.Wait()
}

// L12: the event store after a million events, with its own limits.
func TestHostileEventStore(t *testing.T) {
	var m streamable.Memory
	if err := m.SaveSession("s", nil, 1<<40); err != nil {
		t.Fatal(err)
	}
	data := []byte(strings.Repeat("x", 100))
	for range 1_000_000 {
		m.AddEvent("s", "a", data)
	}
	if _, bytes := m.Count(); bytes > 10<<20+1<<10 {
		t.Errorf("%d bytes are kept", bytes)
	}
}
