package mcp

import (
	"fmt"

	"github.com/tenon-mcp/tenon/internal/rawjson"
)

// ElicitRequest returns an elicitation request.
func ElicitRequest(p *ElicitParams) (InputRequest, error) { return newInputRequest(MethodElicit, p) }

func newInputRequest(method string, params any) (InputRequest, error) {
	raw, err := Marshal(params)
	if err != nil {
		return InputRequest{}, fmt.Errorf("input request %s: %w", method, err)
	}
	return InputRequest{Method: method, Params: raw}, nil
}

// Needs returns the capabilities that a client must have declared before it can
// be sent the request. It returns nil for an unknown method.
func (q InputRequest) Needs() *ClientCapabilities {
	switch q.Method {
	case MethodElicit:
		need := new(ElicitationCapability)
		if rawjson.EqualString(rawjson.Lookup(q.Params, "mode"), ModeURL) {
			need.URL = Settings{}
		}
		return &ClientCapabilities{Elicitation: need}
	case MethodCreateMessage:
		need := new(SamplingCapability)
		if given(q, "tools") || given(q, "toolChoice") {
			need.Tools = Settings{}
		}
		if c, _ := rawjson.String(rawjson.Lookup(q.Params, "includeContext")); c != "" && c != "none" {
			need.Context = Settings{}
		}
		return &ClientCapabilities{Sampling: need}
	case MethodRootsList:
		return &ClientCapabilities{Roots: new(RootsCapability)}
	}
	return nil
}

func given(q InputRequest, member string) bool {
	v := rawjson.Lookup(q.Params, member)
	return v != nil && !rawjson.IsNull(v)
}

// CanHandle returns nil if the client has declared the capabilities that q
// needs, and otherwise an error that names what is missing.
func (c Caller) CanHandle(q InputRequest) error {
	need := q.Needs()
	if need == nil {
		return Errorf(CodeInternal, "%q is not the method of an input request", clip(q.Method))
	}
	if c.Capabilities.Covers(need) {
		return nil
	}
	return MissingCapability(need, "this call needs the client %s, but the client has not declared the capability %s", purpose(need), capabilityName(need))
}

func purpose(need *ClientCapabilities) string {
	switch {
	case need.Elicitation != nil && need.Elicitation.URL != nil:
		return "to ask its user to open a web page"
	case need.Elicitation != nil:
		return "to ask its user to fill in a form"
	case need.Sampling != nil:
		return "to generate a message with its model"
	}
	return "to list its roots"
}

func capabilityName(need *ClientCapabilities) string {
	switch {
	case need.Elicitation != nil && need.Elicitation.URL != nil:
		return "elicitation.url"
	case need.Elicitation != nil:
		return "elicitation"
	case need.Sampling != nil && need.Sampling.Tools != nil && need.Sampling.Context != nil:
		return "sampling.tools and sampling.context"
	case need.Sampling != nil && need.Sampling.Tools != nil:
		return "sampling.tools"
	case need.Sampling != nil && need.Sampling.Context != nil:
		return "sampling.context"
	case need.Sampling != nil:
		return "sampling"
	}
	return "roots"
}
