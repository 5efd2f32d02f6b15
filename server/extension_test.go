package server_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

// An extension adds a method, a filter and a capability; a call of its method
// passes the middleware of the server.
func TestAddExtension(t *testing.T) {
	var seen []string
	s := server.New(mcp.Implementation{Name: "test", Version: "1"}, &server.Options{Middleware: []mcp.Middleware{func(next mcp.Handler) mcp.Handler {
		return mcp.HandlerFunc(func(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
			seen = append(seen, c.Method)
			return next.Serve(ctx, c)
		})
	}}})
	stopped := make(chan struct{})
	started := make(chan func(mcp.Notification), 1)
	x := server.Extension{
		ID: "com.example/clock", Settings: json.RawMessage(`{"zone":"UTC"}`),
		Methods: map[string]mcp.HandlerFunc{"clock/now": func(context.Context, *mcp.Call) (mcp.Result, error) {
			return mcp.Result{Body: json.RawMessage(`{"now":12}`)}, nil
		}},
		Subscriptions: map[string]server.SubscribeFunc{"clockTicks": func(_ context.Context, _ *mcp.Call, value json.RawMessage, n func(mcp.Notification)) (json.RawMessage, func() func(), error) {
			if string(value) != "true" {
				return nil, nil, mcp.InvalidParams("clockTicks: expected true")
			}
			return value, func() func() {
				started <- n
				return func() { close(stopped) }
			}, nil
		}},
	}
	if err := s.AddExtension(x); err != nil {
		t.Fatal(err)
	}
	serve := func(method, params string) (string, error) {
		res, err := s.Serve(t.Context(), &mcp.Call{Method: method, Params: json.RawMessage(params)})
		return string(res.Body), err
	}
	if got, err := serve("clock/now", ""); got != `{"now":12}` || err != nil || len(seen) != 1 {
		t.Errorf("%s %v, the middleware has seen %q", got, err, seen)
	}
	if got, _ := serve(mcp.MethodDiscover, ""); !strings.Contains(got, `"extensions":{"com.example/clock":{"zone":"UTC"}}`) {
		t.Errorf("discover: %s", got)
	}
	if _, err := serve(mcp.MethodSubscriptionsListen, `{"notifications":{"clockTicks":5}}`); err == nil || !strings.Contains(err.Error(), "expected true") {
		t.Errorf("a wrong filter: %v", err)
	}

	ctx, cancel := context.WithCancel(t.Context())
	got := make(chan string, 10)
	over := make(chan struct{})
	go func() {
		defer close(over)
		s.Serve(ctx, &mcp.Call{Method: mcp.MethodSubscriptionsListen, Params: json.RawMessage(`{"notifications":{"clockTicks":true,"unknown":1}}`),
			OnNotification: func(n mcp.Notification) {
				got <- n.Method + string(n.Params)
				if n.Method == mcp.NotificationSubscriptionsAcknowledged {
					return
				}
				cancel()
			}})
	}()
	if ack := <-got; ack != mcp.NotificationSubscriptionsAcknowledged+`{"notifications":{"clockTicks":true}}` {
		t.Error(ack)
	}
	notify := <-started
	notify(mcp.Notification{Method: "notifications/clock/tick"})
	if tick := <-got; tick != "notifications/clock/tick" {
		t.Error(tick)
	}
	<-over
	<-stopped

	for want, x := range map[string]server.Extension{
		`"com.example/broken": the settings must be a JSON object`: {ID: "com.example/broken", Settings: json.RawMessage(`{bad`)},
		`"com.example/list": the settings must be a JSON object`:   {ID: "com.example/list", Settings: json.RawMessage(`[1]`)},
		`"com.example/null": the settings must be a JSON object`:   {ID: "com.example/null", Settings: json.RawMessage(`null`)},
		`"com.example/empty": the settings must be a JSON object`:  {ID: "com.example/empty", Settings: json.RawMessage{}},
		`"name": the identifier must have a prefix`:                {ID: "name"},
		`method "clock/then" has no function`:                      {ID: "com.example/two", Methods: map[string]mcp.HandlerFunc{"clock/then": nil}},
		`filter "clockTocks" has no function`:                      {ID: "com.example/two", Subscriptions: map[string]server.SubscribeFunc{"clockTocks": nil}},
		`filter "toolsListChanged" exists`:                         {ID: "com.example/two", Subscriptions: map[string]server.SubscribeFunc{"toolsListChanged": x.Subscriptions["clockTicks"]}},
		`filter "resourceSubscriptions" exists`:                    {ID: "com.example/two", Subscriptions: map[string]server.SubscribeFunc{"resourceSubscriptions": x.Subscriptions["clockTicks"]}},

		"added before":                x,
		`"clock/now" exists already`:  {ID: "com.example/two", Methods: x.Methods},
		`"tools/call" exists already`: {ID: "com.example/two", Methods: map[string]mcp.HandlerFunc{"tools/call": nil}},
		`filter "clockTicks" exists`:  {ID: "com.example/two", Subscriptions: x.Subscriptions},
		"the identifier must have":    {ID: "two words"},
	} {
		if err := s.AddExtension(x); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
