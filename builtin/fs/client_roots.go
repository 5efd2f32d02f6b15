package fs

import (
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

// This file supports the roots of clients, which the 2026 revision
// deprecates. Without it, callFor would return all roots of the server.

// callFor returns the call with the areas that its client may reach: all
// roots of the server, or, if the client names roots, the intersection of
// both. A client can never extend the roots of the server.
func (f *files) callFor(c *mcp.Call) (*call, error) {
	scoped := &call{Call: c, files: f, areas: f.allRoots()}
	if f.IgnoreClientRoots || c.Caller.CanHandle(mcp.RootsRequest()) != nil {
		return scoped, nil
	}
	open, err := server.Roots(c, "roots")
	if err != nil {
		return nil, err
	}
	if len(open) > 0 {
		scoped.areas = f.intersectRoots(open)
	}
	return scoped, nil
}

func (f *files) allRoots() []area {
	all := make([]area, len(f.roots))
	for i, r := range f.roots {
		all[i] = area{r, "."}
	}
	return all
}

// intersectRoots returns the intersection of the roots of the server and those of
// a client.
func (f *files) intersectRoots(open []mcp.Root) []area {
	var both []area
	for _, o := range open {
		name, err := readPath(o.URI)
		if err != nil {
			continue
		}
		for _, r := range f.roots {
			_, above := within(name, r.real)
			_, given := within(name, r.given)
			if above || given {
				both = append(both, area{r, "."})
			}
		}
		p, ok := f.rootOf(name)
		if !ok || p.rel == "." {
			continue
		}
		// A client root may be a link; its target counts.
		if p, info, err := f.follow(p); err == nil && info != nil {
			both = append(both, area(p))
		}
	}
	return both
}
