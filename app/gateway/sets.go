package gateway

import (
	"context"
	"slices"
	"strings"

	"github.com/tenon-mcp/tenon/internal/protocol"
	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/internal/rulematch"
	"github.com/tenon-mcp/tenon/mcp"
)

// A Set is a selection of what the servers of a Router offer. Everything that one
// of its members selects is in it, except for Except.
//
// Tools, Prompts, Resources and Except are patterns of names as clients see them:
// * matches any text, ? one character. A selected tool can use the views (ui://)
// and the tasks of its server.
type Set struct {
	// Servers are names of servers with everything that they offer.
	Servers []string
	// Tools and Prompts select by name.
	Tools, Prompts []string
	// Resources selects resources, templates and skills by URI.
	Resources []string
	// Except are tools and prompts that are not in the set.
	Except []string
}

// Within returns middleware that limits clients to a set. It marks calls, and the
// Router at the end of the chain serves what is in the set and nothing else, so
// that the links in between are shared with other sets:
//
//	all := mcp.Chain(router, policy)
//	dev := mcp.Chain(all, gateway.Within(gateway.Set{Servers: []string{"notes"}}))
//
// It has no effect without a Router.
func Within(s Set) mcp.Middleware {
	sel := &selection{set: s}
	return func(next mcp.Handler) mcp.Handler {
		return mcp.HandlerFunc(func(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
			return next.Serve(context.WithValue(ctx, selectionKey{}, sel), c)
		})
	}
}

// selectionKey is the key of the selection in the context of a call.
type selectionKey struct{}

// A selection is a Set in use. Nil selects everything.
type selection struct {
	set    Set
	merged listCache
}

// selectionOf returns the selection of a call.
func selectionOf(ctx context.Context) *selection {
	s, _ := ctx.Value(selectionKey{}).(*selection)
	return s
}

// has reports whether a name that clients see is in the selection.
func (s *selection) has(u *upstream, kind, name string) bool {
	if s == nil {
		return true
	}
	whole := slices.Contains(s.set.Servers, u.name)
	switch kind {
	case protocol.KindTool:
		return (whole || matches(s.set.Tools, name)) && !matches(s.set.Except, name)
	case protocol.KindPrompt:
		return (whole || matches(s.set.Prompts, name)) && !matches(s.set.Except, name)
	case protocol.KindURI, protocol.KindTemplate:
		return whole || matches(s.set.Resources, name) || strings.HasPrefix(name, "ui://") && s.mayHaveTool(u)
	}
	return whole || s.mayHaveTool(u)
}

// involves reports whether the selection may have anything of a server; nil stands
// for all of them.
func (s *selection) involves(u *upstream) bool {
	if s == nil || u == nil || slices.Contains(s.set.Servers, u.name) || s.mayHaveTool(u) || mayMatch(s.set.Prompts, u, u.r.overridesOf(protocol.KindPrompt)) {
		return true
	}
	return slices.ContainsFunc(s.set.Resources, func(pattern string) bool {
		text := literal(pattern)
		for _, scheme := range sharedSchemes {
			text = strings.TrimPrefix(text, scheme)
		}
		return strings.HasPrefix(text, u.key) || strings.HasPrefix(u.key, text)
	})
}

// mayHaveTool reports whether the selection may have a tool of a server.
func (s *selection) mayHaveTool(u *upstream) bool {
	return slices.Contains(s.set.Servers, u.name) || mayMatch(s.set.Tools, u, u.r.overridesOf(protocol.KindTool))
}

// mayMatch reports whether patterns may match a name of a server.
func mayMatch(patterns []string, u *upstream, o *overrides) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		text, prefix := literal(pattern), u.prefix
		if strings.HasPrefix(text, prefix) || strings.HasPrefix(prefix, text) {
			return true
		}
		for name, key := range o.renamed {
			if (strings.HasPrefix(key, prefix) || strings.HasPrefix(key, u.name+"__")) && rulematch.Glob(pattern, name) {
				return true
			}
		}
		return false
	})
}

func matches(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return rulematch.Glob(p, name) })
}

// literal returns the text that everything which matches the pattern begins with.
func literal(pattern string) string {
	if i := strings.IndexAny(pattern, "*?"); i >= 0 {
		return pattern[:i]
	}
	return pattern
}

// kept returns the items, with commas in between, whose names keep selects.
func (l listKind) kept(items []byte, keep func(kind, name string) bool) []byte {
	list := append(append([]byte{'['}, items...), ']')
	return elements(keepItems(list, func(item []byte) bool { return keep(l.nameOf(item)) }))
}

// nameOf returns the name of an item, and its kind.
func (l listKind) nameOf(item []byte) (kind, name string) {
	kind, member := itemName(l)
	name, _ = rawjson.String(rawjson.Lookup(item, member))
	return kind, name
}
