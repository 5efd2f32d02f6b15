package main

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"slices"
	"syscall"
	"time"

	"github.com/tenon-mcp/tenon/app/telemetry"
	"github.com/tenon-mcp/tenon/internal/softclose"
	"github.com/tenon-mcp/tenon/transport/streamable"
)

// interruptLimit bounds the time for polite ends of streams after an interrupt, and
// that for the ends of servers.
const interruptLimit = 300 * time.Millisecond

// serve serves the gateway over HTTP until ctx ends.
func (g *gatewayRun) serve(ctx context.Context, page *gatewayPage) error {
	if err := g.cluster.agree(ctx, g.v.guarded(), g.log); err != nil {
		return err
	}
	ctx, end := g.cluster.whileAgreed(ctx, g.v.guarded(), g.log)
	defer end()
	g.cluster.compare(g.log)
	g.v.replica, g.v.keepSessions = g.cluster.member(), g.keepsSessions
	if err := g.listenOps(); err != nil {
		return err
	}
	defer g.follow(ctx)()
	g.v.announce = func(url string) {
		g.paste(url)
		g.announceSets(url)
		page.serve(url)
	}
	g.v.openSets = g.serveSets
	g.v.sets, g.v.logins, g.v.inside = g.set, g.p.onBehalf.serveLogins, g.p.onBehalf.loop.wrap
	if g.tel.Traces() {
		g.v.wrap = telemetry.HTTP
	}
	g.v.served = func(sessions func() int) { g.sessions.Store(&sessions) }
	g.v.mount = func(mux *http.ServeMux, guarded bool) {
		if g.ops == nil {
			g.mountOps(mux, !guarded)
		}
	}
	g.v.ending = func() time.Duration {
		g.draining.Store(true)
		if !g.p.drain.Load() {
			g.interrupted.Store(true)
			return interruptLimit
		}
		g.v.replaced = true
		notifySystemd("STOPPING=1")
		g.log.Info("ending: waiting for open calls", "calls", g.head.InFlight(), "limit", g.v.drain)
		return g.v.drain
	}
	g.v.ready = func() { notifySystemd("READY=1") }
	err := g.p.serveHTTP(ctx, "gateway", &g.head, &g.v.serving)
	if cause := context.Cause(ctx); errors.Is(cause, errServesEverybody) {
		return cause
	}
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() != nil {
		if n := g.head.InFlight(); n > 0 {
			g.log.Warn("ended with open calls", "calls", n)
		}
		return nil
	}
	return err
}

// listen takes the address of the gateway, before it connects to a server: if that
// fails, nothing has been started.
func (v *gatewayFlags) listen() error {
	l, err := softclose.Listen(v.http)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return usagef("%s is in use: \"tenon gateway status\" says whether another gateway runs there; choose another address with --addr", v.http)
	case err != nil:
		return listenError("--addr", v.http, "127.0.0.1:7070", err)
	}
	if err := v.checkReach(l.Addr()); err != nil {
		l.Close()
		return err
	}
	v.listener = l
	return nil
}

// usePublic lets clients use the name in --public-url.
func (v *gatewayFlags) usePublic() error {
	if v.public == "" {
		return nil
	}
	u, err := url.Parse(v.public)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return usagef("--public-url must be a URL such as https://mcp.example.com/mcp, not %q", v.public)
	}
	if !slices.Contains(v.hosts, u.Hostname()) {
		v.hosts = append(v.hosts, u.Hostname())
	}
	return nil
}

// publicElsewhere reports whether --public-url is not a URL of this machine.
func (v *gatewayFlags) publicElsewhere() bool {
	if v.public == "" {
		return false
	}
	u, err := url.Parse(v.public)
	if err != nil {
		return true
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback())
}

// checkReach returns an error if other machines can reach the gateway, at an address
// or through a proxy, and nothing says who may use it.
func (v *gatewayFlags) checkReach(at net.Addr) error {
	shared := "" // where replicas look for keys
	if v.cluster.url() != "" {
		shared = ", with --redis and --cluster-secret as here"
	}
	switch {
	case v.guarded() || isLoopback(at) && !v.publicElsewhere():
		return nil
	case isLoopback(at):
		return usagef(`other machines can reach the gateway at %[1]s, so require authorization. Use one of:
  API keys             tenon gateway keys add NAME%[2]s, then start the gateway again
  tokens of an issuer  --auth-issuer URL
  one fixed token      a variable of the environment, named with --auth-token
If the proxy identifies clients itself, it can send the fixed token.
Without --public-url the gateway serves this machine only.`, v.public, shared)
	}
	return usagef(`other machines can reach %[1]s, so require authorization, or serve this machine only. Use one of:
  API keys             tenon gateway keys add NAME%[3]s, then start the gateway again
  tokens of an issuer  --auth-issuer URL
  one fixed token      a variable of the environment, named with --auth-token
  this machine only    --addr 127.0.0.1:%[2]d
Behind a proxy that ends TLS, use one of the first three and
  --addr 127.0.0.1:%[2]d --public-url https://mcp.example.com/mcp
with the URL that clients use. If the proxy is on another machine, serve HTTPS to it
at an address of your network, with --tls-cert and --tls-key.`, v.http, at.(*net.TCPAddr).Port, shared)
}

// listenOps serves the endpoints for operators at --ops-addr, if there is one, until
// the gateway is closed.
func (g *gatewayRun) listenOps() error {
	if g.v.ops == "" {
		return nil
	}
	l, err := net.Listen("tcp", g.v.ops)
	if err != nil {
		return listenError("--ops-addr", g.v.ops, "127.0.0.1:9090", err)
	}
	mux := http.NewServeMux()
	mux.Handle(healthPath, &health{})
	g.mountOps(mux, true)
	var h http.Handler = mux
	if tcp, ok := l.Addr().(*net.TCPAddr); ok && !tcp.IP.IsLoopback() {
		guard, err := g.v.guard(l.Addr(), g.log)
		if err != nil {
			l.Close()
			return err
		}
		open := http.NewServeMux()
		open.Handle(healthPath, &health{})
		g.mountOps(open, false)
		open.Handle(metricsPath, guard.Wrap(mux))
		open.Handle(statusPath, guard.Wrap(mux))
		h = open
	}
	g.ops = streamable.NewHTTPServer(h)
	go g.ops.Serve(l) // ends with Close
	g.p.note("Metrics and status are at http://%s", l.Addr())
	return nil
}
