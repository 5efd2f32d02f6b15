package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/tenon-mcp/tenon/internal/rawjson"
)

// MaxRounds is the default number of times that [HandleInput] makes one call.
const MaxRounds = 10

// An InputHandler returns the response to an input request: the JSON of an
// [ElicitResult], a [CreateMessageResult] or a [ListRootsResult]. The key
// identifies the request within the call c. An error refuses the request, see
// [Call.Refuse]: the call continues, so that a server that can work without the
// response does. Once ctx has ended, an error ends the call.
type InputHandler func(ctx context.Context, c *Call, key string, q InputRequest) (json.RawMessage, error)

// HandleInput returns a Handler that serves calls with h and repeats a call
// that returns [InputRequired], with the responses that respond returns, until
// the call succeeds or fails. After rounds rounds (0 means [MaxRounds]) the
// call fails.
//
// After a refused request, respond is not called for the other requests of its
// round. If the server repeats a refused request with the same State, it does
// not support refusals: the call ends with the error of the refusal.
func HandleInput(h Handler, respond InputHandler, rounds int) Handler {
	return HandlerFunc(func(ctx context.Context, c *Call) (Result, error) {
		res, err := h.Serve(ctx, c)
		if err == nil { // fast path: keeps the stack small
			return res, nil
		}
		return respond.Continue(ctx, h, c, err, rounds)
	})
}

// Continue does what [HandleInput] does for a call that h has served once
// already and that failed with err.
func (respond InputHandler) Continue(ctx context.Context, h Handler, c *Call, err error, rounds int) (Result, error) {
	if rounds <= 0 {
		rounds = MaxRounds
	}
	var last *Call       // the previous round
	var refusals []error // the errors of respond
	for n := 1; ; n++ {
		need, ok := errors.AsType[*InputRequired](err)
		if !ok {
			return Result{}, original(err, refusals)
		}
		if refused := ignored(last, need); refused != nil {
			Abandon(need)
			return Result{}, original(refused, refusals)
		}
		if n == rounds {
			Abandon(need)
			return Result{}, &Error{Code: CodeInternal, Local: true, Message: fmt.Sprintf("%s: the server still requires input after %d rounds", c.Method, rounds)}
		}
		next, refused, failed := respondAll(ctx, c, need, respond)
		if failed != nil {
			Abandon(need)
			return Result{}, failed
		}
		if last = next; refused != nil {
			refusals = append(refusals, refused)
		}
		var res Result
		res, err = h.Serve(ctx, next)
		// The next round was made, so nothing is held for it, unless something
		// in between refused the call.
		Abandon(need)
		if err == nil {
			return res, nil
		}
	}
}

// ignored returns the refusal of a request that need repeats although the
// previous round, c, carried the refusal; nil if there is none. A new state
// shows that the handler has advanced and may use the key for another request.
func ignored(c *Call, need *InputRequired) error {
	if c == nil || need.State != c.State {
		return nil
	}
	for _, key := range c.refusedKeys() {
		if _, again := need.Requests[key]; again {
			return c.Refused(key)
		}
	}
	return nil
}

// original returns the refusal that err encodes, as the InputHandler returned
// it; err itself if err is not a refusal.
func original(err error, refusals []error) error {
	e, ok := errors.AsType[*Error](err)
	for _, r := range refusals {
		if as := refusal(r); ok && e.Code == as.Code && e.Message == as.Message {
			return r
		}
	}
	return err
}

// respondAll responds to the input requests and returns the call of the next
// round, and the error of the request that was refused, if one was.
func respondAll(ctx context.Context, c *Call, need *InputRequired, respond InputHandler) (next *Call, refused, failed error) {
	copied := *c
	next = &copied
	next.State, next.InputResponses = need.State, maps.Clone(need.PriorResponses)
	if next.InputResponses == nil {
		next.InputResponses = make(map[string]json.RawMessage, len(need.Requests))
	}
	for _, key := range slices.Sorted(maps.Keys(need.Requests)) {
		response, err := respond(ctx, c, key, need.Requests[key])
		if err != nil && ctx.Err() != nil {
			return nil, nil, err
		}
		if err != nil {
			next.Refuse(key, err)
			return next, err, nil
		}
		next.InputResponses[key] = response
	}
	return next, nil, nil
}

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
