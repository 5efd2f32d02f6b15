package client

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/tenon-mcp/tenon/mcp"
)

// This file holds the sampling feature, which the 2026 revision deprecates.

// Sampling lets servers generate messages with the client's model.
//
// Deprecated: by SEP-2577; it may be removed in the first revision on or after
// 2027-07-28. Servers call a model directly instead.
type Sampling struct {
	// Create generates the next message of the conversation. The user should be
	// able to review the request and the response. It returns
	// [ErrSamplingRejected] if the user does not allow the request. If Create is
	// nil, the client does not declare the capability.
	//
	// An error refuses the request. An older server gets an error response and
	// continues the call; a call to a server of revision 2026-07-28 ends with
	// the error.
	Create func(ctx context.Context, p *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error)

	// Tools declares that Create supports tools. If it is not set, requests
	// with tools are rejected.
	Tools bool

	// Context declares that Create supports IncludeContext. If it is not set,
	// such requests are rejected.
	Context bool
}

// ErrSamplingRejected is the error that [Sampling].Create returns if the user
// rejects the request. Older servers get the error code that the specification
// defines for this case.
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

// handle responds to a sampling request.
func (s *Sampling) handle(ctx context.Context, q mcp.InputRequest) (json.RawMessage, error) {
	var p mcp.CreateMessageParams
	if err := mcp.Unmarshal(q.Params, &p); err != nil {
		return nil, invalidRequest(q, err)
	}
	if err := p.Check(); err != nil {
		return nil, invalidRequest(q, err)
	}
	got, err := s.Create(ctx, &p)
	if err != nil {
		return nil, err
	}
	if got == nil {
		return nil, errors.New("the sampling function returned nil")
	}
	return mcp.Marshal(got)
}
