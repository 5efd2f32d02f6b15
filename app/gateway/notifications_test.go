package gateway

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenon-mcp/tenon/mcp"
)

// notified returns a fake that adds the notifications that it gets to seen.
func notified(seen *[]string) *fake {
	return &fake{other: func(_ context.Context, c *mcp.Call) (mcp.Result, error) {
		if c.IsNotification {
			*seen = append(*seen, c.Method)
		}
		return mcp.Result{}, nil
	}}
}

// TestServersGetNoForeignNotifications passes changes of roots on, and nothing
// else that a client may send.
func TestServersGetNoForeignNotifications(t *testing.T) {
	var seen []string
	routed(t, map[string]*fake{"a": notified(&seen)}, func(t *testing.T, r *Router) {
		for _, h := range []mcp.Handler{r, Notifications()(r), Notifications()(notified(&seen))} {
			seen = nil
			for _, method := range []string{mcp.NotificationInitialized, mcp.NotificationProgress, mcp.NotificationCancelled, "notifications/x", mcp.NotificationToolsListChanged, mcp.MethodToolsCall, mcp.NotificationRootsListChanged} {
				if _, err := h.Serve(t.Context(), &mcp.Call{Method: method, IsNotification: true}); err != nil {
					t.Error(err)
				}
			}
			if !slices.Equal(seen, []string{mcp.NotificationRootsListChanged}) {
				t.Errorf("the server gets %q", seen)
			}
		}
	})
}

// TestNotificationsAreBounded drops what one session sends too often, and what
// exceeds a limit of the caller.
func TestNotificationsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen []string
		send := func(h mcp.Handler, p *mcp.Principal, session string, n int) int {
			before := len(seen)
			for range n {
				_, _ = h.Serve(t.Context(), &mcp.Call{Method: mcp.NotificationRootsListChanged, IsNotification: true, Caller: mcp.Caller{Principal: p, Session: mcp.NewSession(session)}})
			}
			return len(seen) - before
		}
		h := Notifications()(notified(&seen))
		if got := []int{send(h, nil, "1", 100), send(h, nil, "2", 5)}; !slices.Equal(got, []int{notificationBurst, 5}) {
			t.Errorf("%v notifications pass", got)
		}
		time.Sleep(3 * time.Second)
		if got := send(h, nil, "1", 100); got != 3*notificationRate {
			t.Errorf("%d notifications pass after three seconds", got)
		}
		limited := Limits([]Limit{{Name: "l", Rate: 2, Period: time.Hour}}, nil, nil)(notified(&seen))
		if got := []int{send(limited, user("u"), "1", 100), send(limited, user("v"), "1", 1)}; !slices.Equal(got, []int{2, 1}) {
			t.Errorf("%v notifications pass the limit", got)
		}
	})
}

// detaching is a Handler whose subscriptions are detached, and blocking one whose
// subscriptions block.
var (
	detaching = mcp.HandlerFunc(func(_ context.Context, c *mcp.Call) (mcp.Result, error) {
		c.Detach(func() {})
		return mcp.Result{}, nil
	})
	blocking = mcp.HandlerFunc(block)
)

// TestSubscriptionIsCountedOnce makes a subscription as a session of an older
// revision does: with a context that has ended, and again if that opens nothing.
func TestSubscriptionIsCountedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, next := range map[string]mcp.Handler{"detached": detaching, "blocking": blocking} {
			log := &memoryLog{}
			h := mcp.Chain(next, Limits([]Limit{{Name: "l", Rate: 2, Period: time.Hour}}, nil, nil), Audit(log, nil, nil), Subscriptions(&SubscriptionOptions{Max: 2}))
			stop := subscribe(t, h, "u", "")
			if len(log.records) != 1 {
				t.Errorf("%s: %d records: %q", name, len(log.records), log.records)
			}
			stop()
			again := subscribe(t, h, "u", "")
			if again == nil {
				t.Fatalf("%s: the first subscription was counted twice", name)
			}
			defer again()
			if len(log.records) != 2 {
				t.Errorf("%s: %d records of two subscriptions", name, len(log.records))
			}
			if subscribe(t, h, "u", "") != nil {
				t.Errorf("%s: the limit does not count subscriptions", name)
			}
		}
	})
}

// subscribe opens a subscription without blocking. It returns nil if that is
// refused.
func subscribe(t *testing.T, h mcp.Handler, principal, names string) (stop func()) {
	t.Helper()
	c := &mcp.Call{Method: mcp.MethodSubscriptionsListen, Caller: mcp.Caller{Principal: user(principal)}, Params: []byte(`{"notifications":{"toolsListChanged":true` + names + `}}`)}
	var stops []func()
	c.Detach = func(f func()) { stops = append(stops, f) }
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := h.Serve(ended, c)
	end := func() {
		for _, f := range stops {
			f()
		}
	}
	if err == nil {
		return end
	}
	end()
	if _, ok := err.(*mcp.Error); ok {
		return nil
	}
	c.Detach = nil
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := h.Serve(ctx, c)
		done <- err
	}()
	synctest.Wait()
	select {
	case err := <-done:
		if _, ok := err.(*mcp.Error); !ok {
			t.Errorf("a subscription ends with %v", err)
		}
		cancel()
		return nil
	default:
	}
	return func() { cancel(); <-done }
}

// TestSubscriptionsAreBounded refuses more subscriptions, or more names in them,
// than a principal may have open.
func TestSubscriptionsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, next := range map[string]mcp.Handler{"detached": detaching, "blocking": blocking} {
			h := mcp.Chain(next, Subscriptions(&SubscriptionOptions{Max: 3, MaxNames: 2}))
			stop := subscribe(t, h, "u", `,"resourceSubscriptions":["a://1","a://2"]`)
			if subscribe(t, h, "u", `,"resourceSubscriptions":["a://3"]`) != nil {
				t.Errorf("%s: a third resource is not refused", name)
			}
			for range 2 {
				defer subscribe(t, h, "u", "")()
			}
			if subscribe(t, h, "u", "") != nil {
				t.Errorf("%s: a fourth subscription is not refused", name)
			}
			defer subscribe(t, h, "other", "")()
			stop()
			defer subscribe(t, h, "u", `,"resourceSubscriptions":["a://3"]`)()
		}
	})
}

// TestInventedNamesAreCountedTogether gives a caller one count for all names that
// no server lists.
func TestInventedNamesAreCountedTogether(t *testing.T) {
	f := &fake{tools: toolsOf(`{"name":"read"},{"name":"write"}`), other: func(context.Context, *mcp.Call) (mcp.Result, error) { return mcp.Result{}, nil }}
	routed(t, map[string]*fake{"a": f}, func(t *testing.T, r *Router) {
		for name, match := range map[string]Match{"all": {}, "server": {Server: "a"}, "tool": {Tool: "*"}, "resource": {Resource: "*"}} {
			h := Limits([]Limit{{Name: name, Match: match, Rate: 1, Period: time.Hour, Per: PerTool}}, r, nil)(r)
			served := map[string]int{}
			for i := range 5 {
				for _, tool := range []string{"a__read", "a__write", fmt.Sprintf("a__x%d", i)} {
					if _, err := as(user("u"), h, mcp.MethodToolsCall, fmt.Sprintf(`{"name":%q}`, tool)); err == nil {
						served[tool[:4]]++
					}
				}
				if _, err := as(user("u"), h, mcp.MethodResourcesRead, fmt.Sprintf(`{"uri":"a+x://?%d"}`, i)); err == nil {
					served["uri"]++
				}
			}
			want := map[string]map[string]int{"all": {"a__r": 1, "a__w": 1, "a__x": 1, "uri": 1}, "tool": {"a__r": 1, "a__w": 1, "a__x": 1, "uri": 5}, "resource": {"a__r": 5, "a__w": 5, "a__x": 5, "uri": 1}}
			want["server"] = want["all"]
			if fmt.Sprint(served) != fmt.Sprint(want[name]) {
				t.Errorf("%s: served %v, want %v", name, served, want[name])
			}
		}
	})
}

// TestOneCallerDoesNotFillTheStore counts a caller's further names together where
// it is not known which names there are, so that others can go on.
func TestOneCallerDoesNotFillTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := NewMemoryLimits().(*memoryLimits)
		h := Limits([]Limit{{Name: "l", Match: Match{Tool: "*"}, Rate: 1, Period: time.Minute, Per: PerTool}}, nil, &LimitOptions{Store: m})(served)
		calls := 0
		for i := range 2 * maxOwn {
			if endOf(user("u"), h, fmt.Sprint(i)) == "ok" {
				calls++
			}
		}
		if calls != maxOwn+1 || len(m.counts) != maxOwn+1 {
			t.Errorf("%d calls are served, %d counts", calls, len(m.counts))
		}
		if got := endOf(user("v"), h, "x"); got != "ok" {
			t.Errorf("another caller: %s", got)
		}
		time.Sleep(time.Hour)
		m.sweep(time.Now())
		if len(m.counts) != 0 || len(m.own) != 0 {
			t.Errorf("%d counts of %d callers stay", len(m.counts), len(m.own))
		}
	})
}
