package gateway

import (
	"context"

	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/mcp"
)

// A Lister is a [Resolver] that also knows which names servers list. A name that
// is not listed may be invented, so links neither count nor label by it. A [Router]
// is one.
type Lister interface {
	Resolver
	// Lists reports whether a server lists a name to a caller. It may wait for the
	// list of the server, once.
	Lists(ctx context.Context, c *mcp.Caller, kind, name string) bool
}

// isListed reports whether a name is listed. Without a Lister that is not known,
// and counts as true.
func isListed(ctx context.Context, c *mcp.Caller, names Resolver, kind, name string) bool {
	l, ok := names.(Lister)
	return !ok || l.Lists(ctx, c, kind, name)
}

// Lists implements [Lister]. It does not open a connection of the caller, without
// which a server with connections of callers lists nothing.
func (r *Router) Lists(ctx context.Context, c *mcp.Caller, kind, name string) bool {
	t := r.table.Load()
	u, _, ok := t.inward(ctx, c, kind, name)
	if !ok || !mayContact(ctx, u) {
		return false
	}
	all := u.connections(c)
	for _, l := range lists {
		if k, _ := itemName(l); k != kind {
			continue
		}
		if listedIn(all, l, name) {
			return true
		}
		if c == nil && u.pool != nil {
			return false // the caller of none of them is known
		}
		t.read(ctx, all, l)
		return listedIn(all, l, name)
	}
	return false
}

// listedIn reports whether one of the connections lists a name.
func listedIn(all []*upstream, l listKind, name string) bool {
	for _, u := range all {
		if u.names(l)[name] {
			return true
		}
	}
	return false
}

// names returns the names in the last list of a connection. The caller must not
// modify them.
func (u *upstream) names(l listKind) map[string]bool {
	u.mu.Lock()
	known := u.lists[l.method]
	if known == nil || known.names != nil {
		defer u.mu.Unlock()
		if known == nil {
			return nil
		}
		return known.names
	}
	items, version := known.items, known.version
	u.mu.Unlock()
	names := map[string]bool{}
	list := append(append([]byte{'['}, items...), ']')
	for e := rawjson.Array(list); e.Next(); {
		_, name := l.nameOf(e.Value)
		names[name] = true
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if known.version == version {
		known.names = names
	}
	return names
}
