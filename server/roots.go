package server

import (
	"encoding/json"
	"slices"

	"github.com/tenon-mcp/tenon/mcp"
)

// This file holds roots, which the 2026 revision deprecates.

// Roots asks the client which directories are open to the server. Roots that
// are not file URIs are left out: they came from outside and mean nothing here.
// The error is to be returned by the handler as it is, as with [Elicit]. A client
// that does not tell its roots makes it an [*InputError].
//
// Deprecated: by SEP-2577; it may go in the first revision on or after
// 2027-07-28. Use tool parameters or URIs instead.
func Roots(c *mcp.Call, key string) ([]mcp.Root, error) {
	var roots []mcp.Root
	err := AskAll(c, RootsInput(key, &roots))
	return roots, err
}

// RootsInput asks the client for its roots, as one of the inputs of [AskAll].
// The response is stored in into.
//
// Deprecated: by SEP-2577, with [Roots].
func RootsInput(key string, into *[]mcp.Root) Input {
	return Input{key: key, q: mcp.RootsRequest(), take: func(raw json.RawMessage) error {
		var r mcp.ListRootsResult
		if err := mcp.Unmarshal(raw, &r); err != nil {
			return mcp.InvalidParams("the answer to %q cannot be read: %v", key, err)
		}
		*into = slices.DeleteFunc(r.Roots, func(root mcp.Root) bool { return root.Check() != nil })
		return nil
	}}
}
