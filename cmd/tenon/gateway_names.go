package main

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/app/gateway"
	"github.com/tenon-mcp/tenon/internal/toolname"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/transport/streamable"
)

// gatewayOverrides returns the names of a configuration as the gateway takes them.
func gatewayOverrides(all map[string]config.GatewayName) map[string]gateway.Override {
	overrides := make(map[string]gateway.Override, len(all))
	for name, n := range all {
		overrides[name] = gateway.Override(n)
	}
	return overrides
}

// checkNames returns an error if the flags contradict each other or the
// configuration.
func (v *gatewayFlags) checkNames(g config.Gateway) error {
	if v.names == "plain" && len(g.Tools)+len(g.Prompts)+len(g.Sets) > 0 {
		return usagef("--names plain does not work with tools, prompts or sets of \"gateway\" in tenon.json: they need the names with servers")
	}
	if v.search || g.Search {
		for _, key := range slices.Sorted(maps.Keys(g.Tools)) {
			if gateway.IsSearchTool(g.Tools[key].Name) {
				return usagef("the tool %s cannot be named %s in tenon.json: with --search that is a tool of the gateway", key, g.Tools[key].Name)
			}
		}
	}
	if v.set == "" {
		return nil
	}
	if !v.stdio {
		return usagef("--set needs --stdio; over HTTP each set has a URL of its own, such as http://%s%s/%s", v.http, streamable.Path, v.set)
	}
	if _, ok := g.Sets[v.set]; !ok {
		if len(g.Sets) == 0 {
			return usagef("no set is named %q: tenon.json has no sets; add it to \"sets\" in \"gateway\"", v.set)
		}
		return usagef("no set is named %q in tenon.json; there are: %s", v.set, strings.Join(slices.Sorted(maps.Keys(g.Sets)), ", "))
	}
	return nil
}

// searching puts the search before all links that decide by tool, if the flags or
// the configuration want it, so that they see the tools that are called.
func (v *gatewayFlags) searching(g config.Gateway, h mcp.Handler) mcp.Handler {
	if !v.search && !g.Search {
		return h
	}
	return mcp.Chain(h, gateway.Search())
}

// warnUnknown logs the names of a configuration that belong to no server.
func (g *gatewayRun) warnUnknown(names map[string]config.GatewayName, servers map[string]*gatewayServer) {
	for _, key := range slices.Sorted(maps.Keys(names)) {
		known := false
		for server := range servers {
			known = known || strings.HasPrefix(key, server+"__") || toolname.HasDigest(key)
		}
		if !known {
			g.log.Warn("the configuration names a tool or prompt of a server that the gateway does not serve", "name", key)
		}
	}
}

// useSets serves the sets of a configuration instead of those of before.
func (g *gatewayRun) useSets(c config.Gateway, servers map[string]*gatewayServer) {
	g.warnUnknown(c.Tools, servers)
	g.warnUnknown(c.Prompts, servers)
	sets := make(map[string]mcp.Handler, len(c.Sets))
	for _, name := range slices.Sorted(maps.Keys(c.Sets)) {
		sets[name] = mcp.Chain(&g.head, gateway.Within(gateway.Set(c.Sets[name])))
	}
	g.sets.Store(&sets)
	if open := g.openSet.Load(); open != nil {
		g.openSets(*open)
	}
}

// openSets calls open with the name of each set, so that its first request finds all
// that it needs. It logs errors: a request tries it again.
func (g *gatewayRun) openSets(open func(name string) error) {
	for _, name := range slices.Sorted(maps.Keys(*g.sets.Load())) {
		if err := open(name); err != nil {
			g.log.Error("cannot serve a set yet", "set", name, "error", err)
		}
	}
}

// serveSets opens the sets with open, now and after each change of the configuration.
func (g *gatewayRun) serveSets(open func(name string) error) {
	g.openSet.Store(&open)
	g.openSets(open)
}

// set returns the Handler of a set, or nil if there is no such set.
func (g *gatewayRun) set(name string) mcp.Handler { return (*g.sets.Load())[name] }

// onStdio returns what the gateway serves on standard input and output.
func (g *gatewayRun) onStdio() mcp.Handler {
	if g.v.set == "" {
		return &g.head
	}
	return (&setHandlers{set: g.set}).current(g.v.set)
}

// announceSets notes the URLs of the sets.
func (g *gatewayRun) announceSets(url string) {
	var lines strings.Builder
	for _, name := range slices.Sorted(maps.Keys(*g.sets.Load())) {
		fmt.Fprintf(&lines, "\n  %s/%s", url, name)
	}
	if lines.Len() > 0 {
		g.p.note("Each set has a URL of its own:%s", lines.String())
	}
}

// setHandlers serves sets over HTTP, each at its own path. Sets may come and go.
type setHandlers struct {
	set     func(name string) mcp.Handler // nil if there is no such set
	options *streamable.Options

	mu       sync.Mutex
	handlers map[string]*setHandler
}

// A setHandler is the Handler of a set. The goroutine that adds it to setHandlers
// makes the Handler, without a lock: that needs Redis if there is a cluster.
type setHandler struct {
	ready   chan struct{} // closed when the other fields are set
	handler *streamable.Handler
	err     error
}

// ServeHTTP implements [http.Handler]. The path has the variable {set}.
func (s *setHandlers) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("set")
	if s.set(name) == nil {
		http.NotFound(w, r)
		return
	}
	h, err := s.handler(name)
	if err != nil {
		if log := s.options.Logger; log != nil {
			log.Error("cannot serve a set", "set", name, "error", err)
		}
		w.Header().Set("Retry-After", "5")
		http.Error(w, "the set cannot be served now; try again later", http.StatusServiceUnavailable)
		return
	}
	h.ServeHTTP(w, r)
}

// Sessions returns the number of sessions at all sets.
func (s *setHandlers) Sessions() (n int) {
	for _, h := range s.all() {
		n += h.Sessions()
	}
	return n
}

// all returns the Handlers that have been made.
func (s *setHandlers) all() (all []*streamable.Handler) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range s.handlers {
		select {
		case <-h.ready:
			if h.err == nil {
				all = append(all, h.handler)
			}
		default:
		}
	}
	return all
}

// open makes the Handler of a set that exists, so that the first request does not
// need Redis.
func (s *setHandlers) open(name string) error {
	_, err := s.handler(name)
	return err
}

// handler returns the Handler of a set that exists. The first caller makes it, and
// others wait for that. After an error the next caller tries again.
func (s *setHandlers) handler(name string) (*streamable.Handler, error) {
	s.mu.Lock()
	h, known := s.handlers[name]
	if !known {
		h = &setHandler{ready: make(chan struct{})}
		s.handlers[name] = h
	}
	s.mu.Unlock()
	if !known {
		o := *s.options
		o.Scope = "set " + name
		h.handler, h.err = streamable.NewHandler(s.current(name), &o)
		if h.err != nil {
			s.mu.Lock()
			delete(s.handlers, name)
			s.mu.Unlock()
		}
		close(h.ready)
	}
	<-h.ready
	return h.handler, h.err
}

// current serves what the set is at the time of a call.
func (s *setHandlers) current(name string) mcp.Handler {
	return mcp.HandlerFunc(func(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
		h := s.set(name)
		if h == nil {
			return mcp.Result{}, mcp.Errorf(mcp.CodeInvalidRequest, "the set %q does not exist any more", name)
		}
		return h.Serve(ctx, c)
	})
}

// Shutdown ends the streams of all sets.
func (s *setHandlers) Shutdown() {
	for _, h := range s.all() {
		h.Shutdown()
	}
}
