package streamable_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenon-mcp/tenon/era"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/transport/streamable"
)

const asksBack = `"io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}`

// asking is a call of the tool that asks twice, by a client that can be asked.
func asking(more string) *request {
	r := askTool("1", "twice", `"msg":"a"`).swap(`"io.modelcontextprotocol/clientCapabilities":{}`, asksBack)
	if more != "" {
		r.swap(`"name":"twice"`, `"name":"twice",`+more)
	}
	return r
}

var stateIn = regexp.MustCompile(`"requestState":"([^"]*)"`)

// askedState makes two rounds of a call and returns the members that make the
// third, of which one is what the server has told itself.
func askedState(t *testing.T, f *fort, headers ...string) string {
	t.Helper()
	r := asking(`"inputResponses":{"first":{"action":"accept","content":{"name":"Ada"}}}`)
	r.lines = append(r.lines, headers...)
	a := f.raw(r.on(f))
	state := stateIn.FindStringSubmatch(a.Text)
	if a.short() != "200 1 asks" || state == nil {
		t.Fatalf("%s: %s", a.short(), a.Text)
	}
	return `"requestState":"` + state[1] + `","inputResponses":{"last":{"action":"accept","content":{"name":"Lovelace"}}}`
}

// M14: what one request of a connection says of its client is not true of the
// next.
func TestHostileNothingIsRemembered(t *testing.T) {
	f := newFort(t, false, nil)
	s := f.dial()
	for range 3 {
		s.write(asking("").on(f))
		if a := s.read(); a.short() != "200 1 asks" {
			t.Fatalf("a client that can be asked: %s", a.short())
		}
		s.write(askTool("1", "twice", `"msg":"a"`).on(f))
		if a := s.read(); a.short() != "400 1 -32021" {
			t.Fatalf("one that cannot: %s", a.short())
		}
	}
}

// M28: a state is no use to anybody but whom it was given to.
func TestHostileForeignState(t *testing.T) {
	f := newFort(t, false, &streamable.Options{Principal: func(r *http.Request) *mcp.Principal {
		if who := r.Header.Get("X-User"); who != "" {
			return &mcp.Principal{ID: who, Issuer: "https://id.example"}
		}
		return nil
	}})
	third := askedState(t, f, "X-User: ada")
	for _, c := range []struct{ who, want string }{{"bob", "400 1 -32602"}, {"", "400 1 -32602"}, {"ada", "200 1 ok"}} {
		a := f.raw(asking(third).header("X-User", "X-User: "+c.who).on(f))
		if a.short() != c.want || c.want == "200 1 ok" && !strings.Contains(a.Text, "You are Ada Lovelace") {
			t.Errorf("%q: %s, want %s: %s", c.who, a.short(), c.want, a.Text)
		}
	}
	for name, r := range map[string]*request{
		"changed":           asking(strings.Replace(third, `"requestState":"`, `"requestState":"A`, 1)),
		"for another value": asking(third).swap(`"msg":"a"`, `"msg":"b"`),
	} {
		if a := f.raw(r.header("X-User", "X-User: ada").on(f)); a.short() != "400 1 -32602" {
			t.Errorf("%s: %s", name, a.short())
		}
	}
}

// M30: and not for ever.
func TestHostileOldState(t *testing.T) {
	keys, err := era.NewKeys(time.Second)
	if err != nil {
		t.Fatal(err)
	}
	f := newFort(t, false, &streamable.Options{Era: era.ServerOptions{Keys: keys}})
	third := askedState(t, f)
	waitFor(t, "the state expires", func() bool { return f.raw(asking(third).on(f)).short() == "400 1 -32602" })
	if a := f.raw(asking("").on(f)); a.short() != "200 1 asks" {
		t.Errorf("afterwards %s", a.short())
	}
}

// W34: an object with a million names.
func TestHostileManyNames(t *testing.T) {
	var b strings.Builder
	b.WriteString(`"msg":"hi"`)
	for i := range 1_000_000 {
		fmt.Fprintf(&b, `,"k%07d":1`, i)
	}
	r := askTool("1", "echo", b.String())
	f := newFort(t, false, nil)
	if a := f.raw(r.on(f)); a.Status != 413 {
		t.Errorf("by default: %s", a.short())
	}
	f = newFort(t, false, &streamable.Options{BodyLimit: 32 << 20})
	f.raw(askEcho().on(f))
	before := heapAfterGC()
	if a := f.raw(r.on(f)); a.short() != "200 1 failed" {
		t.Errorf("where there is room: %s: %.300s", a.short(), a.Text)
	}
	if a := f.raw(askEcho().on(f)); a.short() != "200 1 ok" {
		t.Errorf("afterwards %s", a.short())
	}
	waitFor(t, "the memory is given back", func() bool { return heapAfterGC() < before+8<<20 })
}

// L06: a session that nobody has used for its time is not there any more.
func TestHostileExpiredSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // whose clock stands still while a request is served
		const idle = 50 * time.Millisecond
		d := newDeskWith(t, &streamable.Options{Store: &streamable.Memory{}, Sessions: streamable.SessionLimits{Idle: idle}})
		id := d.enter()
		if !d.works(id) {
			t.Error("it does not work to begin with")
		}
		time.Sleep(4 * idle)
		if n, _ := d.store.Count(); n != 0 {
			t.Errorf("%d sessions are kept", n)
		}
		for _, c := range []struct{ name, verb, body, last string }{
			{"POST", "POST", oldTool("1", "echo", ""), ""}, {"GET", "GET", "", ""}, {"DELETE", "DELETE", "", ""}, {"GET of the rest", "GET", "", "s1-1"},
		} {
			var more []string
			if c.last != "" {
				more = []string{"Last-Event-ID", c.last}
			}
			w := d.send(t.Context(), c.verb, id, c.body, more...)
			if a := (&answer{Response: w.Result(), Status: w.Code, Text: w.Body.String()}); a.short() != "404 - -32600" {
				t.Errorf("%s: %s", c.name, a.short())
			}
		}
		if !d.works(d.enter()) {
			t.Error("a new one does not work")
		}
	})
}
