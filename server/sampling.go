package server

import (
	"encoding/json"

	"github.com/tenon-mcp/tenon/mcp"
)

// This file holds sampling, which the 2026 revision deprecates.

// Sample asks the client to have its model write something. The error is to be
// returned by the handler as it is, as with [Elicit]. A person who does not allow
// it makes it an [*InputError], after which a tool may go on without the model.
//
// Deprecated: by SEP-2577; it may go in the first revision on or after
// 2027-07-28. Call a model directly instead.
func Sample(c *mcp.Call, key string, p *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
	r := new(mcp.CreateMessageResult)
	if err := AskAll(c, SampleInput(key, p, r)); err != nil {
		return nil, err
	}
	return r, nil
}

// SampleInput asks the client to have its model write something, as one of the
// inputs of [AskAll]. The response is stored in into.
//
// Deprecated: by SEP-2577, with [Sample].
func SampleInput(key string, p *mcp.CreateMessageParams, into *mcp.CreateMessageResult) Input {
	if err := mcp.CheckSampling(p); err != nil {
		return Input{err: err}
	}
	q, err := mcp.SamplingRequest(p)
	return Input{key: key, q: q, err: err, take: func(raw json.RawMessage) error {
		if err := mcp.Unmarshal(raw, into); err != nil {
			return mcp.InvalidParams("the answer to %q cannot be read: %v", key, err)
		}
		return nil
	}}
}
