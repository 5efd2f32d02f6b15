package server

import "github.com/tenon-mcp/tenon/mcp"

// This file holds roots, which the 2026 revision deprecates.

// Roots asks the client which directories are open to the server. Roots that
// are not file URIs are left out: they came from outside and mean nothing here.
// The error is to be returned by the handler as it is, as with [Elicit].
//
// Deprecated: by SEP-2577; it may go in the first revision on or after
// 2027-07-28. Use tool parameters or URIs instead.
func Roots(c *mcp.Call, key string) ([]mcp.Root, error) {
	raw, err := c.Ask(key, mcp.RootsQuestion())
	if err != nil {
		return nil, err
	}
	var r mcp.ListRootsResult
	if err := mcp.Unmarshal(raw, &r); err != nil {
		return nil, mcp.InvalidParams("the answer to %q cannot be read: %v", key, err)
	}
	good := r.Roots[:0]
	for _, root := range r.Roots {
		if root.Check() == nil {
			good = append(good, root)
		}
	}
	return good, nil
}
