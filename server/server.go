package server

import (
	"context"
	"errors"
	"log/slog"
	"runtime/debug"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/mcp"
)

// Options say how a Server behaves; nil means the defaults.
type Options struct {
	// Instructions is advice to a model on how to use the server.
	Instructions string

	// Middleware wraps everything that the server serves; the first sees a
	// call first. A feature that panics returns an error to it.
	Middleware []mcp.Middleware

	// Allow says whether a caller may see and use a feature. One that it may
	// not is, for that caller, not there. To read a resource through a
	// template, or to subscribe to it, a caller needs both: the template, and
	// KindResource with the URI itself. Allow is called often and from many
	// goroutines. Nil allows everything.
	Allow func(c *mcp.Caller, f Feature) bool

	// ListCache says how long lists and the discovery may be kept by clients.
	// Unset means not at all: clients are told of changes, but a client that
	// does not listen would miss them. Where there is Allow, nothing is
	// public, whatever is said here or for a resource.
	ListCache mcp.Cache

	// PageSize is how many items one page of a list holds. 0 means 1000.
	PageSize int

	// Capabilities are offered beside those that follow from the features
	// that were added: extensions, experiments, or a kind of feature of which
	// there is none yet.
	Capabilities mcp.ServerCapabilities

	// NoLogging leaves out the logging capability.
	NoLogging bool

	// NewsDelay is how long changes are gathered before they are announced,
	// so that many of them make one announcement. 0 means 20 ms.
	ChangeDelay time.Duration

	// Log is where the server tells its operator of panics and failures that
	// callers must not see. Nil means slog.Default().
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

// A Feature names one thing that a server offers: tools and prompts by their
// name, resources by their URI, templates by their URI template.
type Feature struct {
	Kind Kind
	Name string
}

// A Server offers features. Make one with [New]. Features may be added and
// removed at any time, from any goroutine; clients that listen hear of it.
type Server struct {
	info    mcp.Implementation
	opts    Options
	handler mcp.Handler // serve, behind the middleware

	tools     registry[tool]
	resources registry[resource]
	templates registry[template]
	prompts   registry[prompt]
	changes   broadcaster
	notified  notified
	closing   closing
}

// New returns a Server that offers nothing yet.
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

// Serve serves a call. A panic in a feature or in middleware costs that one
// call: it is logged with its stack, and the caller learns only that the server
// failed.
func (s *Server) Serve(ctx context.Context, c *mcp.Call) (res mcp.Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			res, err = mcp.Result{}, s.panicked(c, p)
		}
		if res.Server == nil {
			res.Server = &s.info
		}
	}()
	return s.handler.Serve(ctx, rising(c))
}

// contained is serve for middleware, which sees the error of a feature that
// panicked and never the panic.
func (s *Server) contained(ctx context.Context, c *mcp.Call) (res mcp.Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			res, err = mcp.Result{}, s.panicked(c, p)
		}
	}()
	return s.serve(ctx, c)
}

func (s *Server) panicked(c *mcp.Call, p any) error {
	s.log().Error("a handler panicked", "method", c.Method, "panic", p, "stack", string(debug.Stack()))
	return mcp.Errorf(mcp.CodeInternal, "the server failed while it served %s", c.Method)
}

// failed is the error of a feature other than a tool, as its caller may see
// it: what has no code may say things that are nobody's business, and goes to
// the operator instead.
func (s *Server) failed(ctx context.Context, c *mcp.Call, what string, err error) error {
	if passes(ctx, err) {
		return err
	}
	if swallowed(err) {
		return s.uninvited(what, err)
	}
	if d, ok := errors.AsType[*Declined](err); ok {
		return mcp.InvalidParams("%s needs an answer. %v", what, d)
	}
	if e, ok := errors.AsType[*InputError](err); ok {
		return mcp.InvalidParams("%s needs an answer. %v", what, e)
	}
	s.log().Error("a feature failed", "method", c.Method, "feature", what, "error", err)
	return mcp.Errorf(mcp.CodeInternal, "%s failed", what)
}

// swallowed reports whether an error has the text of one that asks for input,
// and not the error: a handler has wrapped it with %v.
func swallowed(err error) bool { return strings.Contains(err.Error(), askText) }

var askText = (*mcp.InputRequired)(nil).Error()

// unasked is the error of a call whose question never reaches the caller. The
// mistake is the handler's, and no other arguments would mend it.
func (s *Server) uninvited(what string, err error) error {
	s.log().Error("a question was not asked: the handler returned the error that asks as text", "feature", what, "error", err)
	return mcp.Errorf(mcp.CodeInternal, "%s asks for input with an error that was wrapped with %%v: the handler returns it as it is, or wraps it with %%w", what)
}

func (s *Server) log() *slog.Logger {
	if s.opts.Log != nil {
		return s.opts.Log
	}
	return slog.Default()
}

// serve sends a call to the feature it is for.
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
	return mcp.Result{}, mcp.MethodNotFound(c.Method)
}

// own returns the call for a handler that may ask and keep something in it (see
// [mcp.Call.Save]): a copy, if the caller can be asked, so that the caller's
// stays as it is and can be served again.
func own(c *mcp.Call) *mcp.Call {
	if can := c.Caller.Capabilities; can == nil || can.Elicitation == nil && can.Sampling == nil && can.Roots == nil {
		return c
	}
	copied := *c
	return &copied
}

// allows reports whether a caller may know of a feature.
func (s *Server) allows(c *mcp.Caller, k Kind, name string) bool {
	return s.opts.Allow == nil || s.opts.Allow(c, Feature{k, name})
}

// mayHear is allows where no call is there that a panic could cost.
func (s *Server) mayNotify(c *mcp.Caller, f Feature) (ok bool) {
	defer func() {
		if p := recover(); p != nil {
			s.log().Error("Allow panicked while a change was announced", "feature", f.Name, "panic", p, "stack", string(debug.Stack()))
			ok = false
		}
	}()
	return s.opts.Allow(c, f)
}

// shared is a cache hint as it may be given: what depends on the caller is not
// public.
func (s *Server) shared(c mcp.Cache) mcp.Cache {
	if s.opts.Allow != nil {
		c.Scope = mcp.ScopePrivate
	}
	return c
}

// offers works out the capabilities from what was ever added.
func (s *Server) offers() mcp.ServerCapabilities {
	o := s.opts.Capabilities
	if s.tools.used() && o.Tools == nil {
		o.Tools = &mcp.ListCapability{ListChanged: true}
	}
	if s.prompts.used() && o.Prompts == nil {
		o.Prompts = &mcp.ListCapability{ListChanged: true}
	}
	if (s.resources.used() || s.templates.used()) && o.Resources == nil {
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

// result encodes what a feature came to.
func result(v any) (mcp.Result, error) {
	body, err := mcp.Marshal(v)
	if err != nil {
		return mcp.Result{}, err
	}
	return mcp.Result{Body: body}, nil
}
