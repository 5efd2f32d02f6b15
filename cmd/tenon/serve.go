package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tenon-mcp/tenon/app/connect"
	"github.com/tenon-mcp/tenon/app/store/taskstore"
	"github.com/tenon-mcp/tenon/auth/protect"
	"github.com/tenon-mcp/tenon/builtin"
	"github.com/tenon-mcp/tenon/cluster"
	"github.com/tenon-mcp/tenon/cluster/redis/redistasks"
	"github.com/tenon-mcp/tenon/ext/tasks"
	"github.com/tenon-mcp/tenon/internal/softclose"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
	"github.com/tenon-mcp/tenon/transport/httpsse"
	"github.com/tenon-mcp/tenon/transport/stdio"
	"github.com/tenon-mcp/tenon/transport/streamable"
)

// openBuiltin returns a builtin server for an in-process connection, whose client is
// this process.
func openBuiltin(name string, query url.Values) (connect.Builtin, error) {
	return openBuiltinWith(name, query, builtin.Options{ClientRoots: true})
}

func openBuiltinWith(name string, query url.Values, o builtin.Options) (connect.Builtin, error) {
	s, err := builtin.OpenWith(name, query, o)
	if err != nil {
		return nil, err // not s: a nil server in an interface is not nil
	}
	return s, nil
}

// serving holds the flags of tenon serve.
type serving struct {
	http      string
	hosts     []string
	origins   []string
	cors      bool
	sse       bool
	issuer    string
	audience  string
	token     string
	scopes    []string
	tlsCert   string
	tlsKey    string
	access    string
	tasks     string
	card      string
	public    string
	listener  net.Listener // to serve at; nil means a new one at http
	keepToken bool         // handlers get the token of the caller: see protect.Token
	// logins returns the pages at which users log in, by their paths; may be nil.
	logins   func(v *serving, at net.Addr, guard *protect.Guard) (map[string]http.Handler, error)
	keys     protect.Verifier // of API keys; nil means that there are none
	announce func(url string) // called before the first request is served; may be nil

	replica      *cluster.Replica // nil means that there is one process
	scope        string           // distinguishes servers of one cluster
	keepSessions func() bool      // see [streamable.Options]; may be nil

	sets     func(name string) mcp.Handler          // serves sets below the path; may be nil
	openSets func(open func(name string) error)     // opens the sets, now and when there are others; nil without sets
	mount    func(mux *http.ServeMux, guarded bool) // adds paths; may be nil
	wrap     func(http.Handler) http.Handler        // wraps all paths; may be nil
	inside   func(http.Handler) http.Handler        // wraps the server, after authorization; may be nil
	served   func(sessions func() int)              // called with a function that counts sessions; may be nil
	ready    func()                                 // called when requests are served; may be nil
	replaced bool                                   // set by ending: others serve instead, and no request may be lost
	ending   func() time.Duration                   // called at the end, returns how long calls may take; nil: ten seconds
}

func (p *program) serveCommand() *cobra.Command {
	var v serving
	var many clusterFlags
	var about strings.Builder
	for _, k := range builtin.Kinds() {
		fmt.Fprintf(&about, "  %-7s %s  %s\n", k.Name, k.About, k.Usage)
	}
	c := &cobra.Command{
		Use:   "serve NAME [option=value …]",
		Short: "Serve a builtin server on standard input and output, or over HTTP",
		Long: `Serve a builtin server to clients of every protocol revision: on standard input
and output until the input ends, or with --http at one URL until interrupted.

` + about.String() + `
An address that other machines can reach needs authorization: --auth-issuer with
--auth-audience accepts the tokens of an authorization server, --auth-token one
fixed token, read from the named environment variable. --tls-cert and --tls-key
serve HTTPS. GET /healthz responds with 200 while the server accepts calls. --card
publishes a server card at /mcp/server-card and lists it in
/.well-known/ai-catalog.json, both for everybody. --tasks keeps the tasks of a
server that has any in a file, so that they survive a restart; several processes
may share it. --redis makes the server one of many replicas behind a load balancer,
which share sessions and tasks in Redis: see docs/scale-out.md.
Rejected requests and failures are logged to standard error.`,
		Example: "  tenon serve calc\n  tenon serve fs root=. readonly=1\n  tenon serve notes vault=notes --http 127.0.0.1:8080",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("missing NAME of the server:\n%s", about.String())
			}
			query, err := options(args[1:])
			if err != nil {
				return err
			}
			if cmd.Flags().Changed("tasks") && v.tasks == "" {
				return usagef("--tasks must name a file")
			}
			shared, err := p.joinServing(cmd.Context(), &v, &many, args[0])
			if err != nil {
				return err
			}
			defer shared.close()
			s, stop, err := v.open(cmd.Context(), args[0], query, shared)
			if err != nil {
				return err
			}
			defer stop()
			v.keepToken = builtin.WrapsAPI(args[0])
			if v.http == "" && (v.tlsCert != "" || v.tlsKey != "" || v.access != "" || v.card != "") {
				return usagef("--tls-cert, --tls-key, --access-log and --card need --http")
			}
			if v.public != "" && v.card == "" {
				return usagef("--public-url needs --card")
			}
			if v.http == "" {
				return stdio.Serve(context.WithoutCancel(cmd.Context()), s, nil)
			}
			return p.serveHTTP(cmd.Context(), args[0], s, &v)
		},
	}
	f := c.Flags()
	f.StringVar(&v.http, "http", "", "serve over HTTP at this `address`, such as 127.0.0.1:8080")
	f.StringVar(&v.tasks, "tasks", "", "keep tasks in this `file` (SQLite), made if there is none; default: in memory")
	many.addReplica(f)
	v.httpFlags(f)
	return c
}

// httpFlags adds the flags that say who may use a server over HTTP, and how.
func (v *serving) httpFlags(f *pflag.FlagSet) {
	f.StringSliceVar(&v.hosts, "host", nil, "a host `name` that clients may use, besides the loopback names")
	f.StringSliceVar(&v.origins, "origin", nil, "a web `origin` whose pages may send requests")
	f.BoolVar(&v.cors, "cors", false, "let pages of --origin read responses (CORS)")
	f.BoolVar(&v.sse, "sse", false, "also serve the HTTP+SSE endpoints of 2024-11-05, at /sse")
	f.StringVar(&v.issuer, "auth-issuer", "", "require a token of this authorization server (`URL`)")
	f.StringVar(&v.audience, "auth-audience", "", "the audience that tokens must have (`URL`; default: the URL of the server)")
	f.StringSliceVar(&v.scopes, "auth-scope", nil, "a `scope` that every token must have")
	f.StringVar(&v.token, "auth-token", "", "require the bearer token in this environment `variable`")
	f.StringVar(&v.tlsCert, "tls-cert", "", "serve HTTPS with the certificate in this `file` (PEM), reloaded when it changes")
	f.StringVar(&v.tlsKey, "tls-key", "", "the `file` with the key of the certificate (PEM)")
	f.StringVar(&v.card, "card", "", "publish a server card under this `name`, such as com.example/notes")
	f.StringVar(&v.public, "public-url", "", "the `URL` of the server in the card (default: the address it listens on)")
	f.StringVar(&v.access, "access-log", "", "append a line of JSON for each request to this `file`; - is standard error")
}

// joinServing joins the cluster that the flags name; nil means none.
func (p *program) joinServing(ctx context.Context, v *serving, many *clusterFlags, name string) (*gatewayCluster, error) {
	if v.http == "" {
		if many.redis != "" || many.addr != "" || many.advertise != "" || many.secret != "" {
			return nil, usagef("--redis and --cluster-… need --http")
		}
		return nil, nil // whatever the environment says
	}
	if v.tasks != "" && many.url() != "" {
		return nil, usagef("--tasks and --redis exclude each other: replicas keep tasks in Redis")
	}
	shared, err := p.join(ctx, many, slog.Default())
	v.replica, v.scope = shared.member(), "serve "+name
	return shared, err
}

// open opens a builtin server, with its tasks in Redis or in a file if that was
// asked for. stop closes both.
func (v *serving) open(ctx context.Context, name string, query url.Values, shared *gatewayCluster) (s *server.Server, stop func(), err error) {
	closeStore := func() error { return nil }
	switch {
	case builtin.HasTasks(name) && (shared != nil || v.tasks != ""):
		s, closeStore, err = v.openTasks(ctx, name, query, shared)
	default:
		s, err = builtin.OpenWith(name, query, builtin.Options{RemoteClients: v.http != ""})
		err = asUsage(err)
	}
	if err != nil {
		return nil, nil, err
	}
	stop = func() {
		s.Close()
		if err := closeStore(); err != nil {
			slog.Error("close the store of tasks", "error", err)
		}
	}
	switch {
	case v.tasks != "" && !builtin.HasTasks(name):
		err = usagef("--tasks: no tool of %q runs as a task", name)
	case shared != nil:
		err = s.ShareChanges(shared.replica.Topic(v.scope))
	}
	if err != nil {
		stop()
		return nil, nil, err
	}
	return s, stop, nil
}

// openTasks opens a builtin server and the store of its tasks.
func (v *serving) openTasks(ctx context.Context, name string, query url.Values, shared *gatewayCluster) (*server.Server, func() error, error) {
	var store interface {
		tasks.Store
		io.Closer
	}
	var err error
	if shared != nil {
		store, err = redistasks.New(ctx, shared.store)
	} else if store, err = taskstore.Open(v.tasks, nil); err != nil {
		err = fmt.Errorf("--tasks: %w", err)
	}
	if err != nil {
		return nil, nil, err
	}
	s, err := builtin.OpenWith(name, query, builtin.Options{Tasks: store, RemoteClients: v.http != ""})
	if err != nil {
		store.Close()
		return nil, nil, usageError{err}
	}
	return s, store.Close, nil
}

// asUsage makes an error one of usage.
func asUsage(err error) error {
	if err == nil {
		return nil
	}
	return usageError{err}
}

// options parses the option=value arguments of a builtin server.
func options(words []string) (url.Values, error) {
	q := url.Values{}
	for _, w := range words {
		name, value, ok := strings.Cut(w, "=")
		if !ok {
			return nil, usagef("%q must be option=value", w)
		}
		q.Add(name, value)
	}
	return q, nil
}

func (p *program) serveHTTP(ctx context.Context, name string, s mcp.Handler, v *serving) error {
	secure, err := v.tls(func(err error) {
		fmt.Fprintf(p.err, "cannot use the new certificate, keeping the old one: %v\n", err)
	})
	if err != nil {
		return err
	}
	l := v.listener
	if l == nil {
		if l, err = softclose.Listen(v.http); err != nil {
			return listenError("--http", v.http, "127.0.0.1:8080", err)
		}
	}
	defer l.Close()
	log := slog.New(slog.NewTextHandler(p.err, &slog.HandlerOptions{Level: slog.LevelWarn}))
	guard, err := v.guard(l.Addr(), log)
	if err != nil {
		return err
	}
	published, err := v.publish(ctx, name, s, l.Addr())
	if err != nil {
		return err
	}
	if v.logins != nil {
		pages, err := v.logins(v, l.Addr(), guard)
		if err != nil {
			return err
		}
		maps.Copy(pages, published)
		published = pages
	}
	web, err := v.handler(ctx, s, guard, log, published)
	if err != nil {
		return err
	}
	if v.access != "" {
		log, closeLog, err := openAccessLog(v.access, p.err)
		if err != nil {
			return usageError{err}
		}
		defer closeLog()
		web.Handler = logAccess(log, web.Handler)
	}
	if v.wrap != nil {
		web.Handler = v.wrap(web.Handler)
	}
	if v.replica != nil {
		v.replica.Handle(web.Handler)
	}
	web.TLSConfig = secure
	at := fmt.Sprintf("%s://%s%s", v.scheme(), l.Addr(), streamable.Path)
	if v.announce != nil {
		v.announce(at)
	}
	fmt.Fprintf(p.out, "Serving %s at %s\n", name, at)
	if v.ready != nil {
		v.ready()
	}
	return untilDone(ctx, web, l, v)
}

// handler returns the HTTP handler, with published documents by their paths.
// Rejected requests and failures are written to log.
func (v *serving) handler(ctx context.Context, s mcp.Handler, guard *protect.Guard, log *slog.Logger, published map[string]http.Handler) (*http.Server, error) {
	var principal func(*http.Request) *mcp.Principal
	if guard != nil {
		principal = protect.Principal
	}
	wrap := func(h http.Handler) http.Handler {
		if v.inside != nil {
			h = v.inside(h)
		}
		if guard != nil {
			h = guard.Wrap(h)
		}
		return h
	}
	o := &streamable.Options{Hosts: v.hosts, Origins: v.origins, CORS: v.cors, Principal: principal, Cluster: v.replica, Scope: v.scope, KeepSessions: v.keepSessions, Logger: log}
	h, err := streamable.NewHandler(s, o)
	if err != nil {
		return nil, usageError{err}
	}
	mux := http.NewServeMux()
	mux.Handle(streamable.Path, wrap(h))
	sets := &setHandlers{set: v.sets, options: o, handlers: map[string]*setHandler{}}
	if v.sets != nil {
		mux.Handle(streamable.Path+"/{set}", wrap(sets))
		v.openSets(sets.open)
	}
	if guard != nil {
		mux.Handle("/.well-known/oauth-protected-resource", guard.Metadata())
		mux.Handle("/.well-known/oauth-protected-resource/", guard.Metadata())
	}
	for path, h := range published {
		mux.Handle(path, h)
	}
	if v.mount != nil {
		v.mount(mux, guard != nil)
	}
	if v.served != nil {
		v.served(func() int { return h.Sessions() + sets.Sessions() })
	}
	alive := &health{}
	mux.Handle(healthPath, alive)
	web := streamable.NewHTTPServer(mux)
	web.RegisterOnShutdown(func() { alive.ending.Store(true); h.Shutdown(); sets.Shutdown() })
	if v.sse {
		old, err := httpsse.NewHandler(s, &httpsse.Options{Hosts: v.hosts, Origins: v.origins, Principal: principal, Logger: log})
		if err != nil {
			return nil, usageError{err}
		}
		mux.Handle("/sse", wrap(old))
		web.RegisterOnShutdown(func() { old.Shutdown(ctx) })
	}
	return web, nil
}

func (v *serving) scheme() string {
	if v.tlsCert != "" {
		return "https"
	}
	return "http"
}

// tls returns the TLS configuration; nil means plain HTTP.
func (v *serving) tls(warn func(error)) (*tls.Config, error) {
	if v.tlsCert == "" && v.tlsKey == "" {
		return nil, nil
	}
	if v.tlsCert == "" || v.tlsKey == "" {
		return nil, usagef("use --tls-cert and --tls-key together")
	}
	c, err := loadCertificate(v.tlsCert, v.tlsKey, warn)
	if err != nil {
		return nil, usagef("load the certificate: %v", err)
	}
	return &tls.Config{GetCertificate: c.get, MinVersion: tls.VersionTLS12}, nil
}

// guarded reports whether guard returns middleware.
func (v *serving) guarded() bool { return v.issuer != "" || v.token != "" || v.keys != nil }

// guard returns the middleware that checks tokens, or nil if none is required.
func (v *serving) guard(at net.Addr, log *slog.Logger) (*protect.Guard, error) {
	o := &protect.Options{Resource: cmp.Or(v.audience, v.public, v.scheme()+"://"+at.String()+streamable.Path), APIKeys: v.keys, Scopes: v.scopes, Log: log}
	if v.replica != nil { // a proof is used once for all replicas, and checked again where it is forwarded to
		o.DPoP = &protect.DPoP{Uses: v.replica.Store(), Forwarded: cluster.Forwarded}
	}
	switch {
	case v.issuer != "" && v.token != "":
		return nil, usagef("use --auth-issuer or --auth-token, not both")
	case v.token != "":
		secret := os.Getenv(v.token)
		if len(secret) < 20 {
			return nil, usagef("--auth-token: the environment variable %s must hold a token of at least 20 characters", v.token)
		}
		hash, err := protect.HashKey(secret)
		if err != nil {
			return nil, usageError{err}
		}
		if o.Verifier, err = protect.APIKeys(map[string]mcp.Principal{hash: {ID: "token", Scopes: v.scopes}}); err != nil {
			return nil, usageError{err}
		}
	case v.issuer != "":
		o.AuthorizationServers, o.KeepToken = []string{v.issuer}, v.keepToken
	case v.keys != nil:
	default:
		if !isLoopback(at) {
			return nil, usagef("other machines can reach %s: require authorization with --auth-issuer or --auth-token, or serve on 127.0.0.1", cmp.Or(v.http, at.String()))
		}
		return nil, nil
	}
	g, err := protect.New(o)
	return g, usage(err)
}

// isLoopback reports whether only this machine can reach an address.
func isLoopback(at net.Addr) bool {
	tcp, ok := at.(*net.TCPAddr)
	return !ok || tcp.IP.IsLoopback()
}

// untilDone serves until ctx ends, and then waits for calls in flight: for as long
// as v.ending returns, or ten seconds.
func untilDone(ctx context.Context, web *http.Server, l net.Listener, v *serving) error {
	served := make(chan error, 1)
	go func() {
		if web.TLSConfig != nil {
			served <- web.ServeTLS(l, "", "")
		} else {
			served <- web.Serve(streamable.StrictListener(web, l))
		}
	}()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	limit := 10 * time.Second
	if v.ending != nil {
		limit = v.ending()
	}
	if v.replaced {
		softclose.Refuse(l)
	}
	grace, stop := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer stop()
	err := web.Shutdown(grace)
	if err != nil {
		web.Close()
	}
	<-served
	if v.replica != nil { // and for those that other replicas have forwarded
		v.replica.Shutdown(grace)
		if err == nil {
			err = grace.Err()
		}
	}
	return err
}
