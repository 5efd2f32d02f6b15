package mcp

import (
	"fmt"

	"github.com/tenon-mcp/tenon/internal/rawjson"
)

// ElicitRequest makes the question that asks a person.
func ElicitRequest(p *ElicitParams) (InputRequest, error) { return ask(MethodElicit, p) }

func ask(method string, params any) (InputRequest, error) {
	raw, err := Marshal(params)
	if err != nil {
		return InputRequest{}, fmt.Errorf("question %s: %w", method, err)
	}
	return InputRequest{Method: method, Params: raw}, nil
}

// Needs returns what a caller must have declared before it may be asked. It is
// nil for a method that no caller can be asked.
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

// CanAnswer returns nil if the caller may be asked q, and otherwise the error
// that says which capability it would have to declare.
func (c Caller) CanHandle(q InputRequest) error {
	need := q.Needs()
	if need == nil {
		return Errorf(CodeInternal, "%q is not a question that a caller can be asked", clip(q.Method))
	}
	if c.Capabilities.Covers(need) {
		return nil
	}
	return MissingCapability(need, "this call asks the client %s, and the client has not declared the capability %s", wish(need), nameOf(need))
}

func wish(need *ClientCapabilities) string {
	switch {
	case need.Elicitation != nil && need.Elicitation.URL != nil:
		return "to have its user open a web page"
	case need.Elicitation != nil:
		return "to have its user fill in a form"
	case need.Sampling != nil:
		return "to have its model write a message"
	}
	return "for its roots"
}

func nameOf(need *ClientCapabilities) string {
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
