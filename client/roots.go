package client

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/tenon-mcp/tenon/mcp"
)

// This file holds the roots feature, which the 2026 revision deprecates.

// listRoots responds to a roots request.
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

// RootsChanged notifies the server that the result of Options.Roots has
// changed. A server of an older revision may then request the roots again. A
// server of revision 2026-07-28 requests them with each call that needs them,
// so nothing is sent.
//
// Deprecated: by SEP-2577; it may be removed in the first revision on or after
// 2027-07-28. Use tool parameters or URIs instead.
func (c *Client) RootsChanged(ctx context.Context) error {
	err := c.Notify(ctx, mcp.NotificationRootsListChanged, nil)
	if e, ok := errors.AsType[*mcp.Error](err); ok && e.Code == mcp.CodeMethodNotFound {
		return nil // a server in this process without a handler for it
	}
	return err
}
