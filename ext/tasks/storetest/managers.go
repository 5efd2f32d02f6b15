package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/ext/tasks"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

// RunManagers tests Managers of several processes that share a store, as servers
// behind a load balancer do. open is that of [Run].
func RunManagers(t *testing.T, open func(t *testing.T) tasks.Store) {
	for name, test := range map[string]func(*testing.T, *replicas){
		"a task is found at every replica at once":        everywhere,
		"a cancellation reaches the owner":                cancelled,
		"responses at any replica reach the owner":        answered,
		"subscribers are told of each state once":         subscribed,
		"a task of a dead replica fails":                  failed,
		"a repeatable task of a dead replica goes on":     takenOver,
		"open input requests of a dead replica stay open": askedBefore,
		"a replica that is closed leaves its tasks":       left,
	} {
		t.Run(name, func(t *testing.T) {
			all := &replicas{t: t, runs: map[string]int{}, release: make(chan struct{})}
			for range 3 {
				all.add(open(t))
			}
			test(t, all)
		})
	}
}

// replicas are servers that share a store.
type replicas struct {
	t    *testing.T
	list []*replica

	mu      sync.Mutex
	runs    map[string]int // how often the tool was begun, by replica and task
	release chan struct{}  // lets the tools of replicas that are alive return
}

// A replica is a server as one process would run it.
type replica struct {
	all    *replicas
	name   string
	store  *mortal
	server *server.Server
	ended  chan string // receives why a tool was stopped
}

// A mortal store is one that a process uses until it dies.
type mortal struct {
	tasks.Store
	dead atomic.Bool
}

var errDead = errors.New("this process is dead")

func (m *mortal) Get(ctx context.Context, id string) (*tasks.Record, error) {
	if m.dead.Load() {
		return nil, errDead
	}
	return m.Store.Get(ctx, id)
}

func (m *mortal) Update(ctx context.Context, r *tasks.Record) error {
	if m.dead.Load() {
		return errDead
	}
	return m.Store.Update(ctx, r)
}

func (m *mortal) Renew(ctx context.Context, runner string, d time.Duration) error {
	if m.dead.Load() {
		return errDead
	}
	return m.Store.Renew(ctx, runner, d)
}

func (m *mortal) Interrupted(ctx context.Context, limit int) ([]string, error) {
	if m.dead.Load() {
		return nil, errDead
	}
	return m.Store.Interrupted(ctx, limit)
}

type input struct {
	Ask []string `json:"ask,omitempty"`
}

// add adds a replica with two tools that ask for input and then wait: "once",
// which must not be repeated, and "again", which may be.
func (a *replicas) add(store tasks.Store) {
	r := &replica{all: a, name: string(rune('A' + len(a.list))), store: &mortal{Store: store}, ended: make(chan string, 100)}
	a.list = append(a.list, r)
	r.server = server.New(mcp.Implementation{Name: "test", Version: "1"}, nil)
	a.t.Cleanup(func() { r.server.Close() })
	m, err := tasks.NewManager(r.server, &tasks.Options{Store: r.store, Lease: 900 * time.Millisecond, Log: slog.New(slog.DiscardHandler)})
	must(a.t, err)
	yes := true
	for name, hints := range map[string]*mcp.ToolAnnotations{"once": nil, "again": {IdempotentHint: &yes}} {
		server.AddTool(r.server, name, "Work", r.work, m.Tool(tasks.Required, &server.ToolOptions{Annotations: hints}))
	}
}

func (r *replica) work(ctx context.Context, c *mcp.Call, in input) (string, error) {
	var heard []string
	for _, key := range in.Ask {
		answer, err := server.Elicit[struct {
			Name string `json:"name"`
		}](c, key, "Name?")
		if err != nil {
			return "", err
		}
		heard = append(heard, answer.Name)
	}
	r.all.mu.Lock()
	r.all.runs[r.name]++
	r.all.mu.Unlock()
	server.Progress(c, 1, 2, "begun")
	select {
	case <-r.all.release:
		if r.store.dead.Load() {
			<-ctx.Done() // it does not get so far
			return "", ctx.Err()
		}
		return fmt.Sprintf("%s heard %s from %s", r.name, strings.Join(heard, " "), c.Caller.Principal.ID), nil
	case <-ctx.Done():
		r.ended <- context.Cause(ctx).Error()
		return "", ctx.Err()
	}
}

// die ends a replica as if its process were killed.
func (r *replica) die() {
	r.store.dead.Store(true)
	if c, ok := r.store.Store.(io.Closer); ok {
		must(r.all.t, c.Close())
	}
}

func (a *replicas) ran() (names []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for name, n := range a.runs {
		names = append(names, fmt.Sprint(name, n))
	}
	slices.Sort(names)
	return names
}

func (r *replica) serve(method string, params any) (mcp.Result, error) {
	r.all.t.Helper()
	body, err := mcp.Marshal(params)
	must(r.all.t, err)
	return r.server.Serve(r.all.t.Context(), &mcp.Call{Method: method, Params: body, Caller: caller()})
}

func caller() mcp.Caller {
	return mcp.Caller{
		Principal: &mcp.Principal{ID: "ada", Issuer: "test"},
		Capabilities: &mcp.ClientCapabilities{
			Elicitation: &mcp.ElicitationCapability{},
			Extensions:  map[string]json.RawMessage{tasks.ExtensionID: json.RawMessage("{}")},
		},
	}
}

// start calls a tool, and waits until it has begun unless it asks first.
func (r *replica) start(tool string, ask ...string) (id string) {
	t := r.all.t
	t.Helper()
	args, err := mcp.Marshal(input{ask})
	must(t, err)
	res, err := r.serve(mcp.MethodToolsCall, mcp.CallToolParams{Name: tool, Arguments: args})
	must(t, err)
	var task tasks.Task
	must(t, res.Decode(&task))
	if len(ask) == 0 {
		r.await(task.ID, func(task *tasks.Task) bool { return task.StatusMessage != "" })
	}
	return task.ID
}

// get returns the state of a task.
func (r *replica) get(id string) *tasks.Task {
	r.all.t.Helper()
	res, err := r.serve(tasks.MethodGet, map[string]string{"taskId": id})
	must(r.all.t, err)
	task := new(tasks.Task)
	must(r.all.t, res.Decode(task))
	return task
}

// await returns the first state that fulfils a condition.
func (r *replica) await(id string, ok func(*tasks.Task) bool) *tasks.Task {
	r.all.t.Helper()
	for began := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		task := r.get(id)
		if ok(task) {
			return task
		}
		if time.Since(began) > hangGuard {
			r.all.t.Fatalf("the task stays %+v", task)
		}
	}
}

func (r *replica) end(id string) *tasks.Task {
	r.all.t.Helper()
	return r.await(id, func(t *tasks.Task) bool { return t.Status.Final() })
}

func (r *replica) answer(id, key, name string) {
	r.all.t.Helper()
	_, err := r.serve(tasks.MethodUpdate, tasks.UpdateParams{ID: id, InputResponses: map[string]json.RawMessage{
		key: json.RawMessage(`{"action":"accept","content":{"name":"` + name + `"}}`)}})
	must(r.all.t, err)
}

func (a *replicas) three() (x, y, z *replica) { return a.list[0], a.list[1], a.list[2] }

func everywhere(t *testing.T, all *replicas) {
	x, y, z := all.three()
	for range 20 {
		res, err := x.serve(mcp.MethodToolsCall, mcp.CallToolParams{Name: "once"})
		must(t, err)
		var task tasks.Task
		must(t, res.Decode(&task))
		for _, r := range []*replica{z, y, x} {
			if got := r.get(task.ID); got.Status != tasks.Working {
				t.Errorf("at %s: %+v", r.name, got)
			}
		}
	}
}

func cancelled(t *testing.T, all *replicas) {
	x, y, z := all.three()
	id := x.start("once")
	_, err := y.serve(tasks.MethodCancel, map[string]string{"taskId": id})
	must(t, err)
	select {
	case why := <-x.ended:
		if !strings.Contains(why, "cancelled") {
			t.Errorf("the tool was stopped because %s", why)
		}
	case <-time.After(hangGuard):
		t.Fatal("the tool goes on")
	}
	if got := z.get(id); got.Status != tasks.Cancelled {
		t.Errorf("after the cancellation: %+v", got)
	}
}

func answered(t *testing.T, all *replicas) {
	x, y, z := all.three()
	close(all.release)
	id := x.start("once", "k1", "k2")
	for _, r := range []*replica{y, z} {
		task := r.await(id, func(t *tasks.Task) bool { return t.Status == tasks.InputRequired })
		for key := range task.InputRequests {
			r.answer(id, key, "n"+key)
		}
	}
	if got := z.end(id); !strings.Contains(string(got.Result), "A heard nk1 nk2 from ada") {
		t.Errorf("at the end: %+v, %s", got, got.Result)
	}
}

func subscribed(t *testing.T, all *replicas) {
	x, y, z := all.three()
	id := x.start("once", "k")
	var streams []*stream
	for _, r := range all.list {
		streams = append(streams, r.listen(id))
	}
	x.await(id, func(t *tasks.Task) bool { return t.Status == tasks.InputRequired })
	y.answer(id, "k", "bob")
	z.await(id, func(t *tasks.Task) bool { return t.StatusMessage != "" })
	close(all.release)
	for i, s := range streams {
		for s.next(t); !s.last.Status.Final(); s.next(t) {
		}
		if s.last.Status != tasks.Completed || s.repeated != nil {
			t.Errorf("subscriber %d was told %+v at the end, and twice: %s", i, s.last, s.repeated)
		}
	}
}

// A stream is a subscription to a task.
type stream struct {
	c        chan tasks.Task
	last     tasks.Task
	repeated json.RawMessage
}

func (r *replica) listen(id string) *stream {
	t := r.all.t
	s := &stream{c: make(chan tasks.Task, 100)}
	params, err := mcp.Marshal(map[string]any{"notifications": map[string]any{tasks.Filter: []string{id}}})
	must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	t.Cleanup(func() { cancel(); wg.Wait() })
	acked := make(chan struct{})
	wg.Go(func() {
		_, _ = r.server.Serve(ctx, &mcp.Call{Method: mcp.MethodSubscriptionsListen, Params: params, Caller: caller(), OnNotification: func(n mcp.Notification) {
			var task tasks.Task
			switch {
			case n.Method == mcp.NotificationSubscriptionsAcknowledged:
				close(acked)
			case n.Method == tasks.Notification && mcp.Unmarshal(n.Params, &task) == nil:
				s.c <- task
			}
		}})
	})
	wait(t, acked)
	return s
}

func (s *stream) next(t *testing.T) {
	t.Helper()
	select {
	case task := <-s.c:
		before, err := mcp.Marshal(s.last)
		must(t, err)
		if now, err := mcp.Marshal(task); err == nil && string(now) == string(before) {
			s.repeated = now
		}
		s.last = task
	case <-time.After(hangGuard):
		t.Fatal("the subscriber is told nothing more")
	}
}

func failed(t *testing.T, all *replicas) {
	x, y, z := all.three()
	id := x.start("once")
	s := y.listen(id)
	x.die()
	for s.next(t); !s.last.Status.Final(); s.next(t) { // nobody asks for the state
	}
	if s.last.Status != tasks.Failed || !strings.Contains(s.last.StatusMessage, "the server stopped") {
		t.Errorf("the subscriber was told %+v", s.last)
	}
	close(all.release)
	if got := z.get(id); got.Status != tasks.Failed || got.Error == nil || fmt.Sprint(all.ran()) != "[A1]" {
		t.Errorf("%+v, run by %v", got, all.ran())
	}
}

func takenOver(t *testing.T, all *replicas) {
	x, y, z := all.three()
	id := x.start("again")
	x.die()
	all.awaitRuns(2)
	close(all.release)
	got := y.end(id)
	if runs := fmt.Sprint(all.ran()); runs != "[A1 B1]" && runs != "[A1 C1]" {
		t.Errorf("run by %s", runs)
	}
	if got.Status != tasks.Completed || !strings.Contains(string(got.Result), "from ada") || strings.Contains(string(got.Result), "A heard") {
		t.Errorf("at the end: %+v, %s", got, got.Result)
	}
	if again := z.get(id); string(again.Result) != string(got.Result) {
		t.Errorf("at another replica: %s, want %s", again.Result, got.Result)
	}
}

func (a *replicas) awaitRuns(n int) {
	a.t.Helper()
	for began := time.Now(); len(a.ran()) < n; time.Sleep(5 * time.Millisecond) {
		if time.Since(began) > hangGuard {
			a.t.Fatalf("it was run by %v only", a.ran())
		}
	}
}

func askedBefore(t *testing.T, all *replicas) {
	x, y, z := all.three()
	close(all.release)
	id := x.start("again", "k1", "k2")
	y.await(id, func(t *tasks.Task) bool { return t.InputRequests["k1"].Method != "" })
	y.answer(id, "k1", "bob")
	y.await(id, func(t *tasks.Task) bool { return t.InputRequests["k2"].Method != "" })
	x.die()
	y.answer(id, "k2", "eve") // perhaps while nobody runs the task
	if got := z.end(id); !strings.Contains(string(got.Result), "heard bob eve from ada") || fmt.Sprint(all.ran()) == "[A1]" {
		t.Errorf("at the end: %+v, %s, run by %v", got, got.Result, all.ran())
	}
}

func left(t *testing.T, all *replicas) {
	x, y, _ := all.three()
	again, once := x.start("again"), x.start("once")
	must(t, x.server.Close())
	if got := y.get(once); got.Status != tasks.Failed {
		t.Errorf("a task that must not be repeated: %+v", got)
	}
	all.awaitRuns(2)
	close(all.release)
	if got := y.end(again); got.Status != tasks.Completed || strings.Contains(string(got.Result), "A heard") {
		t.Errorf("at the end: %+v, %s", got, got.Result)
	}
}
