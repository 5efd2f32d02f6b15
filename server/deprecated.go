package server

import (
	"encoding/json"
	"slices"

	"github.com/tenon-mcp/tenon/mcp"
)

// This file holds roots and sampling, which the 2026 revision deprecates.

// Roots requests the client's roots, the directories that the server may use.
// Roots that are not file URIs are left out. The handler returns the error, as
// with [Elicit]. If the client answers with an error, it is an [*InputError].
//
// Deprecated: by SEP-2577; it may be removed in the first revision on or after
// 2027-07-28. Use tool parameters or URIs instead.
func Roots(c *mcp.Call, key string) ([]mcp.Root, error) {
	var roots []mcp.Root
	err := AskAll(c, RootsInput(key, &roots))
	return roots, err
}

// RootsInput requests the client's roots, as one of the inputs of [AskAll].
// AskAll stores the response in into.
//
// Deprecated: by SEP-2577, with [Roots].
func RootsInput(key string, into *[]mcp.Root) Input {
	return Input{key: key, q: mcp.RootsRequest(), take: func(raw json.RawMessage) error {
		var r mcp.ListRootsResult
		if err := mcp.Unmarshal(raw, &r); err != nil {
			return mcp.InvalidParams("response to %q: %v", key, err)
		}
		*into = slices.DeleteFunc(r.Roots, func(root mcp.Root) bool { return root.Check() != nil })
		return nil
	}}
}

// Sample asks the client to generate a message with its model. The handler
// returns the error, as with [Elicit]. If the user rejects the request, the
// error is an [*InputError], and a tool may continue without the model.
//
// Deprecated: by SEP-2577; it may be removed in the first revision on or after
// 2027-07-28. Call a model directly instead.
func Sample(c *mcp.Call, key string, p *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
	r := new(mcp.CreateMessageResult)
	if err := AskAll(c, SampleInput(key, p, r)); err != nil {
		return nil, err
	}
	return r, nil
}

// SampleInput asks the client to generate a message with its model, as one of
// the inputs of [AskAll]. AskAll stores the response in into.
//
// Deprecated: by SEP-2577, with [Sample].
func SampleInput(key string, p *mcp.CreateMessageParams, into *mcp.CreateMessageResult) Input {
	if err := p.Check(); err != nil {
		return Input{err: err}
	}
	q, err := mcp.SamplingRequest(p)
	return Input{key: key, q: q, err: err, take: func(raw json.RawMessage) error {
		if err := mcp.Unmarshal(raw, into); err != nil {
			return mcp.InvalidParams("response to %q: %v", key, err)
		}
		return nil
	}}
}
