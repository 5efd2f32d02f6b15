package client

import (
	"context"
	"encoding/json"
	"errors"

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

// RootsChanged announces that what Options.Roots returns has changed. A server
// of an older revision gets a notification and may ask for the roots again. A
// server of revision 2026-07-28 asks with each call that needs them, so nothing
// is sent.
//
// Deprecated: by SEP-2577; it may go in the first revision on or after
// 2027-07-28. Use tool parameters or URIs instead.
func (c *Client) RootsChanged(ctx context.Context) error {
	err := c.Notify(ctx, mcp.NotificationRootsListChanged, nil)
	if e, ok := errors.AsType[*mcp.Error](err); ok && e.Code == mcp.CodeMethodNotFound {
		return nil // a server in this process that does not hear of it
	}
	return err
}
