package tasks_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenon-mcp/tenon/ext/tasks"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

// A world is a server with tasks and a client of it.
type world struct {
	t *testing.T
	s *server.Server
	m *tasks.Manager
	// caller makes the calls.
	caller mcp.Caller
}

type name struct {
	Name string `json:"name"`
}

// newWorld returns a server whose tools wait for gate.
func newWorld(t *testing.T, o *tasks.Options) *world {
	s := server.New(mcp.Implementation{Name: "test", Version: "1"}, nil)
	m, err := tasks.NewManager(s, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	w := &world{t: t, s: s, m: m}
	w.caller = w.as("ada")
	return w
}

// as returns a client that supports tasks and elicitation.
func (w *world) as(principal string) mcp.Caller {
	c := mcp.Caller{Capabilities: &mcp.ClientCapabilities{
		Elicitation: &mcp.ElicitationCapability{},
		Extensions:  map[string]json.RawMessage{tasks.ExtensionID: json.RawMessage("{}")},
	}}
	if principal != "" {
		c.Principal = &mcp.Principal{ID: principal}
	}
	return c
}

// tool adds a tool that is a task.
func (w *world) tool(mode tasks.Mode, f func(ctx context.Context, c *mcp.Call) (string, error)) {
	server.AddTool(w.s, "work", "Work", func(ctx context.Context, c *mcp.Call, _ struct{}) (string, error) {
		return f(ctx, c)
	}, w.m.Tool(mode, nil))
}

func (w *world) serve(method string, params any) (mcp.Result, error) {
	w.t.Helper()
	body, err := mcp.Marshal(params)
	if err != nil {
		w.t.Fatal(err)
	}
	return w.s.Serve(w.t.Context(), &mcp.Call{Method: method, Params: body, Caller: w.caller})
}

// start calls the tool and returns the task that it becomes.
func (w *world) start() string {
	w.t.Helper()
	res, err := w.serve(mcp.MethodToolsCall, mcp.CallToolParams{Name: "work"})
	if err != nil || res.Type != tasks.ResultType {
		w.t.Fatalf("type %q, body %s, error %v", res.Type, res.Body, err)
	}
	for _, member := range []string{`"result"`, `"error"`, `"inputRequests"`} {
		if strings.Contains(string(res.Body), member) {
			w.t.Errorf("the handle has a payload: %s", res.Body)
		}
	}
	var task tasks.Task
	if err := res.Decode(&task); err != nil {
		w.t.Fatal(err)
	}
	return task.ID
}

func (w *world) get(id string) *tasks.Task {
	w.t.Helper()
	res, err := w.serve(tasks.MethodGet, map[string]string{"taskId": id})
	if err != nil {
		w.t.Fatal(err)
	}
	var task tasks.Task
	if err := res.Decode(&task); err != nil {
		w.t.Fatal(err)
	}
	return &task
}

func (w *world) update(id string, responses map[string]string) error {
	raw := map[string]json.RawMessage{}
	for k, v := range responses {
		raw[k] = json.RawMessage(v)
	}
	_, err := w.serve(tasks.MethodUpdate, tasks.UpdateParams{ID: id, InputResponses: raw})
	return err
}

func accept(content string) string { return `{"action":"accept","content":` + content + `}` }

// inBubble runs a test with a fake clock.
func inBubble(t *testing.T, f func(t *testing.T)) { t.Helper(); synctest.Test(t, f) }

func TestTaskCompletes(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.tool(tasks.Required, func(ctx context.Context, c *mcp.Call) (string, error) {
			time.Sleep(time.Minute)
			return "done", nil
		})
		id := w.start()
		if len(id) < 26 {
			t.Errorf("the id %q can be guessed", id)
		}
		if got := w.get(id); got.Status != tasks.Working || got.TTL != time.Hour || got.PollInterval != time.Second {
			t.Errorf("at once: %+v", got)
		}
		time.Sleep(2 * time.Minute)
		got := w.get(id)
		if got.Status != tasks.Completed || !strings.Contains(string(got.Result), "done") || !got.LastUpdatedAt.After(got.CreatedAt) {
			t.Errorf("at the end: %+v", got)
		}
	})
}

// The status failed is for protocol errors; a tool that fails has a result.
func TestTaskFails(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.tool(tasks.Optional, func(context.Context, *mcp.Call) (string, error) { return "", errors.New("no paper") })
		id := w.start()
		synctest.Wait()
		if got := w.get(id); got.Status != tasks.Completed || !strings.Contains(string(got.Result), `"isError":true`) {
			t.Errorf("an error of the tool: %+v", got)
		}
		w.tool(tasks.Optional, func(context.Context, *mcp.Call) (string, error) {
			return "", mcp.Errorf(-32000, "no printer")
		})
		id = w.start()
		synctest.Wait()
		if got := w.get(id); got.Status != tasks.Failed || got.Error == nil || got.Error.Code != -32000 || got.StatusMessage != "no printer" || got.Result != nil {
			t.Errorf("an error of the protocol: %+v", got)
		}
		w.tool(tasks.Optional, func(context.Context, *mcp.Call) (string, error) { panic("oh") })
		id = w.start()
		synctest.Wait()
		if got := w.get(id); got.Status != tasks.Failed || got.Error == nil || strings.Contains(got.Error.Message, "oh") {
			t.Errorf("a panic: %+v", got)
		}
	})
}

func TestClientWithoutTasks(t *testing.T) {
	w := newWorld(t, nil)
	w.tool(tasks.Optional, func(context.Context, *mcp.Call) (string, error) { return "now", nil })
	w.caller.Capabilities = nil
	res, err := w.serve(mcp.MethodToolsCall, mcp.CallToolParams{Name: "work"})
	if err != nil || res.Type != "" || !strings.Contains(string(res.Body), "now") {
		t.Errorf("optional: %q %s %v", res.Type, res.Body, err)
	}
	w.tool(tasks.Required, func(context.Context, *mcp.Call) (string, error) { return "", errors.New("not reached") })
	for method, params := range map[string]any{
		mcp.MethodToolsCall: mcp.CallToolParams{Name: "work"}, tasks.MethodGet: map[string]string{"taskId": "x"},
		tasks.MethodUpdate: tasks.UpdateParams{ID: "x", InputResponses: map[string]json.RawMessage{}}, tasks.MethodCancel: map[string]string{"taskId": "x"},
		mcp.MethodSubscriptionsListen: map[string]any{"notifications": map[string]any{"taskIds": []string{"x"}}},
	} {
		_, err := w.serve(method, params)
		e, _ := errors.AsType[*mcp.Error](err)
		if e == nil || e.Code != mcp.CodeMissingCapability || !strings.Contains(string(e.Data), `"requiredCapabilities":{"extensions":{"`+tasks.ExtensionID) {
			t.Errorf("%s: %v", method, err)
		}
	}
}

// All open requests are visible, partial responses count, keys are never used
// for a second request, and responses under other keys are ignored.
func TestTaskRequestsInput(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.tool(tasks.Required, func(ctx context.Context, c *mcp.Call) (string, error) {
			var a, b name
			if err := server.AskAll(c, server.FormInput("a", "First?", &a), server.FormInput("b", "Second?", &b)); err != nil {
				return "", err
			}
			last, err := server.Elicit[name](c, "c", "Last?")
			if err != nil {
				return "", err
			}
			return a.Name + b.Name + last.Name, nil
		})
		id := w.start()
		synctest.Wait()
		open := func() string {
			return fmt.Sprint(w.get(id).Status, slices.Sorted(mapsKeys(w.get(id).InputRequests)))
		}
		if got := open(); got != "input_required[a b]" {
			t.Fatalf("at first %s", got)
		}
		if err := w.update(id, map[string]string{"a": `{"action":"perhaps"}`}); err == nil || !strings.Contains(err.Error(), "action") {
			t.Errorf("a malformed response: %v", err)
		}
		if err := w.update(id, map[string]string{"a": accept(`{"name":"x"}`), "zz": `{"ignored":true}`}); err != nil {
			t.Error(err)
		}
		if got := open(); got != "input_required[b]" {
			t.Errorf("after a partial response %s", got)
		}
		if err := w.update(id, map[string]string{"a": accept(`{"name":"other"}`), "b": accept(`{"name":"y"}`)}); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if got := open(); got != "input_required[c]" {
			t.Errorf("in the second round %s", got)
		}
		if err := w.update(id, map[string]string{"c": accept(`{"name":"z"}`)}); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if got := w.get(id); got.Status != tasks.Completed || !strings.Contains(string(got.Result), "xyz") || got.InputRequests != nil {
			t.Errorf("at the end %+v %s", got, got.Result)
		}
	})
}

func mapsKeys[V any](m map[string]V) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// A handler in between may use a key again for another request.
func TestKeysAreNotReused(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w := newWorld(t, nil)
		q, err := mcp.ElicitRequest(&mcp.ElicitParams{Message: "Go on?", RequestedSchema: json.RawMessage(`{"type":"object","properties":{}}`)})
		if err != nil {
			t.Fatal(err)
		}
		rounds := 0
		w.tool(tasks.Required, func(ctx context.Context, c *mcp.Call) (string, error) {
			if rounds++; rounds <= 3 {
				return "", &mcp.InputRequired{Requests: map[string]mcp.InputRequest{"k": q}, State: fmt.Sprint(rounds)}
			}
			return "state " + c.State, nil
		})
		id := w.start()
		var keys []string
		for range 3 {
			synctest.Wait()
			for k := range w.get(id).InputRequests {
				keys = append(keys, k)
				if err := w.update(id, map[string]string{k: accept("{}")}); err != nil {
					t.Error(err)
				}
			}
		}
		synctest.Wait()
		if len(keys) != 3 || len(slices.Compact(slices.Sorted(slices.Values(keys)))) != 3 {
			t.Errorf("keys %q", keys)
		}
		if got := w.get(id); !strings.Contains(string(got.Result), "state 3") {
			t.Errorf("%+v %s", got, got.Result)
		}
	})
}

func TestTaskIsCancelled(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w := newWorld(t, nil)
		ended := make(chan error, 1)
		w.tool(tasks.Required, func(ctx context.Context, c *mcp.Call) (string, error) {
			<-ctx.Done()
			ended <- context.Cause(ctx)
			return "too late", nil
		})
		id := w.start()
		synctest.Wait()
		for range 2 {
			if res, err := w.serve(tasks.MethodCancel, map[string]string{"taskId": id}); err != nil || len(res.Body) > 0 {
				t.Errorf("cancel: %s %v", res.Body, err)
			}
			if got := w.get(id); got.Status != tasks.Cancelled || got.Result != nil {
				t.Errorf("%+v", got)
			}
		}
		<-ended
		synctest.Wait()
		if got := w.get(id); got.Status != tasks.Cancelled || got.Result != nil {
			t.Errorf("after the tool has ended: %+v", got)
		}
	})
}

// A task of one principal does not exist for another.
func TestTasksBelongToTheirPrincipal(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.tool(tasks.Required, func(ctx context.Context, c *mcp.Call) (string, error) {
			_, err := server.Elicit[name](c, "k", "Name?")
			return "", err
		})
		id := w.start()
		synctest.Wait()
		var unknown string
		for _, who := range []mcp.Caller{w.as("bob"), w.as("")} {
			w.caller = who
			for _, id := range []string{id, "unknown" + id[7:]} {
				for method, params := range map[string]any{
					tasks.MethodGet: map[string]string{"taskId": id}, tasks.MethodCancel: map[string]string{"taskId": id},
					tasks.MethodUpdate: tasks.UpdateParams{ID: id, InputResponses: map[string]json.RawMessage{"k": json.RawMessage(accept(`{"name":"x"}`))}},
				} {
					_, err := w.serve(method, params)
					e, _ := errors.AsType[*mcp.Error](err)
					if e == nil || e.Code != mcp.CodeInvalidParams {
						t.Errorf("%s: %v", method, err)
						continue
					}
					text := strings.ReplaceAll(e.Message, id, "ID")
					if unknown == "" {
						unknown = text
					}
					if text != unknown {
						t.Errorf("a task of another and none are told apart: %q and %q", text, unknown)
					}
				}
			}
		}
		w.caller = w.as("ada")
		if got := w.get(id); got.Status != tasks.InputRequired {
			t.Errorf("%+v", got)
		}
	})
}

func TestTasksAreBounded(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w := newWorld(t, &tasks.Options{MaxTasks: 2, MaxResult: 1000, TTL: time.Minute})
		w.tool(tasks.Required, func(context.Context, *mcp.Call) (string, error) { return strings.Repeat("x", 2000), nil })
		id := w.start()
		w.start()
		if _, err := w.serve(mcp.MethodToolsCall, mcp.CallToolParams{Name: "work"}); err == nil || !strings.Contains(err.Error(), "too many tasks: 2") {
			t.Errorf("the third: %v", err)
		}
		w.caller = w.as("bob")
		w.start()
		w.caller = w.as("ada")
		synctest.Wait()
		if got := w.get(id); got.Status != tasks.Failed || !strings.Contains(got.Error.Message, "at most 1000") {
			t.Errorf("a large result: %+v", got)
		}
		time.Sleep(time.Minute + time.Second)
		if _, err := w.serve(tasks.MethodGet, map[string]string{"taskId": id}); err == nil || !strings.Contains(err.Error(), "expired") {
			t.Errorf("after its TTL: %v", err)
		}
		w.start()
	})
}

// A task that runs longer than its TTL fails while clients can still see it.
func TestTaskOutlivesItsTTL(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w := newWorld(t, &tasks.Options{TTL: time.Minute})
		w.tool(tasks.Required, func(ctx context.Context, c *mcp.Call) (string, error) {
			<-ctx.Done()
			return "", ctx.Err()
		})
		id := w.start()
		time.Sleep(55 * time.Second)
		if got := w.get(id); got.Status != tasks.Failed || !strings.Contains(got.StatusMessage, "time to live") {
			t.Errorf("%+v", got)
		}
	})
}

// interrupted stores a task of Ada's that another process runs, whose lease
// ends after 15 seconds.
func interrupted(t *testing.T, w *world, store tasks.Store) (id string) {
	now := time.Now()
	if err := store.Renew(t.Context(), "other", 15*time.Second); err != nil {
		t.Fatal(err)
	}
	r := &tasks.Record{Task: tasks.Task{ID: "x", Status: tasks.Working, CreatedAt: now, LastUpdatedAt: now}, Owner: w.caller.Principal.Key(), Runner: "other"}
	if err := store.Create(t.Context(), r, 10); err != nil {
		t.Fatal(err)
	}
	return "x"
}

// When a process that ran a task is gone, the task counts as failed.
func TestInterruptedTaskFails(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		store := &tasks.Memory{}
		w := newWorld(t, &tasks.Options{Store: store})
		id := interrupted(t, w, store)
		if got := w.get(id); got.Status != tasks.Working {
			t.Errorf("while its process may live: %+v", got)
		}
		time.Sleep(20 * time.Second)
		if got := w.get(id); got.Status != tasks.Failed || !strings.Contains(got.StatusMessage, "the server stopped") || got.Error == nil {
			t.Errorf("%+v", got)
		}
	})
}

// A client that has subscribed learns of it, although nothing changes the
// record.
func TestSubscriberLearnsOfInterruption(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		store := &tasks.Memory{}
		w := newWorld(t, &tasks.Options{Store: store})
		id := interrupted(t, w, store)
		states, stop := w.listen(id)
		time.Sleep(25 * time.Second)
		stop()
		if got := states(); !slices.Equal(got, []string{"working", "failed"}) {
			t.Errorf("%q", got)
		}
	})
}

// listen subscribes to tasks. states returns the statuses so far.
func (w *world) listen(ids ...string) (states func() []string, stop func()) {
	var mu sync.Mutex
	var got []string
	ctx, cancel := context.WithCancel(w.t.Context())
	params, _ := mcp.Marshal(map[string]any{"notifications": map[string]any{"taskIds": ids}})
	over := make(chan struct{})
	go func() {
		defer close(over)
		w.s.Serve(ctx, &mcp.Call{Method: mcp.MethodSubscriptionsListen, Params: params, Caller: w.caller, OnNotification: func(n mcp.Notification) {
			mu.Lock()
			defer mu.Unlock()
			var task tasks.Task
			if n.Method == tasks.Notification && mcp.Unmarshal(n.Params, &task) == nil {
				got = append(got, string(task.Status))
			}
		}})
	}()
	return func() []string {
			mu.Lock()
			defer mu.Unlock()
			return slices.Clone(got)
		}, func() {
			cancel()
			<-over
		}
}

// A long task renews its lease, and is not taken for an interrupted one.
func TestLeaseIsRenewed(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		store := &tasks.Memory{}
		w, other := newWorld(t, &tasks.Options{Store: store}), newWorld(t, &tasks.Options{Store: store})
		w.tool(tasks.Required, func(ctx context.Context, c *mcp.Call) (string, error) {
			time.Sleep(5 * time.Minute)
			return "done", nil
		})
		id := w.start()
		for range 4 {
			time.Sleep(time.Minute)
			if got := other.get(id); got.Status != tasks.Working {
				t.Fatalf("%+v", got)
			}
		}
		time.Sleep(2 * time.Minute)
		if got := other.get(id); got.Status != tasks.Completed {
			t.Errorf("%+v", got)
		}
	})
}

func TestClosingTheServerEndsTasks(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		store := &tasks.Memory{}
		w := newWorld(t, &tasks.Options{Store: store})
		w.tool(tasks.Required, func(ctx context.Context, c *mcp.Call) (string, error) {
			<-ctx.Done()
			return "", ctx.Err()
		})
		id := w.start()
		if err := w.s.Close(); err != nil {
			t.Fatal(err)
		}
		r, err := store.Get(t.Context(), id)
		if err != nil || r.Task.Status != tasks.Failed || !strings.Contains(r.Task.StatusMessage, "stopped") {
			t.Errorf("%+v %v", r, err)
		}
		if _, err := w.serve(mcp.MethodToolsCall, mcp.CallToolParams{Name: "work"}); err == nil {
			t.Error("a closed server starts a task")
		}
	})
}

func TestProgressBecomesTheStatusMessage(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.tool(tasks.Required, func(ctx context.Context, c *mcp.Call) (string, error) {
			for i := range 4 {
				server.Progress(c, float64(i+1), 4, "frames")
				time.Sleep(time.Second)
			}
			return "done", nil
		})
		id := w.start()
		time.Sleep(1500 * time.Millisecond)
		if got := w.get(id); got.StatusMessage != "frames 50 %" {
			t.Errorf("%q", got.StatusMessage)
		}
		time.Sleep(time.Minute)
	})
}

// A subscription carries each state, the present one first, and nothing of
// tasks that the caller does not own.
func TestSubscription(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.tool(tasks.Required, func(ctx context.Context, c *mcp.Call) (string, error) {
			_, err := server.Elicit[name](c, "k", "Name?")
			if err != nil {
				return "", err
			}
			time.Sleep(time.Second)
			return "done", nil
		})
		id := w.start()
		w.caller = w.as("bob")
		foreign := w.start()
		w.caller = w.as("ada")
		synctest.Wait()

		var mu sync.Mutex
		var got []string
		ctx, cancel := context.WithCancel(t.Context())
		params, _ := mcp.Marshal(map[string]any{"notifications": map[string]any{"taskIds": []string{foreign, id, "nothing"}}})
		over := make(chan struct{})
		go func() {
			defer close(over)
			w.s.Serve(ctx, &mcp.Call{Method: mcp.MethodSubscriptionsListen, Params: params, Caller: w.caller, OnNotification: func(n mcp.Notification) {
				mu.Lock()
				defer mu.Unlock()
				var task tasks.Task
				if n.Method == tasks.Notification && mcp.Unmarshal(n.Params, &task) == nil {
					got = append(got, string(task.Status))
					return
				}
				got = append(got, n.Method+" "+string(n.Params))
			}})
		}()
		synctest.Wait()
		if err := w.update(id, map[string]string{"k": accept(`{"name":"x"}`)}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		cancel()
		<-over
		mu.Lock()
		defer mu.Unlock()
		if len(got) < 3 || !strings.Contains(got[0], `acknowledged {"notifications":{"taskIds":["`+id+`"]}}`) || got[1] != "input_required" || got[len(got)-1] != "completed" {
			t.Errorf("%q", got)
		}
	})
}

// A tool may ask before its call becomes a task; the responses are those of the
// task, too.
func TestDeferredTool(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w := newWorld(t, nil)
		server.AddTool(w.s, "work", "Work", func(ctx context.Context, c *mcp.Call, _ struct{}) (string, error) {
			f, err := server.Elicit[name](c, "k", "Name?")
			if err != nil {
				return "", err
			}
			if err := tasks.Begin(ctx); err != nil {
				return "", err
			}
			time.Sleep(time.Minute)
			return "hello " + f.Name, nil
		}, w.m.DeferredTool(tasks.Required, nil))
		c := &mcp.Call{Method: mcp.MethodToolsCall, Params: json.RawMessage(`{"name":"work"}`), Caller: w.caller}
		_, err := w.s.Serve(t.Context(), c)
		need, ok := errors.AsType[*mcp.InputRequired](err)
		if !ok {
			t.Fatalf("the first round: %v", err)
		}
		c.State, c.InputResponses = need.State, map[string]json.RawMessage{"k": json.RawMessage(accept(`{"name":"Alice"}`))}
		res, err := w.s.Serve(t.Context(), c)
		var task tasks.Task
		if err != nil || res.Type != tasks.ResultType || res.Decode(&task) != nil {
			t.Fatalf("the second round: %q %s %v", res.Type, res.Body, err)
		}
		time.Sleep(2 * time.Minute)
		if got := w.get(task.ID); got.Status != tasks.Completed || !strings.Contains(string(got.Result), "hello Alice") {
			t.Errorf("%+v %s", got, got.Result)
		}
	})
}
