package gateway

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

	"github.com/tenon-mcp/tenon/mcp"
)

// served is a Handler that succeeds.
var served = mcp.HandlerFunc(func(context.Context, *mcp.Call) (mcp.Result, error) { return mcp.Result{}, nil })

// endOf returns what a call of a tool came to: "ok", or the status and the
// seconds to wait.
func endOf(p *mcp.Principal, h mcp.Handler, tool string) string {
	_, err := as(p, h, mcp.MethodToolsCall, fmt.Sprintf(`{"name":%q}`, tool))
	if e, ok := errors.AsType[*mcp.Error](err); ok {
		if e.Code != e.HTTPStatus {
			return fmt.Sprintf("the code is %d, the status %d", e.Code, e.HTTPStatus)
		}
		return fmt.Sprintf("%d after %v with %s", e.HTTPStatus, e.RetryAfter.Round(time.Second), e.Data)
	}
	return map[bool]string{true: "ok", false: fmt.Sprint(err)}[err == nil]
}

// TestLimitsRate lets each caller make as many calls as the rate says.
func TestLimitsRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := mcp.Chain(served, Limits([]Limit{{Name: "l", Match: Match{Tool: "x*"}, Rate: 6, Period: time.Minute, Burst: 2}}, nil, nil))
		one, two := user("one"), user("two")
		expect := func(p *mcp.Principal, tool, want string) {
			t.Helper()
			if got := endOf(p, h, tool); got != want {
				t.Errorf("%s %s: %s, want %s", p.ID, tool, got, want)
			}
		}
		expect(one, "x1", "ok")
		expect(one, "x2", "ok")
		expect(one, "x1", `429 after 10s with {"retryAfter":10}`)
		expect(two, "x1", "ok")
		expect(one, "other", "ok")
		time.Sleep(7 * time.Second)
		expect(one, "x1", `429 after 3s with {"retryAfter":3}`)
		time.Sleep(3*time.Second + time.Millisecond)
		expect(one, "x1", "ok")
		expect(one, "x1", `429 after 10s with {"retryAfter":10}`)
		time.Sleep(time.Hour)
		expect(one, "x1", "ok")
		expect(one, "x1", "ok")
		expect(one, "x1", `429 after 10s with {"retryAfter":10}`)
		if _, err := as(one, h, mcp.MethodToolsList, ""); err != nil {
			t.Errorf("a list: %v", err)
		}
	})
}

// TestLimitsCountTogether counts by caller, by tool, or everything.
func TestLimitsCountTogether(t *testing.T) {
	for per, want := range map[PerWhat][]string{
		PerPrincipal: {"ok", "429", "ok", "429"}, // one x, one y, two x, two x
		PerTool:      {"ok", "ok", "ok", "429"},
		PerAll:       {"ok", "429", "429", "429"},
	} {
		h := mcp.Chain(served, Limits([]Limit{{Name: "l", Match: Match{Tool: "*"}, Rate: 1, Period: time.Hour, Per: per}}, nil, nil))
		for i, call := range []struct{ who, tool string }{{"one", "x"}, {"one", "y"}, {"two", "x"}, {"two", "x"}} {
			if got := endOf(user(call.who), h, call.tool); got[:2] != want[i][:2] {
				t.Errorf("%v, call %d: %s, want %s", per, i, got, want[i])
			}
		}
	}
}

// TestLimitsOfEverything count lists too, and not pings.
func TestLimitsOfEverything(t *testing.T) {
	h := mcp.Chain(served, Limits([]Limit{{Name: "l", Match: Match{Group: "dev"}, Rate: 1, Period: time.Hour}, {Name: "m", Match: Match{Group: "dev", Server: "none"}, Rate: 1, Period: time.Hour}}, OneServer("one"), nil))
	dev := user("u", "dev")
	for range 3 {
		if _, err := as(dev, h, mcp.MethodPing, ""); err != nil {
			t.Error(err)
		}
	}
	if _, err := as(dev, h, mcp.MethodToolsList, ""); err != nil {
		t.Error(err)
	}
	if _, err := as(dev, h, mcp.MethodToolsList, ""); err == nil {
		t.Error("a second list is not refused")
	}
	if _, err := as(user("u"), h, mcp.MethodToolsList, ""); err != nil {
		t.Error(err)
	}
}

// TestLimitsConcurrency bounds the calls that are open, and a refused call takes
// nothing of other limits.
func TestLimitsConcurrency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		free := make(chan struct{})
		var open atomic.Int32
		h := mcp.Chain(mcp.HandlerFunc(func(context.Context, *mcp.Call) (mcp.Result, error) {
			open.Add(1)
			defer open.Add(-1)
			<-free
			return mcp.Result{}, errors.New("it failed")
		}), Limits([]Limit{{Name: "rate", Match: Match{Tool: "*"}, Rate: 3, Period: time.Hour}, {Name: "open", Match: Match{Tool: "*"}, Concurrency: 2}}, nil, nil))
		for range 2 {
			go endOf(user("u"), h, "x")
		}
		synctest.Wait()
		for range 5 {
			if got := endOf(user("u"), h, "x"); got != `429 after 1s with {"retryAfter":1}` {
				t.Errorf("a third call: %s", got)
			}
		}
		if open.Load() != 2 {
			t.Errorf("%d calls are open", open.Load())
		}
		close(free)
		synctest.Wait()
		if got := endOf(user("u"), h, "x"); got != "it failed" {
			t.Errorf("after the calls ended: %s", got)
		}
		if got := endOf(user("u"), h, "x"); got[:3] != "429" {
			t.Errorf("beyond the rate: %s", got)
		}
	})
}

// brokenStore is a LimitStore that fails.
type brokenStore struct{}

func (brokenStore) Take(context.Context, []Bucket) (func(), time.Duration, error) {
	return nil, 0, errors.New("redis: secret address refused")
}

// TestLimitsFailClosed denies calls while the store fails (G22).
func TestLimitsFailClosed(t *testing.T) {
	reached := 0
	h := mcp.Chain(mcp.HandlerFunc(func(context.Context, *mcp.Call) (mcp.Result, error) { reached++; return mcp.Result{}, nil }),
		Limits([]Limit{{Name: "l", Match: Match{Tool: "x"}, Concurrency: 1}}, nil, &LimitOptions{Store: brokenStore{}, Log: quiet}))
	if got := endOf(user("u"), h, "x"); got != `503 after 5s with {"retryAfter":5}` || reached != 0 {
		t.Errorf("%s, %d calls", got, reached)
	}
	if got := endOf(user("u"), h, "unlimited"); got != "ok" {
		t.Errorf("a call without limits: %s", got)
	}
}

// TestMemoryLimitsAreBounded forgets callers that have not called for long, and
// refuses new ones rather than to forget others.
func TestMemoryLimitsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := NewMemoryLimits().(*memoryLimits)
		take := func(id int) (time.Duration, error) {
			_, wait, err := m.Take(t.Context(), []Bucket{{LimitKey: LimitKey{Limit: "l", Principal: fmt.Sprint(id)}, Rate: 0.1, Burst: 1}})
			return wait, err
		}
		for id := range maxBuckets {
			if wait, err := take(id); wait != 0 || err != nil {
				t.Fatalf("caller %d: %v %v", id, wait, err)
			}
		}
		if wait, _ := take(-1); wait == 0 {
			t.Error("one caller too many is served")
		}
		time.Sleep(time.Minute)
		if wait, _ := take(-1); wait != 0 || len(m.counts) != 1 {
			t.Errorf("after a minute: wait %v, %d counts", wait, len(m.counts))
		}
	})
}

func BenchmarkPolicyAndLimits(b *testing.B) {
	rules := []Rule{{Match: Match{Group: "dev", Server: "notes"}}, {Match: Match{Tool: "delete_*"}, Deny: true}}
	limits := []Limit{{Name: "l", Match: Match{Group: "dev", Tool: "*"}, Rate: 1e9, Period: time.Second, Concurrency: 100}}
	h := mcp.Chain(served, Limits(limits, OneServer("notes"), nil), Policy(rules, OneServer("notes"), nil))
	c := &mcp.Call{Method: mcp.MethodToolsCall, Params: json.RawMessage(`{"name":"read","arguments":{"path":"/a/b/c","limit":10}}`), Caller: mcp.Caller{Principal: user("u", "dev")}}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := h.Serve(b.Context(), c); err != nil {
			b.Fatal(err)
		}
	}
}

// A client may invent names of any length; what is counted stays small.
func TestLongNamesAreCountedByDigest(t *testing.T) {
	l := &Limit{Name: "l", Rate: 1, Period: time.Hour, Per: PerTool}
	a, b := strings.Repeat("x", 1<<20), strings.Repeat("x", 1<<20)+"y"
	of := func(name string) string { return l.bucket(&mcp.Call{}, feature{"uri", "s", name}).Own }
	if len(of(a)) > 256 || of(a) == of(b) || of("short") != "short" {
		t.Errorf("keys %q, %q", of(a), of(b))
	}
}
