package streamable_test

import (
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/transport/streamable"
)

// While a replica shuts down, it serves the next rounds of the calls that wait
// there, wherever they arrive.
func TestParkedCallsContinueDuringShutdown(t *testing.T) {
	f := newFleetOf(t, 2, nil, behindOlder)
	a, b := f.nodes[0], f.nodes[1]
	_, body := a.say("POST", "", fleetCall("ask", `{}`), fleetHeaders("ask")...)
	state := fleetState(t, body)
	a.handler.Shutdown()
	status, body := b.say("POST", "", fleetNext("ask", state, "ask", "One"), fleetHeaders("ask")...)
	if status != 200 || !strings.Contains(body, "Second?") {
		t.Fatalf("second round: %d %s", status, body)
	}
	status, body = b.say("POST", "", fleetNext("ask", fleetState(t, body), "ask", "Two"), fleetHeaders("ask")...)
	if status != 200 || !strings.Contains(body, "One and Two") {
		t.Errorf("last round: %d %s", status, body)
	}
	status, body = a.say("POST", "", fleetCall("ask", `{}`), fleetHeaders("ask")...)
	wantStatus(t, "another call: "+body, status, 503)
}

// A client that loses its connection while the replica of its call shuts down
// resumes it elsewhere, and gets the result.
func TestCallsResumeDuringShutdown(t *testing.T) {
	f := newFleet(t, 2, nil)
	a, b := f.nodes[0], f.nodes[1]
	session := a.open()
	call := newEvents(t, a.raw("POST", session, toolCall(1, "hold")))
	call.until("progress")
	receive(t, "the call", a.started)
	a.handler.Shutdown()
	call.res.Body.Close()
	again := newEvents(t, b.raw("GET", session, "", "Last-Event-ID", call.last))
	wantStatus(t, "resume", again.res.StatusCode, 200)
	close(a.finish)
	again.until("held by " + a.replica.ID())
	if err := a.replica.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}

// A client that resumes a stream of changes whose replica shuts down gets one
// where it resumes, and is told that it may have missed changes.
func TestChangesContinueElsewhereDuringShutdown(t *testing.T) {
	f := newFleet(t, 2, nil)
	a, b := f.nodes[0], f.nodes[1]
	session := a.open()
	stream := newEvents(t, a.raw("GET", session, ""))
	stream.primed()
	a.handler.Shutdown()
	again := newEvents(t, b.raw("GET", session, "", "Last-Event-ID", stream.last))
	wantStatus(t, "resume", again.res.StatusCode, 200)
	again.until("notifications/tools/list_changed")
}

// While the replica that has a session shuts down, the responses of a batch reach
// its open calls. Requests of a batch are refused, as others.
func TestBatchesDuringShutdownOfTheReplicaThatHasASession(t *testing.T) {
	for name, more := range map[string]string{"only a response": "", "and a request": `,{"jsonrpc":"2.0","id":9,"method":"ping"}`} {
		t.Run(name, func(t *testing.T) {
			f := newFleet(t, 2, func(o *streamable.Options) { o.KeepSessions = func() bool { return true } })
			a, b := f.nodes[0], f.nodes[1]
			res := b.raw("POST", "", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{"elicitation":{},"sampling":{}},"clientInfo":{"name":"c","version":"1"}}}`)
			session, version := res.Header.Get("Mcp-Session-Id"), []string{"Mcp-Protocol-Version", "2025-03-26"}
			call := newEvents(t, a.raw("POST", session, toolCall(1, "sample"), version...))
			_, id, _ := strings.Cut(call.until("sampling/createMessage"), `"id":"`)
			id, _, _ = strings.Cut(id, `"`)
			b.handler.Shutdown()
			status, body := a.say("POST", session, `[{"jsonrpc":"2.0","id":"`+id+`","result":{"role":"assistant","model":"m","content":{"type":"text","text":"Ada"}}}`+more+`]`, version...)
			want := 202
			if more != "" {
				want = 404
			}
			wantStatus(t, "the batch: "+body, status, want)
			call.until("Ada")
		})
	}
}
