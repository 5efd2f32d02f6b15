package tasks_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/ext/tasks"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

// A member is one of several servers that share a store. While it is away, the
// store fails for it.
type member struct {
	*world
	away atomic.Bool
	runs atomic.Int32
}

// idempotent makes a tool one that may be repeated.
func idempotent() *server.ToolOptions {
	yes := true
	return &server.ToolOptions{Annotations: &mcp.ToolAnnotations{IdempotentHint: &yes}}
}

func newMember(t *testing.T, store tasks.Store) *member {
	m := &member{}
	log, _ := logged()
	m.world = newWorld(t, &tasks.Options{Log: log, Store: &faulty{Store: store, choose: func(string) fault {
		if m.away.Load() {
			return fails
		}
		return none
	}}})
	return m
}

// repeatable adds a tool that may be repeated.
func (m *member) repeatable(f func(ctx context.Context, c *mcp.Call) (string, error)) *member {
	server.AddTool(m.s, "work", "Work", func(ctx context.Context, c *mcp.Call, _ struct{}) (string, error) {
		m.runs.Add(1)
		return f(ctx, c)
	}, m.m.Tool(tasks.Required, idempotent()))
	return m
}

func sleeps(result string) func(context.Context, *mcp.Call) (string, error) {
	return func(ctx context.Context, _ *mcp.Call) (string, error) {
		select {
		case <-time.After(time.Minute):
			return result, nil
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
}

// A server that is cut off from the store stops a task when its lease ends, so
// that two do not run it at the same time; what it does later is dropped.
func TestServerWithoutStoreGivesTasksUp(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		store := &tasks.Memory{}
		var mu sync.Mutex
		now, most := 0, 0
		count := func(f func(context.Context, *mcp.Call) (string, error)) func(context.Context, *mcp.Call) (string, error) {
			add := func(n int) {
				mu.Lock()
				defer mu.Unlock()
				now += n
				most = max(most, now)
			}
			return func(ctx context.Context, c *mcp.Call) (string, error) {
				add(1)
				defer add(-1)
				return f(ctx, c)
			}
		}
		a := newMember(t, store).repeatable(count(sleeps("by a")))
		b := newMember(t, store).repeatable(count(sleeps("by b")))
		id := a.start()
		time.Sleep(time.Second)
		a.away.Store(true)
		time.Sleep(15 * time.Second) // the lease
		if a.runs.Load() != 1 || b.runs.Load() != 1 {
			t.Fatalf("after the lease, a has run it %d times, b %d times", a.runs.Load(), b.runs.Load())
		}
		a.away.Store(false)
		time.Sleep(2 * time.Minute)
		got := b.get(id)
		if got.Status != tasks.Completed || !strings.Contains(string(got.Result), "by b") {
			t.Errorf("at the end: %+v, %s", got, got.Result)
		}
		if a.runs.Load() != 1 || b.runs.Load() != 1 || most != 1 {
			t.Errorf("a has run it %d times, b %d times, %d at once", a.runs.Load(), b.runs.Load(), most)
		}
	})
}

// If the store was away for all, the task goes on when it is back, also if there
// is no other server.
func TestTaskGoesOnWhenTheStoreIsBack(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		a := newMember(t, &tasks.Memory{}).repeatable(sleeps("done"))
		id := a.start()
		a.away.Store(true)
		time.Sleep(30 * time.Second)
		a.away.Store(false)
		time.Sleep(2 * time.Minute)
		if got := a.get(id); got.Status != tasks.Completed || a.runs.Load() != 2 {
			t.Errorf("at the end: %+v after %d runs", got, a.runs.Load())
		}
	})
}

// If the store was away for all, for longer than the lease, a server that reaches it
// first leaves the tasks of others to them: these need time to renew their leases.
// It takes over what nobody has after one more lease.
func TestTasksOfLiveServersSurviveAnOutage(t *testing.T) {
	for _, busy := range []bool{true, false} { // whether the first server runs tasks too
		inBubble(t, func(t *testing.T) {
			store := &tasks.Memory{}
			a, b, dead := newMember(t, store), newMember(t, store), newMember(t, store)
			for _, m := range []*member{a, b, dead} {
				m.tool(tasks.Required, sleeps("done"))
			}
			id, lost := a.start(), dead.start()
			if busy {
				b.start()
			}
			for _, m := range []*member{a, b, dead} {
				m.away.Store(true)
			}
			time.Sleep(16 * time.Second)
			b.away.Store(false)
			time.Sleep(4 * time.Second)
			if got := b.get(id); got.Status != tasks.Working {
				t.Errorf("before its server is back: %+v", got)
			}
			a.away.Store(false)
			time.Sleep(8 * time.Second)
			if got := b.get(lost); got.Status != tasks.Working {
				t.Errorf("within the lease, the task of a server that is still away: %+v", got)
			}
			time.Sleep(10 * time.Second)
			if got := b.get(lost); got.Status != tasks.Failed {
				t.Errorf("after the lease, the task of a server that is still away: %+v", got)
			}
			time.Sleep(time.Minute)
			if got := b.get(id); got.Status != tasks.Completed {
				t.Errorf("at the end: %+v", got)
			}
		})
	}
}

// A tool that returns while the store is away has its result stored later.
func TestResultIsStoredWhenTheStoreIsBack(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		a := newMember(t, &tasks.Memory{}).repeatable(func(context.Context, *mcp.Call) (string, error) {
			time.Sleep(3 * time.Second)
			return "done", nil
		})
		id := a.start()
		a.away.Store(true)
		time.Sleep(time.Minute)
		a.away.Store(false)
		time.Sleep(10 * time.Second)
		if got := a.get(id); got.Status != tasks.Completed || a.runs.Load() != 1 {
			t.Errorf("at the end: %+v after %d runs", got, a.runs.Load())
		}
	})
}

// A task that ends its process each time does not end all of them.
func TestTaskIsTakenOverTwiceAtMost(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		store := &tasks.Memory{}
		var all []*member
		total := func() (n int32) {
			for _, m := range all {
				n += m.runs.Load()
			}
			return n
		}
		for range 5 {
			m := newMember(t, store)
			all = append(all, m.repeatable(func(ctx context.Context, _ *mcp.Call) (string, error) {
				m.away.Store(true)
				<-ctx.Done()
				return "", ctx.Err()
			}))
		}
		id := all[0].start()
		time.Sleep(5 * time.Minute)
		for _, m := range all {
			if m.runs.Load() == 0 {
				if got := m.get(id); got.Status != tasks.Failed || !strings.Contains(got.StatusMessage, "third time") || total() != 3 {
					t.Errorf("at the end: %+v after %d runs", got, total())
				}
				return
			}
		}
		t.Error("all servers have ended")
	})
}

// Servers that are replaced one by one do not use up the attempts of a task.
func TestClosedServersDoNotCount(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		store := &tasks.Memory{}
		m := newMember(t, store).repeatable(sleeps("done"))
		id := m.start()
		for range 5 {
			time.Sleep(10 * time.Second)
			next := newMember(t, store).repeatable(sleeps("done"))
			if err := m.s.Close(); err != nil {
				t.Error(err)
			}
			m = next
		}
		time.Sleep(2 * time.Minute)
		if got := m.get(id); got.Status != tasks.Completed || m.runs.Load() != 1 {
			t.Errorf("at the end: %+v after %d runs", got, m.runs.Load())
		}
	})
}

func TestTaskWithoutAToolFails(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		store := &tasks.Memory{}
		a, b := newMember(t, store).repeatable(sleeps("done")), newMember(t, store)
		id := a.start()
		a.away.Store(true)
		time.Sleep(16 * time.Second)
		if got := b.get(id); got.Status != tasks.Working {
			t.Errorf("while a server with the tool may come: %+v", got)
		}
		time.Sleep(16 * time.Second)
		if got := b.get(id); got.Status != tasks.Failed || !strings.Contains(got.StatusMessage, "no other has taken it over") {
			t.Errorf("at the end: %+v", got)
		}
	})
}

// What is too large to be kept is not taken over, and says so by failing.
func TestLargeCallIsNotTakenOver(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		store := &tasks.Memory{}
		a, b := newMember(t, store), newMember(t, store)
		for _, m := range []*member{a, b} {
			server.AddTool(m.s, "work", "Work", func(ctx context.Context, c *mcp.Call, _ name) (string, error) {
				m.runs.Add(1)
				return sleeps("done")(ctx, c)
			}, m.m.Tool(tasks.Required, idempotent()))
		}
		args, _ := mcp.Marshal(name{strings.Repeat("x", 300<<10)})
		res, err := a.serve(mcp.MethodToolsCall, mcp.CallToolParams{Name: "work", Arguments: args})
		if err != nil {
			t.Fatal(err)
		}
		var task tasks.Task
		if err := res.Decode(&task); err != nil {
			t.Fatal(err)
		}
		a.away.Store(true)
		time.Sleep(15 * time.Second)
		if got := b.get(task.ID); got.Status != tasks.Failed || b.runs.Load() != 0 {
			t.Errorf("%+v after %d runs", got, b.runs.Load())
		}
	})
}

// What happened before Begin belongs to the call, and is not asked again.
func TestDeferredTaskIsTakenOverAfterBegin(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		store := &tasks.Memory{}
		a, b := newMember(t, store), newMember(t, store)
		for _, m := range []*member{a, b} {
			server.AddTool(m.s, "work", "Work", func(ctx context.Context, c *mcp.Call, _ struct{}) (string, error) {
				answer, err := server.Elicit[name](c, "who", "Who?")
				if err != nil {
					return "", err
				}
				if err := tasks.Begin(ctx); err != nil {
					return "", err
				}
				m.runs.Add(1)
				return sleeps("for "+answer.Name)(ctx, c)
			}, m.m.DeferredTool(tasks.Required, idempotent()))
		}
		params, _ := mcp.Marshal(mcp.CallToolParams{Name: "work"})
		res, err := a.s.Serve(t.Context(), &mcp.Call{Method: mcp.MethodToolsCall, Params: params, Caller: a.caller,
			InputResponses: map[string]json.RawMessage{"who": json.RawMessage(accept(`{"name":"eve"}`))}})
		if err != nil {
			t.Fatal(err)
		}
		var task tasks.Task
		if err := res.Decode(&task); err != nil {
			t.Fatal(err)
		}
		a.away.Store(true)
		time.Sleep(2 * time.Minute)
		if got := b.get(task.ID); !strings.Contains(string(got.Result), "for eve") || b.runs.Load() != 1 {
			t.Errorf("%+v, %s after %d runs", got, got.Result, b.runs.Load())
		}
	})
}

// A round that a connection of the dead process holds begins again: the input
// request is asked again under another key.
func TestRoundOfAConnectionBeginsAgain(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		store := &tasks.Memory{}
		a, b := newMember(t, store), newMember(t, store)
		for _, m := range []*member{a, b} {
			o := m.m.Tool(tasks.Required, idempotent())
			o.Middleware = append(o.Middleware, func(mcp.Handler) mcp.Handler {
				return mcp.HandlerFunc(func(_ context.Context, c *mcp.Call) (mcp.Result, error) {
					key := fmt.Sprintf("%p", m)
					if c.State != key {
						q := map[string]mcp.InputRequest{"q": {Method: mcp.MethodElicit, Params: json.RawMessage(`{"message":"?"}`)}}
						return mcp.Result{}, &mcp.InputRequired{Requests: q, State: key, Abandon: func() {}}
					}
					return mcp.Result{Body: json.RawMessage(`{"content":[{"type":"text","text":"heard"}]}`)}, nil
				})
			})
			server.AddTool(m.s, "work", "Work", func(context.Context, *mcp.Call, struct{}) (string, error) { return "", nil }, o)
		}
		id := a.start()
		time.Sleep(time.Second)
		if got := b.get(id); len(got.InputRequests) != 1 || got.InputRequests["q"].Method == "" {
			t.Fatalf("at first: %+v", got)
		}
		a.away.Store(true)
		time.Sleep(15 * time.Second)
		if got := b.get(id); len(got.InputRequests) != 1 || got.InputRequests["q-2"].Method == "" {
			t.Fatalf("after the lease: %+v", got)
		}
		if err := b.update(id, map[string]string{"q-2": accept(`{}`)}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if got := b.get(id); !strings.Contains(string(got.Result), "heard") {
			t.Errorf("at the end: %+v", got)
		}
	})
}

// A result that comes after another server has taken over the task is dropped.
func TestLateResultOfALostTaskIsDropped(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		store := &tasks.Memory{}
		a := newMember(t, store).repeatable(func(context.Context, *mcp.Call) (string, error) {
			time.Sleep(9 * time.Second) // whatever its context says
			return "by a", nil
		})
		b := newMember(t, store).repeatable(sleeps("by b"))
		id := a.start()
		a.away.Store(true)
		time.Sleep(20 * time.Second)
		a.away.Store(false)
		time.Sleep(10 * time.Second)
		if got := a.get(id); got.Status != tasks.Working || b.runs.Load() != 1 {
			t.Errorf("while b runs it: %+v", got)
		}
		time.Sleep(time.Minute)
		if got := a.get(id); !strings.Contains(string(got.Result), "by b") {
			t.Errorf("at the end: %+v, %s", got, got.Result)
		}
	})
}
