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

	"github.com/tenon-mcp/tenon/ext/tasks"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

// call calls the tool through the client's side, as a caller that knows nothing
// of tasks. The user accepts every form with the name "x".
func (w *world) call(ctx context.Context, h mcp.Handler, onNotification func(mcp.Notification)) (string, error) {
	h = mcp.HandleInput(tasks.Client(h), func(_ context.Context, _ *mcp.Call, key string, q mcp.InputRequest) (json.RawMessage, error) {
		return json.RawMessage(accept(`{"name":"` + key + `"}`)), nil
	}, 0)
	caller := w.caller
	caller.Capabilities = &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapability{}}
	res, err := h.Serve(ctx, &mcp.Call{Method: mcp.MethodToolsCall, Params: json.RawMessage(`{"name":"work"}`), Caller: caller, Progress: onNotification != nil, OnNotification: onNotification})
	return string(res.Body), err
}

// polls hides subscriptions from the client and counts calls of tasks/get.
func polls(h mcp.Handler, n *atomic.Int32) mcp.Handler {
	return mcp.HandlerFunc(func(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
		switch c.Method {
		case mcp.MethodSubscriptionsListen:
			return mcp.Result{}, mcp.MethodNotFound(c.Method)
		case tasks.MethodGet:
			n.Add(1)
		}
		return h.Serve(ctx, c)
	})
}

// A caller declares the same capabilities in each call, which a connection encodes
// once, and its own are not changed.
func TestClientDeclaresTheExtensionOnce(t *testing.T) {
	var sent []*mcp.ClientCapabilities
	h := tasks.Client(mcp.HandlerFunc(func(_ context.Context, c *mcp.Call) (mcp.Result, error) {
		sent = append(sent, c.Caller.Capabilities)
		return mcp.Result{}, nil
	}))
	other := json.RawMessage("{}")
	able := &mcp.ClientCapabilities{Extensions: map[string]json.RawMessage{tasks.ExtensionID: other}}
	for _, can := range []*mcp.ClientCapabilities{nil, {}, {Extensions: map[string]json.RawMessage{"other": other}}, able} {
		sent = nil
		for range 3 {
			if _, err := h.Serve(t.Context(), &mcp.Call{Method: mcp.MethodToolsCall, Params: json.RawMessage(`{"name":"work"}`), Caller: mcp.Caller{Capabilities: can}}); err != nil {
				t.Fatal(err)
			}
		}
		if sent[0] != sent[1] || sent[0] != sent[2] || sent[0].Extensions[tasks.ExtensionID] == nil || can == able && sent[0] != able {
			t.Errorf("%+v: %p %p %p %+v", can, sent[0], sent[1], sent[2], sent[0])
		}
		if can != nil && can != able && (can.Extensions[tasks.ExtensionID] != nil || string(sent[0].Extensions["other"]) != string(can.Extensions["other"])) {
			t.Errorf("%+v became %+v", can, sent[0])
		}
	}
}

func TestClientWaitsForTheResult(t *testing.T) {
	for name, polling := range map[string]bool{"subscribed": false, "polling": true} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				w := newWorld(t, nil)
				w.tool(tasks.Required, func(ctx context.Context, c *mcp.Call) (string, error) {
					a, err := server.Elicit[struct {
						Name string `json:"name"`
					}](c, "first", "?")
					if err != nil {
						return "", err
					}
					time.Sleep(10 * time.Second) // in two rounds
					b, err := server.Elicit[struct {
						Name string `json:"name"`
					}](c, "second", "?")
					if err != nil {
						return "", err
					}
					return a.Name + " " + b.Name, nil
				})
				var gets atomic.Int32
				h := mcp.Handler(w.s)
				if polling {
					h = polls(h, &gets)
				}
				began := time.Now()
				out, err := w.call(t.Context(), h, nil)
				if err != nil || !strings.Contains(out, "first second") {
					t.Fatalf("%s %v", out, err)
				}
				if n := gets.Load(); polling && (n < 20 || n > 30) {
					t.Errorf("%d polls in 20 s, with an interval of 1 s", n)
				}
				if d := time.Since(began); !polling && d > 21*time.Second {
					t.Errorf("the result was noticed after %v", d)
				}
			})
		})
	}
}

func TestClientReportsProgress(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.tool(tasks.Required, func(ctx context.Context, c *mcp.Call) (string, error) {
			for i := range 3 {
				server.Progress(c, float64(i), 0, fmt.Sprint("step ", i))
				time.Sleep(3 * time.Second)
			}
			return "done", nil
		})
		var got []string
		if _, err := w.call(t.Context(), w.s, func(n mcp.Notification) { got = append(got, string(n.Params)) }); err != nil {
			t.Fatal(err)
		}
		if all := strings.Join(got, " "); !strings.Contains(all, "step 0") || !strings.Contains(all, "step 2") {
			t.Errorf("%s", all)
		}
	})
}

// The task of a call that is given up is cancelled.
func TestClientCancelsTheTask(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w := newWorld(t, nil)
		ended := make(chan struct{})
		w.tool(tasks.Required, func(ctx context.Context, c *mcp.Call) (string, error) {
			<-ctx.Done()
			close(ended)
			return "", ctx.Err()
		})
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		if _, err := w.call(ctx, w.s, nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
		<-ended
	})
}

func TestClientReturnsErrorsOfTasks(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.tool(tasks.Required, func(context.Context, *mcp.Call) (string, error) { return "", mcp.Errorf(-32000, "no printer") })
		_, err := w.call(t.Context(), w.s, nil)
		if e, ok := errors.AsType[*mcp.Error](err); !ok || e.Code != -32000 {
			t.Errorf("%v", err)
		}
		w.tool(tasks.Required, func(context.Context, *mcp.Call) (string, error) { return "", errors.New("no paper") })
		if out, err := w.call(t.Context(), w.s, nil); err != nil || !strings.Contains(out, `"isError":true`) {
			t.Errorf("%s %v", out, err)
		}
	})
}

// A connection that fails for a while does not end the waiting.
func TestClientOutlivesFailures(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.tool(tasks.Required, func(context.Context, *mcp.Call) (string, error) {
			time.Sleep(time.Minute)
			return "done", nil
		})
		began := time.Now()
		var gets atomic.Int32
		flaky := mcp.HandlerFunc(func(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
			if d := time.Since(began); c.Method == tasks.MethodGet && d > 10*time.Second && d < 30*time.Second {
				return mcp.Result{}, errors.New("connection refused")
			}
			return w.s.Serve(ctx, c)
		})
		out, err := w.call(t.Context(), polls(flaky, &gets), nil)
		if err != nil || !strings.Contains(out, "done") {
			t.Errorf("%s %v", out, err)
		}
		synctest.Wait()
	})
}
