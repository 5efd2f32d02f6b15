package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenon-mcp/tenon/mcp"
)

// A moody server responds, hangs or fails, as the test wants.
type moody struct {
	mood  atomic.Pointer[string] // nil: respond
	calls atomic.Int32
	tool  func(ctx context.Context, c *mcp.Call) (mcp.Result, error)
}

func (m *moody) set(mood string) { m.mood.Store(&mood) }

func (m *moody) Serve(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
	m.calls.Add(1)
	switch mood := m.mood.Load(); {
	case mood != nil && *mood == "hangs":
		return block(ctx, c)
	case mood != nil && *mood == "fails":
		return mcp.Result{}, io.ErrUnexpectedEOF
	case c.Method == mcp.MethodToolsCall && m.tool != nil:
		return m.tool(ctx, c)
	}
	return mcp.Result{}, nil
}

func TestCircuitLimitsIdleCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var cancelled atomic.Bool
		m := &moody{tool: func(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
			for range 5 { // it works for 50 s, and says so
				pause(ctx, 10*time.Second)
				c.Notify(mcp.Notification{Method: mcp.NotificationProgress})
			}
			if string(c.Params) == `{}` {
				return mcp.Result{}, nil
			}
			<-ctx.Done()
			cancelled.Store(true)
			return mcp.Result{}, ctx.Err()
		}}
		h := Circuit(&CircuitOptions{Server: "slow", IdleTimeout: 15 * time.Second})(m)
		call := func(ctx context.Context, params string, heard func(mcp.Notification)) error {
			_, err := h.Serve(ctx, &mcp.Call{Method: mcp.MethodToolsCall, Params: json.RawMessage(params), OnNotification: heard})
			return err
		}
		began := time.Now()
		if err := call(t.Context(), `{}`, func(mcp.Notification) {}); err != nil || time.Since(began) != 50*time.Second {
			t.Errorf("a call with progress: %v after %v", err, time.Since(began))
		}
		began = time.Now()
		err := call(t.Context(), `{"silent":1}`, func(mcp.Notification) {})
		if err == nil || !strings.Contains(err.Error(), "server slow: no response for 15s") || time.Since(began) != 65*time.Second || !cancelled.Load() {
			t.Errorf("a silent call: %v after %v, cancelled %v", err, time.Since(began), cancelled.Load())
		}
		if err := call(t.Context(), `{}`, func(mcp.Notification) {}); err != nil {
			t.Errorf("the server responds to pings, and the circuit is open: %v", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := call(ctx, `{"silent":1}`, nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a cancelled call: %v", err)
		}
	})
}

// TestCircuitOpensAndCloses has a server die, or hang, and return: hostile case
// G14.
func TestCircuitOpensAndCloses(t *testing.T) {
	for _, mood := range []string{"fails", "hangs"} {
		synctest.Test(t, func(t *testing.T) {
			m := &moody{}
			h := Circuit(&CircuitOptions{Server: "x", IdleTimeout: 10 * time.Second})(m)
			call := func() error {
				_, err := h.Serve(t.Context(), &mcp.Call{Method: mcp.MethodToolsCall})
				return err
			}
			m.set(mood)
			failures := 0
			for began := time.Now(); !isOpen(call()); failures++ {
				if time.Since(began) > time.Minute {
					t.Fatalf("%s: still closed", mood)
				}
			}
			if failures >= 5 {
				t.Errorf("%s: opened after %d failures", mood, failures)
			}
			before := m.calls.Load()
			began := time.Now()
			err := call()
			if time.Since(began) != 0 || m.calls.Load() != before || !strings.Contains(err.Error(), "tried again in ") {
				t.Errorf("%s: the call took %v, made %d calls and ended with %v", mood, time.Since(began), m.calls.Load()-before, err)
			}
			time.Sleep(time.Hour)
			if err := call(); err == nil || isOpen(err) {
				t.Errorf("%s: no call was let through: %v", mood, err)
			}
			m.set("responds")
			for began = time.Now(); call() != nil; time.Sleep(100 * time.Millisecond) {
			}
			if took := time.Since(began); took > 10*time.Second {
				t.Errorf("%s: closed after %v", mood, took)
			}
		})
	}
}

func isOpen(err error) bool { return err != nil && strings.Contains(err.Error(), "not available") }

// TestAnswersDoNotOpenTheCircuit has the server refuse calls, fail at one tool
// only, and ask for input.
func TestAnswersDoNotOpenTheCircuit(t *testing.T) {
	for _, err := range []error{mcp.Errorf(mcp.CodeInternal, "no"), &mcp.InputRequired{}, io.ErrUnexpectedEOF, &mcp.Error{Message: "the response is too large", Local: true}} {
		m := &moody{tool: func(context.Context, *mcp.Call) (mcp.Result, error) { return mcp.Result{}, err }}
		h := Circuit(nil)(m)
		for range 20 {
			if _, err := h.Serve(t.Context(), &mcp.Call{Method: mcp.MethodToolsCall}); isOpen(err) {
				t.Fatalf("after %v the circuit is open", err)
			}
		}
	}
}

// TestHungServerVanishes has a server hang that nobody calls: its tools vanish from
// lists, clients are notified, calls fail at once, it is restarted, and all is
// well again when it responds.
func TestHungServerVanishes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var hung atomic.Bool
		var restarts atomic.Int32
		f := &fake{tools: toolsOf(`{"name":"x"}`), other: func(context.Context, *mcp.Call) (mcp.Result, error) { return mcp.Result{}, nil }}
		maybe := mcp.HandlerFunc(func(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
			if hung.Load() && c.Method != mcp.MethodDiscover { // an older server's is remembered
				return block(ctx, c)
			}
			return f.Serve(ctx, c)
		})
		r, err := NewRouter([]Upstream{
			{Name: "a", Handler: maybe, Restart: func() { restarts.Add(1) }},
			{Name: "b", Handler: &fake{tools: toolsOf(`{"name":"y"}`)}},
		}, &Options{Log: quiet})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		got, ended := listening(ctx, r, `{"toolsListChanged":true}`)
		wantTools(t, r, `{"name":"a__x"},{"name":"b__y"}`)
		time.Sleep(time.Minute)
		synctest.Wait()
		before := len(*got)
		hung.Store(true)
		time.Sleep(42 * time.Second) // the interval, and two pings
		synctest.Wait()
		if len(*got) != before+1 {
			t.Errorf("notifications %q; want one more than %d", *got, before)
		}
		began := time.Now()
		wantTools(t, r, `{"name":"b__y"}`)
		_, err = call(t.Context(), r, mcp.MethodToolsCall, `{"name":"a__x"}`)
		if !isOpen(err) || time.Since(began) != 0 {
			t.Errorf("a call took %v: %v", time.Since(began), err)
		}
		time.Sleep(time.Minute)
		if restarts.Load() == 0 {
			t.Error("the server was not restarted")
		}
		synctest.Wait()
		before = len(*got)
		hung.Store(false)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if len(*got) != before+1 {
			t.Errorf("notifications %q; want one more than %d", *got, before)
		}
		wantTools(t, r, `{"name":"a__x"},{"name":"b__y"}`)
		if _, err = call(t.Context(), r, mcp.MethodToolsCall, `{"name":"a__x"}`); err != nil {
			t.Error(err)
		}
		cancel()
		<-ended
	})
}

// TestDeadServerReturns is hostile case G14 at the Router.
func TestDeadServerReturns(t *testing.T) {
	f := &fake{tools: toolsOf(`{"name":"x"}`), other: func(context.Context, *mcp.Call) (mcp.Result, error) { return mcp.Result{}, nil }}
	routed(t, map[string]*fake{"a": f}, func(t *testing.T, r *Router) {
		wantTools(t, r, `{"name":"a__x"}`)
		f.dead.Store(true)
		failures := 0
		for ; ; failures++ {
			if _, err := call(t.Context(), r, mcp.MethodToolsCall, `{"name":"a__x"}`); isOpen(err) {
				break
			}
		}
		if failures == 0 || failures >= 5 {
			t.Errorf("the circuit opened after %d failures", failures)
		}
		wantTools(t, r, ``)
		time.Sleep(time.Hour)
		f.dead.Store(false)
		time.Sleep(9 * time.Second)
		wantTools(t, r, `{"name":"a__x"}`)
		if _, err := call(t.Context(), r, mcp.MethodToolsCall, `{"name":"a__x"}`); err != nil {
			t.Error(err)
		}
	})
}

// TestStormOfChangesIsMerged has a server change its list 100 times a second, while
// a client reads the list after each notification.
func TestStormOfChangesIsMerged(t *testing.T) {
	var n atomic.Int32
	f := &fake{
		tools: func(context.Context, *mcp.Call) (mcp.Result, error) {
			return mcp.Result{Body: json.RawMessage(fmt.Sprintf(`{"tools":[{"name":"x%d"}]}`, n.Load()))}, nil
		},
		listen: func(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
			ack(c)
			pause(ctx, time.Second)
			for ; n.Load() < 1000; n.Add(1) {
				c.Notify(mcp.Notification{Method: mcp.NotificationToolsListChanged})
				pause(ctx, 10*time.Millisecond)
			}
			c.Notify(mcp.Notification{Method: mcp.NotificationToolsListChanged})
			return block(ctx, c)
		},
	}
	routed(t, map[string]*fake{"a": f}, func(t *testing.T, r *Router) {
		ctx, cancel := context.WithCancel(t.Context())
		heard, last := 0, ""
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_, _ = r.Serve(ctx, &mcp.Call{Method: mcp.MethodSubscriptionsListen, Params: json.RawMessage(`{"notifications":{"toolsListChanged":true}}`), OnNotification: func(mcp.Notification) {
				heard++
				last, _ = call(t.Context(), r, mcp.MethodToolsList, `{}`)
			}})
		}()
		time.Sleep(12 * time.Second)
		cancel()
		<-ended
		if reads := f.reads.Load(); heard < 10 || heard > 25 || reads < 10 || reads > 25 {
			t.Errorf("%d notifications and %d reads within 10 s", heard, reads)
		}
		if last != `{"tools":[{"name":"a__x1000"}]}` {
			t.Errorf("the last list is %s", last)
		}
	})
}

// TestEndlessListsAreLeftOut has servers whose lists have no end.
func TestEndlessListsAreLeftOut(t *testing.T) {
	page := 0
	servers := map[string]*fake{
		"a": {tools: toolsOf(`{"name":"x"}`)},
		"b": {tools: func(context.Context, *mcp.Call) (mcp.Result, error) {
			return mcp.Result{Body: json.RawMessage(`{"tools":[{"name":"y"}],"nextCursor":"same"}`)}, nil
		}},
		"c": {tools: func(context.Context, *mcp.Call) (mcp.Result, error) {
			page++
			return mcp.Result{Body: json.RawMessage(fmt.Sprintf(`{"tools":[{"name":"y"}],"nextCursor":"%d"}`, page))}, nil
		}},
	}
	routed(t, servers, func(t *testing.T, r *Router) {
		for range 10 {
			wantTools(t, r, `{"name":"a__x"}`)
		}
		if got := servers["b"].reads.Load(); got != 2 {
			t.Errorf("%d pages of a list with one cursor were read", got)
		}
		if got := servers["c"].reads.Load(); got != maxPages {
			t.Errorf("%d pages of an endless list were read", got)
		}
	})
}

// TestHungNeighbourCostsNothing calls one server while another one hangs in each
// method.
func TestHungNeighbourCostsNothing(t *testing.T) {
	x := &fake{tools: toolsOf(`{"name":"x"}`), other: func(context.Context, *mcp.Call) (mcp.Result, error) { return mcp.Result{}, nil }}
	synctest.Test(t, func(t *testing.T) {
		r, err := NewRouter([]Upstream{{Name: "a", Handler: x}, {Name: "z", Handler: mcp.HandlerFunc(block)}}, &Options{Log: quiet})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		synctest.Wait()
		wantTools(t, r, `{"name":"a__x"}`) // which waits for z, once
		began := time.Now()
		for range 100 {
			if _, err := call(t.Context(), r, mcp.MethodToolsCall, `{"name":"a__x"}`); err != nil {
				t.Fatal(err)
			}
			wantTools(t, r, `{"name":"a__x"}`)
		}
		if _, err := r.Serve(t.Context(), &mcp.Call{Method: "notifications/roots/list_changed", IsNotification: true}); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("the calls took %v", took)
		}
	})
}

// A caller who gives up while the server is pinged says nothing about the server.
func TestCancelledProbeKeepsFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBreaker("s", 0)
		b.failures.Store(maxFailures - 1)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		h := mcp.HandlerFunc(func(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
			if c.Method == mcp.MethodPing {
				<-ctx.Done()
				return mcp.Result{}, ctx.Err()
			}
			return mcp.Result{}, errors.New("reset")
		})
		if _, err := b.serve(ctx, h, &mcp.Call{Method: mcp.MethodToolsCall}); err == nil || b.failures.Load() != maxFailures {
			t.Errorf("%v, and %d failures count", err, b.failures.Load())
		}
	})
}
