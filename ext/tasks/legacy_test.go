package tasks_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/era"
	"github.com/tenon-mcp/tenon/ext/tasks"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
	"github.com/tenon-mcp/tenon/transport/streamable"
	"github.com/tenon-mcp/tenon/transport/streamclient"
)

// The forms of tasks: the extension, and the core of 2025-11-25.
var forms = map[string]mcp.Revision{"new": mcp.Rev20260728, "old": mcp.Rev20251125}

// profile is that of a client that answers forms.
var profile = &mcp.ClientProfile{
	Client:       mcp.Implementation{Name: "test", Version: "1"},
	Capabilities: mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapability{}},
}

// overPipe serves h to a client of one revision over a stream, as stdio does.
func overPipe(t *testing.T, h mcp.Handler, rev mcp.Revision, o era.ServerOptions) mcp.Handler {
	t.Helper()
	s, err := era.NewServer(h, &o)
	if err != nil {
		t.Fatal(err)
	}
	near, far := jsonrpc.Pipe()
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan struct{})
	go func() { defer close(served); s.ServeStream(ctx, far) }()
	conn, err := era.Dial(t.Context(), near, profile, &era.DialOptions{Known: rev})
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(); cancel(); <-served })
	return conn
}

// overHTTP serves h to a client of one revision over HTTP.
func overHTTP(t *testing.T, h mcp.Handler, rev mcp.Revision, o era.ServerOptions) mcp.Handler {
	t.Helper()
	s, err := streamable.NewHandler(h, &streamable.Options{Era: o})
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(s)
	conn, err := (&streamclient.Endpoint{URL: web.URL, Era: era.DialOptions{Known: rev}}).Dial(t.Context(), profile)
	if err != nil {
		web.Close()
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(); web.CloseClientConnections(); web.Close() })
	return conn
}

// only returns the options of a server of one revision.
func only(rev mcp.Revision) era.ServerOptions {
	return era.ServerOptions{ModernOnly: rev == mcp.Rev20260728, LegacyOnly: rev != mcp.Rev20260728}
}

// A bridge is a client and a server, each with its own form of tasks, and a
// Handler between them that has both.
type bridge struct {
	t      *testing.T
	h      mcp.Handler
	caller mcp.Caller
	id     string
	began  chan struct{} // the tool has begun, for cancel
	ended  chan error    // how its context ended
}

// start calls a tool and expects a task.
func (b *bridge) start(tool string) {
	b.t.Helper()
	res, err := b.serve(mcp.MethodToolsCall, mcp.CallToolParams{Name: tool})
	var task tasks.Task
	if err != nil || res.Type != tasks.ResultType || res.Decode(&task) != nil {
		b.t.Fatalf("type %q, body %s, error %v; want a task", res.Type, res.Body, err)
	}
	if task.ID == "" || task.Status.Final() || task.TTL <= 0 || task.CreatedAt.IsZero() {
		b.t.Errorf("created %+v", task)
	}
	b.id = task.ID
}

func (b *bridge) serve(method string, params any) (mcp.Result, error) {
	b.t.Helper()
	body, err := mcp.Marshal(params)
	if err != nil {
		b.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(b.t.Context(), time.Minute) // hang guard
	defer cancel()
	return b.h.Serve(ctx, &mcp.Call{Method: method, Params: body, Caller: b.caller})
}

func (b *bridge) get() (*tasks.Task, error) {
	b.t.Helper()
	res, err := b.serve(tasks.MethodGet, map[string]string{"taskId": b.id})
	if err != nil {
		return nil, err
	}
	t := new(tasks.Task)
	return t, res.Decode(t)
}

// until polls until the task has a status.
func (b *bridge) until(want tasks.Status) *tasks.Task {
	b.t.Helper()
	for limit := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		now, err := b.get()
		if err != nil {
			b.t.Fatal(err)
		}
		if now.Status == want {
			return now
		}
		if now.Status.Final() || time.Now().After(limit) {
			b.t.Fatalf("status %s (%s, %v); want %s", now.Status, now.StatusMessage, now.Error, want)
		}
	}
}

// answer responds to the one open request of a task.
func (b *bridge) answer(now *tasks.Task, name string, used map[string]bool) {
	b.t.Helper()
	if len(now.InputRequests) != 1 {
		b.t.Fatalf("%d input requests", len(now.InputRequests))
	}
	for key, q := range now.InputRequests {
		if used[key] {
			b.t.Errorf("the key %q is used again", key)
		}
		used[key] = true
		if q.Method != mcp.MethodElicit || !strings.Contains(string(q.Params), "?") {
			b.t.Errorf("asked %s %s", q.Method, q.Params)
		}
		responses := map[string]json.RawMessage{key: json.RawMessage(`{"action":"accept","content":{"name":"` + name + `"}}`), "unknown": json.RawMessage(`{"ignored":true}`)}
		if _, err := b.serve(tasks.MethodUpdate, tasks.UpdateParams{ID: b.id, InputResponses: responses}); err != nil {
			b.t.Fatal(err)
		}
	}
}

func (b *bridge) cancel() {
	b.t.Helper()
	if _, err := b.serve(tasks.MethodCancel, map[string]string{"taskId": b.id}); err != nil {
		b.t.Fatal(err)
	}
}

// text returns the text of a completed task.
func text(t *testing.T, task *tasks.Task) (string, bool) {
	t.Helper()
	var r mcp.CallToolResult
	if err := mcp.Unmarshal(task.Result, &r); err != nil || len(r.Content) != 1 {
		t.Fatalf("result %s: %v", task.Result, err)
	}
	return r.Content[0].(*mcp.TextContent).Text, r.IsError
}

// addTools adds a tool for each way in which a task can end.
func (b *bridge) addTools(s *server.Server, m *tasks.Manager) {
	add := func(name string, f func(ctx context.Context, c *mcp.Call) (string, error)) {
		server.AddTool(s, name, name, func(ctx context.Context, c *mcp.Call, _ struct{}) (string, error) { return f(ctx, c) }, m.Tool(tasks.Required, nil))
	}
	add("completes", func(context.Context, *mcp.Call) (string, error) { return "done", nil })
	add("isError", func(context.Context, *mcp.Call) (string, error) { return "", errors.New("out of paper") })
	add("fails", func(context.Context, *mcp.Call) (string, error) { return "", mcp.Errorf(-32050, "broken") })
	asks := func(questions ...string) func(context.Context, *mcp.Call) (string, error) {
		return func(_ context.Context, c *mcp.Call) (string, error) {
			var got []string
			for _, q := range questions {
				a, err := server.Elicit[name](c, q, q+"?")
				if err != nil {
					return "", err
				}
				got = append(got, a.Name)
			}
			return strings.Join(got, " and "), nil
		}
	}
	add("asks", asks("one"))
	add("asksTwice", asks("one", "two"))
	add("works", func(ctx context.Context, _ *mcp.Call) (string, error) {
		close(b.began)
		<-ctx.Done()
		b.ended <- context.Cause(ctx)
		return "", ctx.Err()
	})
}

// outcomes are the ways in which a task can end; see the table in the
// description of both forms.
var outcomes = map[string]func(b *bridge){
	"completes": func(b *bridge) {
		b.start("completes")
		if out, isError := text(b.t, b.until(tasks.Completed)); out != "done" || isError {
			b.t.Errorf("%q, isError %v", out, isError)
		}
	},
	"isError": func(b *bridge) {
		b.start("isError")
		if out, isError := text(b.t, b.until(tasks.Completed)); !strings.Contains(out, "out of paper") || !isError {
			b.t.Errorf("%q, isError %v", out, isError)
		}
	},
	"fails": func(b *bridge) {
		b.start("fails")
		now := b.until(tasks.Failed)
		if now.Error == nil || now.Error.Code != -32050 || now.Error.Message != "broken" || now.StatusMessage == "" {
			b.t.Errorf("%+v, error %v", now, now.Error)
		}
	},
	"asks once": func(b *bridge) {
		b.start("asks")
		b.answer(b.until(tasks.InputRequired), "ada", map[string]bool{})
		if out, _ := text(b.t, b.until(tasks.Completed)); out != "ada" {
			b.t.Errorf("%q", out)
		}
	},
	"asks twice": func(b *bridge) {
		b.start("asksTwice")
		used := map[string]bool{}
		b.answer(b.until(tasks.InputRequired), "ada", used)
		for { // the first request may still be shown
			now := b.until(tasks.InputRequired)
			for key := range now.InputRequests {
				if used[key] {
					now = nil
				}
			}
			if now != nil {
				b.answer(now, "bob", used)
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		if out, _ := text(b.t, b.until(tasks.Completed)); out != "ada and bob" {
			b.t.Errorf("%q", out)
		}
	},
	"cancelled while working": func(b *bridge) {
		b.start("works")
		<-b.began
		b.cancel()
		b.until(tasks.Cancelled)
		select {
		case err := <-b.ended:
			if err == nil || !strings.Contains(err.Error(), "cancelled") {
				b.t.Errorf("the tool ended with %v", err)
			}
		case <-time.After(time.Minute):
			b.t.Error("the tool does not know that it was cancelled")
		}
	},
	"cancelled while asking": func(b *bridge) {
		b.start("asks")
		b.until(tasks.InputRequired)
		b.cancel()
		b.until(tasks.Cancelled)
	},
	"cancelled when done": func(b *bridge) {
		b.start("completes")
		b.until(tasks.Completed)
		b.cancel()
		b.until(tasks.Completed)
	},
	"TTL over": func(b *bridge) {
		b.start("completes")
		for limit := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
			_, err := b.get()
			if e, ok := errors.AsType[*mcp.Error](err); ok && e.Code == mcp.CodeInvalidParams {
				return
			}
			if err != nil || time.Now().After(limit) {
				b.t.Fatalf("the task does not expire: %v", err)
			}
		}
	},
}

// TestBothForms has clients and servers of both forms meet through a Handler
// between them, over both kinds of transport. The client must see the same in
// each case.
func TestBothForms(t *testing.T) {
	transports := map[string]func(*testing.T, mcp.Handler, mcp.Revision, era.ServerOptions) mcp.Handler{"stdio": overPipe, "HTTP": overHTTP}
	for client, clientRev := range forms {
		for serverForm, serverRev := range forms {
			for transport, connect := range transports {
				t.Run(fmt.Sprintf("%s client to %s server over %s", client, serverForm, transport), func(t *testing.T) {
					t.Parallel()
					for name, outcome := range outcomes {
						t.Run(name, func(t *testing.T) {
							t.Parallel()
							s := server.New(mcp.Implementation{Name: "test", Version: "1"}, nil)
							o := &tasks.Options{PollInterval: 50 * time.Millisecond}
							if name == "TTL over" {
								o.TTL = 2 * time.Second
							}
							m, err := tasks.NewManager(s, o)
							if err != nil {
								t.Fatal(err)
							}
							b := &bridge{t: t, began: make(chan struct{}), ended: make(chan error, 1)}
							b.addTools(s, m)
							between := connect(t, s, serverRev, only(serverRev))
							b.h = connect(t, between, clientRev, era.ServerOptions{})
							b.caller = mcp.Caller{Capabilities: &mcp.ClientCapabilities{
								Elicitation: &mcp.ElicitationCapability{},
								Extensions:  map[string]json.RawMessage{tasks.ExtensionID: json.RawMessage("{}")},
							}}
							t.Cleanup(func() { s.Close() })
							outcome(b)
						})
					}
				})
			}
		}
	}
}
