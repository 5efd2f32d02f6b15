// Package web is the user interface in a browser on this machine: the host, its
// clients, its servers and every message between them.
//
// The page is plain files in the folder page, embedded; it uses the API under
// /api/v1, described in docs/api.md.
//
// The flow of a request is:
//
//	guard     Host, Origin, method, login           guard.go
//	route     one table                             web.go
//	response  from the workspace                    servers.go, drive.go, chat.go, wire.go, learn.go
//	views     of tools, in a sandbox                views.go, sandbox.go
//	events    one stream for each page              feed.go, stream.go, turns.go
package web

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/app/connect"
	"github.com/tenon-mcp/tenon/app/host"
	"github.com/tenon-mcp/tenon/app/llm"
	"github.com/tenon-mcp/tenon/app/wirelog"
	"github.com/tenon-mcp/tenon/app/workspace"
	"github.com/tenon-mcp/tenon/mcp"
)

// Options configure a [Server]; nil means the defaults: a page that only shows.
type Options struct {
	// Models lists the models to choose from; nil disables the choice.
	Models func(ctx context.Context) []string
	// Choose returns the model with a name. It is called only if Models is set.
	Choose func(ctx context.Context, name string) (llm.Model, error)

	// Providers lists the providers of models; Connect connects a model with a key
	// that the user entered, stores the key, and says where. They may be nil.
	Providers func(ctx context.Context) []Provider
	Connect   func(ctx context.Context, c Connection) (m llm.Model, note string, err error)

	// Propose returns what a text of the user would add to the configuration; Add
	// adds and starts one that has the pin. They may be nil.
	Propose func(ctx context.Context, a Addition) ([]Proposal, error)
	Add     func(ctx context.Context, a Addition, pin string) (name string, err error)

	// Pending lists servers of a project that the user has not approved; Approve
	// starts one after the user has seen it. They may be nil.
	Pending func() []Pending
	Approve func(ctx context.Context, name, pin string) error

	// Eras opens a second connection to a server in a given revision, to show
	// the same call in two eras. Nil: not possible.
	Eras func(ctx context.Context, server string, r mcp.Revision, see func(sent bool, frame []byte)) (mcp.Handler, func() error, error)

	// Hosts are further host names that the page may be reached under.
	Hosts []string

	// Only names the one server that the page was opened for. Empty: all.
	Only string
}

// A Pending is a server of a project that is not approved.
type Pending struct {
	Name     string          `json:"name"`
	File     string          `json:"file"`
	Command  string          `json:"command"` // the whole command line or address
	Pin      string          `json:"pin"`     // a digest of what would be approved
	Changed  []config.Change `json:"changed,omitzero"`
	Warnings []string        `json:"warnings,omitzero"`
	Refused  string          `json:"refused,omitzero"` // why it cannot be approved
}

// A Server serves the page of one workspace.
type Server struct {
	work  *workspace.Workspace
	opts  Options
	feed  *feed
	mux   *http.ServeMux
	guard *guard

	mu      sync.Mutex
	calls   map[string]context.CancelFunc // calls and subscriptions that the page started
	next    int
	chats   map[string]chan struct{} // sessions that are claimed, until the channel is closed; see claim
	ended   int                      // how many claims have ended
	turns   turns
	kept    runList // of calls that the page started
	log     atomic.Pointer[wirelog.Log]
	spans   spans
	notices notices
	noticed lastNotices

	sandbox sandbox
	listed  listed

	running sync.WaitGroup
	ctx     context.Context
	stop    context.CancelFunc
}

// New returns a Server. Pass its Event and State methods to the workspace before
// opening it, then pass the workspace to Show.
func New(o *Options) *Server {
	s := &Server{feed: newFeed(), calls: map[string]context.CancelFunc{}, chats: map[string]chan struct{}{}, turns: turns{all: map[string]*turn{}}, sandbox: sandbox{views: map[string]*shownView{}}}
	if o != nil {
		s.opts = *o
	}
	ctx, stop := context.WithCancelCause(context.Background())
	s.ctx, s.stop = ctx, func() { stop(host.ErrLeaving) }
	doc := hostDocument
	if s.opts.Only != "" {
		doc = serverDocument
	}
	s.guard = newGuard(s.opts.Hosts, doc)
	s.mux = s.routes(doc)
	return s
}

// Show sets the workspace to show.
func (s *Server) Show(w *workspace.Workspace) {
	s.work = w
	s.log.Store(w.Log)
}

// Event and State pass events of the workspace to the pages.
func (s *Server) Event(e host.Event) {
	s.turns.add(e) // first: at the event of its end, a turn must be gone
	s.notices.add(e)
	s.noticed.add(e)
	if log := s.log.Load(); log != nil {
		s.spans.add(e, log.Last())
	}
	if e.Kind == host.EventChanged {
		s.listed.forget(e.Server)
	}
	s.feed.put("host", e)
}
func (s *Server) State(e connect.State) { s.feed.put("server", summaryOf(e)) }

// Token returns the token that opens the page once.
func (s *Server) Token() string { return s.guard.token }

// NewToken returns a new token, which replaces one that was used.
func (s *Server) NewToken() string { return s.guard.renew() }

// ServeHTTP serves the page and its API.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.guard.refuses(w, r) {
		return
	}
	s.mux.ServeHTTP(w, r)
}

// Serve serves on a listener until ctx ends.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	stop := s.sandbox.serve()
	defer stop()
	s.guard.frames = s.sandbox.origin()
	return serveUntil(ctx, l, s, s.stop, s.Close)
}

// serveUntil serves on a listener until ctx ends. It calls stop, which ends
// streams, when the server begins to shut down, and closing at the end.
func serveUntil(ctx context.Context, l net.Listener, h http.Handler, stop, closing func()) error {
	web := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10}
	web.RegisterOnShutdown(stop)
	done := make(chan error, 1)
	go func() { done <- web.Serve(l) }()
	select {
	case err := <-done:
		closing()
		return err
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 3*time.Second)
	defer cancel()
	err := web.Shutdown(grace)
	<-done
	closing()
	if errors.Is(err, context.DeadlineExceeded) {
		return web.Close()
	}
	return err
}

// Close cancels the calls that pages have started and waits for them.
func (s *Server) Close() {
	s.stop()
	s.running.Wait()
}

// routes returns the API. Everything that changes something is a POST.
func (s *Server) routes(doc func() *document) *http.ServeMux {
	m := http.NewServeMux()
	for pattern, h := range map[string]func(*http.Request) (any, error){
		"GET /api/v1/state":                    s.state,
		"GET /api/v1/events/{seq}":             s.event,
		"GET /api/v1/servers/{name}":           s.server,
		"GET /api/v1/servers/{name}/process":   s.process,
		"GET /api/v1/servers/{name}/logs":      s.logs,
		"GET /api/v1/servers/{name}/runs":      s.toolRuns,
		"GET /api/v1/servers/{name}/stats":     s.stats,
		"GET /api/v1/servers/{name}/problems":  s.broken,
		"GET /api/v1/runs/{id}":                s.oneRun,
		"GET /api/v1/runs/{id}/messages":       s.runMessages,
		"POST /api/v1/wire/find":               s.findCall,
		"POST /api/v1/notices/clear":           s.clearNotices,
		"POST /api/v1/servers/{name}/client":   s.setClient,
		"POST /api/v1/servers/{name}/restart":  s.restart,
		"POST /api/v1/servers/{name}/disable":  s.disable,
		"POST /api/v1/servers/{name}/unmute":   s.unmute,
		"POST /api/v1/servers/{name}/call":     s.call,
		"POST /api/v1/servers/{name}/read":     s.read,
		"POST /api/v1/servers/{name}/prompt":   s.prompt,
		"POST /api/v1/servers/{name}/complete": s.complete,
		"POST /api/v1/servers/{name}/watch":    s.watch,
		"POST /api/v1/servers/{name}/raw":      s.raw,
		"POST /api/v1/servers/{name}/eras":     s.eras,
		"POST /api/v1/cancel/{id}":             s.cancel,
		"POST /api/v1/learn/run":               s.learnRun,
		"POST /api/v1/learn/transports":        s.learnTransports,
		"GET /api/v1/hosts":                    s.hosts,
		"GET /api/v1/wire":                     s.wire,
		"GET /api/v1/wire/{seq}":               s.message,
		"POST /api/v1/wire/compare":            s.compare,
		"POST /api/v1/wire/clear":              s.clear,
		"POST /api/v1/wire/load":               s.load,
		"GET /api/v1/sessions":                 s.sessions,
		"POST /api/v1/sessions":                s.newSession,
		"GET /api/v1/sessions/{id}":            s.session,
		"GET /api/v1/sessions/{id}/request":    s.lastRequest,
		"POST /api/v1/sessions/{id}/send":      s.send,
		"POST /api/v1/sessions/{id}/queue":     s.queue,
		"POST /api/v1/sessions/{id}/unqueue":   s.unqueue,
		"POST /api/v1/sessions/{id}/stop":      s.stopTurn,
		"POST /api/v1/sessions/{id}/take-over": s.takeOver,
		"POST /api/v1/sessions/{id}/copy":      s.copySession,
		"POST /api/v1/sessions/{id}/undo":      s.undo,
		"POST /api/v1/sessions/{id}/redo":      s.redo,
		"POST /api/v1/sessions/{id}/delete":    s.deleteSession,
		"POST /api/v1/views":                   s.openView,
		"POST /api/v1/views/{id}/request":      s.viewRequest,
		"POST /api/v1/views/{id}/close":        s.closeView,
		"GET /api/v1/tasks":                    s.tasks,
		"POST /api/v1/tasks/background":        s.backgroundTask,
		"POST /api/v1/tasks/cancel":            s.cancelTask,
		"POST /api/v1/asks/{id}":               s.answer,
		"GET /api/v1/tools":                    s.tools,
		"POST /api/v1/tools/approve":           s.approveTool,
		"POST /api/v1/tools/forget":            s.forget,
		"GET /api/v1/permissions":              s.permissions,
		"POST /api/v1/permissions/remove":      s.removePermission,
		"GET /api/v1/models":                   s.models,
		"POST /api/v1/model":                   s.chooseModel,
		"GET /api/v1/models/providers":         s.providers,
		"POST /api/v1/models/connect":          s.connectModel,
		"POST /api/v1/add/preview":             s.preview,
		"POST /api/v1/add":                     s.add,
		"GET /api/v1/pending":                  s.pending,
		"POST /api/v1/pending/{name}":          s.approve,
	} {
		m.Handle(pattern, jsonHandler(h))
	}
	m.HandleFunc("POST /api/v1/login", s.guard.login)
	m.HandleFunc("GET /api/v1/events", s.stream)
	m.HandleFunc("GET /api/v1/wire/save", s.save)
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
		m.HandleFunc(method+" /api/", s.notFound)
	}
	m.Handle("GET /", static(doc))
	return m
}

// notFound answers a request for an unknown path of the API, or with a method that
// the path does not have.
func (s *Server) notFound(w http.ResponseWriter, r *http.Request) {
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		other := r.Clone(r.Context())
		other.Method = method
		if _, pattern := s.mux.Handler(other); pattern != "" && pattern != method+" /api/" {
			w.Header().Set("Allow", method)
			refuse(w, http.StatusMethodNotAllowed, errors.New("use "+method))
			return
		}
	}
	refuse(w, http.StatusNotFound, errors.New("unknown API path: see docs/api.md"))
}

// A fault is an error with its HTTP status.
type fault struct {
	status int
	error
}

func (f fault) Unwrap() error { return f.error }

func bad(text string) error     { return fault{http.StatusBadRequest, errors.New(text)} }
func missing(text string) error { return fault{http.StatusNotFound, errors.New(text)} }

// jsonHandler returns a handler that writes the result of a function as JSON.
func jsonHandler(h func(*http.Request) (any, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		v, err := h(r)
		if err != nil {
			refuse(w, statusOf(err), err)
			return
		}
		raw, err := mcp.Marshal(v)
		if err != nil {
			refuse(w, http.StatusInternalServerError, err)
			return
		}
		head(w, "application/json")
		w.Write(raw)
	})
}

const maxBody = 16 << 20

func statusOf(err error) int {
	var f fault
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &f):
		return f.status
	case errors.As(err, &large):
		return http.StatusRequestEntityTooLarge
	}
	return http.StatusBadGateway // the MCP server failed
}

func refuse(w http.ResponseWriter, status int, err error) {
	head(w, "application/json")
	w.WriteHeader(status)
	body := map[string]any{"error": err.Error()}
	if e, ok := errors.AsType[*mcp.Error](err); ok {
		body["code"], body["data"] = e.Code, e.Data
	}
	if e, ok := errors.AsType[*host.OpenElsewhereError](err); ok {
		body["openIn"] = e.Owner.String()
	}
	raw, err := mcp.Marshal(body)
	if err != nil {
		raw = []byte(`{"error":"cannot encode the error"}`)
	}
	w.Write(raw)
}

func head(w http.ResponseWriter, kind string) {
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Cache-Control", "no-store")
}

// body reads a JSON body; an empty one is an empty object.
func body(r *http.Request, v any) error {
	data, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	if len(data) == 0 {
		return nil
	}
	if err := mcp.Unmarshal(data, v); err != nil {
		return bad("read the body: " + err.Error())
	}
	return nil
}
