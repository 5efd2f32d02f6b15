package tasks

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

// A sessionReplica is one of several processes that serve a session of
// 2025-11-25.
type sessionReplica struct {
	t         *testing.T
	h         mcp.Handler
	s         *server.Server
	connected atomic.Bool // the stream of the session is connected to it
	cut       atomic.Bool // it is dead: the store fails for it
	asked     atomic.Int32
	notified  atomic.Int32
}

type cutStore struct {
	Store
	cut *atomic.Bool
}

func (s cutStore) Renew(ctx context.Context, runner string, d time.Duration) error {
	if s.cut.Load() {
		return errors.New("cut")
	}
	return s.Store.Renew(ctx, runner, d)
}

func newSessionReplica(t *testing.T, store Store) *sessionReplica {
	r := &sessionReplica{t: t, s: server.New(mcp.Implementation{Name: "test", Version: "1"}, nil)}
	m, err := NewManager(r.s, &Options{Store: cutStore{store, &r.cut}, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	server.AddTool(r.s, "ask", "Ask", func(_ context.Context, c *mcp.Call, _ struct{}) (string, error) {
		answer, err := server.Elicit[struct {
			Name string `json:"name"`
		}](c, "who", "Who?")
		return "heard " + answer.Name, err
	}, m.Tool(Optional, nil))
	server.AddTool(r.s, "plain", "No task", func(context.Context, *mcp.Call, struct{}) (string, error) { return "plain", nil }, nil)
	ctx, cancel := context.WithCancel(context.Background())
	r.h = newLegacyClient(r.s, &mcp.LegacySession{
		Revision: mcp.Rev20251125, Context: ctx,
		Notify: func(mcp.Notification) {
			if r.connected.Load() {
				r.notified.Add(1)
			}
		},
		Ask: func(context.Context, mcp.InputRequest) (json.RawMessage, error) {
			if !r.connected.Load() {
				return nil, errors.New("not connected")
			}
			r.asked.Add(1)
			return json.RawMessage(`{"action":"accept","content":{"name":"eve"}}`), nil
		},
	})
	t.Cleanup(func() { cancel(); r.s.Close() })
	return r
}

// call makes a call of the session. The session is the same at each replica.
func (r *sessionReplica) call(method, params string) (mcp.Result, error) {
	return r.h.Serve(r.t.Context(), &mcp.Call{Method: method, Params: json.RawMessage(params), Caller: mcp.Caller{
		Revision: mcp.Rev20251125, Session: mcp.NewSession("session"), Capabilities: &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapability{}},
	}})
}

// start calls a tool as a task.
func (r *sessionReplica) start(tool string) (id string) {
	r.t.Helper()
	res, err := r.call(mcp.MethodToolsCall, `{"name":"`+tool+`","task":{}}`)
	var out struct {
		Task legacyTask `json:"task"`
	}
	if err != nil || res.Decode(&out) != nil || out.Task.Status != Working {
		r.t.Fatalf("%s: %s, %v", tool, res.Body, err)
	}
	return out.Task.ID
}

func (r *sessionReplica) status(id string) Status {
	r.t.Helper()
	res, err := r.call(MethodGet, `{"taskId":"`+id+`"}`)
	var out legacyTask
	if err != nil || res.Decode(&out) != nil {
		r.t.Fatalf("%s, %v", res.Body, err)
	}
	return out.Status
}

// The result of a tool that is no task is found at every replica.
func TestKeptResultIsFoundAtEveryReplica(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &Memory{}
		a, b := newSessionReplica(t, store), newSessionReplica(t, store)
		id := a.start("plain")
		if got := b.status(id); got != Completed {
			t.Errorf("at the other replica: %s", got)
		}
		res, err := b.call(legacyResult, `{"taskId":"`+id+`"}`)
		if err != nil || !strings.Contains(string(res.Body), "plain") || res.Meta[metaRelatedTask] == nil {
			t.Errorf("the result: %s, %v", res.Body, err)
		}
		for _, method := range []string{methodKeep, methodAsk} { // not for clients
			if _, err := b.s.Serve(t.Context(), &mcp.Call{Method: method, Params: json.RawMessage(`{}`), Caller: new(callers).declare(&mcp.Call{}).Caller}); !isMethodNotFound(err) {
				t.Errorf("%s: %v", method, err)
			}
		}
	})
}

// A client that only polls is asked, and notified, by the replica that its
// stream is connected to, whichever has created the task.
func TestConnectedReplicaAsks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &Memory{}
		a, b, c := newSessionReplica(t, store), newSessionReplica(t, store), newSessionReplica(t, store)
		b.connected.Store(true)
		id := a.start("ask")
		for range 10 {
			for _, r := range []*sessionReplica{a, b, c} {
				time.Sleep(time.Second)
				r.status(id)
			}
		}
		if got := c.status(id); got != Completed || a.asked.Load()+c.asked.Load() != 0 || b.asked.Load() != 1 || b.notified.Load() == 0 {
			t.Errorf("%s; asked by %d, %d, %d; notified %d times", got, a.asked.Load(), b.asked.Load(), c.asked.Load(), b.notified.Load())
		}
	})
}

// While a call of tasks/result asks the client at one replica, no other asks it
// the same; when that replica dies, another does.
func TestClientIsAskedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &Memory{}
		a, b, c := newSessionReplica(t, store), newSessionReplica(t, store), newSessionReplica(t, store)
		b.connected.Store(true)
		id := a.start("ask")
		time.Sleep(time.Second)
		_, err := c.call(legacyResult, `{"taskId":"`+id+`"}`)
		var need *mcp.InputRequired
		if !errors.As(err, &need) || len(need.Requests) != 1 {
			t.Fatalf("tasks/result: %v", err)
		}
		for range 60 {
			time.Sleep(time.Second)
			b.status(id)
		}
		if n := b.asked.Load(); n != 0 {
			t.Errorf("the client is asked again %d times", n)
		}
		c.cut.Store(true)
		time.Sleep(20 * time.Second)
		if got := b.status(id); got != Completed || b.asked.Load() != 1 {
			t.Errorf("after the replica that asked has died: %s, asked %d times", got, b.asked.Load())
		}
		need.Abandon()
	})
}

// A call that ends without a response leaves the question to others.
func TestAbandonedQuestionIsAskedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &Memory{}
		a, b := newSessionReplica(t, store), newSessionReplica(t, store)
		id := a.start("ask")
		time.Sleep(time.Second)
		_, err := a.call(legacyResult, `{"taskId":"`+id+`"}`)
		mcp.Abandon(err)
		time.Sleep(time.Second)
		_, err = b.call(legacyResult, `{"taskId":"`+id+`"}`)
		var need *mcp.InputRequired
		if !errors.As(err, &need) || len(need.Requests) != 1 {
			t.Fatalf("tasks/result at another replica: %v", err)
		}
		mcp.Abandon(err)
	})
}
