package server

import "github.com/tenon-mcp/tenon/mcp"

// This file holds sampling, which the 2026 revision deprecates.

// Sample asks the client to have its model write something. The error is to be
// returned by the handler as it is, as with [Elicit].
//
// Deprecated: by SEP-2577; it may go in the first revision on or after
// 2027-07-28. Call a model directly instead.
func Sample(c *mcp.Call, key string, p *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
	if err := mcp.CheckSampling(p); err != nil {
		return nil, err
	}
	q, err := mcp.SamplingQuestion(p)
	if err != nil {
		return nil, err
	}
	raw, err := c.Ask(key, q)
	if err != nil {
		return nil, err
	}
	r := new(mcp.CreateMessageResult)
	if err := mcp.Unmarshal(raw, r); err != nil {
		return nil, mcp.InvalidParams("the answer to %q cannot be read: %v", key, err)
	}
	return r, nil
}
