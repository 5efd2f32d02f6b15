package tasks_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/ext/tasks"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

// clientOf returns a client as programs make it. Its user answers every form with
// the name "x".
func clientOf(h mcp.Handler, o *client.Options) *client.Client {
	if o == nil {
		o = &client.Options{Elicit: func(_ context.Context, e *client.Elicitation) (*mcp.ElicitResult, error) { return e.Accept(name{"x"}) }}
	}
	o.Middleware = []mcp.Middleware{tasks.Client}
	return client.New(h, o)
}

// asksBetween adds a tool that works for a while, asks for a name, and works again.
func (w *world) asksBetween(work time.Duration) {
	wait := func(ctx context.Context) error {
		select {
		case <-time.After(work):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	w.tool(tasks.Required, func(ctx context.Context, c *mcp.Call) (string, error) {
		in, err := server.Elicit[name](c, "who", "Who?")
		if err != nil {
			return "", errors.Join(wait(ctx), err)
		}
		server.Progress(c, 1, 2, "writing")
		return "for " + in.Name, wait(ctx)
	})
}

func TestStartReturnsBeforeTheResult(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.asksBetween(20 * time.Minute)
		began := time.Now()
		h, err := tasks.Start(t.Context(), clientOf(w.s, nil), "work", nil, nil)
		if err != nil || h.ID() == "" || h.Task().Status != tasks.Working {
			t.Fatalf("%+v %v", h, err)
		}
		if d := time.Since(began); d != 0 {
			t.Errorf("Start waited for %v", d)
		}
		res, err := h.Wait(t.Context())
		if err != nil || res.Content.Text() != "for x" {
			t.Errorf("%v %v", res, err)
		}
		if got := h.Task(); got.Status != tasks.Completed {
			t.Errorf("%+v", got)
		}
		if res, err := h.Wait(t.Context()); err != nil || res.Content.Text() != "for x" {
			t.Errorf("the second time: %v %v", res, err)
		}
	})
}

// A call that becomes no task has a handle all the same, with and without the
// middleware.
func TestStartOfAPlainCall(t *testing.T) {
	w := newWorld(t, nil)
	server.AddTool(w.s, "plain", "Plain", func(context.Context, *mcp.Call, struct{}) (string, error) { return "hi", nil }, nil)
	for _, c := range []*client.Client{clientOf(w.s, nil), client.New(w.s, nil)} {
		h, err := tasks.Start(t.Context(), c, "plain", nil, nil)
		if err != nil || h.ID() != "" || h.Task().Status != tasks.Completed {
			t.Fatalf("%+v %v", h, err)
		}
		if res, err := h.Wait(t.Context()); err != nil || res.Content.Text() != "hi" {
			t.Errorf("%v %v", res, err)
		}
		if err := h.Cancel(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// The end of Wait is not the end of the task, and another process goes on.
func TestTaskOutlivesWait(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.asksBetween(time.Minute)
		asked := make(chan struct{})
		silent := &client.Options{Elicit: func(ctx context.Context, e *client.Elicitation) (*mcp.ElicitResult, error) {
			close(asked)
			<-ctx.Done()
			return nil, ctx.Err()
		}}
		h, err := tasks.Start(t.Context(), clientOf(w.s, silent), "work", nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		short, end := context.WithTimeout(t.Context(), 10*time.Second) // it is still working then
		defer end()
		if _, err := h.Wait(short); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("%v", err)
		}
		if now, err := h.Get(t.Context()); err != nil || now.Status != tasks.Working {
			t.Fatalf("%+v %v", now, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		go func() { <-asked; cancel() }()
		if _, err := h.Wait(ctx); !errors.Is(err, context.Canceled) {
			t.Fatalf("%v", err)
		}
		synctest.Wait()
		again, err := tasks.Resume(t.Context(), clientOf(w.s, nil), h.ID(), "work", nil)
		if err != nil || again.Task().Status != tasks.InputRequired {
			t.Fatalf("%+v %v", again.Task(), err)
		}
		if res, err := again.Wait(t.Context()); err != nil || res.Content.Text() != "for x" {
			t.Errorf("%v %v", res, err)
		}
	})
}

func TestCancelEndsTheTask(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.asksBetween(time.Minute)
		h, err := tasks.Start(t.Context(), clientOf(w.s, nil), "work", nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(10*time.Second, func() {
			if err := h.Cancel(context.Background()); err != nil {
				t.Error(err)
			}
		})
		if _, err := h.Wait(t.Context()); !errors.Is(err, tasks.ErrCancelled) {
			t.Errorf("%v", err)
		}
		if h.Task().Status != tasks.Cancelled {
			t.Errorf("%+v", h.Task())
		}
	})
}

// Updates shows every state once, with its questions, until the end.
func TestUpdates(t *testing.T) {
	for name, hide := range map[string]bool{"subscribed": false, "polling": true} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				w := newWorld(t, nil)
				w.asksBetween(time.Minute)
				s := mcp.Handler(w.s)
				if hide {
					s = polls(s, new(atomic.Int32))
				}
				h, err := tasks.Start(t.Context(), clientOf(s, nil), "work", nil, nil)
				if err != nil {
					t.Fatal(err)
				}
				var got []string
				for task, err := range h.Updates(t.Context()) {
					if err != nil {
						t.Fatal(err)
					}
					got = append(got, strings.TrimSpace(string(task.Status)+" "+task.StatusMessage))
					responses := map[string]json.RawMessage{}
					for key := range task.InputRequests {
						responses[key] = json.RawMessage(accept(`{"name":"y"}`))
					}
					if len(responses) > 0 {
						if err := h.Respond(t.Context(), responses); err != nil {
							t.Fatal(err)
						}
					}
				}
				all := strings.Join(got, ", ")
				if !strings.HasPrefix(all, "working, input_required, working") || !strings.Contains(all, "working writing 50 %") || !strings.HasSuffix(all, "completed") || len(got) > 6 {
					t.Errorf("%s", all)
				}
			})
		})
	}
}

// A task that takes hours is not killed by the default time limits, and an
// explicit one says what it did.
func TestTimeLimitsOfTasks(t *testing.T) {
	polling := func(h mcp.Handler) mcp.Handler { return polls(h, new(atomic.Int32)) }
	same := func(h mcp.Handler) mcp.Handler { return h }
	for _, c := range []struct {
		name  string
		wrap  func(mcp.Handler) mcp.Handler
		call  *client.CallOptions
		fails string
	}{
		{"subscribed", same, nil, ""},
		{"polling", polling, nil, ""},
		{"an explicit limit", same, &client.CallOptions{TotalTimeout: 20 * time.Minute}, `tools/call "work": stopped waiting after 20m, although the server was still working on it`},
		{"no answer to a poll", deafAfter(30 * time.Minute), &client.CallOptions{IdleTimeout: 10 * time.Second}, "no response from the server for 10s"},
		{"no connection", failsAfter(30 * time.Minute), nil, "no state from the server for 2m"},
	} {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				w := newWorld(t, &tasks.Options{TTL: 10 * time.Hour})
				ended := make(chan struct{})
				w.tool(tasks.Required, func(ctx context.Context, _ *mcp.Call) (string, error) {
					defer close(ended)
					select {
					case <-time.After(5 * time.Hour):
						return "done", nil
					case <-ctx.Done():
						return "", ctx.Err()
					}
				})
				res, err := clientOf(c.wrap(w.s), nil).CallTool(t.Context(), "work", nil, c.call)
				if c.fails == "" && (err != nil || res.Content.Text() != "done") || c.fails != "" && (err == nil || !strings.Contains(err.Error(), c.fails)) {
					t.Fatalf("%v %v", res, err)
				}
				if c.call != nil && c.call.TotalTimeout > 0 {
					<-ended // it was cancelled
				}
			})
		})
	}
}

// deafAfter answers no more polls after a time.
func deafAfter(d time.Duration) func(mcp.Handler) mcp.Handler {
	return func(h mcp.Handler) mcp.Handler {
		began := time.Now()
		return polls(mcp.HandlerFunc(func(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
			if c.Method == tasks.MethodGet && time.Since(began) > d {
				<-ctx.Done()
				return mcp.Result{}, ctx.Err()
			}
			return h.Serve(ctx, c)
		}), new(atomic.Int32))
	}
}

// failsAfter fails every poll after a time.
func failsAfter(d time.Duration) func(mcp.Handler) mcp.Handler {
	return func(h mcp.Handler) mcp.Handler {
		began := time.Now()
		return polls(mcp.HandlerFunc(func(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
			if c.Method == tasks.MethodGet && time.Since(began) > d {
				return mcp.Result{}, errors.New("connection refused")
			}
			return h.Serve(ctx, c)
		}), new(atomic.Int32))
	}
}

// Progress goes on increasing after a question and after progress of the call.
func TestProgressGoesOnAfterAQuestion(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.asksBetween(10 * time.Second)
		s := mcp.HandlerFunc(func(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
			if c.Method == mcp.MethodToolsCall {
				c.Notify(mcp.Notification{Method: mcp.NotificationProgress, Params: json.RawMessage(`{"progress":7,"message":"queued"}`)})
			}
			return w.s.Serve(ctx, c)
		})
		var got []string
		_, err := clientOf(s, nil).CallTool(t.Context(), "work", nil, &client.CallOptions{Progress: func(p mcp.ProgressParams) { got = append(got, fmt.Sprint(p.Progress, " ", p.Message)) }})
		if all := strings.Join(got, ", "); err != nil || !strings.HasPrefix(all, "7 queued, 8") || !strings.Contains(all, "writing 50 %") {
			t.Errorf("%s %v", all, err)
		}
	})
}

// A server may notify of a task before it returns the task.
func TestEarlyNotificationIsKept(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var gets atomic.Int32
		early := func(id, more string) mcp.Notification {
			return mcp.Notification{Method: tasks.Notification, Params: json.RawMessage(`{"taskId":"` + id + `","createdAt":"","lastUpdatedAt":"","ttlMs":null,` + more + `}`)}
		}
		s := mcp.HandlerFunc(func(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
			switch c.Method {
			case mcp.MethodToolsCall:
				c.Notify(early("t1", `"status":"completed","result":{"content":[{"type":"text","text":"early"}]}`))
				for i := range 60 { // of others; few enough to keep the first
					c.Notify(early(fmt.Sprint("other", i), `"status":"working"`))
				}
				return mcp.Result{Type: tasks.ResultType, Body: json.RawMessage(`{"taskId":"t1","status":"working","createdAt":"","lastUpdatedAt":"","ttlMs":null,"pollIntervalMs":1000}`)}, nil
			case tasks.MethodGet:
				gets.Add(1)
			}
			return mcp.Result{}, mcp.MethodNotFound(c.Method)
		})
		var warnings []string
		c := clientOf(s, &client.Options{Warn: func(w string) { warnings = append(warnings, w) }})
		res, err := c.CallTool(t.Context(), "x", nil, &client.CallOptions{Progress: func(mcp.ProgressParams) {}})
		if err != nil || res.Content.Text() != "early" || gets.Load() != 0 || len(warnings) > 0 {
			t.Errorf("%v %v, %d polls, %q", res, err, gets.Load(), warnings)
		}
	})
}

func TestUnknownTaskSaysWhatToDo(t *testing.T) {
	w := newWorld(t, nil)
	_, err := tasks.Resume(t.Context(), clientOf(w.s, nil), "nosuch", "", nil)
	e, ok := errors.AsType[*mcp.Error](err)
	if !ok || e.Code != mcp.CodeInvalidParams || !strings.Contains(err.Error(), `no task "nosuch"`) || !strings.Contains(err.Error(), "call the tool again") {
		t.Errorf("%v", err)
	}
	if _, err := tasks.Resume(t.Context(), client.New(w.s, nil), "nosuch", "", nil); err == nil || !strings.Contains(err.Error(), "tasks.Client") {
		t.Errorf("without the middleware: %v", err)
	}
}

// A server that has gone for good ends the waiting at once.
func TestPermanentFailureEndsTheWaiting(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.tool(tasks.Required, func(ctx context.Context, _ *mcp.Call) (string, error) { <-ctx.Done(); return "", ctx.Err() })
		began := time.Now()
		gone := polls(mcp.HandlerFunc(func(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
			if c.Method == tasks.MethodGet {
				return mcp.Result{}, goneError{}
			}
			return w.s.Serve(ctx, c)
		}), new(atomic.Int32))
		if _, err := clientOf(gone, nil).CallTool(t.Context(), "work", nil, nil); !errors.Is(err, goneError{}) || time.Since(began) > 2*time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
}

type goneError struct{}

func (goneError) Error() string   { return "the server exited" }
func (goneError) Permanent() bool { return true }

// Observe reports the states of a task of an ordinary call, and does not reach
// the calls that the tool itself makes.
func TestObserve(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w := newWorld(t, nil)
		inner := newWorld(t, nil)
		inner.tool(tasks.Required, func(context.Context, *mcp.Call) (string, error) { return "inner", nil })
		w.tool(tasks.Optional, func(ctx context.Context, _ *mcp.Call) (string, error) {
			return client.Call[string](ctx, clientOf(inner.s, nil), "work", nil, nil)
		})
		ids := map[string]bool{}
		var last tasks.Task
		ctx := tasks.Observe(t.Context(), func(task tasks.Task) { ids[task.ID], last = true, task })
		out, err := client.Call[string](ctx, clientOf(w.s, nil), "work", nil, nil)
		if err != nil || out != "inner" || len(ids) != 1 || last.Status != tasks.Completed {
			t.Errorf("%q %v %v %+v", out, err, ids, last)
		}
		h, err := tasks.Start(ctx, clientOf(withoutTasks(w.s), nil), "work", nil, nil)
		if err != nil || h.ID() != "" {
			t.Fatalf("%v %v", h, err)
		}
		if res, err := h.Wait(t.Context()); err != nil || res.Content.Text() != "inner" {
			t.Errorf("a tool that waits for a task itself, in a call that wants one: %v %v", res, err)
		}
	})
}

// withoutTasks hides the extension of the client.
func withoutTasks(h mcp.Handler) mcp.Handler {
	return mcp.HandlerFunc(func(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
		copied := *c
		copied.Caller.Capabilities = nil
		return h.Serve(ctx, &copied)
	})
}
