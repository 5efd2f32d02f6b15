package gateway

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenon-mcp/tenon/cluster"
	"github.com/tenon-mcp/tenon/cluster/storetest"
	"github.com/tenon-mcp/tenon/mcp"
)

// replicas returns a Handler behind equal limits in each of two gateways.
func replicas(store cluster.Store, limits ...Limit) (one, two mcp.Handler) {
	limited := func() mcp.Handler {
		return mcp.Chain(served, Limits(limits, nil, &LimitOptions{Store: NewClusterLimits(store)}))
	}
	return limited(), limited()
}

// A caller has one rate, whichever replica it calls. A call that one limit
// refuses takes nothing from another.
func TestReplicasShareRates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := cluster.NewMemory()
		one, two := replicas(store,
			Limit{Name: "all", Match: Match{Tool: "*"}, Rate: 6, Period: time.Minute, Burst: 3},
			Limit{Name: "dear", Match: Match{Tool: "dear"}, Rate: 1, Period: time.Hour})
		ada, bob := user("ada"), user("bob")
		for i, call := range []struct {
			who  *mcp.Principal
			h    mcp.Handler
			tool string
			want string
		}{
			{ada, one, "dear", "ok"},
			{ada, two, "dear", "429"},
			{ada, one, "dear", "429"},
			{ada, two, "x", "ok"}, // the refused calls took no token of it
			{ada, one, "x", "ok"},
			{ada, two, "x", `429 after 10s with {"retryAfter":10}`},
			{bob, two, "dear", "ok"},
		} {
			if got := endOf(call.who, call.h, call.tool); !strings.HasPrefix(got, call.want) {
				t.Errorf("call %d: %s, want %s", i, got, call.want)
			}
		}
		time.Sleep(10 * time.Second)
		if got := endOf(ada, two, "x"); got != "ok" {
			t.Errorf("after the time to wait: %s", got)
		}
	})
}

// While the store is away, calls go on, and each replica has the rate for itself.
func TestLimitsWhileTheStoreIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &storetest.Switch{Store: cluster.NewMemory()}
		one, two := replicas(store, Limit{Name: "l", Match: Match{Tool: "*"}, Rate: 1, Period: time.Hour})
		expect := func(h mcp.Handler, want string) {
			t.Helper()
			if got := endOf(user("ada"), h, "x"); !strings.HasPrefix(got, want) {
				t.Errorf("%s, want %s", got, want)
			}
		}
		expect(one, "ok")
		expect(two, "429")
		store.Turn(false)
		expect(one, "ok")
		expect(one, "429")
		expect(two, "ok")
		expect(two, "429")
		store.Turn(true)
		expect(one, "429")
	})
}

// Open calls are counted by each replica, and an open call that has no token left
// is not counted.
func TestReplicasCountOpenCallsThemselves(t *testing.T) {
	l := NewClusterLimits(cluster.NewMemory())
	b := []Bucket{{LimitKey: LimitKey{Limit: "l"}, Rate: 1.0 / 3600, Burst: 2, Concurrency: 1}}
	take := func() (func(), bool) {
		t.Helper()
		end, wait, err := l.Take(t.Context(), b)
		if err != nil {
			t.Fatal(err)
		}
		return end, wait == 0
	}
	end, ok := take()
	if !ok || end == nil {
		t.Fatal("the first call is refused")
	}
	if _, ok := take(); ok {
		t.Error("two calls are open")
	}
	end()
	end, ok = take() // the refused call took no token
	if !ok {
		t.Fatal("a second call is refused")
	}
	end()
	for range 3 { // no tokens; nothing is open
		if end, ok := take(); ok || end != nil {
			t.Error("a call without a token")
		}
	}
}
