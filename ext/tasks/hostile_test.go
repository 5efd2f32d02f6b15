package tasks_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenon-mcp/tenon/ext/tasks"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

// An id has 26 characters of 32 kinds: 130 random bits.
func TestIDsCannotBeGuessed(t *testing.T) {
	w := newWorld(t, &tasks.Options{MaxTasks: 1000})
	w.tool(tasks.Required, func(context.Context, *mcp.Call) (string, error) { return "", nil })
	form := regexp.MustCompile(`^[A-Z2-7]{26}$`)
	seen := map[string]bool{}
	kinds := make([]map[byte]bool, 26)
	for range 500 {
		id := w.start()
		if !form.MatchString(id) || seen[id] {
			t.Fatalf("the id %q", id)
		}
		seen[id] = true
		for i := range kinds {
			if kinds[i] == nil {
				kinds[i] = map[byte]bool{}
			}
			kinds[i][id[i]] = true
		}
	}
	for i, k := range kinds {
		if len(k) != 32 { // 500 ids miss one of 32 with a probability of 1e-4 in all
			t.Logf("place %d has %d kinds of characters", i, len(k))
		}
		if len(k) < 24 {
			t.Errorf("place %d has only %d kinds of characters", i, len(k))
		}
	}
}

// Whatever a client sends for an id, a task of another principal, an expired
// one and none at all cannot be told apart.
func TestForeignTasksDoNotExist(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		store := &tasks.Memory{}
		w := newWorld(t, &tasks.Options{Store: store, TTL: time.Hour})
		w.asks()
		open := w.start()
		w.caller = w.as("")
		anonymous := w.start()
		w.caller = w.as("bob")
		gone := w.start()
		synctest.Wait()
		for { // Bob's task expires
			r, err := store.Get(t.Context(), gone)
			if err != nil {
				t.Fatal(err)
			}
			r.Expires = time.Now().Add(-time.Second)
			if store.Update(t.Context(), r) == nil {
				break
			}
		}
		ids := map[string]string{
			"foreign": open, "anonymous": anonymous, "expired": gone, "unknown": "AAAAAAAAAAAAAAAAAAAAAAAAAA",
			"forged": open[:25] + "a", "lower case": strings.ToLower(open), "spaced": " " + open, "nul": open + "\x00", "cursor": "1." + open,
			"path": "../" + open, "sql": "' OR ''='", "long": strings.Repeat("A", 10000),
		}
		var want string
		for kind, id := range ids {
			for name, try := range map[string]func() string{
				"get":             func() string { return w.outcome(tasks.MethodGet, map[string]string{"taskId": id}) },
				"cancel":          func() string { return w.outcome(tasks.MethodCancel, map[string]string{"taskId": id}) },
				"update":          func() string { return w.outcome(tasks.MethodUpdate, updateParams(id, accept(`{"name":"x"}`))) },
				"malformed":       func() string { return w.outcome(tasks.MethodUpdate, updateParams(id, `5`)) },
				"without answers": func() string { return w.outcome(tasks.MethodUpdate, map[string]string{"taskId": id}) },
			} {
				got := strings.ReplaceAll(strings.ReplaceAll(try(), fmt.Sprintf("%q", id), "ID"), fmt.Sprintf("%q", id[:min(len(id), 100)]+"…"), "ID")
				if want == "" {
					want = got
				}
				if got != want || !strings.Contains(got, "-32602") {
					t.Errorf("%s, %s: %s; others: %s", kind, name, got, want)
				}
			}
			states, stop := w.listen(id)
			synctest.Wait()
			stop()
			if got := states(); len(got) > 0 {
				t.Errorf("%s: a subscription reports %q", kind, got)
			}
		}
		if got := w.outcome("tenon/tasks/list", nil); got != `{"tasks":[]}` {
			t.Errorf("Bob's list: %s", got)
		}
		w.caller = w.as("")
		if got := w.outcome("tenon/tasks/list", nil); !strings.Contains(got, "-32601") {
			t.Errorf("a list without authentication: %s", got)
		}
		w.caller = w.as("ada")
		if got := w.get(open); got.Status != tasks.InputRequired {
			t.Errorf("Ada's task: %+v", got)
		}
		if got := w.outcome("tenon/tasks/list", nil); strings.Count(got, "taskId") != 1 || !strings.Contains(got, open) {
			t.Errorf("Ada's list: %s", got)
		}
		if got := w.outcome("tenon/tasks/list", map[string]string{"cursor": "x"}); !strings.Contains(got, "-32602") {
			t.Errorf("an invalid cursor: %s", got)
		}
	})
}

func updateParams(id, response string) tasks.UpdateParams {
	return tasks.UpdateParams{ID: id, InputResponses: map[string]json.RawMessage{"k": json.RawMessage(response)}}
}

// outcome returns the result or the error of a call as text.
func (w *world) outcome(method string, params any) string {
	res, err := w.serve(method, params)
	if e, ok := errors.AsType[*mcp.Error](err); ok {
		return fmt.Sprint(e.Code, " ", e.Message, " ", string(e.Data))
	}
	return fmt.Sprint(string(res.Body), errString(err))
}

func errString(err error) string {
	if err == nil {
		return ""
	}
	return " " + err.Error()
}

// Responses of the wrong shape are refused, and the request stays open.
func TestMalformedResponses(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.asks()
		id := w.start()
		synctest.Wait()
		for _, response := range []string{`5`, `null`, `"accept"`, `[]`, `{}`, `{"action":1}`, `{"action":"ACCEPT"}`, `{"action":"accept","content":7}`} {
			if got := w.outcome(tasks.MethodUpdate, updateParams(id, response)); !strings.Contains(got, "-32602 inputResponses") {
				t.Errorf("%s: %s", response, got)
			}
			if got := w.get(id); got.Status != tasks.InputRequired || len(got.InputRequests) != 1 {
				t.Fatalf("after %s: %+v", response, got)
			}
		}
		// A form that does not fit its schema is known to the tool only.
		if err := w.update(id, map[string]string{"k": accept(`{"name":5}`)}); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if got := w.get(id); got.Status != tasks.Failed || got.Error.Code != mcp.CodeInvalidParams || !strings.Contains(got.Error.Message, "name") {
			t.Errorf("%+v", got)
		}
	})
}

// A flood of one principal meets its limit; others do not notice it.
func TestFlood(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w := newWorld(t, &tasks.Options{MaxTasks: 20, TTL: time.Hour})
		var mu sync.Mutex
		running, most := 0, 0
		w.tool(tasks.Required, func(ctx context.Context, c *mcp.Call) (string, error) {
			mu.Lock()
			running++
			most = max(most, running)
			mu.Unlock()
			<-ctx.Done()
			return "", ctx.Err()
		})
		for i, who := range []string{"ada", "", "bob"} {
			var wg sync.WaitGroup
			accepted := 0
			for range 500 {
				wg.Go(func() {
					res, err := w.s.Serve(t.Context(), &mcp.Call{Method: mcp.MethodToolsCall, Params: json.RawMessage(`{"name":"work"}`), Caller: w.as(who)})
					if err == nil && res.Type == tasks.ResultType {
						mu.Lock()
						accepted++
						mu.Unlock()
					} else if err == nil || !strings.Contains(err.Error(), "too many tasks: 20") {
						t.Errorf("%q: %v", who, err)
					}
				})
			}
			wg.Wait()
			synctest.Wait()
			if accepted != 20 || most != 20*(i+1) {
				t.Errorf("%q: %d tasks of 500 were accepted, %d run", who, accepted, most)
			}
		}
	})
}

// The error of a tool and its messages have a limit, too; a result must be JSON.
func TestSizesAreBounded(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w := newWorld(t, &tasks.Options{MaxResult: 2000})
		var result mcp.Result
		var failure error
		server.AddTool(w.s, "work", "Work", func(ctx context.Context, c *mcp.Call, _ struct{}) (string, error) {
			server.Progress(c, 1, 0, strings.Repeat("é", 5000))
			time.Sleep(time.Second)
			return "", nil
		}, w.m.Tool(tasks.Required, &server.ToolOptions{Middleware: []mcp.Middleware{func(next mcp.Handler) mcp.Handler {
			return mcp.HandlerFunc(func(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
				if _, err := next.Serve(ctx, c); err != nil {
					return mcp.Result{}, err
				}
				return result, failure
			})
		}}}))
		for want, set := range map[string]func(){
			"at most 2000":             func() { failure = &mcp.Error{Code: -32000, Message: strings.Repeat("x", 3000)} },
			"at most 2000 are kept":    func() { failure = mcp.Errorf(-32000, "x").With(strings.Repeat("x", 3000)) },
			"not valid JSON":           func() { result.Body = json.RawMessage(`{"a":1,"a":2}`) },
			"the result has 3000 byte": func() { result.Body = json.RawMessage(strings.Repeat("x", 3000)) },
		} {
			result, failure = mcp.Result{}, nil
			set()
			id := w.start()
			time.Sleep(500 * time.Millisecond)
			if got := w.get(id); len(got.StatusMessage) > 1010 || !strings.HasSuffix(got.StatusMessage, "é…") {
				t.Errorf("a message of %d bytes", len(got.StatusMessage))
			}
			time.Sleep(time.Second)
			if got := w.get(id); got.Status != tasks.Failed || !strings.Contains(got.Error.Message, want) {
				t.Errorf("want %q: %+v", want, got)
			}
		}
	})
}

func TestMemoryIsBounded(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w := newWorld(t, &tasks.Options{Store: &tasks.Memory{MaxBytes: 100 << 10}, TTL: time.Minute})
		w.tool(tasks.Required, func(context.Context, *mcp.Call) (string, error) { return strings.Repeat("x", 20<<10), nil })
		full := func() (n int) {
			for {
				_, err := w.serve(mcp.MethodToolsCall, mcp.CallToolParams{Name: "work"})
				synctest.Wait()
				if err != nil {
					if !strings.Contains(err.Error(), "the task store is full") {
						t.Error(err)
					}
					return n
				}
				n++
			}
		}
		n := full()
		time.Sleep(2 * time.Minute)
		if again := full(); n < 2 || n > 10 || again != n {
			t.Errorf("%d tasks at first, %d after those have expired", n, again)
		}
	})
}

// A tool that goes on after its context has ended holds up neither the end of
// its task nor the server; what it returns then is dropped.
func TestToolIgnoresTheEnd(t *testing.T) {
	for how, end := range map[string]func(w *world, id string){
		"cancelled": func(w *world, id string) {
			if _, err := w.serve(tasks.MethodCancel, map[string]string{"taskId": id}); err != nil {
				w.t.Error(err)
			}
		},
		"failed": func(w *world, id string) { time.Sleep(58 * time.Second) },
		"closed": func(w *world, id string) { w.s.Close() },
	} {
		t.Run(how, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				log, text := logged()
				store := &tasks.Memory{}
				w := newWorld(t, &tasks.Options{Log: log, Store: store, TTL: time.Minute})
				w.tool(tasks.Required, func(context.Context, *mcp.Call) (string, error) {
					time.Sleep(10 * time.Minute)
					return "too late", nil
				})
				id := w.start()
				time.Sleep(time.Second)
				began := time.Now()
				end(w, id)
				w.s.Close()
				if d := time.Since(began); how != "failed" && d > 10*time.Second { // of the bubble's clock
					t.Errorf("Close took %v", d)
				}
				r, err := store.Get(t.Context(), id)
				if err != nil || !r.Task.Status.Final() || r.Task.Result != nil || how == "cancelled" != (r.Task.Status == tasks.Cancelled) {
					t.Errorf("%+v, %v", r, err)
				}
				time.Sleep(20 * time.Minute)
				if !strings.Contains(text(), "its result is dropped") {
					t.Errorf("logged: %s", text())
				}
			})
		})
	}
}
