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
	// that have not expired included. 0 means 100. All callers that are not
	// authenticated together count as one principal.
	MaxTasks int
	// MaxResult is the maximum size of a result in bytes; a task with a larger
	// one fails. 0 means 4 MiB.
	MaxResult int
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
	// error.
	Required Mode = "required"
)

// lease is how long a task is taken to be running after its process has last
// said so.
const lease = 15 * time.Second

// A Manager runs the tasks of a server.
type Manager struct {
	opts  Options
	store Store

	ctx  context.Context // ends when the server is closed
	stop context.CancelCauseFunc
	wg   sync.WaitGroup
}

var errClosing = errors.New("the server was stopped")

// NewManager adds the extension to a server and returns the Manager that runs
// its tasks. Closing the server stops running tasks, which fail.
func NewManager(s *server.Server, o *Options) (*Manager, error) {
	m := &Manager{}
	if o != nil {
		m.opts = *o
	}
	m.opts.setDefaults()
	m.store = m.opts.Store
	m.ctx, m.stop = context.WithCancelCause(context.Background())
	err := s.AddExtension(server.Extension{
		ID: ExtensionID,
		Methods: map[string]mcp.HandlerFunc{
			MethodGet: m.get, MethodUpdate: m.update, MethodCancel: m.cancel, methodList: m.list,
		},
		Subscriptions: map[string]server.SubscribeFunc{Filter: m.subscribe},
	})
	if err != nil {
		return nil, err
	}
	s.OnClose(func() error {
		m.stop(errClosing)
		m.wg.Wait()
		return nil
	})
	return m, nil
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
		o.MaxTasks = 100
	}
	if o.MaxResult <= 0 {
		o.MaxResult = 4 << 20
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
}

// Tool returns the options of a tool whose calls become tasks, as a copy of o.
func (m *Manager) Tool(mode Mode, o *server.ToolOptions) *server.ToolOptions {
	var out server.ToolOptions
	if o != nil {
		out = *o
	}
	out.Execution = &mcp.ToolExecution{TaskSupport: string(mode)}
	out.Middleware = append([]mcp.Middleware{m.middleware(mode, m.start)}, out.Middleware...)
	return &out
}

// DeferredTool is [Manager.Tool] for a tool that decides itself when its call
// becomes a task: it runs while the client waits until it calls [Begin].
func (m *Manager) DeferredTool(mode Mode, o *server.ToolOptions) *server.ToolOptions {
	out := m.Tool(mode, o)
	out.Middleware[0] = m.middleware(mode, m.startLater)
	return out
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

// startLater serves a call until the tool calls Begin.
func (m *Manager) startLater(ctx context.Context, c *mcp.Call, next mcp.Handler) (mcp.Result, error) {
	res, err := next.Serve(context.WithValue(ctx, waiting{}, true), c)
	if _, ok := errors.AsType[*beginError](err); ok {
		return m.start(ctx, c, next)
	}
	return res, err
}

// middleware turns calls of a tool into tasks.
func (m *Manager) middleware(mode Mode, start func(context.Context, *mcp.Call, mcp.Handler) (mcp.Result, error)) mcp.Middleware {
	return func(next mcp.Handler) mcp.Handler {
		return mcp.HandlerFunc(func(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
			switch err := supported(&c.Caller); {
			case err == nil:
				return start(ctx, c, next)
			case mode == Required:
				return mcp.Result{}, err
			}
			return next.Serve(ctx, c)
		})
	}
}

// supported returns an error unless the client declared the extension.
func supported(c *mcp.Caller) error {
	if c.Capabilities != nil && c.Capabilities.Extensions[ExtensionID] != nil {
		return nil
	}
	need := &mcp.ClientCapabilities{Extensions: map[string]json.RawMessage{ExtensionID: json.RawMessage("{}")}}
	return mcp.MissingCapability(need, "this needs a client that supports the extension %s", ExtensionID)
}

// ownerOf returns the owner of the tasks that a caller creates.
func ownerOf(c *mcp.Caller) string { return c.Principal.Key() }

// start creates a task for a call and runs it. It returns when the store has
// the task.
func (m *Manager) start(ctx context.Context, c *mcp.Call, next mcp.Handler) (mcp.Result, error) {
	name, _, err := mcp.DecodeCallToolParams(c.Params)
	if err != nil {
		return mcp.Result{}, err
	}
	if m.ctx.Err() != nil {
		return mcp.Result{}, mcp.Errorf(mcp.CodeInternal, "the server is stopping")
	}
	now := time.Now()
	r := &Record{
		Task: Task{
			ID: rand.Text(), Status: Working,
			CreatedAt: now, LastUpdatedAt: now, TTL: m.opts.TTL, PollInterval: m.opts.PollInterval,
		},
		Owner: ownerOf(&c.Caller), Tool: name, Expires: now.Add(m.opts.TTL), Lease: now.Add(lease),
	}
	switch err := m.store.Create(ctx, r, m.opts.MaxTasks); {
	case errors.Is(err, ErrTooMany):
		return mcp.Result{}, mcp.Errorf(mcp.CodeInternal, "too many tasks: %d exist, the limit; wait until some have expired, or cancel some", m.opts.MaxTasks)
	case err != nil:
		return mcp.Result{}, m.failed("create a task", err)
	}
	m.wg.Go(func() { m.run(r.Task.ID, r.Expires, c, next) })
	body, err := mcp.Marshal(r.Task.handle())
	return mcp.Result{Type: ResultType, Body: body}, err
}

// failed logs an error of the store and returns the one for the client.
func (m *Manager) failed(what string, err error) error {
	m.opts.Log.Error("tasks: "+what, "error", err)
	return mcp.Errorf(mcp.CodeInternal, "%s: the task store failed; try again later", what)
}
