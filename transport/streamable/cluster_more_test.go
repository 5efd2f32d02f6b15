package streamable_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/transport/streamable"
)

// Tasks of 2025-11-25 that one replica runs are read, answered, listed and
// cancelled at the others.
func TestTasksOfOlderClientsAtEveryReplica(t *testing.T) {
	f := newFleet(t, 3, nil)
	a, b, c := f.nodes[0], f.nodes[1], f.nodes[2]
	session := a.open()
	start := func(n *node, tool string) string {
		t.Helper()
		status, body := n.say("POST", session, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"`+tool+`","arguments":{},"task":{"ttl":60000}}}`)
		_, rest, ok := strings.Cut(body, `"taskId":"`)
		id, _, _ := strings.Cut(rest, `"`)
		if status != 200 || !ok {
			t.Fatalf("start: %d %s", status, body)
		}
		return id
	}
	about := func(method, task string) string {
		return `{"jsonrpc":"2.0","id":2,"method":"` + method + `","params":{"taskId":"` + task + `"}}`
	}
	task := start(a, "task")
	for i, n := range f.nodes {
		waitUntil(t, func() bool {
			_, body := n.say("POST", session, about("tasks/get", task))
			if !strings.Contains(body, task) {
				t.Errorf("replica %d: %s", i, body)
				return true
			}
			return strings.Contains(body, "input_required")
		})
		if _, body := n.say("POST", session, `{"jsonrpc":"2.0","id":2,"method":"tasks/list"}`); !strings.Contains(body, task) {
			t.Errorf("replica %d does not list the task: %s", i, body)
		}
	}
	result := newEvents(t, b.raw("POST", session, about("tasks/result", task)))
	id := requestIn(t, result.until("elicitation/create"))
	status, _ := c.say("POST", session, accept(id, "Ada"))
	wantStatus(t, "the response", status, 202)
	if got := result.until(`"result"`); !strings.Contains(got, "task by Ada") {
		t.Error(got)
	}
	other := start(b, "task")
	if status, body := c.say("POST", session, about("tasks/cancel", other)); status != 200 || !strings.Contains(body, "cancelled") {
		t.Errorf("cancel: %d %s", status, body)
	}
	if _, body := a.say("POST", session, about("tasks/get", other)); !strings.Contains(body, "cancelled") {
		t.Errorf("after cancel: %s", body)
	}
}

// Forwarded requests pass the middleware of the replica that serves them.
func TestForwardedRequestsPassMiddleware(t *testing.T) {
	type userKey struct{}
	f := newFleet(t, 2, func(o *streamable.Options) {
		o.Principal = func(r *http.Request) *mcp.Principal {
			who, _ := r.Context().Value(userKey{}).(*mcp.Principal)
			return who
		}
	})
	for _, n := range f.nodes {
		h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			token := r.Header.Get("Authorization")
			if token == "" {
				http.Error(w, "who are you?", http.StatusUnauthorized)
				return
			}
			n.handler.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), userKey{}, &mcp.Principal{ID: token})))
		})
		n.replica.Handle(h)
		n.web.Handler = h
	}
	a, b := f.nodes[0], f.nodes[1]
	ada := []string{"Authorization", "Bearer ada"}
	session := a.open(ada...)
	call := newEvents(t, a.raw("POST", session, toolCall(1, "question"), ada...))
	id := requestIn(t, call.until("elicitation/create"))
	status, _ := b.say("POST", session, accept(id, "Eve"))
	wantStatus(t, "without a token", status, 401)
	status, _ = b.say("POST", session, accept(id, "Ada"), ada...)
	wantStatus(t, "with its token", status, 202)
	if got := call.until(`"result"`); !strings.Contains(got, "Ada") {
		t.Error(got)
	}
}

// A change of a session that cannot be stored fails, and has no effect.
func TestChangesThatAreNotStoredFail(t *testing.T) {
	f := newFleet(t, 2, nil)
	a := f.nodes[0]
	session := a.open()
	debug := `{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"debug"}}`
	logs := func() bool {
		quiet := false
		for in := newEvents(t, a.raw("POST", session, toolCall(3, "log"))); ; {
			data := in.next()
			if quiet = quiet || strings.Contains(data, "quiet"); data == "" {
				return quiet
			}
		}
	}
	a.store.full.Store(true)
	if status, body := a.say("POST", session, debug); status != 200 || !strings.Contains(body, `"error"`) {
		t.Errorf("setLevel: %d %s", status, body)
	}
	if logs() {
		t.Error("a change that failed has an effect")
	}
	a.store.full.Store(false)
	if status, body := a.say("POST", session, debug); status != 200 || strings.Contains(body, `"error"`) || !logs() {
		t.Errorf("setLevel: %d %s", status, body)
	}
}

// A replica that has missed hints of others loads the sessions that it uses.
func TestMissedHintsAreMadeUpFor(t *testing.T) {
	f := newFleet(t, 2, nil)
	a, b := f.nodes[0], f.nodes[1]
	session := a.open()
	changes := newEvents(t, a.raw("GET", session, ""))
	changes.primed()
	b.store.mute.Store(true)
	status, _ := b.say("POST", session, `{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"test://one"}}`)
	wantStatus(t, "subscribe", status, 200)
	a.server.ResourceUpdated("test://one") // a does not know yet
	a.store.reconnected()
	done := make(chan struct{})
	go func() {
		defer close(done)
		changes.until("test://one")
	}()
	waitUntil(t, func() bool {
		a.server.ResourceUpdated("test://one")
		select {
		case <-done:
			return true
		default:
			return false
		}
	})
}
