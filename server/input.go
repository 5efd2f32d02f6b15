package server

import (
	"encoding/json"

	"github.com/tenon-mcp/tenon/mcp"
)

// An Input is one of the input requests of [AskAll]. Make one with [FormInput],
// [URLInput], [SampleInput] or [RootsInput].
type Input struct {
	key  string
	q    mcp.InputRequest
	take func(response json.RawMessage) error
	err  error // why it cannot be asked
}

// AskAll makes several input requests in one round, so that the person is asked
// everything at once. It returns nil when there is a response to each of them,
// and each was stored where its Input says. Those that have a response from an
// earlier round are not asked again.
//
// As with [Elicit], the handler returns the error as it is. Responses are looked
// at in the order of the inputs: a person who does not accept one of them makes
// the error a [*Declined]. If the client answered one of them with an error, the
// others are not asked, and the error is an [*InputError].
func AskAll(c *mcp.Call, inputs ...Input) error {
	questions := make(map[string]mcp.InputRequest, len(inputs))
	var refused *InputError
	for _, in := range inputs {
		if in.err != nil {
			return in.err
		}
		if _, taken := questions[in.key]; taken {
			return mcp.Errorf(mcp.CodeInternal, "two input requests have the key %q", in.key)
		}
		questions[in.key] = in.q
		if err := c.Refused(in.key); err != nil && refused == nil {
			refused = &InputError{Method: in.q.Method, Err: err}
		}
	}
	if refused != nil {
		return refused
	}
	responses, err := c.AskAll(questions)
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

// FormInput asks the person to fill in a form; see [Elicit]. The response is
// stored in into.
func FormInput[T any](key, message string, into *T) Input {
	f, err := formOf[T]()
	if err != nil {
		return Input{err: err}
	}
	q, err := mcp.ElicitRequest(&mcp.ElicitParams{Message: message, RequestedSchema: f.asked})
	return Input{key: key, q: q, err: err, take: func(raw json.RawMessage) error {
		answer, err := accepted(raw, key, message)
		if err != nil {
			return err
		}
		if err := f.plan.Decode(answer.Content, into); err != nil {
			return mcp.InvalidParams("the answer to %q does not fit its form:\n%v", key, err)
		}
		return nil
	}}
}

// URLInput asks the person to open a page; see [ElicitURL].
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
