package main

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/app/connect"
	"github.com/tenon-mcp/tenon/app/gateway"
	"github.com/tenon-mcp/tenon/app/telemetry"
	"github.com/tenon-mcp/tenon/auth/protect"
	"github.com/tenon-mcp/tenon/internal/version"
	"github.com/tenon-mcp/tenon/mcp"
)

// A gatewayRun is a gateway while it runs.
//
// apply reads the configuration, connects to the servers that are new or have
// changed, and replaces the links of the chain; it runs at the start and for each
// reload. The flow of a call is: head, the chain, the router, a connection.
type gatewayRun struct {
	p        *program
	v        *gatewayFlags
	log      *slog.Logger
	started  time.Time
	cluster  *gatewayCluster // nil if the gateway is alone
	ops      *http.Server    // at --ops-addr; nil without that flag
	head     gateway.Switch
	sets     atomic.Pointer[map[string]mcp.Handler]
	openSet  atomic.Pointer[func(name string) error] // opens a set; nil until they are served over HTTP
	router   *gateway.Router                         // nil with --names plain, and before the first apply
	tel      *telemetry.Telemetry
	guard    *gatewayGuard // nil before the first apply; only apply changes it
	observer *gateway.Observer

	sessions atomic.Pointer[func() int]   // counts the sessions of clients; nil on stdio
	pins     atomic.Pointer[gateway.Pins] // nil if definitions are not pinned
	draining atomic.Bool

	interrupted atomic.Bool // a person waits for the end

	warnings atomic.Pointer[[]string]           // about the configuration
	checking atomic.Pointer[context.CancelFunc] // ends the check of the configuration that runs
	checks   sync.WaitGroup
	reloads  atomic.Int64
	refused  atomic.Int64 // reloads of an invalid configuration

	applying sync.Mutex // one apply at a time

	mu      sync.Mutex
	servers map[string]*gatewayServer    // in use, by name
	open    map[*connect.Server]struct{} // in use or draining
	closed  bool
	files   []string    // of the configuration
	applied []fileState // of the files, when they were last read
	used    []fileState // of the files, when they were last used

	keys   protect.Verifier // nil if there are no API keys
	access *gatewayAccess   // the links that decide who may what
}

// A gatewayServer is a configured server and the connection to it.
type gatewayServer struct {
	entry       config.Server
	mark        string // differs if the entry does, or what guards the server
	up          gateway.Upstream
	conn        *connect.Server // that all callers share; nil if they have their own
	mcp.Handler                 // the connection, and what guards it; nil without conn
}

func newGatewayRun(p *program, v *gatewayFlags, log *slog.Logger) (*gatewayRun, error) {
	g := &gatewayRun{p: p, v: v, log: log, started: time.Now(), observer: gateway.NewObserver(&gateway.ObserverOptions{NoCalls: true}), servers: map[string]*gatewayServer{}, open: map[*connect.Server]struct{}{}}
	p.onBehalf = &gatewayCredentials{p: p, log: log, loop: newLoopGuard()}
	g.access = newGatewayAccess(p, log)
	var err error
	g.tel, err = telemetry.New(&telemetry.Options{Service: "tenon-gateway", Version: version.String(), Getenv: os.LookupEnv, Log: log})
	g.addGauges()
	return g, usage(err)
}

// markOf returns a text that is the same for equal entries. It has secrets.
func markOf(entry config.Server) string {
	entry.Source = config.Source{}
	text, _ := json.Marshal(entry) // has strings, maps and numbers only
	return string(text)
}

// apply brings the gateway to the state that the configuration describes. If it
// returns an error, nothing has changed.
func (g *gatewayRun) apply(ctx context.Context) error {
	g.applying.Lock()
	defer g.applying.Unlock()
	c, err := g.p.config()
	if err != nil {
		return err
	}
	g.setFiles(append(c.Files(), c.ApprovalsFile()))
	entries, err := g.entries(ctx, c)
	if err != nil {
		return err
	}
	if err := g.p.onBehalf.prepare(g.v, entries); err != nil {
		return err
	}
	guard, err := g.p.gatewayGuard(c.Settings().Gateway, g.guard, g.log)
	if err != nil {
		return err
	}
	next, err := g.connect(ctx, entries, guard)
	if err == nil {
		err = g.use(c, next, guard)
	}
	if err != nil {
		guard.closeUnless(g.guard)
		g.mu.Lock()
		running := g.servers
		g.mu.Unlock()
		for name, s := range next {
			if running[name] != s && s.conn != nil {
				go g.release(s.conn)
			}
		}
		return err
	}
	g.guard.closeUnless(guard)
	g.guard = guard
	g.pins.Store(guard.pins)
	g.warn(c, next)
	g.cluster.publish(ctx, g.describe(c, next), g.log)
	return nil
}

// entries returns the servers to use. A server that is in use stays as it is if
// its entry cannot be used any more, such as without a variable.
func (g *gatewayRun) entries(ctx context.Context, c *config.Config) ([]config.Server, error) {
	var (
		kept    []config.Server
		leftOut []string
	)
	all, err := g.p.usableEntries(ctx, c, &hostFlags{servers: g.v.servers}, func(name string, err error) {
		g.mu.Lock()
		s := g.servers[name]
		g.mu.Unlock()
		if s != nil {
			kept = append(kept, s.entry)
			g.log.Warn("a server's entry cannot be used; the old one stays in use", "server", name, "error", err)
			return
		}
		leftOut = append(leftOut, name)
		g.log.Warn("a server is left out", "server", name, "error", err)
	})
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(append(all, kept...), func(s config.Server) bool {
		own := g.isOwn(s)
		if own {
			g.p.note("%s is left out: it is this gateway", s.Name)
		}
		return own
	})
	switch {
	case len(all) == 0 && len(g.v.servers) > 0:
		return nil, usagef("%s is this gateway itself", strings.Join(g.v.servers, " and "))
	case len(all) == 0 && g.v.from != "":
		return nil, usagef("the configuration of %s has no server that can be used", g.v.from)
	case len(all) == 0 && len(leftOut) > 0:
		return nil, usagef("no configured server can be used (%s): the lines above say why", strings.Join(leftOut, ", "))
	case len(all) == 0:
		return nil, usagef("no server is configured: add one with \"tenon config add\", name one with -s, or use those of another program with --from")
	case g.v.names == "plain" && len(all) != 1:
		return nil, usagef("--names plain needs exactly one server, and there are %d: choose one with -s", len(all))
	}
	return all, nil
}

// connect returns the servers of entries, with new connections where an entry is
// new or has changed.
func (g *gatewayRun) connect(ctx context.Context, entries []config.Server, guard *gatewayGuard) (map[string]*gatewayServer, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return nil, errors.New("the gateway ends")
	}
	next := map[string]*gatewayServer{}
	for _, entry := range entries {
		s := &gatewayServer{entry: entry, mark: markOf(entry) + guard.mark()}
		if was := g.servers[entry.Name]; was != nil && was.mark == s.mark {
			next[entry.Name] = was
			continue
		}
		if err := g.openServer(ctx, s, guard); err != nil {
			return next, err
		}
		next[entry.Name] = s
	}
	return next, nil
}

// use serves the servers of next instead of those of before, which are closed
// when their calls have ended.
func (g *gatewayRun) use(c *config.Config, next map[string]*gatewayServer, guard *gatewayGuard) error {
	settings := c.Settings().Gateway
	if err := g.v.checkNames(settings); err != nil {
		return err
	}
	if g.v.names == "plain" {
		return g.usePlain(c, next, guard)
	}
	tools, prompts := gatewayOverrides(settings.Tools), gatewayOverrides(settings.Prompts)
	var ups []gateway.Upstream
	for _, s := range next {
		ups = append(ups, s.up)
	}
	first := g.router == nil
	if first {
		r, err := gateway.NewRouter(ups, &gateway.Options{
			Server:   mcp.Implementation{Name: "tenon-gateway", Version: version.String()},
			Released: g.released,
			Tools:    tools,
			Prompts:  prompts,
			Log:      g.log,
		})
		if err != nil {
			return usageError{err}
		}
		g.router = r
	}
	h, err := g.chain(c, guard, g.router, g.router)
	if err != nil {
		return err
	}
	rules := g.access.ruleSet(&settings, g.router)
	g.access.policy.Set(g.access.rules, rules) // nobody uses a new server by an old rule, or an old one by a new rule
	if !first {
		if err := g.router.Replace(ups, tools, prompts); err != nil {
			g.access.policy.Set(g.access.rules)
			return usageError{err}
		}
	}
	g.setServers(next)
	g.tel.Forget()
	g.head.Set(g.v.searching(settings, mcp.Chain(g.observer.Middleware()(h), g.tel.Middleware(g.router))))
	g.access.use(rules)
	g.useSets(settings, next)
	return nil
}

// usePlain serves a single server without a router.
func (g *gatewayRun) usePlain(c *config.Config, next map[string]*gatewayServer, guard *gatewayGuard) error {
	var s *gatewayServer
	for _, s = range next {
	}
	if s.conn == nil {
		return usagef("--names plain needs one connection for all clients: remove \"connection\" from server %s", s.entry.Name)
	}
	alone := gateway.Circuit(&gateway.CircuitOptions{Server: s.up.Name, IdleTimeout: s.up.IdleTimeout})
	names := gateway.OneServer(s.entry.Name)
	h, err := g.chain(c, guard, alone(s), names)
	if err != nil {
		return err
	}
	settings := c.Settings().Gateway
	rules := g.access.ruleSet(&settings, names)
	old := g.setServers(next)
	g.useSets(config.Gateway{}, next)
	g.access.policy.Set(g.access.rules, rules)
	drained := g.head.Set(g.v.searching(settings, mcp.Chain(g.observer.Middleware()(h), g.tel.Middleware(onlyServer(s.entry.Name)))))
	g.access.use(rules)
	for _, was := range old {
		if was.conn != s.conn {
			go func() {
				select {
				case <-drained:
				case <-time.After(g.v.drain): // a subscription does not end
				}
				g.release(was.conn)
			}()
		}
	}
	return nil
}

// onlyServer is the name of the server whose names are those that clients use. It
// does not know which tools there are, so metrics do not name them.
type onlyServer string

// Resolve implements [telemetry.Resolver].
func (s onlyServer) Resolve(context.Context, *mcp.Caller, string, string) (server, own string, ok bool) {
	return string(s), "", true
}

// setServers records the servers in use and returns those of before.
func (g *gatewayRun) setServers(next map[string]*gatewayServer) (old map[string]*gatewayServer) {
	g.mu.Lock()
	defer g.mu.Unlock()
	old, g.servers = g.servers, next
	for name, s := range next {
		if was := old[name]; was == nil && len(old) > 0 {
			g.log.Info("a server was added", "server", name)
		} else if was != nil && was != s {
			g.log.Info("a server was replaced: its entry has changed", "server", name)
		}
	}
	for name := range old {
		if next[name] == nil {
			g.log.Info("a server was removed; it is closed when its calls have ended", "server", name)
		}
	}
	return old
}

// stateChanged logs that a server was connected. The router logs failures.
func (g *gatewayRun) stateChanged(s connect.State) {
	if s.Phase == connect.Ready {
		g.log.Info("a server is connected", "server", s.Server, "revision", s.Revision, "starts", s.Starts)
	}
}

// release closes a connection that is not used any more.
func (g *gatewayRun) release(conn *connect.Server) {
	g.mu.Lock()
	_, open := g.open[conn]
	delete(g.open, conn)
	g.mu.Unlock()
	if !open {
		return
	}
	if err := conn.Close(); err != nil {
		g.log.Info("a server did not end well", "server", conn.Name(), "error", err)
	}
	g.log.Debug("a server was closed", "server", conn.Name())
}

// telemetryLimit bounds the time for telemetry that is not exported yet.
const telemetryLimit = 3 * time.Second

// close ends all connections. After an interrupt it does not wait for a collector or
// for programs that do not end by themselves: those end with this process.
func (g *gatewayRun) close() {
	wait := telemetryLimit
	if g.interrupted.Load() {
		wait = interruptLimit
	}
	limit, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	if stop := g.checking.Load(); stop != nil {
		(*stop)()
	}
	g.checks.Wait()
	if err := g.tel.Close(limit); err != nil {
		g.log.Warn("some telemetry was not exported", "error", err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		g.closeServers()
	}()
	if g.interrupted.Load() {
		select {
		case <-done:
		case <-limit.Done():
		}
	} else {
		<-done
	}
	g.p.onBehalf.close()
	g.guard.closeUnless(nil)
	g.access.close()
	if g.ops != nil { // last, so that it says that the gateway ends until it has ended
		g.ops.Close()
	}
}

// closeServers ends all connections to servers.
func (g *gatewayRun) closeServers() {
	if g.router != nil {
		g.router.Close()
	}
	g.mu.Lock()
	g.closed = true
	open := g.open
	g.open = nil
	g.mu.Unlock()
	var all sync.WaitGroup
	for conn := range open {
		all.Go(func() { conn.Close() })
	}
	all.Wait()
}
