package main

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/app/connect"
	"github.com/tenon-mcp/tenon/internal/protocol"
	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/internal/rulematch"
	"github.com/tenon-mcp/tenon/internal/typo"
	"github.com/tenon-mcp/tenon/mcp"
)

// warn logs what in a configuration is probably a mistake: at once what the files
// tell, and what names tools and prompts when the servers have listed theirs.
func (g *gatewayRun) warn(c *config.Config, next map[string]*gatewayServer) {
	settings := c.Settings().Gateway
	static := entryWarnings(c, next)
	uses := matchesOf(filepath.Base(c.UserFile()), &settings)
	servers := slices.Sorted(maps.Keys(next))
	for _, u := range uses {
		static = append(static, u.misnamed(servers)...)
	}
	g.setWarnings(nil, static)
	uses = slices.DeleteFunc(uses, func(u namedMatch) bool { return u.tool == "" && u.prompt == "" })
	ctx, cancel := context.WithCancel(context.Background())
	if old := g.checking.Swap(&cancel); old != nil {
		(*old)()
	}
	if len(uses) > 0 {
		g.checks.Go(func() { g.warnUnused(ctx, uses, static) })
	}
}

// setWarnings logs warnings that are new and keeps them for the status.
func (g *gatewayRun) setWarnings(before, more []string) {
	for _, text := range more {
		g.log.Warn("the configuration may have a mistake", "warning", text)
	}
	all := slices.Concat(before, more)
	g.warnings.Store(&all)
}

// entryWarnings returns the warnings about entries in use, such as unknown members.
func entryWarnings(c *config.Config, next map[string]*gatewayServer) (all []string) {
	for _, e := range c.Entries() {
		if next[e.Name] == nil || e.Shadowed != "" {
			continue
		}
		for _, w := range e.Warnings {
			all = append(all, fmt.Sprintf("server %s: %s", e.Name, w))
		}
	}
	return all
}

// A namedMatch is a part of the settings that selects calls.
type namedMatch struct {
	where             string
	principal, server string
	tool, prompt      string // as the server names them
	outward           bool   // tool and prompt are as clients see them
}

// matchesOf returns the rules, limits and parts of sets.
func matchesOf(file string, s *config.Gateway) (all []namedMatch) {
	add := func(what string, line int, m *config.GatewayMatch) {
		all = append(all, namedMatch{where: fmt.Sprintf("the %s in line %d of %s", what, line, file), principal: m.Principal, server: m.Server, tool: m.Tool, prompt: m.Prompt})
	}
	for _, r := range s.Rules {
		add("rule", r.Line, &r.GatewayMatch)
	}
	for _, l := range s.Limits {
		add("limit", l.Line, &l.GatewayMatch)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Sets)) {
		where, set := fmt.Sprintf("the set %q", name), s.Sets[name]
		for _, server := range set.Servers {
			all = append(all, namedMatch{where: where, server: server})
		}
		for _, tool := range set.Tools {
			all = append(all, namedMatch{where: where, tool: tool, outward: true})
		}
		for _, prompt := range set.Prompts {
			all = append(all, namedMatch{where: where, prompt: prompt, outward: true})
		}
	}
	return all
}

// misnamed returns warnings about what cannot match, whatever servers list.
func (m *namedMatch) misnamed(servers []string) (all []string) {
	fits := func(server string) bool { return rulematch.Glob(m.server, server) }
	if m.server != "" && !slices.ContainsFunc(servers, fits) {
		all = append(all, fmt.Sprintf("%s matches nothing: no server is named %q%s", m.where, m.server, suggestion(m.server, servers)))
	}
	if p := m.principal; p != "" && p != "local" && !strings.ContainsAny(p, ":*?") {
		all = append(all, fmt.Sprintf("%s matches nobody: a principal is user:ID, key:NAME or local, not %q; did you mean %q?", m.where, p, "user:"+p))
	}
	return all
}

// suggestion returns the nearest known word as a question.
func suggestion(word string, known []string) string {
	if n := typo.Nearest(word, known); n != "" {
		return fmt.Sprintf("; did you mean %q?", n)
	}
	return ""
}

// warnUnused waits until servers are connected or have failed, and then warns of
// names that no server lists.
func (g *gatewayRun) warnUnused(ctx context.Context, uses []namedMatch, before []string) {
	ctx, cancel := context.WithTimeout(ctx, readyLimit)
	defer cancel()
	starting := func(s gatewayServerStatus) bool { return connect.Phase(s.State) == connect.Starting }
	for slices.ContainsFunc(g.serverStatus(), starting) {
		select {
		case <-ctx.Done():
			return
		case <-time.After(100 * time.Millisecond):
		}
	}
	listed := map[string][]listedName{}
	for method, kind := range map[string]string{mcp.MethodToolsList: protocol.KindTool, mcp.MethodPromptsList: protocol.KindPrompt} {
		names, err := g.listed(ctx, method, kind)
		if err != nil {
			return
		}
		listed[kind] = names
	}
	known := map[string]bool{} // whether everything of a server was listed
	for _, s := range g.serverStatus() {
		known[s.Name] = s.available() && s.HeldBack == 0 && s.Tools != nil
	}
	var more []string
	for _, u := range uses {
		more = append(more, u.unused(known, listed)...)
	}
	if ctx.Err() == nil && len(more) > 0 {
		g.setWarnings(before, more)
	}
}

// A listedName is a tool or prompt that a server lists, as the server and as
// clients name it.
type listedName struct{ server, own, name string }

// listed returns the tools or prompts of all servers.
func (g *gatewayRun) listed(ctx context.Context, method, kind string) (all []listedName, err error) {
	if g.router == nil {
		return nil, fmt.Errorf("with --names plain it is not known")
	}
	res, err := g.router.Serve(ctx, &mcp.Call{Method: method})
	if err != nil {
		return nil, err
	}
	for e := rawjson.Array(rawjson.Lookup(res.Body, kind+"s")); e.Next(); {
		name, _ := rawjson.String(rawjson.Lookup(e.Value, "name"))
		if server, own, ok := g.router.Resolve(ctx, nil, kind, name); ok {
			all = append(all, listedName{server, own, name})
		}
	}
	return all, nil
}

// unused returns a warning if no server lists what a match names. It returns none
// if a server that may have it was not listed.
func (m *namedMatch) unused(known map[string]bool, listed map[string][]listedName) []string {
	kind, pattern := protocol.KindTool, m.tool
	if pattern == "" {
		kind, pattern = protocol.KindPrompt, m.prompt
	}
	matches, names := 0, []string{}
	for server, all := range known {
		if m.server != "" && !rulematch.Glob(m.server, server) {
			continue
		}
		if matches++; !all {
			return nil
		}
	}
	for _, l := range listed[kind] {
		if m.server != "" && !rulematch.Glob(m.server, l.server) {
			continue
		}
		name := l.own
		if m.outward {
			name = l.name
		}
		if rulematch.Glob(pattern, name) {
			return nil
		}
		names = append(names, name)
	}
	if matches == 0 { // the server is wrong, which was said
		return nil
	}
	return []string{fmt.Sprintf("%s matches nothing: no server lists a %s named %q%s", m.where, kind, pattern, suggestion(pattern, names))}
}

// statusWarnings returns the warnings for the status.
func (g *gatewayRun) statusWarnings() (all []string) {
	if refuses, err := g.access.auditError(); err != nil {
		text := "the audit log cannot be written: " + err.Error()
		if refuses {
			text = "calls are refused: " + text
		}
		all = append(all, text)
	}
	if w := g.warnings.Load(); w != nil {
		all = append(all, *w...)
	}
	for i := range all {
		all[i] = g.p.cleanLine(all[i])
	}
	return all
}
