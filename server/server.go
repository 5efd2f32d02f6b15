package server

import (
	"context"
	"errors"
	"log/slog"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/mcp"
)

// Options configures a Server; nil means the defaults.
type Options struct {
	// Instructions is advice for a model on how to use the server.
	Instructions string

	// Middleware wraps everything that the server serves. The first one sees a
	// call first. A panic in a feature is an error to it.
	Middleware []mcp.Middleware

	// Allow reports whether a caller may see and use a feature; other features
	// do not exist for that caller. To read a resource through a template, or
	// to subscribe to it, a caller needs both the template and KindResource
	// with the URI. Allow is called often and concurrently. Nil allows
	// everything.
	Allow func(c *mcp.Caller, f Feature) bool

	// ListCache says for how long clients may cache lists and the discovery.
	// The default is not at all, because a client that does not subscribe would
	// miss changes. With Allow, the scope is always private, here and for
	// resources.
	ListCache mcp.Cache

	// PageSize is the maximum number of items on one page of a list. 0 means
	// 1000.
	PageSize int

	// Capabilities are declared in addition to those of the added features:
	// extensions, experimental ones, or a kind of feature that is added later.
	Capabilities mcp.ServerCapabilities

	// NoLogging omits the logging capability.
	NoLogging bool

	// ChangeDelay is how long changes are collected before clients are
	// notified, so that many changes cause one notification. 0 means 20 ms.
	ChangeDelay time.Duration

	// Log receives panics and errors that clients must not see. Nil means
	// slog.Default().
	Log *slog.Logger
}

// A Kind is a kind of feature.
type Kind string

// The kinds of features.
const (
	KindTool     Kind = "tool"
	KindResource Kind = "resource"
	KindTemplate Kind = "resource template"
	KindPrompt   Kind = "prompt"
)

// A Feature identifies a feature of a server: tools and prompts by name,
// resources by URI, templates by URI template.
type Feature struct {
	Kind Kind
	Name string
}

// A Server offers features to clients. Make one with [New]. Features may be
// added and removed at any time and concurrently; subscribed clients are
// notified.
type Server struct {
	info    mcp.Implementation
	opts    Options
	handler mcp.Handler // serve, wrapped in the middleware

	tools      registry[tool]
	resources  registry[resource]
	unlisted   registry[resource]
	templates  registry[template]
	prompts    registry[prompt]
	changes    broadcaster
	notified   notified
	extensions extensions
	closing    closing
}

// New returns a Server without features.
func New(info mcp.Implementation, o *Options) *Server {
	s := &Server{info: info}
	if o != nil {
		s.opts = *o
	}
	s.opts.ListCache = s.shared(s.opts.ListCache)
	if s.opts.PageSize <= 0 {
		s.opts.PageSize = 1000
	}
	if s.opts.ChangeDelay <= 0 {
		s.opts.ChangeDelay = 20 * time.Millisecond
	}
	s.tools.member, s.tools.kind = "tools", KindTool
	s.resources.member, s.resources.kind = "resources", KindResource
	s.templates.member, s.templates.kind = "resourceTemplates", KindTemplate
	s.prompts.member, s.prompts.kind = "prompts", KindPrompt
	s.changes.delay = s.opts.ChangeDelay
	if s.opts.Allow != nil {
		s.changes.allow = s.mayNotify
	}
	s.handler = mcp.HandlerFunc(s.serve)
	if len(s.opts.Middleware) > 0 {
		s.handler = mcp.Chain(mcp.HandlerFunc(s.contained), s.opts.Middleware...)
	}
	return s
}

var _ mcp.Handler = (*Server)(nil)

// Serve implements [mcp.Handler]. If a feature or middleware panics, the call
// fails: the panic is logged with its stack, and the client gets a general
// error.
func (s *Server) Serve(ctx context.Context, c *mcp.Call) (res mcp.Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			res, err = mcp.Result{}, s.panicked(c, p)
		}
		if res.Server == nil {
			res.Server = &s.info
		}
	}()
	return s.handler.Serve(ctx, increasing(c))
}

// contained is serve for middleware: a panic in a feature becomes an error.
func (s *Server) contained(ctx context.Context, c *mcp.Call) (res mcp.Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			res, err = mcp.Result{}, s.panicked(c, p)
		}
	}()
	return s.serve(ctx, c)
}

func (s *Server) panicked(c *mcp.Call, p any) error {
	s.log().Error("panic in a handler", "method", c.Method, "panic", p, "stack", string(debug.Stack()))
	return mcp.Errorf(mcp.CodeInternal, "internal error while serving %s", c.Method)
}

// failed returns the error that the client gets for an error of a resource,
// prompt or completion. Errors without a code may contain internals; they are
// logged.
func (s *Server) failed(ctx context.Context, c *mcp.Call, what string, err error) error {
	if passes(ctx, err) {
		return err
	}
	if swallowed(err) {
		return s.lostRequest(what, err)
	}
	if d, ok := errors.AsType[*Declined](err); ok {
		return mcp.InvalidParams("%s needs input: %v", what, d)
	}
	if e, ok := errors.AsType[*InputError](err); ok {
		return mcp.InvalidParams("%s needs input: %v", what, e)
	}
	s.log().Error("feature failed", "method", c.Method, "feature", what, "error", err)
	return mcp.Errorf(mcp.CodeInternal, "%s failed", what)
}

// swallowed reports whether an error contains the text of an InputRequired but
// not the error itself, because a handler wrapped it with %v.
func swallowed(err error) bool { return strings.Contains(err.Error(), askText) }

var askText = (*mcp.InputRequired)(nil).Error()

// lostRequest returns the error for an input request that cannot be sent,
// because the handler returned its text instead of the error.
func (s *Server) lostRequest(what string, err error) error {
	s.log().Error("input request lost: the handler wrapped the error with %v", "feature", what, "error", err)
	return mcp.Errorf(mcp.CodeInternal, "%s: input request lost: the handler wrapped the error with %%v instead of %%w", what)
}

func (s *Server) log() *slog.Logger {
	if s.opts.Log != nil {
		return s.opts.Log
	}
	return slog.Default()
}

// serve dispatches a call by its method.
func (s *Server) serve(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
	if c.IsNotification {
		return s.handleNotification(ctx, c)
	}
	switch c.Method {
	case mcp.MethodToolsCall:
		return s.callTool(ctx, own(c))
	case mcp.MethodDiscover:
		return s.discover()
	case mcp.MethodToolsList:
		return list(s, c, &s.tools)
	case mcp.MethodResourcesList:
		return list(s, c, &s.resources)
	case mcp.MethodResourceTemplatesList:
		return list(s, c, &s.templates)
	case mcp.MethodPromptsList:
		return list(s, c, &s.prompts)
	case mcp.MethodResourcesRead:
		return s.readResource(ctx, own(c))
	case mcp.MethodPromptsGet:
		return s.getPrompt(ctx, own(c))
	case mcp.MethodComplete:
		return s.complete(ctx, c)
	case mcp.MethodPing:
		return mcp.Result{}, nil
	case mcp.MethodSubscriptionsListen:
		return s.listen(ctx, c)
	}
	if f := s.extensions.method(c.Method); f != nil {
		res, err := f(ctx, own(c))
		if res.Cache != (mcp.Cache{}) {
			res.Cache = s.shared(res.Cache)
		}
		return res, err
	}
	return mcp.Result{}, mcp.MethodNotFound(c.Method)
}

// own returns the call for a handler that may modify it (see [mcp.Call.Save]):
// a copy if the client can respond to input requests, so that the original can
// be served again.
func own(c *mcp.Call) *mcp.Call {
	if can := c.Caller.Capabilities; can == nil || can.Elicitation == nil && can.Sampling == nil && can.Roots == nil {
		return c
	}
	copied := *c
	return &copied
}

// Allows reports whether Options.Allow lets a caller see and use a feature. An
// extension that shows features asks before it does.
func (s *Server) Allows(c *mcp.Caller, f Feature) bool { return s.allows(c, f.Kind, f.Name) }

// allows reports whether a caller may know about a feature.
func (s *Server) allows(c *mcp.Caller, k Kind, name string) bool {
	return s.opts.Allow == nil || s.opts.Allow(c, Feature{k, name})
}

// mayNotify calls Allow outside of a call. A panic is logged and denies.
func (s *Server) mayNotify(c *mcp.Caller, f Feature) (ok bool) {
	defer func() {
		if p := recover(); p != nil {
			s.log().Error("panic in Allow", "feature", f.Name, "panic", p, "stack", string(debug.Stack()))
			ok = false
		}
	}()
	return s.opts.Allow(c, f)
}

// shared returns the cache hint to send: with Allow, results depend on the
// caller.
func (s *Server) shared(c mcp.Cache) mcp.Cache {
	if s.opts.Allow != nil {
		c.Scope = mcp.ScopePrivate
	}
	return c
}

// offers returns the capabilities, including those of features added so far.
func (s *Server) offers() mcp.ServerCapabilities {
	o := s.opts.Capabilities
	o.Extensions = s.extensions.declared(o.Extensions)
	if s.tools.used() && o.Tools == nil {
		o.Tools = &mcp.ListCapability{ListChanged: true}
	}
	if s.prompts.used() && o.Prompts == nil {
		o.Prompts = &mcp.ListCapability{ListChanged: true}
	}
	if s.lists(KindResource) && o.Resources == nil {
		o.Resources = &mcp.ResourcesCapability{ListChanged: true, Subscribe: true}
	}
	if (s.prompts.used() || s.templates.used()) && o.Completions == nil {
		o.Completions = mcp.Settings{}
	}
	if !s.opts.NoLogging && o.Logging == nil {
		o.Logging = mcp.Settings{}
	}
	return o
}

func (s *Server) discover() (mcp.Result, error) {
	body, err := mcp.Marshal(&mcp.Discovery{Capabilities: s.offers(), Instructions: s.opts.Instructions})
	return mcp.Result{Body: body, Cache: s.opts.ListCache}, err
}

// result encodes the result of a feature.
func result(v any) (mcp.Result, error) {
	body, err := mcp.Marshal(v)
	if err != nil {
		return mcp.Result{}, err
	}
	return mcp.Result{Body: body}, nil
}

// closing holds what Close runs.
type closing struct {
	mu    sync.Mutex
	funs  []func() error
	ended chan struct{} // nil until Close is called; closed when Close is done
	err   error
}

// OnClose registers f to run when the server is closed, to stop what a feature
// has started, such as a watcher or a connection. Functions run in reverse
// order. If the server is closed already, f runs at once and its error is
// logged.
func (s *Server) OnClose(f func() error) {
	s.closing.mu.Lock()
	if s.closing.ended == nil {
		s.closing.funs = append(s.closing.funs, f)
		s.closing.mu.Unlock()
		return
	}
	s.closing.mu.Unlock()
	if err := f(); err != nil {
		s.log().Error("OnClose function failed", "error", err)
	}
}

// Close runs the functions registered with [Server.OnClose] and returns their
// errors, joined, when all have finished. It does not stop calls: stop the
// transport first. A server without such functions need not be closed. Close
// may be called repeatedly and concurrently; every call waits and returns the
// same error. A function registered with OnClose must not call Close.
func (s *Server) Close() error {
	c := &s.closing
	c.mu.Lock()
	if c.ended != nil {
		c.mu.Unlock()
		<-c.ended
		return c.err
	}
	c.ended = make(chan struct{})
	funs := c.funs
	c.funs = nil
	c.mu.Unlock()
	defer close(c.ended) // also after a panic, so that no caller waits forever
	var errs []error
	for i := len(funs) - 1; i >= 0; i-- {
		errs = append(errs, funs[i]())
	}
	c.err = errors.Join(errs...)
	return c.err
}
