package server

import (
	"encoding/json"

	"github.com/tenon-mcp/tenon/mcp"
)

// An Input is one input request of [AskAll]. Make one with [FormInput],
// [URLInput], [SampleInput] or [RootsInput].
type Input struct {
	key  string
	q    mcp.InputRequest
	take func(response json.RawMessage) error
	err  error // why it cannot be sent
}

// AskAll sends several input requests in one round, so that the user sees all
// of them at once. It returns nil when there is a response to each of them,
// stored where its Input says. Requests with a response from an earlier round
// are not repeated.
//
// As with [Elicit], the handler returns the error. Responses are checked in the
// order of the inputs; if the user does not accept one, the error is a
// [*Declined]. If the client answered one of the requests with an error, the
// others are not sent, and the error is an [*InputError].
func AskAll(c *mcp.Call, inputs ...Input) error {
	requests := make(map[string]mcp.InputRequest, len(inputs))
	var refused *InputError
	for _, in := range inputs {
		if in.err != nil {
			return in.err
		}
		if _, taken := requests[in.key]; taken {
			return mcp.Errorf(mcp.CodeInternal, "two input requests have the key %q", in.key)
		}
		requests[in.key] = in.q
		if err := c.Refused(in.key); err != nil && refused == nil {
			refused = &InputError{Method: in.q.Method, Err: err}
		}
	}
	if refused != nil {
		return refused
	}
	responses, err := c.AskAll(requests)
	if err != nil {
		return err
	}
	for _, in := range inputs {
		if err := in.take(responses[in.key]); err != nil {
			return err
		}
	}
	return nil
}

// FormInput asks the user to fill in a form; see [Elicit]. AskAll stores the
// response in into.
func FormInput[T any](key, message string, into *T) Input {
	f, err := formOf[T]()
	if err != nil {
		return Input{err: err}
	}
	q, err := mcp.ElicitRequest(&mcp.ElicitParams{Message: message, RequestedSchema: f.asked})
	return Input{key: key, q: q, err: err, take: func(raw json.RawMessage) error {
		response, err := accepted(raw, key, message)
		if err != nil {
			return err
		}
		if err := f.plan.Decode(response.Content, into); err != nil {
			return mcp.InvalidParams("response to %q does not fit the form:\n%v", key, err)
		}
		return nil
	}}
}

// URLInput asks the user to open a web page; see [ElicitURL].
func URLInput(key, message, url string) Input {
	p := &mcp.ElicitParams{Mode: mcp.ModeURL, Message: message, URL: url}
	if err := p.Check(); err != nil {
		return Input{err: err}
	}
	q, err := mcp.ElicitRequest(p)
	return Input{key: key, q: q, err: err, take: func(raw json.RawMessage) error {
		_, err := accepted(raw, key, message)
		return err
	}}
}
