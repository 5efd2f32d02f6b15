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
	// Create has the model continue the conversation. The person should see
	// what is asked and what is answered. It returns [ErrSamplingRejected] when
	// the person does not allow it. Nil: sampling is not possible.
	//
	// An error refuses the request. An older server gets an error response and
	// goes on with the call; a call to a server of revision 2026-07-28 ends with
	// the error.
	Create func(ctx context.Context, p *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error)

	// Tools is set when Create can give the model tools. Unset: a server that
	// asks for it is refused.
	Tools bool

	// Context is set when Create understands IncludeContext. Unset: a server
	// that asks for it is refused.
	Context bool
}

// ErrSamplingRejected is the error of a [Sampling].Create when the person rejects
// the request. Older servers get the code that the specification has for it.
//
// Deprecated: by SEP-2577, with [Sampling].
var ErrSamplingRejected error = &mcp.Error{Code: -1, Local: true, Message: "User rejected sampling request"}

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
func (s *Sampling) handle(ctx context.Context, q mcp.InputRequest) (json.RawMessage, error) {
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
