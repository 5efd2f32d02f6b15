package streamable_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/internal/logtest"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/transport/streamable"
)

// resumed opens a session with a stream at b, and resumes the stream at a, which
// forwards it.
func (f *fleet) resumed(a, b *node) (session string, stream *events) {
	f.t.Helper()
	session = b.open()
	first := newEvents(f.t, b.raw("GET", session, ""))
	first.primed()
	return session, newEvents(f.t, a.raw("GET", session, "", "Last-Event-ID", first.last))
}

// A stream that a replica forwards does not keep its session there after the
// client has disconnected, or the owner of the stream has stopped.
func TestForwardedStreamReleasesItsSession(t *testing.T) {
	for name, end := range map[string]func(owner *node, stream *events){
		"client disconnects": func(_ *node, stream *events) { stream.res.Body.Close() },
		"owner stops":        func(owner *node, _ *events) { owner.kill() },
	} {
		t.Run(name, func(t *testing.T) {
			f := newFleet(t, 2, func(o *streamable.Options) { o.Sessions.Idle = 400 * time.Millisecond })
			a, b := f.nodes[0], f.nodes[1]
			_, stream := f.resumed(a, b)
			if a.handler.Sessions() != 1 {
				t.Error("the replica that forwards the stream does not have its session")
			}
			end(b, stream)
			waitUntil(t, func() bool { return a.handler.Sessions() == 0 })
		})
	}
}

// Shutdown ends the streams that the replica forwards to another, so that
// http.Server.Shutdown does not wait for them.
func TestShutdownEndsForwardedStreams(t *testing.T) {
	keep := func(o *streamable.Options) { o.KeepSessions = func() bool { return true } }
	for name, open := range map[string]func(t *testing.T) (*node, *events){
		"resumed": func(t *testing.T) (*node, *events) {
			f := newFleet(t, 2, nil)
			_, stream := f.resumed(f.nodes[0], f.nodes[1])
			return f.nodes[0], stream
		},
		"of a kept session": func(t *testing.T) (*node, *events) {
			f := newFleet(t, 2, keep)
			return f.nodes[0], newEvents(t, f.nodes[0].raw("GET", f.nodes[1].open(), ""))
		},
	} {
		t.Run(name, func(t *testing.T) {
			n, stream := open(t)
			n.handler.Shutdown()
			for stream.next() != "" {
			}
			if err := stream.in.Err(); err != nil {
				t.Errorf("the stream was cut: %v", err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if err := n.web.Shutdown(ctx); err != nil {
				t.Error(err)
			}
		})
	}
}

// While the replica that has a session shuts down, clients at other replicas are
// told to initialize again. Its open calls still get the responses that they wait
// for.
func TestShutdownOfTheReplicaThatHasASession(t *testing.T) {
	f := newFleet(t, 2, func(o *streamable.Options) { o.KeepSessions = func() bool { return true } })
	a, b := f.nodes[0], f.nodes[1]
	session := b.open()
	call := newEvents(t, a.raw("POST", session, toolCall(1, "question")))
	_, id, _ := strings.Cut(call.until("elicitation/create"), `"id":"`)
	id, _, _ = strings.Cut(id, `"`)
	b.handler.Shutdown()
	status, body := a.say("POST", session, toolCall(2, "who"))
	wantStatus(t, "a call: "+body, status, 404)
	status, body = a.say("GET", session, "")
	wantStatus(t, "a stream: "+body, status, 404)
	status, body = b.say("POST", session, toolCall(3, "who"))
	wantStatus(t, "a call at the replica itself: "+body, status, 503)
	status, body = a.say("POST", a.open(), toolCall(2, "who"))
	wantStatus(t, "a call in another session: "+body, status, 200)
	status, body = a.say("POST", session, `{"jsonrpc":"2.0","id":"`+id+`","result":{"action":"accept","content":{"name":"Ada"}}}`)
	wantStatus(t, "a response: "+body, status, 202)
	call.until("Ada")
	if err := b.replica.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	status, body = a.say("POST", session, toolCall(2, "who"))
	wantStatus(t, "a call after that: "+body, status, 404)
}

// A call that the replica with the session may have served before it was killed
// is not answered with 404, after which the client would send it again.
func TestKilledReplicaMayHaveServedACall(t *testing.T) {
	served := make(chan struct{}, 10)
	f := newFleetOf(t, 2, func(o *streamable.Options) { o.KeepSessions = func() bool { return true } }, func(n *node) mcp.Handler {
		return mcp.HandlerFunc(func(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
			if strings.Contains(string(c.Params), "test://one") {
				served <- struct{}{}
				<-t.Context().Done() // until the test ends
			}
			return n.server.Serve(ctx, c)
		})
	})
	a, b := f.nodes[0], f.nodes[1]
	session := b.open()
	const read = `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"test://one"}}`
	done := make(chan int, 1)
	go func() {
		status, _ := a.say("POST", session, read)
		done <- status
	}()
	receive(t, "the call", served)
	b.kill()
	wantStatus(t, "the call", receive(t, "its response", done), 502)
	status, _ := a.say("POST", session, read)
	wantStatus(t, "the next call", status, 404)
}

// breakForwards makes a node break the connections of requests that other replicas
// forward, after it has received them. It returns how to end that.
func (n *node) breakForwards() (mend func()) {
	n.replica.Handle(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		panic(http.ErrAbortHandler)
	}))
	return func() { n.replica.Handle(n.handler) }
}

// wantLost checks the response to a message that the other replica may have served:
// the client is not told to send it again.
func wantLost(t *testing.T, what, with string, res *http.Response) {
	t.Helper()
	body, _ := io.ReadAll(res.Body)
	if res.StatusCode != 502 || res.Header.Get("Retry-After") != "" ||
		!strings.Contains(string(body), with) || !strings.Contains(string(body), "effect is unknown") || strings.Contains(string(body), "again") {
		t.Errorf("%s: %s %v %s", what, res.Status, res.Header, body)
	}
}

// If the connection breaks after a message was sent to the replica that has its
// session, the client is not told to send it again. Streams, which have no effect,
// may be opened again.
func TestBrokenForwardsOfASession(t *testing.T) {
	f := newFleet(t, 2, func(o *streamable.Options) { o.KeepSessions = func() bool { return true } })
	a, b := f.nodes[0], f.nodes[1]
	session := b.open()
	mend := b.breakForwards()
	wantLost(t, "a call", `"id":7`, a.raw("POST", session, toolCall(7, "who")))
	wantLost(t, "a notification", `"jsonrpc"`, a.raw("POST", session, `{"jsonrpc":"2.0","method":"notifications/test"}`))
	if res := a.raw("GET", session, ""); res.StatusCode != 503 || res.Header.Get("Retry-After") == "" {
		t.Errorf("a stream: %s %v", res.Status, res.Header)
	}
	mend()
	status, body := a.say("POST", session, toolCall(8, "who"))
	wantStatus(t, "afterwards: "+body, status, 200)
}

// If the connection breaks after a round of a call was sent to its replica, or the
// replica is killed then, the client is not told to make the call again.
func TestBrokenForwardsOfParkedCalls(t *testing.T) {
	f := newFleetOf(t, 2, nil, behindOlder)
	a, b := f.nodes[0], f.nodes[1]
	_, body := a.say("POST", "", fleetCall("ask", `{}`), fleetHeaders("ask")...)
	next := fleetNext("ask", fleetState(t, body), "ask", "One")
	a.breakForwards()
	wantLost(t, "a connection that breaks", `"id":2`, b.raw("POST", "", next, fleetHeaders("ask")...))
	began := make(chan struct{})
	a.replica.Handle(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		close(began)
		<-r.Context().Done()
	}))
	go func() {
		<-began
		a.kill()
	}()
	wantLost(t, "a replica that is killed", `"id":2`, b.raw("POST", "", next, fleetHeaders("ask")...))
}

// A response of the client that may have been lost may be sent again.
func TestBrokenForwardsOfResponses(t *testing.T) {
	f := newFleet(t, 2, nil)
	a, b := f.nodes[0], f.nodes[1]
	session := b.open()
	call := newEvents(t, b.raw("POST", session, toolCall(1, "question")))
	_, id, _ := strings.Cut(call.until("elicitation/create"), `"id":"`)
	id, _, _ = strings.Cut(id, `"`)
	answer := `{"jsonrpc":"2.0","id":"` + id + `","result":{"action":"accept","content":{"name":"Ada"}}}`
	mend := b.breakForwards()
	if res := a.raw("POST", session, answer); res.StatusCode != 503 || res.Header.Get("Retry-After") == "" {
		t.Errorf("a response: %s %v", res.Status, res.Header)
	}
	mend()
	status, body := a.say("POST", session, answer)
	wantStatus(t, "the response again: "+body, status, 202)
	call.until("Ada")
}

// A cancellation that does not reach all replicas is accepted, as the client can do
// nothing about it, and logged.
func TestLostCancellationsAreLogged(t *testing.T) {
	var log logtest.Buffer
	f := newFleet(t, 2, func(o *streamable.Options) { o.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
	a, b := f.nodes[0], f.nodes[1]
	session := b.open()
	b.breakForwards()
	status, _ := a.say("POST", session, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`)
	wantStatus(t, "a cancellation", status, 202)
	if text := log.String(); !strings.Contains(text, "not all replicas were told") || !strings.Contains(text, b.replica.ID()) {
		t.Errorf("the log: %s", text)
	}
}
