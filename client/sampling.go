package client

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/tenon-mcp/tenon/mcp"
)

// This file holds the sampling feature, which the 2026 revision deprecates.

// Sampling lets servers have a model write something.
//
// Deprecated: by SEP-2577; it may go in the first revision on or after
// 2027-07-28. Servers call a model directly instead.
type Sampling struct {
	// Create has the model go on with the conversation. The person should see
	// what is asked and what is answered. Nil: sampling is not possible.
	Create func(ctx context.Context, p *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error)

	// Tools is set when Create can give the model tools. Unset: a server that
	// asks for it is refused.
	Tools bool

	// Context is set when Create understands IncludeContext. Unset: a server
	// that asks for it is refused.
	Context bool
}

func (s *Sampling) capability() *mcp.SamplingCapability {
	if s == nil || s.Create == nil {
		return nil
	}
	c := &mcp.SamplingCapability{}
	if s.Tools {
		c.Tools = mcp.Settings{}
	}
	if s.Context {
		c.Context = mcp.Settings{}
	}
	return c
}

// answer has the model write the answer to a question.
func (s *Sampling) answer(ctx context.Context, q mcp.Question) (json.RawMessage, error) {
	var p mcp.CreateMessageParams
	if err := mcp.Unmarshal(q.Params, &p); err != nil {
		return nil, malformed(q, err)
	}
	if err := mcp.CheckSampling(&p); err != nil {
		return nil, malformed(q, err)
	}
	got, err := s.Create(ctx, &p)
	if err != nil {
		return nil, err
	}
	if got == nil {
		return nil, errors.New("the function for sampling returned neither a message nor an error")
	}
	return mcp.Marshal(got)
}
