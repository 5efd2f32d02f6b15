package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenon-mcp/tenon/ext/tasks"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

// listening opens a subscription. The notifications are complete after
// synctest.Wait.
func listening(ctx context.Context, r mcp.Handler, filter string) (got *[]string, ended chan error) {
	got, ended = new([]string), make(chan error, 1)
	go func() {
		_, err := r.Serve(ctx, &mcp.Call{Method: mcp.MethodSubscriptionsListen, Params: json.RawMessage(`{"notifications":` + filter + `}`), OnNotification: func(n mcp.Notification) {
			*got = append(*got, n.Method+" "+string(n.Params))
		}})
		ended <- err
	}()
	return got, ended
}

// aboutTasks serves subscriptions. It acknowledges them after a delay; those to
// tasks get a notification at once after that.
func aboutTasks(delay time.Duration) func(context.Context, *mcp.Call) (mcp.Result, error) {
	return func(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
		pause(ctx, delay)
		ack(c)
		if strings.Contains(string(c.Params), tasks.Filter) {
			c.Notify(mcp.Notification{Method: tasks.Notification, Params: json.RawMessage(`{"taskId":"t","status":"working"}`)})
		}
		return block(ctx, c)
	}
}

func TestAcknowledgementComesFirst(t *testing.T) {
	servers := map[string]*fake{"a": {listen: aboutTasks(0)}, "b": {listen: aboutTasks(time.Second)}}
	routed(t, servers, func(t *testing.T, r *Router) {
		ctx, cancel := context.WithCancel(t.Context())
		got, ended := listening(ctx, r, `{"taskIds":["a__t","b__t"]}`)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if len(*got) != 3 || !strings.HasPrefix((*got)[0], mcp.NotificationSubscriptionsAcknowledged) || !strings.Contains((*got)[0], "b__t") {
			t.Errorf("notifications %q", *got)
		}
		cancel()
		<-ended
	})
}

// TestDetachedSubscriptionEnds stops subscriptions before Serve returns.
func TestDetachedSubscriptionEnds(t *testing.T) {
	routed(t, map[string]*fake{"a": {}}, func(t *testing.T, r *Router) {
		_, err := r.Serve(t.Context(), &mcp.Call{Method: mcp.MethodSubscriptionsListen, Params: json.RawMessage(`{"notifications":{"toolsListChanged":true}}`),
			OnNotification: func(mcp.Notification) {}, Detach: func(stop func()) { stop() }})
		if err != nil || len(r.changes.subs) != 0 {
			t.Errorf("%d subscriptions are left; %v", len(r.changes.subs), err)
		}
	})
}

// TestDetachedSubscriptionLosesNoChange has a list change while the
// acknowledgement is delivered.
func TestDetachedSubscriptionLosesNoChange(t *testing.T) {
	routed(t, map[string]*fake{"a": {}}, func(t *testing.T, r *Router) {
		var got []string
		var stop func()
		_, err := r.Serve(t.Context(), &mcp.Call{Method: mcp.MethodSubscriptionsListen, Params: json.RawMessage(`{"notifications":{"toolsListChanged":true}}`),
			OnNotification: func(n mcp.Notification) {
				if got = append(got, n.Method); len(got) == 1 {
					r.table.Load().upstreams[0].changed(mcp.SubscriptionFilter{ToolsListChanged: true})
				}
			}, Detach: func(s func()) { stop = s }})
		if want := []string{mcp.NotificationSubscriptionsAcknowledged, mcp.NotificationToolsListChanged}; err != nil || !slices.Equal(got, want) {
			t.Errorf("notifications %q, %v; want %q", got, err, want)
		}
		stop()
	})
}

func TestSubscriptionFailsIfAServerRefusesIt(t *testing.T) {
	s := server.New(mcp.Implementation{Name: "test", Version: "1"}, nil)
	defer s.Close()
	if _, err := tasks.NewManager(s, nil); err != nil {
		t.Fatal(err)
	}
	r, err := NewRouter([]Upstream{{Name: "a", Handler: s}, {Name: "b", Handler: &fake{listen: aboutTasks(0)}}}, &Options{Log: quiet})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	_, err = call(t.Context(), r, mcp.MethodSubscriptionsListen, `{"notifications":{"taskIds":["a__t","b__t"]}}`)
	if e, ok := errors.AsType[*mcp.Error](err); !ok || e.Code != mcp.CodeMissingCapability {
		t.Errorf("a subscription to tasks without the extension ended with %v", err)
	}
}

// TestServerWithoutSubscriptionsIsLeftOut has one of two servers not know the
// method.
func TestServerWithoutSubscriptionsIsLeftOut(t *testing.T) {
	none := func(_ context.Context, c *mcp.Call) (mcp.Result, error) {
		return mcp.Result{}, mcp.MethodNotFound(c.Method)
	}
	routed(t, map[string]*fake{"a": {listen: aboutTasks(0)}, "b": {listen: none}}, func(t *testing.T, r *Router) {
		ctx, cancel := context.WithCancel(t.Context())
		got, ended := listening(ctx, r, `{"taskIds":["a__t","b__t"]}`)
		synctest.Wait()
		if len(*got) != 2 || !strings.Contains((*got)[0], "a__t") || strings.Contains((*got)[0], "b__t") {
			t.Errorf("notifications %q", *got)
		}
		cancel()
		<-ended
	})
}

// TestFollowerSubscribesAgain ends each subscription to a resource after a
// minute.
func TestFollowerSubscribesAgain(t *testing.T) {
	var starts []time.Time
	f := &fake{listen: func(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
		ack(c)
		if !strings.Contains(string(c.Params), "file:///x") {
			return block(ctx, c)
		}
		starts = append(starts, time.Now())
		pause(ctx, time.Minute)
		return mcp.Result{}, nil
	}}
	routed(t, map[string]*fake{"a": f}, func(t *testing.T, r *Router) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		got, ended := listening(ctx, r, `{"resourceSubscriptions":["a+file:///x"]}`)
		<-ended
		for i := 1; i < len(starts); i++ {
			if gap := starts[i].Sub(starts[i-1]) - time.Minute; gap != firstRetry {
				t.Errorf("there is no subscription for %v", gap)
			}
		}
		updated := mcp.NotificationResourceUpdated + ` {"uri":"a+file:///x"}`
		if want := append([]string{(*got)[0]}, slices.Repeat([]string{updated}, len(starts)-1)...); len(starts) < 9 || !slices.Equal(*got, want) {
			t.Errorf("%d subscriptions; notifications %q", len(starts), *got)
		}
	})
}
