package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/tenon-mcp/tenon/mcp"
)

func outcomes(calls []CallStatus) (all []string) {
	for _, c := range calls {
		all = append(all, c.Client+" "+c.Principal+" "+c.Method+" "+c.Server+"/"+c.Name+" "+c.Outcome.String())
	}
	return all
}

// TestObserverShowsCallersAndCalls shows who calls what, and how it ends.
func TestObserverShowsCallersAndCalls(t *testing.T) {
	var answer func() (mcp.Result, error)
	o := NewObserver(nil)
	h := o.Middleware()(mcp.HandlerFunc(func(context.Context, *mcp.Call) (mcp.Result, error) { return answer() }))
	serve := func(ctx context.Context, res string, err error) {
		answer = func() (mcp.Result, error) { return mcp.Result{Body: json.RawMessage(res)}, err }
		h.Serve(ctx, &mcp.Call{Method: mcp.MethodToolsCall, Params: json.RawMessage(`{"name":"s__add"}`), Caller: mcp.Caller{
			Revision: "2026-07-28", Client: &mcp.Implementation{Name: "host", Version: "1"}, Principal: &mcp.Principal{ID: "ann"}}})
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	serve(t.Context(), `{}`, nil)
	serve(t.Context(), `{"isError":true}`, nil)
	serve(t.Context(), ``, errors.New("no"))
	serve(t.Context(), ``, &mcp.InputRequired{})
	serve(ended, ``, context.Canceled)
	answer = func() (mcp.Result, error) {
		if calls := o.Calls(nil); calls[0].Outcome != OutcomeOpen || o.Callers()[0].Open != 1 {
			t.Errorf("an open call: %+v", calls[0])
		}
		return mcp.Result{}, nil
	}
	h.Serve(t.Context(), &mcp.Call{Method: mcp.MethodToolsList})
	answer = func() (mcp.Result, error) { return mcp.Result{}, nil }
	h.Serve(t.Context(), &mcp.Call{Method: mcp.MethodPing})

	names := resolver(func(kind, name string) (string, string, bool) { return "s", "add", kind == "tool" && name == "s__add" })
	want := []string{"  tools/list / ok",
		"host ann tools/call s/s__add cancelled", "host ann tools/call s/s__add input_required", "host ann tools/call s/s__add error",
		"host ann tools/call s/s__add tool_error", "host ann tools/call s/s__add ok"}
	if got := outcomes(o.Calls(names)); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("calls:\n%q\nwant\n%q", got, want)
	}
	callers := o.Callers()
	if len(callers) != 2 || callers[1].Client != "host" || callers[1].Calls != 5 || callers[1].Errors != 2 || callers[1].Open != 0 || callers[1].Principal != "ann" {
		t.Errorf("callers: %+v", callers)
	}
}

type resolver func(kind, name string) (string, string, bool)

func (r resolver) Resolve(_ context.Context, _ *mcp.Caller, kind, name string) (string, string, bool) {
	return r(kind, name)
}

// TestObserverIsBounded forgets old calls and clients.
func TestObserverIsBounded(t *testing.T) {
	o := NewObserver(nil)
	h := o.Middleware()(mcp.HandlerFunc(func(context.Context, *mcp.Call) (mcp.Result, error) { return mcp.Result{}, nil }))
	changed, stop := o.Watch()
	defer stop()
	for i := range observedCallers + 10 {
		h.Serve(t.Context(), &mcp.Call{Method: mcp.MethodToolsList, Caller: mcp.Caller{Client: &mcp.Implementation{Name: fmt.Sprint(i)}}})
	}
	<-changed
	calls, callers := o.Calls(nil), o.Callers()
	if len(calls) != observedCalls || calls[0].Client != fmt.Sprint(observedCallers+9) || len(callers) != observedCallers {
		t.Errorf("%d calls, the last of %s; %d callers", len(calls), calls[0].Client, len(callers))
	}
}

// TestObserverCountsSubscriptions counts them until they end, also if they are
// detached.
func TestObserverCountsSubscriptions(t *testing.T) {
	o := NewObserver(nil)
	h := o.Middleware()(mcp.HandlerFunc(func(_ context.Context, c *mcp.Call) (mcp.Result, error) {
		if c.Detach != nil {
			c.Detach(func() {})
		}
		return mcp.Result{}, nil
	}))
	var stop func()
	h.Serve(t.Context(), &mcp.Call{Method: mcp.MethodSubscriptionsListen, Detach: func(f func()) { stop = f }})
	h.Serve(t.Context(), &mcp.Call{Method: mcp.MethodSubscriptionsListen})
	if n := o.Callers()[0].Subscriptions; n != 1 {
		t.Errorf("%d open subscriptions", n)
	}
	stop()
	if n := o.Callers()[0].Subscriptions; n != 0 {
		t.Errorf("%d open subscriptions at the end", n)
	}
}
