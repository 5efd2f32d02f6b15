package streamable_test

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/tenon-mcp/tenon/cluster"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
	"github.com/tenon-mcp/tenon/transport/streamable"
)

// events reads a stream of events.
type events struct {
	t    *testing.T
	res  *http.Response
	in   *bufio.Scanner
	last string // the id of the last event
}

func newEvents(t *testing.T, res *http.Response) *events {
	t.Helper()
	if res.StatusCode != http.StatusOK || res.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("no stream: %s %s", res.Status, res.Header.Get("Content-Type"))
	}
	return &events{t: t, res: res, in: bufio.NewScanner(res.Body)}
}

// next returns the data of the next event that has some; "" at the end.
func (e *events) next() string {
	e.t.Helper()
	for e.in.Scan() {
		line := e.in.Text()
		if id, ok := strings.CutPrefix(line, "id: "); ok {
			e.last = id
		}
		if data, ok := strings.CutPrefix(line, "data: "); ok && data != "" {
			return data
		}
	}
	return ""
}

// primed reads up to the id that the client can resume from.
func (e *events) primed() {
	for e.last == "" && e.in.Scan() {
		if id, ok := strings.CutPrefix(e.in.Text(), "id: "); ok {
			e.last = id
		}
	}
}

// until returns the next event that contains text, and skips others.
func (e *events) until(text string) string {
	e.t.Helper()
	for {
		data := e.next()
		if data == "" {
			e.t.Fatalf("the stream ended before %q", text)
		}
		if strings.Contains(data, text) {
			return data
		}
	}
}

const (
	ping      = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	listTools = `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`
)

func wantStatus(t *testing.T, what string, status, want int) {
	t.Helper()
	if status != want {
		t.Errorf("%s: status %d, want %d", what, status, want)
	}
}

// A session that does not change is stored nowhere, a request of a session asks
// the store once, and a modern request not at all.
func TestStoreIsAskedOnceForEachLegacyRequest(t *testing.T) {
	f := newFleet(t, 2, nil)
	a, b := f.nodes[0], f.nodes[1]
	count := func(n *node, do func()) (gets, sets int64) {
		gets, sets = n.store.gets.Load(), n.store.sets.Load()
		do()
		return n.store.gets.Load() - gets, n.store.sets.Load() - sets
	}
	var session string
	if gets, sets := count(a, func() { session = a.open() }); gets+sets != 0 {
		t.Errorf("initialize: %d reads, %d writes", gets, sets)
	}
	for _, n := range []*node{a, b} {
		if gets, sets := count(n, func() { n.say("POST", session, `{"jsonrpc":"2.0","method":"notifications/initialized"}`) }); gets != 1 || sets != 0 {
			t.Errorf("notification: %d reads, %d writes", gets, sets)
		}
		if gets, sets := count(n, func() {
			if status, body := n.say("POST", session, listTools); status != 200 || !strings.Contains(body, `"who"`) {
				t.Errorf("%d %s", status, body)
			}
		}); gets != 1 || sets != 0 {
			t.Errorf("request: %d reads, %d writes", gets, sets)
		}
		if gets, sets := count(n, func() {
			body := newEvents(t, n.raw("POST", session, toolCall(1, "progress"))).until(`"result"`)
			if !strings.Contains(body, "done") {
				t.Error(body)
			}
		}); gets != 1 || sets != 0 {
			t.Errorf("call with notifications: %d reads, %d writes", gets, sets)
		}
		if gets, sets := count(n, func() {
			if status, body := n.say("POST", "", fleetCall("add", `{"A":1,"B":2}`), fleetHeaders("add")...); status != 200 || !strings.Contains(body, "3") {
				t.Errorf("%d %s", status, body)
			}
		}); gets+sets != 0 {
			t.Errorf("modern request: %d reads, %d writes", gets, sets)
		}
	}
}

func fleetCall(tool, args string) string {
	return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + tool + `","arguments":` + args + `,"_meta":` + fleetMeta + `}}`
}

const fleetMeta = `{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{}}}}`

func fleetHeaders(tool string) []string {
	return []string{"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", tool}
}

// byHeader names the principal in a header, as middleware would verify it.
func byHeader(o *streamable.Options) {
	o.Principal = func(r *http.Request) *mcp.Principal {
		if id := r.Header.Get("X-User"); id != "" {
			return &mcp.Principal{ID: id}
		}
		return nil
	}
}

// A session id is worth nothing if it was changed, or belongs to another
// principal, cluster, scope or data set.
func TestForeignSessionIDsAreRefused(t *testing.T) {
	f, other := newFleet(t, 1, byHeader), newFleet(t, 1, byHeader)
	scoped := f.startNode(func(o *streamable.Options) { byHeader(o); o.Scope = "other" })
	n := f.nodes[0]
	session := n.open("X-User", "ada")
	status, _ := n.say("POST", session, ping, "X-User", "ada")
	wantStatus(t, "its owner", status, 200)
	for what, try := range map[string]func() int{
		"another principal": func() int { s, _ := n.say("POST", session, ping, "X-User", "bob"); return s },
		"no principal":      func() int { s, _ := n.say("POST", session, ping); return s },
		"another cluster":   func() int { s, _ := other.nodes[0].say("POST", session, ping, "X-User", "ada"); return s },
		"another scope":     func() int { s, _ := scoped.say("POST", session, ping, "X-User", "ada"); return s },
		"a short id":        func() int { s, _ := n.say("POST", session[:20], ping, "X-User", "ada"); return s },
		"a random id":       func() int { s, _ := n.say("POST", "abcdefghijklmnop", ping, "X-User", "ada"); return s },
		"a DELETE of another principal": func() int {
			s, _ := n.say("DELETE", session, "", "X-User", "bob")
			return s
		},
	} {
		wantStatus(t, what, try(), 404)
	}
	for _, i := range []int{0, 10, len(session) / 2, len(session) - 2} {
		c := byte('A')
		if session[i] == c {
			c = 'B'
		}
		forged := session[:i] + string(c) + session[i+1:]
		status, _ := n.say("POST", forged, ping, "X-User", "ada")
		wantStatus(t, fmt.Sprintf("byte %d changed", i), status, 404)
	}
	status, _ = n.say("POST", session, ping, "X-User", "ada")
	wantStatus(t, "its owner, afterwards", status, 200)
}

// A session whose client says much about itself does not fit into its id.
func TestLargeSessionsAreStored(t *testing.T) {
	f := newFleet(t, 2, nil)
	a, b := f.nodes[0], f.nodes[1]
	res := a.raw("POST", "", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"experimental":{"x":{"y":"`+strings.Repeat("z", 5000)+`"}}},"clientInfo":{"name":"c","version":"1"}}}`)
	session := res.Header.Get("Mcp-Session-Id")
	if len(session) > 500 {
		t.Errorf("the id has %d bytes", len(session))
	}
	status, _ := b.say("POST", session, ping)
	wantStatus(t, "at another replica", status, 200)
}

// DELETE at one replica ends calls and streams at all, and the session is gone.
func TestDeleteEndsASessionEverywhere(t *testing.T) {
	f := newFleet(t, 3, nil)
	a, b, c := f.nodes[0], f.nodes[1], f.nodes[2]
	session := a.open()
	call := newEvents(t, a.raw("POST", session, toolCall(1, "slow")))
	receive(t, "the call", a.started)
	changes := newEvents(t, b.raw("GET", session, ""))
	changes.primed()
	status, _ := c.say("DELETE", session, "")
	wantStatus(t, "DELETE", status, 204)
	receive(t, "the end of the call", f.cancelled)
	for call.next() != "" {
	}
	for changes.next() != "" {
	}
	for _, n := range f.nodes {
		status, _ := n.say("POST", session, ping)
		wantStatus(t, "after DELETE", status, 404)
		status, _ = n.say("DELETE", session, "")
		wantStatus(t, "a second DELETE", status, 404)
	}
}

// A cancellation reaches the replica of the call, if it comes from its principal.
func TestCancellationReachesTheReplicaOfTheCall(t *testing.T) {
	f := newFleet(t, 3, byHeader)
	a, b, c := f.nodes[0], f.nodes[1], f.nodes[2]
	ada := []string{"X-User", "ada"}
	session := a.open(ada...)
	a.raw("POST", session, toolCall(7, "slow"), ada...)
	receive(t, "the call", a.started)
	cancel := `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`
	status, _ := b.say("POST", session, cancel, "X-User", "bob")
	wantStatus(t, "another principal", status, 404)
	theirs := b.open("X-User", "bob")
	status, _ = b.say("POST", theirs, cancel, "X-User", "bob")
	wantStatus(t, "another session", status, 202)
	select {
	case <-f.cancelled:
		t.Error("another principal has cancelled the call")
	default:
	}
	status, _ = c.say("POST", session, cancel, ada...)
	wantStatus(t, "the cancellation", status, 202)
	receive(t, "the end of the call", f.cancelled)
}

// requestIn returns the id of a request to the client.
func requestIn(t *testing.T, data string) string {
	t.Helper()
	_, rest, ok := strings.Cut(data, `"id":"`)
	id, _, _ := strings.Cut(rest, `"`)
	if !ok {
		t.Fatalf("no request: %s", data)
	}
	return id
}

func accept(id, name string) string {
	return `{"jsonrpc":"2.0","id":"` + id + `","result":{"action":"accept","content":{"name":"` + name + `"}}}`
}

// A response reaches the replica that asked, whichever gets it (L36); not from
// another principal, and not twice.
func TestResponsesReachTheReplicaThatAsked(t *testing.T) {
	f := newFleet(t, 3, byHeader)
	a, b, c := f.nodes[0], f.nodes[1], f.nodes[2]
	ada := []string{"X-User", "ada"}
	session := a.open(ada...)
	call := newEvents(t, a.raw("POST", session, toolCall(1, "ask"), ada...))
	first := requestIn(t, call.until("elicitation/create"))
	status, _ := b.say("POST", session, accept(first, "Eve"), "X-User", "bob")
	wantStatus(t, "another principal", status, 404)
	theirs := b.open("X-User", "bob")
	status, _ = b.say("POST", theirs, accept(first, "Eve"), "X-User", "bob")
	wantStatus(t, "another session", status, 410)
	status, _ = b.say("POST", session, accept(first, "One"), ada...)
	wantStatus(t, "the first response", status, 202)
	second := requestIn(t, call.until("elicitation/create"))
	status, _ = c.say("POST", session, accept(first, "Again"), ada...)
	wantStatus(t, "a second response to the first", status, 202)
	status, _ = c.say("POST", session, accept(second, "Two"), ada...)
	wantStatus(t, "the second response", status, 202)
	if got := call.until(`"result"`); !strings.Contains(got, "One and Two") {
		t.Error(got)
	}
	status, _ = b.say("POST", session, accept(a.replica.ID()+".999999999999", "X"), ada...)
	wantStatus(t, "an id that was never sent", status, 410)
	status, _ = b.say("POST", session, accept("nobody.1", "X"), ada...)
	wantStatus(t, "an unknown replica", status, 410)
}

// A response in a batch of 2025-03-26 reaches the replica that asked as well.
func TestResponsesInBatchesReachTheReplicaThatAsked(t *testing.T) {
	f := newFleet(t, 2, nil)
	a, b := f.nodes[0], f.nodes[1]
	res := a.raw("POST", "", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{"roots":{}},"clientInfo":{"name":"c","version":"1"}}}`)
	session, old := res.Header.Get("Mcp-Session-Id"), []string{"Mcp-Protocol-Version", "2025-03-26"}
	call := newEvents(t, a.raw("POST", session, toolCall(1, "roots"), old...))
	id := requestIn(t, call.until("roots/list"))
	status, body := b.say("POST", session, `[{"jsonrpc":"2.0","id":"`+id+`","result":{"roots":[{"uri":"file:///x"}]}},`+ping+`]`, old...)
	if status != 200 || !strings.Contains(body, `"id":1`) {
		t.Errorf("batch: %d %s", status, body)
	}
	if got := call.until(`"result"`); !strings.Contains(got, "file:///x") {
		t.Error(got)
	}
}

// A stream is resumed at another replica while its own is there.
func TestStreamsAreResumedAtAnotherReplica(t *testing.T) {
	f := newFleet(t, 2, byHeader)
	a, b := f.nodes[0], f.nodes[1]
	ada := []string{"X-User", "ada"}
	session := a.open(ada...)
	call := newEvents(t, a.raw("POST", session, toolCall(1, "hold"), ada...))
	call.until("progress")
	receive(t, "the call", a.started)
	call.res.Body.Close()
	status, _ := b.say("GET", session, "", "Last-Event-ID", call.last, "X-User", "bob")
	wantStatus(t, "another principal", status, 404)
	again := newEvents(t, b.raw("GET", session, "", append(ada, "Last-Event-ID", call.last)...))
	close(a.finish)
	if got := again.until(`"result"`); !strings.Contains(got, "held by "+a.replica.ID()) {
		t.Error(got)
	}
	status, _ = b.say("GET", session, "", append(ada, "Last-Event-ID", a.replica.ID()+".snone-1")...)
	wantStatus(t, "an unknown stream", status, 400)
}

// Without the replica of its stream, a client that resumes gets an error in place
// of the response at once.
func TestCallOfAKilledReplicaEndsWithAnError(t *testing.T) {
	f := newFleet(t, 2, nil)
	a, b := f.nodes[0], f.nodes[1]
	session := a.open()
	call := newEvents(t, a.raw("POST", session, toolCall(5, "hold")))
	call.until("progress")
	receive(t, "the call", a.started)
	a.kill()
	for call.next() != "" {
	}
	again := newEvents(t, b.raw("GET", session, "", "Last-Event-ID", call.last))
	if got := again.next(); !strings.Contains(got, `"id":5`) || !strings.Contains(got, `"error"`) || !strings.Contains(got, "stopped") {
		t.Error(got)
	}
	if rest := again.next(); rest != "" {
		t.Errorf("after the error: %s", rest)
	}
	status, _ := b.say("POST", session, ping)
	wantStatus(t, "the session, afterwards", status, 200)
}

// What a call has sent while its client was away survives its replica.
func TestStoredEventsSurviveTheirReplica(t *testing.T) {
	f := newFleet(t, 2, nil)
	a, b := f.nodes[0], f.nodes[1]
	session := a.open()
	call := newEvents(t, a.raw("POST", session, toolCall(5, "hold")))
	call.until("progress")
	receive(t, "the call", a.started)
	before := a.store.sets.Load()
	call.res.Body.Close()
	waitUntil(t, func() bool { return a.store.sets.Load() > before }) // it has noticed
	stored := a.store.sets.Load()
	close(a.finish)
	waitUntil(t, func() bool { return a.store.sets.Load() > stored })
	a.kill()
	again := newEvents(t, b.raw("GET", session, "", "Last-Event-ID", call.last))
	if got := again.next(); !strings.Contains(got, "held by "+a.replica.ID()) {
		t.Error(got)
	}
	if rest := again.next(); rest != "" {
		t.Errorf("after the response: %s", rest)
	}
}

// A response to a killed replica is refused at once, and keeps the session.
func TestResponseToAKilledReplicaIsRefused(t *testing.T) {
	f := newFleet(t, 2, nil)
	a, b := f.nodes[0], f.nodes[1]
	session := a.open()
	call := newEvents(t, a.raw("POST", session, toolCall(1, "ask")))
	id := requestIn(t, call.until("elicitation/create"))
	a.kill()
	status, body := b.say("POST", session, accept(id, "One"))
	wantStatus(t, "the response", status, 410)
	if !strings.Contains(body, "stopped") {
		t.Error(body)
	}
	status, _ = b.say("POST", session, ping)
	wantStatus(t, "the session, afterwards", status, 200)
}

// What a session changes at one replica counts at all, also where it is in use.
func TestChangesOfASessionReachTheReplicaThatHasItsStream(t *testing.T) {
	f := newFleet(t, 3, nil)
	a, b, c := f.nodes[0], f.nodes[1], f.nodes[2]
	session := a.open()
	changes := newEvents(t, a.raw("GET", session, ""))
	changes.primed()
	subscribe := `{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"test://one"}}`
	status, _ := b.say("POST", session, subscribe)
	wantStatus(t, "subscribe", status, 200)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() { // the hint may take a moment
		waitUntil(t, func() bool {
			c.server.ResourceUpdated("test://one")
			select {
			case <-stop:
				return true
			default:
				return false
			}
		})
	})
	changes.until("test://one")
	close(stop)
	wg.Wait()
	logged := func(n *node) bool {
		e := n.raw("POST", session, toolCall(3, "log"))
		quiet := false
		for in := newEvents(t, e); ; {
			data := in.next()
			quiet = quiet || strings.Contains(data, "quiet")
			if data == "" {
				return quiet
			}
		}
	}
	if logged(a) || logged(b) {
		t.Error("debug messages before setLevel")
	}
	status, _ = c.say("POST", session, `{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"debug"}}`)
	wantStatus(t, "setLevel", status, 200)
	for i, n := range f.nodes {
		if !logged(n) {
			t.Errorf("replica %d does not know the level", i)
		}
	}
}

// Of changes of one session at several replicas at once, none is lost.
func TestConcurrentChangesOfASessionAreAllKept(t *testing.T) {
	f := newFleet(t, 3, nil)
	session := f.nodes[0].open()
	for range 10 {
		var wg sync.WaitGroup
		for i, n := range f.nodes {
			wg.Go(func() {
				body := `{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"test://one"}}`
				switch i {
				case 1:
					body = strings.ReplaceAll(body, "one", "two")
				case 2:
					body = `{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"error"}}`
				}
				if status, answer := n.say("POST", session, body); status != 200 {
					t.Errorf("%d %s", status, answer)
				}
			})
		}
		wg.Wait()
		state := f.sessionState()
		for _, want := range []string{"test://one", "test://two", `"error"`} {
			if !strings.Contains(state, want) {
				t.Errorf("%s is missing in %s", want, state)
			}
		}
		for _, body := range []string{
			`{"jsonrpc":"2.0","id":1,"method":"resources/unsubscribe","params":{"uri":"test://one"}}`,
			`{"jsonrpc":"2.0","id":1,"method":"resources/unsubscribe","params":{"uri":"test://two"}}`,
			`{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"info"}}`,
		} {
			f.nodes[0].say("POST", session, body)
		}
	}
}

// sessionState returns the stored state of the only session.
func (f *fleet) sessionState() (state string) {
	f.t.Helper()
	for _, n := range f.nodes {
		if key := n.store.lastSession.Load(); key != nil {
			raw, _, err := f.store.Get(f.t.Context(), *key, 0)
			if err != nil {
				f.t.Fatal(err)
			}
			return string(raw)
		}
	}
	return ""
}

// A client that opens its stream of changes at another replica gets each change
// once: the former stream ends.
func TestOnlyTheLastStreamOfChangesIsServed(t *testing.T) {
	f := newFleet(t, 2, nil)
	a, b := f.nodes[0], f.nodes[1]
	session := a.open()
	first := newEvents(t, a.raw("GET", session, ""))
	first.primed()
	second := newEvents(t, b.raw("GET", session, ""))
	second.primed()
	for first.next() != "" { // it ends
		t.Error("the first stream has an event")
	}
	server.AddTool(a.server, "grown", "Is new", func(context.Context, *mcp.Call, struct{}) (string, error) { return "", nil }, nil)
	second.until("tools/list_changed")
	// The former stream, when resumed, does not get it as well.
	status, _ := b.say("GET", session, "", "Last-Event-ID", first.last)
	wantStatus(t, "resuming the former stream", status, 400)
}

// A client whose stream of changes was at a killed replica is told to read
// everything again.
func TestChangesOfAKilledReplicaCountAsMissed(t *testing.T) {
	f := newFleet(t, 2, nil)
	a, b := f.nodes[0], f.nodes[1]
	session := a.open()
	status, _ := b.say("POST", session, `{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"test://one"}}`)
	wantStatus(t, "subscribe", status, 200)
	first := newEvents(t, a.raw("GET", session, ""))
	first.primed()
	a.kill()
	for first.next() != "" {
	}
	second := newEvents(t, b.raw("GET", session, "", "Last-Event-ID", first.last))
	second.until("tools/list_changed")
	second.until("test://one")
	server.AddTool(b.server, "grown", "Is new", func(context.Context, *mcp.Call, struct{}) (string, error) { return "", nil }, nil)
	second.until("tools/list_changed")
}

// While the store is away, modern calls go on, and legacy ones are refused at once
// and continue afterwards.
func TestStoreAway(t *testing.T) {
	f := newFleet(t, 1, nil)
	n := f.nodes[0]
	session := n.open()
	call := newEvents(t, n.raw("POST", session, toolCall(1, "hold")))
	call.until("progress")
	n.store.away.Store(true)
	res := n.raw("POST", session, ping)
	if res.StatusCode != 503 || res.Header.Get("Retry-After") == "" {
		t.Errorf("legacy: %s, Retry-After %q", res.Status, res.Header.Get("Retry-After"))
	}
	status, _ := n.say("DELETE", session, "")
	wantStatus(t, "DELETE", status, 503)
	status, body := n.say("POST", "", fleetCall("add", `{"A":1,"B":2}`), fleetHeaders("add")...)
	if status != 200 || !strings.Contains(body, "3") {
		t.Errorf("modern: %d %s", status, body)
	}
	close(n.finish)
	if got := call.until(`"result"`); !strings.Contains(got, "held by") {
		t.Error(got)
	}
	n.store.away.Store(false)
	status, _ = n.say("POST", session, ping)
	wantStatus(t, "afterwards", status, 200)
}

// A session does not survive the data that the store had of it.
func TestSessionsEndWithTheDataOfTheStore(t *testing.T) {
	f := newFleet(t, 1, nil)
	n := f.nodes[0]
	session := n.open()
	n.store.Store = &otherEpoch{f.store}
	status, _ := n.say("POST", session, ping)
	wantStatus(t, "after the store was emptied", status, 404)
	status, _ = n.say("POST", n.open(), ping)
	wantStatus(t, "a new session", status, 200)
}

type otherEpoch struct{ cluster.Store }

func (*otherEpoch) Epoch(context.Context) (string, error) { return "another", nil }

// Sessions and states of calls outlive rotations of the keys.
func TestSessionsOutliveRotations(t *testing.T) {
	f := newFleet(t, 2, nil)
	a, b := f.nodes[0], f.nodes[1]
	session := a.open()
	_, first := a.say("POST", "", fleetCall("ask", `{}`), fleetHeaders("ask")...)
	state := fleetState(t, first)
	for range 2 {
		if err := a.replica.RotateKeys(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	status, _ := b.say("POST", session, ping)
	wantStatus(t, "the session", status, 200)
	status, body := b.say("POST", "", fleetNext("ask", state, "one", "One"), fleetHeaders("ask")...)
	if status != 200 || !strings.Contains(body, "Second?") {
		t.Errorf("the state: %d %s", status, body)
	}
}

// fleetState returns the requestState of a result.
func fleetState(t *testing.T, body string) string {
	t.Helper()
	_, rest, ok := strings.Cut(body, `"requestState":"`)
	state, _, _ := strings.Cut(rest, `"`)
	if !ok {
		// The first round of a call without earlier responses needs no state.
		return ""
	}
	return state
}

func fleetNext(tool, state, key, name string) string {
	if state != "" {
		state = `"requestState":"` + state + `",`
	}
	return `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"` + tool + `","arguments":{},` + state +
		`"inputResponses":{"` + key + `":{"action":"accept","content":{"name":"` + name + `"}}},"_meta":` + fleetMeta + `}}`
}
