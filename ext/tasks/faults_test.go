package tasks_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenon-mcp/tenon/ext/tasks"
	"github.com/tenon-mcp/tenon/internal/logtest"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

// A faulty store has faults in the operations that choose returns one for.
type faulty struct {
	tasks.Store
	choose func(op string) fault
}

type fault string

const (
	none      fault = ""
	fails     fault = "fails"
	failsLate fault = "makes the change and fails"
	slow      fault = "is slow"
	blocks    fault = "blocks until the context ends"
)

var errFault = errors.New("the disk is on fire at /secret/path")

func (s *faulty) with(ctx context.Context, op string, f func() error) error {
	switch s.choose(op) {
	case fails:
		return errFault
	case failsLate:
		f()
		return errFault
	case slow:
		select {
		case <-time.After(2 * time.Second):
		case <-ctx.Done():
			return ctx.Err()
		}
	case blocks:
		<-ctx.Done()
		return ctx.Err()
	}
	return f()
}

func (s *faulty) Create(ctx context.Context, r *tasks.Record, most int) error {
	return s.with(ctx, "Create", func() error { return s.Store.Create(ctx, r, most) })
}

func (s *faulty) Get(ctx context.Context, id string) (r *tasks.Record, err error) {
	return r, s.with(ctx, "Get", func() error { r, err = s.Store.Get(ctx, id); return err })
}

func (s *faulty) Update(ctx context.Context, r *tasks.Record) error {
	return s.with(ctx, "Update", func() error { return s.Store.Update(ctx, r) })
}

func (s *faulty) List(ctx context.Context, owner string, after tasks.Cursor, limit int) (all []*tasks.Record, err error) {
	return all, s.with(ctx, "List", func() error { all, err = s.Store.List(ctx, owner, after, limit); return err })
}

func (s *faulty) Renew(ctx context.Context, runner string, d time.Duration) error {
	return s.with(ctx, "Renew", func() error { return s.Store.Renew(ctx, runner, d) })
}

func (s *faulty) Alive(ctx context.Context, runner string) (alive bool, err error) {
	return alive, s.with(ctx, "Alive", func() error { alive, err = s.Store.Alive(ctx, runner); return err })
}

func (s *faulty) Interrupted(ctx context.Context, limit int) (ids []string, err error) {
	return ids, s.with(ctx, "Interrupted", func() error { ids, err = s.Store.Interrupted(ctx, limit); return err })
}

// logged returns a logger and what was logged.
func logged() (*slog.Logger, func() string) {
	var b lockedBuffer
	return slog.New(slog.NewTextHandler(&b, nil)), b.String
}

type lockedBuffer = logtest.Buffer

// asks adds a tool that asks once and works for a second.
func (w *world) asks() {
	w.tool(tasks.Required, func(ctx context.Context, c *mcp.Call) (string, error) {
		f, err := server.Elicit[name](c, "k", "Name?")
		if err != nil {
			return "", err
		}
		select {
		case <-time.After(time.Second):
			return "hello " + f.Name, nil
		case <-ctx.Done():
			return "", ctx.Err()
		}
	})
}

// An acked is what the server has acknowledged to a client.
type acked struct {
	id       string
	answered bool
	final    *tasks.Task
}

// try makes a call with a deadline, and checks that an error says enough and
// not too much.
func (w *world) try(method string, params any) (mcp.Result, error) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute)
	defer cancel()
	body, err := mcp.Marshal(params)
	if err != nil {
		w.t.Fatal(err)
	}
	res, err := w.s.Serve(ctx, &mcp.Call{Method: method, Params: body, Caller: w.caller})
	if ctx.Err() != nil {
		w.t.Errorf("%s hangs", method)
	}
	if err != nil {
		e, _ := errors.AsType[*mcp.Error](err)
		if e == nil || e.Code != mcp.CodeInternal || !strings.Contains(e.Message, "the task store failed; try again later") || strings.Contains(e.Message, "secret") {
			w.t.Errorf("%s: %v", method, err)
		}
	}
	return res, err
}

// live leads a task through its life. A call that fails is made again a few
// times.
func (w *world) live() (a acked) {
	w.t.Helper()
	res, err := w.try(mcp.MethodToolsCall, mcp.CallToolParams{Name: "work"})
	if err != nil {
		return a
	}
	var task tasks.Task
	if err := res.Decode(&task); err != nil {
		w.t.Fatal(err)
	}
	a.id = task.ID
	for range 30 {
		time.Sleep(time.Second)
		res, err := w.try(tasks.MethodGet, map[string]string{"taskId": a.id})
		if err != nil {
			continue
		}
		if err := res.Decode(&task); err != nil {
			w.t.Fatal(err)
		}
		switch {
		case task.Status.Final():
			a.final = &task
			return a
		case task.Status == tasks.InputRequired && a.answered:
			w.t.Error("a request is open again whose response was acknowledged")
		case task.Status == tasks.InputRequired:
			_, err := w.try(tasks.MethodUpdate, tasks.UpdateParams{ID: a.id, InputResponses: map[string]json.RawMessage{"k": json.RawMessage(accept(`{"name":"x"}`))}})
			a.answered = err == nil
		}
	}
	return a
}

// verify checks that nothing that was acknowledged is taken back.
func (a *acked) verify(t *testing.T, store tasks.Store) {
	t.Helper()
	if a.id == "" {
		return
	}
	r, err := store.Get(t.Context(), a.id)
	if err != nil {
		t.Fatalf("the task that was acknowledged: %v", err)
	}
	if _, open := r.Task.InputRequests["k"]; open && a.answered {
		t.Error("a request is open whose response was acknowledged")
	}
	if a.final != nil && (r.Task.Status != a.final.Status || string(r.Task.Result) != string(a.final.Result)) {
		t.Errorf("the client has seen %s %s, now it is %s %s", a.final.Status, a.final.Result, r.Task.Status, r.Task.Result)
	}
}

// A store that has a fault once delays a task at most.
func TestStoreHasAFaultOnce(t *testing.T) {
	for _, op := range []string{"Create", "Get", "Update", "Renew", "Alive"} {
		for _, how := range []fault{fails, failsLate, slow, blocks} {
			for k := 1; k <= 8; k++ {
				t.Run(fmt.Sprintf("%s %s at call %d", op, how, k), func(t *testing.T) {
					inBubble(t, func(t *testing.T) { faultOnce(t, op, how, k) })
				})
			}
		}
	}
}

func faultOnce(t *testing.T, op string, how fault, k int) {
	memory := &tasks.Memory{}
	var mu sync.Mutex
	n := 0
	log, _ := logged()
	w := newWorld(t, &tasks.Options{Log: log, Store: &faulty{memory, func(o string) fault {
		mu.Lock()
		defer mu.Unlock()
		if o != op {
			return none
		}
		if n++; n == k {
			return how
		}
		return none
	}}})
	w.asks()
	a := w.live()
	if a.id != "" && (a.final == nil || a.final.Status != tasks.Completed || !strings.Contains(string(a.final.Result), "hello x")) {
		t.Errorf("the task ended as %+v", a.final)
	}
	if a.id == "" { // the client got an error, and no task goes on
		synctest.Wait()
		all, err := memory.List(t.Context(), w.caller.Principal.Key(), tasks.Cursor{}, 10)
		if err != nil || len(all) > 1 || len(all) == 1 && all[0].Task.Status != tasks.Failed {
			t.Errorf("an error was returned, but there is %+v, %v", all, err)
		}
	}
	if err := w.s.Close(); err != nil {
		t.Error(err)
	}
	a.verify(t, memory)
}

// A store that fails for good from some moment on: clients get errors, nothing
// that was acknowledged is taken back, and the server can be closed.
func TestStoreFailsForGood(t *testing.T) {
	for _, how := range []fault{fails, failsLate, blocks} {
		for k := 1; k <= 14; k++ {
			t.Run(fmt.Sprintf("%s from call %d on", how, k), func(t *testing.T) {
				inBubble(t, func(t *testing.T) { faultForGood(t, how, k) })
			})
		}
	}
}

func faultForGood(t *testing.T, how fault, k int) {
	memory := &tasks.Memory{}
	var mu sync.Mutex
	n := 0
	log, _ := logged()
	w := newWorld(t, &tasks.Options{Log: log, Store: &faulty{memory, func(string) fault {
		mu.Lock()
		defer mu.Unlock()
		if n++; n >= k {
			return how
		}
		return none
	}}})
	w.asks()
	a := w.live()
	began := time.Now()
	if err := w.s.Close(); err != nil {
		t.Error(err)
	}
	if d := time.Since(began); d > time.Minute { // of the bubble's clock
		t.Errorf("Close took %v", d)
	}
	a.verify(t, memory)
	time.Sleep(time.Minute) // the lease ends
	w = newWorld(t, &tasks.Options{Store: memory})
	if a.id != "" {
		if got := w.get(a.id); !got.Status.Final() {
			t.Errorf("after a restart: %+v", got)
		}
	}
	a.verify(t, memory)
}

// A process that is too slow to renew its lease is taken for stopped by others;
// the result that it has after that is dropped, and it says so.
func TestLateResultIsDropped(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		memory := &tasks.Memory{}
		log, text := logged()
		var stopped bool // it does not reach the store
		var mu sync.Mutex
		a := newWorld(t, &tasks.Options{Log: log, Store: &faulty{memory, func(string) fault {
			mu.Lock()
			defer mu.Unlock()
			if stopped {
				return fails
			}
			return none
		}}})
		b := newWorld(t, &tasks.Options{Store: memory})
		a.tool(tasks.Required, func(context.Context, *mcp.Call) (string, error) {
			time.Sleep(30 * time.Second)
			return "late", nil
		})
		id := a.start()
		set := func(v bool) {
			mu.Lock()
			defer mu.Unlock()
			stopped = v
		}
		set(true)
		time.Sleep(20 * time.Second)
		if got := b.get(id); got.Status != tasks.Failed || !strings.Contains(got.StatusMessage, "the server stopped") {
			t.Errorf("after the lease: %+v", got)
		}
		set(false)
		time.Sleep(time.Minute)
		for _, w := range []*world{a, b} {
			if got := w.get(id); got.Status != tasks.Failed || got.Result != nil {
				t.Errorf("at the end: %+v", got)
			}
		}
		if !strings.Contains(text(), "its result is dropped") {
			t.Errorf("logged: %s", text())
		}
	})
}

// A process that is alone knows what it runs, however long it could not renew
// its lease.
func TestManagerTrustsItself(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		log, _ := logged()
		var joined atomic.Bool
		w := newWorld(t, &tasks.Options{Log: log, Store: &faulty{&tasks.Memory{}, func(op string) fault {
			if op != "Renew" || !joined.Swap(true) {
				return none
			}
			return fails
		}}})
		w.tool(tasks.Required, func(context.Context, *mcp.Call) (string, error) {
			time.Sleep(time.Minute)
			return "done", nil
		})
		id := w.start()
		time.Sleep(30 * time.Second)
		if got := w.get(id); got.Status != tasks.Working {
			t.Errorf("%+v", got)
		}
		time.Sleep(time.Minute)
		if got := w.get(id); got.Status != tasks.Completed {
			t.Errorf("%+v", got)
		}
	})
}

// An input request that was stored although the store failed is not stored
// again: that would drop the response of a quick client.
func TestInputRequestIsPublishedOnce(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		log, _ := logged()
		var updated atomic.Bool
		w := newWorld(t, &tasks.Options{Log: log, Store: &faulty{&tasks.Memory{}, func(op string) fault {
			if op == "Update" && !updated.Swap(true) {
				return failsLate
			}
			return none
		}}})
		w.asks()
		id := w.start()
		synctest.Wait() // the store has failed, and is tried again later
		if err := w.update(id, map[string]string{"k": accept(`{"name":"x"}`)}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(100 * time.Millisecond)
		if got := w.get(id); got.Status != tasks.Working {
			t.Errorf("after the response was acknowledged: %+v", got)
		}
		time.Sleep(10 * time.Second)
		if got := w.get(id); got.Status != tasks.Completed {
			t.Errorf("at the end: %+v", got)
		}
	})
}

// A watching store calls a function before a watch begins.
type watching struct {
	tasks.Store
	before func(id string)
}

func (s *watching) Watch(id string, changed func()) func() {
	s.before(id)
	return s.Store.Watch(id, changed)
}

// A task that is cancelled before its run watches it ends nevertheless.
func TestCancelledAtOnce(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		memory := &tasks.Memory{}
		other := newWorld(t, &tasks.Options{Store: memory})
		w := newWorld(t, &tasks.Options{Store: &watching{memory, func(id string) {
			if _, err := other.serve(tasks.MethodCancel, map[string]string{"taskId": id}); err != nil {
				t.Error(err)
			}
		}}})
		ended := make(chan struct{})
		w.tool(tasks.Required, func(ctx context.Context, c *mcp.Call) (string, error) {
			<-ctx.Done()
			close(ended)
			return "", ctx.Err()
		})
		w.start()
		synctest.Wait()
		select {
		case <-ended:
		default:
			t.Error("the tool runs on")
		}
	})
}

// Closing a server does not wait for a task that is being created.
func TestCloseWhileCreating(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		log, _ := logged()
		w := newWorld(t, &tasks.Options{Log: log, Store: &faulty{&tasks.Memory{}, func(op string) fault {
			return map[string]fault{"Create": blocks}[op]
		}}})
		w.asks()
		over := make(chan error, 1)
		go func() {
			_, err := w.serve(mcp.MethodToolsCall, mcp.CallToolParams{Name: "work"})
			over <- err
		}()
		synctest.Wait()
		began := time.Now()
		w.s.Close()
		if d := time.Since(began); d > time.Second { // of the bubble's clock
			t.Errorf("Close took %v", d)
		}
		if err := <-over; err == nil {
			t.Error("a task was created")
		}
	})
}

// A subscriber learns of the end of a task although the store fails when it is
// to be read; a subscription that cannot be checked is refused.
func TestSubscriptionOutlivesFaults(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		log, _ := logged()
		var next atomic.Bool // the next Get fails
		w := newWorld(t, &tasks.Options{Log: log, Store: &faulty{&tasks.Memory{}, func(op string) fault {
			switch {
			case op == "Update":
				next.Store(true)
			case op == "Get" && next.Swap(false):
				return fails
			}
			return none
		}}})
		w.tool(tasks.Required, func(context.Context, *mcp.Call) (string, error) {
			time.Sleep(10 * time.Second)
			return "done", nil
		})
		id := w.start()
		states, stop := w.listen(id)
		time.Sleep(time.Second)
		next.Store(true)
		if _, err := w.try(mcp.MethodSubscriptionsListen, map[string]any{"notifications": map[string]any{"taskIds": []string{id}}}); err == nil {
			t.Error("a subscription is accepted without a look at the task")
		}
		time.Sleep(time.Minute)
		stop()
		if got := states(); !slices.Equal(got, []string{"working", "completed"}) || next.Load() {
			t.Errorf("%q", got)
		}
	})
}

// A store that is away again and again, whenever a process would renew its lease
// next, costs nobody a task: the process tries again soon.
func TestStoreThatComesAndGoes(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		shared := &tasks.Memory{}
		var away atomic.Bool
		store := &faulty{Store: shared, choose: func(op string) fault {
			if op == "Renew" && away.Load() {
				return fails
			}
			return none
		}}
		quiet := slog.New(slog.DiscardHandler)
		w, other := newWorld(t, &tasks.Options{Store: store, Log: quiet}), newWorld(t, &tasks.Options{Store: shared, Log: quiet})
		w.tool(tasks.Required, func(ctx context.Context, _ *mcp.Call) (string, error) {
			select {
			case <-time.After(5 * time.Minute):
				return "done", nil
			case <-ctx.Done():
				return "", ctx.Err()
			}
		})
		id := w.start()
		// The lease is renewed every 2.5 s. It is away then, and back for a second
		// before the next time.
		for range 100 {
			time.Sleep(time.Second)
			away.Store(true)
			time.Sleep(1600 * time.Millisecond)
			away.Store(false)
			if got := other.get(id); got.Status != tasks.Working {
				t.Fatalf("the task of a live process: %+v", got)
			}
		}
		time.Sleep(time.Minute)
		if got := other.get(id); got.Status != tasks.Completed {
			t.Errorf("at its end: %+v", got)
		}
	})
}
