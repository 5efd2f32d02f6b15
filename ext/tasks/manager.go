package tasks

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

// Options configures a Manager; nil means the defaults.
type Options struct {
	// Store keeps the tasks; nil means a [Memory] store.
	Store Store
	// TTL is how long a task and its result are kept after its creation. 0
	// means one hour. A running task fails when it has passed.
	TTL time.Duration
	// PollInterval is suggested to clients. 0 means one second.
	PollInterval time.Duration
	// MaxTasks is the maximum number of tasks of one principal, finished ones
	// that have not expired included. 0 means 1000. All callers that are not
	// authenticated together count as one principal.
	MaxTasks int
	// MaxResult is the maximum size of a result or an error in bytes; a task
	// with a larger one fails. 0 means 4 MiB.
	MaxResult int
	// Lease is how long it takes at most until a task whose process has died has
	// failed or is taken over, see [Manager.Tool]: the process renews its lease
	// six times as often. The clock of the store counts. 0 means 15 seconds. The
	// Managers that share a store need the same Lease. A store that can tell
	// whether a process exists may notice its end sooner. A Manager that could
	// not reach the store waits for one more Lease, so that live processes can
	// renew theirs first. A process that lives and could not reach the store for
	// half of its Lease, while others could, may count as dead.
	Lease time.Duration
	// Log receives errors of the store. Nil means slog.Default().
	Log *slog.Logger
}

// A Mode says which calls of a tool become tasks.
type Mode string

// The modes.
const (
	// Optional calls become tasks if the client supports them; for other
	// clients the tool runs while they wait.
	Optional Mode = "optional"
	// Required calls become tasks; clients that do not support them get an
	// error. Clients of revisions that have no tasks at all wait.
	Required Mode = "required"
)

const (
	// storeTimeout bounds an operation of the store that no caller waits for,
	// and callTimeout a call of a client.
	storeTimeout = 5 * time.Second
	callTimeout  = 15 * time.Second
	// grace is how long a tool may take to return after its context has ended.
	grace = 5 * time.Second
)

// A Manager runs the tasks of a server.
type Manager struct {
	opts   Options
	server mcp.Handler
	store  Store
	shared bool   // other processes may use the store, now or later
	runner string // identifies this Manager in records and to the store

	ctx  context.Context // ends when the server is closed
	stop context.CancelCauseFunc

	running sync.Map      // the runs of this Manager, by the ids of their tasks
	kick    chan struct{} // has a token when interrupted tasks wait in suspects

	mu       sync.Mutex
	suspects map[string]suspect // tasks that may be interrupted, by id
	closed   bool
	renewed  time.Time // when the lease was last renewed, by the wall clock
	doubted  time.Time // until when the leases of others may have ended without reason
	beating  bool      // a goroutine renews the lease
	wg       sync.WaitGroup
}

var errClosing = errors.New("the server was stopped")

// NewManager adds the extension to a server and returns the Manager that runs
// its tasks. Closing the server stops running tasks, which fail; it does not
// close the store.
//
// A tool whose context has ended has five seconds to return. After that its
// task ends without it, and what the tool returns later is dropped.
func NewManager(s *server.Server, o *Options) (*Manager, error) {
	m := &Manager{server: s, runner: rand.Text(), kick: make(chan struct{}, 1), suspects: map[string]suspect{}}
	if o != nil {
		m.opts = *o
	}
	m.shared = m.opts.Store != nil
	m.opts.setDefaults()
	m.store = m.opts.Store
	m.ctx, m.stop = context.WithCancelCause(context.Background())
	err := s.AddExtension(server.Extension{
		ID: ExtensionID,
		Methods: map[string]mcp.HandlerFunc{
			MethodGet: bounded(m.get), MethodUpdate: bounded(m.update), MethodCancel: bounded(m.cancel), methodList: bounded(m.list),
			methodKeep: m.forSessions(m.keep), methodAsk: m.forSessions(m.ask),
		},
		Subscriptions: map[string]server.SubscribeFunc{Filter: m.subscribe},
	})
	if err != nil {
		return nil, err
	}
	s.OnClose(m.close)
	if m.shared {
		m.spawn(m.recoverAll)
	}
	return m, nil
}

// bounded returns f with a limit on how long it waits for the store.
func bounded(f mcp.HandlerFunc) mcp.HandlerFunc {
	return func(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
		ctx, cancel := context.WithTimeout(ctx, callTimeout)
		defer cancel()
		return f(ctx, c)
	}
}

// close ends all tasks, which takes a bounded time whatever tools and the store
// do.
func (m *Manager) close() error {
	m.mu.Lock()
	m.closed = true
	joined := !m.renewed.IsZero()
	m.mu.Unlock()
	m.stop(errClosing)
	m.wg.Wait()
	if !joined {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), storeTimeout)
	defer cancel()
	if err := m.store.Renew(ctx, m.runner, 0); err != nil {
		m.opts.Log.Warn("tasks: end the lease of this process", "error", err)
	}
	return nil
}

// spawn runs f in a goroutine that close waits for. After close it does
// nothing and reports false.
func (m *Manager) spawn(f func()) bool {
	if !m.enter() {
		return false
	}
	go func() {
		defer m.wg.Done()
		f()
	}()
	return true
}

// enter makes close wait for m.wg.Done. It reports false after close.
func (m *Manager) enter() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.closed {
		m.wg.Add(1)
	}
	return !m.closed
}

// join makes sure that the store knows that this Manager is alive.
func (m *Manager) join(ctx context.Context) error {
	m.mu.Lock()
	// A machine that was suspended has no monotonic time for it.
	fresh := time.Now().Round(0).Sub(m.renewed) < m.leaseTime()/2
	m.mu.Unlock()
	if fresh {
		return nil
	}
	if err := m.renew(ctx); err != nil {
		return err
	}
	m.mu.Lock()
	first := !m.beating
	m.beating = true
	m.mu.Unlock()
	if first {
		m.spawn(m.beat)
	}
	return nil
}

// leaseTime is how long this Manager counts as alive after it has last said so.
// The rest of [Options].Lease is for others to notice that it does not.
func (m *Manager) leaseTime() time.Duration { return m.opts.Lease * 2 / 3 }

// beatTime is how often the lease is renewed, and how often interrupted tasks
// are looked for.
func (m *Manager) beatTime() time.Duration { return m.opts.Lease / 6 }

// retryTime is how soon a renewal that failed is tried again. A store that is back
// for longer than that renews the leases of all live processes, however often it
// goes away: see internal/model/lease_test.go.
func (m *Manager) retryTime() time.Duration { return m.beatTime() / 3 }

// renew renews the lease. If it had ended, runs look whether they still own
// their tasks.
func (m *Manager) renew(ctx context.Context) error {
	now := time.Now().Round(0)
	if err := m.store.Renew(ctx, m.runner, m.leaseTime()); err != nil {
		return err
	}
	m.mu.Lock()
	late, first := now.Sub(m.renewed) >= m.leaseTime(), m.renewed.IsZero()
	m.renewed = now
	m.mu.Unlock()
	if late && !first {
		m.doubt()
	}
	if late {
		m.eachRun((*run).wake)
	}
	return nil
}

// beat renews the lease until the server is closed.
func (m *Manager) beat() {
	failing := false
	for {
		wait := m.beatTime()
		if failing {
			wait = m.retryTime()
		}
		select {
		case <-m.ctx.Done():
			return
		case <-time.After(wait):
		}
		ctx, cancel := context.WithTimeout(m.ctx, min(storeTimeout, m.beatTime()))
		err := m.renew(ctx)
		cancel()
		if m.ctx.Err() != nil {
			return
		}
		if err != nil {
			m.doubt()
			m.leaseFailed(err, !failing)
		}
		failing = err != nil
	}
}

// doubt makes this Manager wait for a full lease before it takes over or fails the
// tasks of others. It could not reach the store, or was paused: others may have
// been too, and need time to renew their leases.
func (m *Manager) doubt() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.doubted = time.Now().Add(m.opts.Lease)
}

// doubts reports whether a live Manager may be without a lease.
func (m *Manager) doubts() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return time.Now().Before(m.doubted)
}

// leaseFailed stops the runs that another Manager takes over, a moment before the
// lease ends: two shall not run a task at the same time.
func (m *Manager) leaseFailed(err error, first bool) {
	if first {
		m.opts.Log.Warn("tasks: renew the lease of this process", "error", err)
	}
	m.mu.Lock()
	ends := time.Now().Round(0).Sub(m.renewed) >= m.leaseTime()-m.beatTime()
	m.mu.Unlock()
	if ends {
		m.eachRun((*run).lose)
	}
}

// eachRun calls f with the runs of this Manager.
func (m *Manager) eachRun(f func(*run)) {
	m.running.Range(func(_, r any) bool {
		f(r.(*run))
		return true
	})
}

func (o *Options) setDefaults() {
	if o.Store == nil {
		o.Store = &Memory{}
	}
	if o.TTL <= 0 {
		o.TTL = time.Hour
	}
	if o.PollInterval <= 0 {
		o.PollInterval = time.Second
	}
	if o.MaxTasks <= 0 {
		o.MaxTasks = 1000
	}
	if o.MaxResult <= 0 {
		o.MaxResult = 4 << 20
	}
	if o.Lease <= 0 {
		o.Lease = 15 * time.Second
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
}

// Tool returns the options of a tool whose calls become tasks, as a copy of o.
//
// If the annotations in o say that the tool is read-only or idempotent, and
// [Options].Store is set, its tasks survive their process: another Manager with
// the same store, which may be that of the next process, takes over each task
// and calls the tool again with the same arguments and the responses to its
// input requests so far. The store keeps the arguments and the identity of the
// caller for that. A task whose process dies the third time fails. The tasks of
// all other tools fail when their process ends, because nobody knows what the
// tool has done already.
func (m *Manager) Tool(mode Mode, o *server.ToolOptions) *server.ToolOptions {
	return m.toolOptions(&taskTool{m: m, mode: mode}, o)
}

// DeferredTool is [Manager.Tool] for a tool that decides itself when its call
// becomes a task: it runs while the client waits until it calls [Begin].
func (m *Manager) DeferredTool(mode Mode, o *server.ToolOptions) *server.ToolOptions {
	return m.toolOptions(&taskTool{m: m, mode: mode, deferred: true}, o)
}

func (m *Manager) toolOptions(t *taskTool, o *server.ToolOptions) *server.ToolOptions {
	var out server.ToolOptions
	if o != nil {
		out = *o
	}
	t.repeatable = m.shared && out.Annotations.Idempotent()
	out.Execution = &mcp.ToolExecution{TaskSupport: string(t.mode)}
	out.Middleware = append([]mcp.Middleware{t.wrap}, out.Middleware...)
	return &out
}

// A taskTool is a tool whose calls become tasks.
type taskTool struct {
	m          *Manager
	mode       Mode
	deferred   bool // until the tool calls Begin
	repeatable bool // another Manager may run its tasks again
}

// Begin makes the call of a [Manager.DeferredTool] a task. If it is none yet,
// Begin returns an error, which the tool returns; the tool is then called again
// from the top, as a task, with the responses to its input requests so far. In
// a task, and for a client that does not support tasks, Begin returns nil.
//
// A tool calls it after the input requests that must be answered before the
// work begins.
func Begin(ctx context.Context) error {
	if ctx.Value(waiting{}) == nil {
		return nil
	}
	return &beginError{mcp.Errorf(mcp.CodeInternal, "the call was to become a task")}
}

// waiting is the key of a context in which Begin makes the call a task.
type waiting struct{}

// A beginError wraps a protocol error, so that package server returns it as it
// is.
type beginError struct{ err *mcp.Error }

func (e *beginError) Error() string { return e.err.Error() }
func (e *beginError) Unwrap() error { return e.err }

// wrap turns the calls of the tool into tasks.
func (t *taskTool) wrap(next mcp.Handler) mcp.Handler {
	return mcp.HandlerFunc(func(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
		if prepared, ok := ctx.Value(preparing{}).(*preparedCall); ok {
			return prepared.reached(c, next)
		}
		switch err := supported(&c.Caller); {
		case err == nil && t.deferred:
			return t.startLater(ctx, c, next)
		case err == nil:
			return t.start(ctx, c, next)
		case t.mode == Required:
			return mcp.Result{}, err
		}
		return next.Serve(ctx, c)
	})
}

// startLater serves a call until the tool calls Begin.
func (t *taskTool) startLater(ctx context.Context, c *mcp.Call, next mcp.Handler) (mcp.Result, error) {
	res, err := next.Serve(context.WithValue(ctx, waiting{}, true), c)
	if _, ok := errors.AsType[*beginError](err); ok {
		return t.start(ctx, c, next)
	}
	return res, err
}

// supported returns an error unless the client declared the extension.
func supported(c *mcp.Caller) error {
	if declares(c) {
		return nil
	}
	need := &mcp.ClientCapabilities{Extensions: map[string]json.RawMessage{ExtensionID: json.RawMessage("{}")}}
	return mcp.MissingCapability(need, "this needs a client that supports the extension %s", ExtensionID)
}

func declares(c *mcp.Caller) bool {
	return c.Capabilities != nil && c.Capabilities.Extensions[ExtensionID] != nil
}

// ownerOf returns the owner of the tasks that a caller creates.
func ownerOf(c *mcp.Caller) string { return c.Principal.Key() }

// start creates a task for a call and runs it. It returns when the store has
// the task.
func (t *taskTool) start(ctx context.Context, c *mcp.Call, next mcp.Handler) (mcp.Result, error) {
	m := t.m
	name, _, err := mcp.DecodeCallToolParams(c.Params)
	if err != nil {
		return mcp.Result{}, err
	}
	now := time.Now().Truncate(time.Millisecond)
	r := &Record{
		Task: Task{
			ID: rand.Text(), Status: Working,
			CreatedAt: now, LastUpdatedAt: now, TTL: m.opts.TTL, PollInterval: m.opts.PollInterval,
		},
		Owner: ownerOf(&c.Caller), Tool: name, Expires: now.Add(m.opts.TTL), Runner: m.runner, Attempts: 1,
	}
	var saved *savedCall
	if t.repeatable {
		saved, r.Call = saveCall(c)
	}
	body, err := mcp.Marshal(r.Task.handle())
	if err != nil {
		return mcp.Result{}, err
	}
	if !m.enter() {
		return mcp.Result{}, mcp.Errorf(mcp.CodeInternal, "the server is stopping")
	}
	work := m.newRun(r, saved)
	if err := m.create(ctx, r, work); err != nil {
		m.wg.Done()
		return mcp.Result{}, err
	}
	go func() {
		defer m.wg.Done()
		work.run(c, next)
	}()
	return mcp.Result{Type: ResultType, Body: body}, nil
}

// create stores the record of a new task of this Manager.
func (m *Manager) create(ctx context.Context, r *Record, work *run) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	defer context.AfterFunc(m.ctx, cancel)() // close does not wait for a slow store
	if err := m.join(ctx); err != nil {
		return m.failed("create a task", err)
	}
	m.running.Store(r.Task.ID, work)
	err := m.store.Create(ctx, r, m.opts.MaxTasks)
	if err == nil {
		return nil
	}
	m.running.Delete(r.Task.ID)
	if !errors.Is(err, ErrTooMany) && !errors.Is(err, ErrFull) {
		// The store may have it all the same.
		m.suspect(r.Task.ID, suspect{notStarted: true})
		m.spawn(func() { m.recover(r.Task.ID) })
	}
	return m.refused(err)
}

// refused returns the error for the client of a task that could not be created.
func (m *Manager) refused(err error) error {
	switch {
	case errors.Is(err, ErrTooMany):
		return mcp.Errorf(mcp.CodeInternal, "too many tasks: %d exist, the limit; wait until some have expired", m.opts.MaxTasks)
	case errors.Is(err, ErrFull):
		m.opts.Log.Error("tasks: create a task", "error", err)
		return mcp.Errorf(mcp.CodeInternal, "the task store is full; try again later")
	}
	return m.failed("create a task", err)
}

// tooLarge returns the error of a task whose result or error is too large.
func (m *Manager) tooLarge(what string, n int) *mcp.Error {
	return mcp.Errorf(mcp.CodeInternal, "the %s has %d bytes; at most %d are kept", what, n, m.opts.MaxResult)
}

// failed logs an error of the store and returns the one for the client.
func (m *Manager) failed(what string, err error) error {
	if !errors.Is(err, context.Canceled) {
		m.opts.Log.Error("tasks: "+what, "error", err)
	}
	return mcp.Errorf(mcp.CodeInternal, "%s: the task store failed; try again later", what)
}
