package redistasks_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/cluster/redis"
	"github.com/tenon-mcp/tenon/cluster/redis/redistasks"
	"github.com/tenon-mcp/tenon/ext/tasks"
	"github.com/tenon-mcp/tenon/internal/redistest"
	"github.com/tenon-mcp/tenon/internal/tasktest"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

// A replica is a server whose only tool waits.
type replica struct {
	t       *testing.T
	s       *server.Server
	store   tasks.Store
	runs    atomic.Int32
	release chan struct{}
	ended   chan error // why the tool was stopped
}

func newReplica(t *testing.T, store tasks.Store) *replica {
	r := &replica{t: t, store: store, release: make(chan struct{}), ended: make(chan error, 10)}
	r.s = server.New(mcp.Implementation{Name: "test", Version: "1"}, nil)
	t.Cleanup(func() { r.s.Close() })
	m, err := tasks.NewManager(r.s, &tasks.Options{Store: store, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	server.AddTool(r.s, "work", "Work", func(ctx context.Context, _ *mcp.Call, _ struct{}) (string, error) {
		r.runs.Add(1)
		select {
		case <-r.release:
			return "done", nil
		case <-ctx.Done():
			r.ended <- context.Cause(ctx)
			return "", ctx.Err()
		}
	}, m.Tool(tasks.Required, nil))
	return r
}

// call calls a method, with the result of a call that is a task.
func (r *replica) call(method, params string) (task tasks.Task, err error) {
	res, err := r.s.Serve(r.t.Context(), &mcp.Call{Method: method, Params: json.RawMessage(params), Caller: mcp.Caller{
		Capabilities: &mcp.ClientCapabilities{Extensions: map[string]json.RawMessage{tasks.ExtensionID: json.RawMessage("{}")}},
	}})
	if err == nil && len(res.Body) > 2 {
		err = res.Decode(&task)
	}
	return task, err
}

func (r *replica) start() string {
	r.t.Helper()
	before := r.runs.Load()
	task, err := r.call(mcp.MethodToolsCall, `{"name":"work"}`)
	if err != nil {
		r.t.Fatal(err)
	}
	until(r.t, "the tool runs", func() bool { return r.runs.Load() > before })
	return task.ID
}

// until calls f until it returns true.
func until(t *testing.T, what string, f func() bool) {
	t.Helper()
	for began := time.Now(); !f(); time.Sleep(10 * time.Millisecond) {
		if time.Since(began) > tasktest.HangGuard {
			t.Fatal("never: " + what)
		}
	}
}

// refusesAll checks what each method answers while Redis does not.
func (r *replica) refusesAll(id string) {
	r.t.Helper()
	runs := r.runs.Load()
	for method, params := range map[string]string{
		mcp.MethodToolsCall: `{"name":"work"}`, tasks.MethodGet: `{"taskId":"` + id + `"}`, tasks.MethodCancel: `{"taskId":"` + id + `"}`,
		tasks.MethodUpdate: `{"taskId":"` + id + `","inputResponses":{}}`, mcp.MethodSubscriptionsListen: `{"notifications":{"taskIds":["` + id + `"]}}`,
	} {
		_, err := r.call(method, params)
		var e *mcp.Error
		if !errors.As(err, &e) || e.Code != mcp.CodeInternal || !strings.Contains(e.Message, "the task store failed; try again later") {
			r.t.Errorf("%s without Redis: %v", method, err)
		}
	}
	if r.runs.Load() != runs {
		r.t.Error("a tool runs for a task that was not acknowledged")
	}
}

// A task goes on while Redis is away, and its result is stored afterwards.
func TestRedisAway(t *testing.T) {
	for name, test := range map[string]struct {
		away, back func(*redistest.Server)
	}{
		"stopped and started with its data": {(*redistest.Server).Kill, (*redistest.Server).Restart},
		"slow":                              {pause, resume},
	} {
		t.Run(name, func(t *testing.T) {
			s := redistest.Start(t, &redistest.Options{Keep: true})
			r := newReplica(t, open(t, s.URL, redis.Options{Timeout: 500 * time.Millisecond}))
			id := r.start()
			test.away(s)
			r.refusesAll(id)
			close(r.release)
			test.back(s)
			until(t, "completed", func() bool {
				got, err := r.call(tasks.MethodGet, `{"taskId":"`+id+`"}`)
				return err == nil && got.Status == tasks.Completed
			})
			if n := r.runs.Load(); n != 1 {
				t.Errorf("the tool has run %d times", n)
			}
			r.start()
		})
	}
}

// After Redis has lost its data, no task exists. Tools that run are stopped.
func TestRedisRestartedEmpty(t *testing.T) {
	s := redistest.Start(t, nil)
	r := newReplica(t, open(t, s.URL, redis.Options{}))
	id := r.start()
	s.Restart()
	until(t, "unknown", func() bool {
		_, err := r.call(tasks.MethodGet, `{"taskId":"`+id+`"}`)
		var e *mcp.Error
		return errors.As(err, &e) && e.Code == mcp.CodeInvalidParams
	})
	select {
	case why := <-r.ended:
		if !strings.Contains(why.Error(), "gone from the store") {
			t.Errorf("the tool was stopped because %v", why)
		}
	case <-time.After(tasktest.HangGuard):
		t.Error("the tool goes on for nobody")
	}
	close(r.release)
	again := r.start()
	until(t, "completed", func() bool {
		got, err := r.call(tasks.MethodGet, `{"taskId":"`+again+`"}`)
		return err == nil && got.Status == tasks.Completed
	})
}

// A full Redis refuses new tasks and says so; those that exist can be read.
func TestRedisFull(t *testing.T) {
	s := redistest.Start(t, nil)
	r := newReplica(t, open(t, s.URL, redis.Options{}))
	id := r.start()
	s.Do("CONFIG", "SET", "maxmemory", "1")
	_, err := r.call(mcp.MethodToolsCall, `{"name":"work"}`)
	if err == nil || !strings.Contains(err.Error(), "the task store is full") {
		t.Errorf("a new task: %v", err)
	}
	if got, err := r.call(tasks.MethodGet, `{"taskId":"`+id+`"}`); err != nil || got.Status != tasks.Working {
		t.Errorf("a task that exists: %+v, %v", got, err)
	}
	close(r.release)
	s.Do("CONFIG", "SET", "maxmemory", "0")
	until(t, "completed", func() bool {
		got, err := r.call(tasks.MethodGet, `{"taskId":"`+id+`"}`)
		return err == nil && got.Status == tasks.Completed
	})
}

// A change that happens while the connection of a subscriber is interrupted is
// noticed afterwards.
func TestChangeDuringAnInterruptionIsNoticed(t *testing.T) {
	s := redistest.Start(t, nil)
	a, b := open(t, s.URL, redis.Options{}), open(t, s.URL, redis.Options{})
	ctx := t.Context()
	r := record("a")
	if err := a.Create(ctx, r, 10); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		var seen atomic.Int64
		stop := b.Watch("a", func() {
			go func() {
				if got, err := b.Get(ctx, "a"); err == nil {
					seen.Store(max(seen.Load(), got.Version))
				}
			}()
		})
		s.Do("CLIENT", "KILL", "TYPE", "pubsub")
		until(t, "changed", func() bool { return a.Update(ctx, r) == nil })
		until(t, "noticed", func() bool { return seen.Load() == r.Version })
		stop()
	}
}

func record(id string) *tasks.Record {
	now := time.Now().Truncate(time.Millisecond)
	return &tasks.Record{Task: tasks.Task{ID: id, Status: tasks.Working, CreatedAt: now, LastUpdatedAt: now}, Expires: now.Add(time.Hour), Runner: "r"}
}

// The clock of Redis decides when a record expires, whatever the clock says of
// the replica that changes it.
func TestChangeKeepsTheTimeOfExpiry(t *testing.T) {
	s := redistest.Start(t, nil)
	store := open(t, s.URL, redis.Options{})
	r := record("a")
	if err := store.Create(t.Context(), r, 10); err != nil {
		t.Fatal(err)
	}
	s.Do("PEXPIRE", "tenon:task:{a}", "100000")
	if err := store.Update(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if got := s.Do("PTTL", "tenon:task:{a}"); len(got) != len(":100000") && len(got) != len(":99999") {
		t.Errorf("the time to live is %s ms, want 100,000", got)
	}
	r.Expires = r.Expires.Add(time.Hour)
	if err := store.Update(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if got := s.Do("PTTL", "tenon:task:{a}"); len(got) != len(":7200000") {
		t.Errorf("the time to live is %s ms, want 2 hours", got)
	}
}

// Whatever is stored is gone some time after it was used.
func TestEveryKeyExpires(t *testing.T) {
	s := redistest.Start(t, nil)
	store := open(t, s.URL, redis.Options{})
	ctx := t.Context()
	if err := store.Renew(ctx, "r", time.Second); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"a", "b", "c"} {
		r := record(id)
		r.Owner = id
		if err := errors.Join(store.Create(ctx, r, 10), store.Update(ctx, r)); err != nil {
			t.Fatal(err)
		}
	}
	const keys = 3 + 2*3 + 1 + 1
	if got := s.Do("EVAL", `
		local n = 0
		for _, key in ipairs(redis.call('KEYS', 'tenon:*')) do
			if redis.call('PTTL', key) < 0 then return key end
			if string.find(key, 'task') or string.find(key, 'run') then n = n + 1 end
		end
		return 'n' .. n`, "0"); got != "n11" {
		t.Errorf("keys: %s, want %d with a time to live", got, keys)
	}
}

// A store cannot be opened without Redis, and says why.
func TestOpenWithoutRedis(t *testing.T) {
	s := redistest.Start(t, nil)
	shared, err := redis.Open(t.Context(), s.URL, &redis.Options{Timeout: 200 * time.Millisecond, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer shared.Close()
	s.Kill()
	until(t, "known to be away", func() bool { _, err := shared.Once(t.Context(), "k", time.Second); return err != nil })
	if _, err := redistasks.New(t.Context(), shared); err == nil || !strings.Contains(err.Error(), "open the task store") {
		t.Errorf("without Redis: %v", err)
	}
}

// A process that died just after it had taken over a task has not lost it: the
// index of the process before leads to it.
func TestIndexOfTakenOverTasksIsMended(t *testing.T) {
	s := redistest.Start(t, nil)
	store, ctx := open(t, s.URL, redis.Options{}), t.Context()
	r := record("a")
	if err := errors.Join(store.Renew(ctx, "r", time.Hour), store.Renew(ctx, "r2", time.Hour), store.Create(ctx, r, 10), store.Renew(ctx, "r", 0)); err != nil {
		t.Fatal(err)
	}
	r.Runner = "r2"
	if err := store.Update(ctx, r); err != nil {
		t.Fatal(err)
	}
	s.Do("DEL", "tenon:runs:{r2}") // it died before it wrote that
	if all, err := store.Interrupted(ctx, 10); err != nil || len(all) != 0 {
		t.Errorf("while the second process lives: %q, %v", all, err)
	}
	if err := store.Renew(ctx, "r2", 0); err != nil {
		t.Fatal(err)
	}
	if all, err := store.Interrupted(ctx, 10); err != nil || len(all) != 1 {
		t.Errorf("after its end: %q, %v", all, err)
	}
}
