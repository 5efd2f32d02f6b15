package mcp

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
)

// refusedPrefix is the prefix of the keys under which InputResponses holds
// refusals, as encoded errors. Refusals are therefore carried to later rounds
// and sealed like responses, and every wrapper of a Handler passes them on.
const refusedPrefix = "tenon/refused/"

// Refuse records that the input request under the key gets err instead of a
// response: the client answered with an error, or the user declined a request
// whose response cannot express that. The text of an error that is not an
// [*Error] is not recorded. Refuse modifies c, which is the call of the next
// round; [HandleInput] uses it.
//
// A connection to an older server answers the server's request with the error,
// and the call continues. Revision 2026-07-28 has no such answer: a connection
// to a server of that revision returns the error, and the call ends.
func (c *Call) Refuse(key string, err error) {
	responses := maps.Clone(c.InputResponses) // the map may be shared
	if responses == nil {
		responses = map[string]json.RawMessage{}
	}
	raw, failed := Marshal(refusal(err))
	if failed != nil { // data that is not JSON
		raw, _ = Marshal(Errorf(refusal(err).Code, "%s", refusal(err).Message))
	}
	responses[refusedPrefix+key] = raw
	c.InputResponses = responses
}

// refusal returns err in the form that the peer may see.
func refusal(err error) *Error {
	e, ok := errors.AsType[*Error](err)
	switch {
	case !ok:
		return Errorf(CodeInternal, "the client failed to answer this request")
	case e.Code == 0:
		return &Error{Code: CodeInternal, Message: e.Message, Data: e.Data}
	}
	return e
}

// Refused returns the error that the input request under the key got instead of
// a response, an [*Error]; nil if the request was not refused.
func (c *Call) Refused(key string) error {
	if len(c.InputResponses) == 0 {
		return nil
	}
	raw, ok := c.InputResponses[refusedPrefix+key]
	if !ok {
		return nil
	}
	e := new(Error)
	if err := Unmarshal(raw, e); err != nil {
		return Errorf(CodeInternal, "refusal of %q: %v", clip(key), err)
	}
	return e
}

// Refusal returns the error of the refused input request with the first key in
// sort order; nil if none was refused.
func (c *Call) Refusal() error {
	for _, key := range c.refusedKeys() {
		return c.Refused(key)
	}
	return nil
}

// refusedKeys returns the sorted keys of the refused input requests.
func (c *Call) refusedKeys() (keys []string) {
	for key := range c.InputResponses {
		if refused, ok := strings.CutPrefix(key, refusedPrefix); ok {
			keys = append(keys, refused)
		}
	}
	slices.Sort(keys)
	return keys
}
