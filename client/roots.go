package client

import (
	"context"
	"encoding/json"

	"github.com/tenon-mcp/tenon/mcp"
)

// This file holds the roots feature, which the 2026 revision deprecates.

// listRoots answers a server that asks for the roots.
func (o *Options) listRoots(ctx context.Context) (json.RawMessage, error) {
	roots, err := o.Roots(ctx)
	if err != nil {
		return nil, err
	}
	for _, r := range roots {
		if err := r.Check(); err != nil {
			return nil, err
		}
	}
	return mcp.Marshal(mcp.ListRootsResult{Roots: roots})
}
