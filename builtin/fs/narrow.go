package fs

import (
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

// This file holds roots of clients, which the 2026 revision deprecates. Without
// it, callFor would return all the roots.

// callFor returns a call with what its caller may see: the roots, and if the
// client names directories that are open, only what lies in both. A client can
// never reach more by it.
func (f *files) callFor(c *mcp.Call) (*call, error) {
	mine := &call{Call: c, files: f, areas: f.everything()}
	if f.IgnoreClientRoots || c.Caller.CanHandle(mcp.RootsRequest()) != nil {
		return mine, nil
	}
	open, err := server.Roots(c, "roots")
	if err != nil {
		return nil, err
	}
	if len(open) > 0 {
		mine.areas = f.narrowed(open)
	}
	return mine, nil
}

func (f *files) everything() []area {
	all := make([]area, len(f.roots))
	for i, r := range f.roots {
		all[i] = area{r, "."}
	}
	return all
}

// narrowed is where the roots of the server and those of a client overlap.
func (f *files) narrowed(open []mcp.Root) []area {
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
		// The client may name a link; what counts is where it leads.
		if p, info, err := f.follow(p); err == nil && info != nil {
			both = append(both, area(p))
		}
	}
	return both
}
