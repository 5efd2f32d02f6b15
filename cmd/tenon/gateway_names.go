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
	handlers map[string]*streamable.Handler
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
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	h.ServeHTTP(w, r)
}

// Sessions returns the number of sessions at all sets.
func (s *setHandlers) Sessions() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range s.handlers {
		n += h.Sessions()
	}
	return n
}

// handler returns the Handler of a set that exists.
func (s *setHandlers) handler(name string) (*streamable.Handler, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h := s.handlers[name]; h != nil {
		return h, nil
	}
	o := *s.options
	o.Scope = "set " + name
	h, err := streamable.NewHandler(s.current(name), &o)
	if err == nil {
		s.handlers[name] = h
	}
	return h, err
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
	s.mu.Lock()
	all := slices.Collect(maps.Values(s.handlers))
	s.mu.Unlock()
	for _, h := range all {
		h.Shutdown()
	}
}
