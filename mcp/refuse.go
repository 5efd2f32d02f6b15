package mcp

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
)

// refusedPrefix begins the keys under which Answers hold refusals, as encoded
// errors. So they are kept for later rounds, and sealed, as answers are, and
// every wrapper of a Handler passes them on.
const refusedPrefix = "tenon/refused/"

// Refuse records why the question under the key has no answer: the client
// answered with an error, or the person declined where the protocol has no other
// way to say so. Of an error that is not an [*Error] only its existence is
// recorded. Refuse changes c; it is for the next round that a caller makes of its
// own, as [HandleInput] does.
//
// A connection to an older server answers the server's request with the error,
// and the call goes on. Revision 2026-07-28 has no such answer: a connection to a
// server of that revision returns the error, and the call ends.
func (c *Call) Refuse(key string, err error) {
	answers := maps.Clone(c.InputResponses) // others may hold the map
	if answers == nil {
		answers = map[string]json.RawMessage{}
	}
	raw, failed := Marshal(refusal(err))
	if failed != nil { // data that is not JSON
		raw, _ = Marshal(Errorf(refusal(err).Code, "%s", refusal(err).Message))
	}
	answers[refusedPrefix+key] = raw
	c.InputResponses = answers
}

// refusal is an error as the far side may see it.
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

// Refused returns why the question under the key has no answer, an [*Error]; nil
// if it was not refused.
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
		return Errorf(CodeInternal, "the refusal of %q cannot be read: %v", clip(key), err)
	}
	return e
}

// Refusal returns the refusal of any question, the first by its key; nil if none
// was refused.
func (c *Call) Refusal() error {
	for _, key := range c.refusedKeys() {
		return c.Refused(key)
	}
	return nil
}

// refusedKeys lists the questions that were refused, in order.
func (c *Call) refusedKeys() (keys []string) {
	for key := range c.InputResponses {
		if refused, ok := strings.CutPrefix(key, refusedPrefix); ok {
			keys = append(keys, refused)
		}
	}
	slices.Sort(keys)
	return keys
}
