package gateway

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tenon-mcp/tenon/internal/protocol"
	"github.com/tenon-mcp/tenon/internal/textclip"
	"github.com/tenon-mcp/tenon/mcp"
)

// An Upstream is a server behind a gateway.
type Upstream struct {
	// Name is part of the names that clients see.
	Name string
	// Handler is the server, or a connection to it, that all callers share. It is
	// not used if Connections is set.
	Handler mcp.Handler
	// Connections gives callers connections of their own. Nil means that they
	// share Handler.
	Connections *Connections
	// IdleTimeout is that of calls, as in [CircuitOptions].
	IdleTimeout time.Duration
	// Restart restarts the server behind Handler. The Router calls it if the
	// server does not respond for about 20 s. It may be nil.
	Restart func()
}

// Options configures a Router; nil means the defaults.
type Options struct {
	// Server is the name and version that clients see. The zero value means
	// "tenon-gateway".
	Server mcp.Implementation
	// ListTimeout is how long a list waits for a server. A server that takes
	// longer is left out, and clients are notified when its list is there. 0
	// means 5 s.
	ListTimeout time.Duration
	// ProbeInterval is how often a server is pinged that is not used otherwise. 0
	// means 30 s, and a negative value never.
	ProbeInterval time.Duration
	// Released is called with each server that [Router.Update] has removed, when
	// its open calls have ended; not after Close. It may be nil.
	Released func(Upstream)
	// Tools and Prompts change how clients see them, by the name that they have
	// otherwise: server__name.
	Tools, Prompts map[string]Override
	// Log receives what goes wrong with servers. Nil means slog.Default().
	Log *slog.Logger
}

// A Router shows many servers as one. It is an [mcp.Handler].
//
// The flow of a call is: Serve finds the server that a name in the parameters
// belongs to, changes the names back, forwards the call, and changes the names
// in the result and in the notifications of the call. Lists are merged from the
// lists of all servers (lists.go); subscriptions are split by server (listen.go).
type Router struct {
	opts     Options
	table    atomic.Pointer[table]
	updating sync.Mutex // one Update at a time
	holds    holds
	tools    atomic.Pointer[overrides]
	prompts  atomic.Pointer[overrides]
	changes  broadcaster

	ctx  context.Context // ends with Close
	stop context.CancelFunc

	wg     sync.WaitGroup
	wgMu   sync.Mutex
	closed bool // nothing is added to wg any more
}

// errClosed is the error for the use of a Router that is closed.
var errClosed = errors.New("gateway: the router is closed")

// NewRouter returns a Router and starts to watch the servers for changes. The
// caller closes the Router, and then the servers. It is an error if two servers,
// tools or prompts have the same name.
func NewRouter(servers []Upstream, o *Options) (*Router, error) {
	r := new(Router)
	if o != nil {
		r.opts = *o
	}
	if r.opts.Server.Name == "" {
		r.opts.Server = mcp.Implementation{Name: "tenon-gateway", Version: "0"}
	}
	if r.opts.ListTimeout <= 0 {
		r.opts.ListTimeout = 5 * time.Second
	}
	if r.opts.ProbeInterval == 0 {
		r.opts.ProbeInterval = 30 * time.Second
	}
	if r.opts.Log == nil {
		r.opts.Log = slog.Default()
	}
	r.ctx, r.stop = context.WithCancel(context.Background())
	r.table.Store(new(table))
	if err := r.Replace(servers, r.opts.Tools, r.opts.Prompts); err != nil {
		r.stop()
		return nil, err
	}
	return r, nil
}

// spawn runs f in a goroutine that Close waits for. It reports false, and does
// not run f, once the Router is closed.
func (r *Router) spawn(f func()) bool {
	r.wgMu.Lock()
	defer r.wgMu.Unlock()
	if !r.closed {
		r.wg.Go(f)
	}
	return !r.closed
}

// Close ends what the Router runs, and the connections of callers. It does not
// close other servers.
func (r *Router) Close() error {
	r.wgMu.Lock()
	r.closed = true
	r.wgMu.Unlock()
	r.stop()
	for _, u := range r.table.Load().upstreams {
		if u.pool != nil {
			u.pool.close()
		}
	}
	r.wg.Wait()
	return nil
}

// Serve implements [mcp.Handler].
func (r *Router) Serve(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
	if c.IsNotification {
		return r.notifyAll(ctx, c)
	}
	switch c.Method {
	case mcp.MethodDiscover:
		return r.discover(ctx, c)
	case mcp.MethodPing:
		return mcp.Result{Server: &r.opts.Server}, nil
	case mcp.MethodSubscriptionsListen:
		return r.listen(ctx, c)
	}
	if l, ok := lists[c.Method]; ok {
		return r.list(ctx, c, l)
	}
	if l, extension, ok := extensionList(c.Method); ok {
		return r.listExtension(ctx, c, l, extension)
	}
	return r.forward(ctx, c)
}

// forward makes a call at the server that its names belong to.
func (r *Router) forward(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
	to, params, err := r.route(ctx, c)
	if err != nil {
		return mcp.Result{}, err
	}
	defer to.inUse.release()
	if err := checkAgain(ctx, c); err != nil {
		return mcp.Result{}, err
	}
	onward := *c
	onward.Params = params
	if c.OnNotification != nil {
		onward.OnNotification = func(n mcp.Notification) { c.OnNotification(to.notification(n)) }
	}
	one, err := to.of(&c.Caller)
	if err != nil {
		return mcp.Result{}, err
	}
	defer one.release()
	one.continued(c.State)
	res, err := one.serve(ctx, &onward)
	one.hold(&res, err)
	one.heard(c.Method, res.Body)
	if err != nil {
		return mcp.Result{}, r.holds.keep(to, r.errorFor(ctx, to, c, err))
	}
	res.Body = to.rename(c.Method, mcp.InResult, res.Type, res.Body)
	res.Server = &r.opts.Server
	return res, nil
}

// find returns the server that the names of a call belong to, and the call's
// parameters with the names of that server.
func (t *table) find(ctx context.Context, c *mcp.Call) (to *upstream, params []byte, err error) {
	params, err = protocol.RenameNames(c.Method, mcp.InParams, "", c.Params, func(kind, name string) (string, error) {
		u, own, ok := t.inward(ctx, &c.Caller, kind, name)
		switch {
		case !ok:
			return "", unknown(kind, name)
		case to != nil && to != u:
			return "", mcp.InvalidParams("%q belongs to another server than the rest of the call", clip(name))
		}
		to = u
		return own, nil
	})
	switch {
	case err != nil:
		return nil, nil, err
	case to == nil && protocol.IsCore(c.Method):
		return nil, nil, mcp.InvalidParams("%s: the name is missing", c.Method)
	case to == nil:
		return nil, nil, mcp.MethodNotFound(c.Method)
	}
	return to, params, nil
}

// unknown returns the error for a name of no server.
func unknown(kind, name string) error {
	if kind == protocol.KindURI {
		return mcp.ResourceNotFound(clip(name))
	}
	return mcp.InvalidParams("unknown %s %q", kind, clip(name))
}

func clip(s string) string { return textclip.Clip(s, 200) }

// of returns the connections of a caller to all servers, in the order of the
// servers. The caller of of calls releaseAll. A server that has no connection for
// the caller is left out, and none is opened to a server that the caller may not
// use.
func (t *table) of(ctx context.Context, c *mcp.Caller) []*upstream {
	if !t.private {
		return t.upstreams
	}
	return connect(c, t.upstreams, func(u *upstream) bool { return u.pool == nil || mayContact(ctx, u) })
}

// mayContact reports whether a server may be contacted for a caller: what it
// offers is in the caller's set, and the caller may use some of it.
func mayContact(ctx context.Context, u *upstream) bool {
	return selectionOf(ctx).involves(u) && mayUseServer(ctx, u.name)
}

// contactable returns the servers or connections that may be contacted.
func contactable(ctx context.Context, all []*upstream) []*upstream {
	denied := func(u *upstream) bool { return !mayContact(ctx, u) }
	if !slices.ContainsFunc(all, denied) {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), denied)
}

// connect returns the connections of a caller to the servers that want selects.
func connect(c *mcp.Caller, servers []*upstream, want func(*upstream) bool) []*upstream {
	all := make([]*upstream, 0, len(servers))
	for _, u := range servers {
		if !want(u) {
			continue
		}
		one, err := u.of(c)
		if err != nil {
			u.r.opts.Log.Warn("gateway: no connection for a caller", "server", u.name, "error", err)
			continue
		}
		all = append(all, one)
	}
	return all
}

func releaseAll(all []*upstream) {
	for _, u := range all {
		u.release()
	}
}
