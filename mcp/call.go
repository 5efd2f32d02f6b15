package mcp

import (
	"encoding/json"
	"errors"
	"maps"
	"strings"
)

// A Call is one request, with everything its caller has said about itself.
// Handlers must not change it; middleware that needs another call copies it.
type Call struct {
	// Method names what is asked for, one of the Method constants or an
	// extension's method.
	Method string

	// Params is the JSON object of parameters without any envelope key; nil
	// means none. It was checked when it came in: valid UTF-8, no name twice,
	// not deeper than the limit.
	Params json.RawMessage

	// Meta is what the caller put into _meta beside the reserved keys.
	Meta Meta

	// Caller is who asks.
	Caller Caller

	// Answers holds the answers to what was asked in earlier rounds, why there
	// are none ([Call.Refused]), and what the handler has kept ([Call.Saved]).
	InputResponses map[string]json.RawMessage

	// State is what the server told itself in the round before.
	State string

	// Headers are the arguments that the transport carried a second time, in
	// headers of its own, by the lower-case name that the tool's schema gives
	// them; nil where the transport has no headers. Package server compares
	// them with the arguments.
	Headers map[string]string

	// Notification says that the call is a notification of the client: no
	// result is sent, and a handler that does not know the method is not heard
	// of. A connection to a server passes it on as a notification.
	IsNotification bool

	// Progress reports whether the caller wants to hear of progress.
	Progress bool

	// Side hears what rides with the call: progress, log lines, news. Nil
	// means nobody listens.
	OnNotification func(Notification)

	// Detach lets the handler of a [MethodSubscriptionsListen] return while
	// the subscription stays open, so that no goroutine waits in it. Nil means
	// that the caller cannot hold the subscription: Serve stays open until its
	// context ends.
	//
	// A handler that detaches calls Detach before its first notification, with
	// the function that ends the subscription, and then returns the result
	// that the caller sends at the end. From then on the context of Serve
	// means nothing, notifications arrive at Side from any goroutine, and Side
	// does not block. Once stop has returned, no notification arrives but one
	// that was on its way. If Serve returns an error after Detach, the caller
	// calls stop. Detach may be called more than once, for a subscription that
	// consists of several.
	//
	// A handler need not detach. A caller that must not wait sets Detach and
	// passes a context that has ended: a handler that does not detach then
	// returns at once.
	//
	// Middleware that forwards the call need not know of Detach. Middleware
	// that acts when a subscription ends, such as one that measures or logs
	// how long it was open, must not take the return of Serve, or the end of
	// its context, for that: it forwards a copy of the call with a Detach of
	// its own, which passes on a stop that acts as well, and acts after Serve
	// only if Detach was not called. See the example of [Middleware].
	Detach func(stop func())
}

// Tell sends a note to the caller, if anyone listens.
func (c *Call) Notify(n Notification) {
	if c.OnNotification != nil {
		c.OnNotification(n)
	}
}

// Ask returns the answer to a question only the caller can answer, or the
// error that asks it: the handler returns that error as it is and is entered
// again, from the top, when the answer is there.
//
// The key names the question within this call; the same question has the same
// key each time the handler runs. Where the caller has not declared that it can
// answer such a question, the error says which capability is missing. Where the
// caller has refused to answer, the error is that of [Call.Refused].
func (c *Call) Ask(key string, q InputRequest) (json.RawMessage, error) {
	if a, ok := c.InputResponses[key]; ok {
		return a, nil
	}
	_, err := c.AskAll(map[string]InputRequest{key: q})
	return nil, err
}

// AskAll asks several questions in one round and returns when all of them are
// answered. Only those without an answer are asked. If one of them was refused,
// nothing more is asked, and the error is that of [Call.Refused].
func (c *Call) AskAll(qs map[string]InputRequest) (map[string]json.RawMessage, error) {
	for _, key := range c.refusedKeys() {
		if _, ok := qs[key]; ok {
			return nil, c.Refused(key)
		}
	}
	var open map[string]InputRequest
	for key, q := range qs {
		if _, ok := c.InputResponses[key]; ok {
			continue
		}
		if err := c.Caller.CanHandle(q); err != nil {
			return nil, err
		}
		if open == nil {
			open = make(map[string]InputRequest, len(qs))
		}
		open[key] = q
	}
	if open != nil {
		return nil, &InputRequired{Requests: open, PriorResponses: maps.Clone(c.InputResponses)}
	}
	got := make(map[string]json.RawMessage, len(qs))
	for key := range qs {
		got[key] = c.InputResponses[key]
	}
	return got, nil
}

// SavedPrefix begins the keys under which Answers hold what a handler has kept
// for its next rounds. A caller cannot give an answer under such a key.
const SavedPrefix = "tenon/kept/"

// Keep has the handler find a JSON value again in the later rounds of the call,
// with Kept. It changes c (package server gives each handler a Call of its own),
// and must not be called while another goroutine asks
// with c. Package server has Once, which most handlers want instead.
func (c *Call) Save(key string, value json.RawMessage) {
	answers := maps.Clone(c.InputResponses) // others may hold the map
	if answers == nil {
		answers = map[string]json.RawMessage{}
	}
	answers[SavedPrefix+key] = value
	c.InputResponses = answers
}

// Kept returns what was kept under the key, in this round or an earlier one.
func (c *Call) Saved(key string) (value json.RawMessage, ok bool) {
	value, ok = c.InputResponses[SavedPrefix+key]
	return value, ok
}

// IsOwnKey reports whether a key of Answers holds what a handler has kept, or a
// refusal. No client answers under such a key, and none is sent to a server.
func IsOwnKey(key string) bool {
	return strings.HasPrefix(key, SavedPrefix) || strings.HasPrefix(key, refusedPrefix)
}

// A Caller is who asks, as the protocol told it. What stands behind the
// pointers is shared between calls and never changed.
type Caller struct {
	// Revision is what is spoken with this caller. It is there to be shown;
	// nothing but package era decides anything by it.
	Revision Revision

	// Client is how the caller names itself; nil when it did not.
	Client *Implementation

	// Capabilities is what the caller can do; nil means nothing.
	Capabilities *ClientCapabilities

	// LogLevel is the least severe log line the caller wants with this call;
	// empty means none at all.
	LogLevel LogLevel

	// Principal is the verified identity behind the call; nil means that
	// nobody was verified. It comes from the transport, never from a message.
	Principal *Principal
}

// A Principal is an identity that a transport has verified.
type Principal struct {
	// ID is unique within its issuer and never reused.
	ID string
	// Issuer is who vouches for ID.
	Issuer string
	// Scopes is what the principal was granted.
	Scopes []string
	// Claims is whatever else was verified about the principal.
	Claims map[string]json.RawMessage
}

// Key names the principal unambiguously; it is empty for nobody.
func (p *Principal) Key() string {
	if p == nil {
		return ""
	}
	return p.Issuer + "\x00" + p.ID
}

// An InputRequest is something only the caller can answer: an elicitation, a
// sampling or a roots request.
type InputRequest struct {
	Method string          `json:"method"`
	Params json.RawMessage `json:"params,omitempty"`
}

// InputRequired ends a round: the call is to be made again with the answers. It is
// an error so that a handler can return it from any depth.
type InputRequired struct {
	// Questions are what must be answered; empty means that the call may be
	// made again at once.
	Requests map[string]InputRequest

	// State is what the server tells itself for the next round. It returns
	// unchanged in Call.State: whoever carries it away seals it.
	State string

	// Kept are answers of earlier rounds that the handler wants to find again
	// in Call.InputResponses, beside the new ones. A connection to another server
	// keeps none: that server has put what it needs into State.
	PriorResponses map[string]json.RawMessage

	// Abandon releases what a connection to an older server holds for the next
	// round; nil means that nothing is held. The party that decides not to make
	// that round calls it; see [Abandon]. It does not block, and does nothing
	// once the next round was made or Abandon was called. A copy of an InputRequired
	// keeps it.
	Abandon func()
}

// Error tells the developer of a handler what to do with the error: a caller
// never sees this text.
func (*InputRequired) Error() string {
	return "input required: the handler returns this error as it is, or wraps it with %w"
}

// Abandon releases what is held for the next round of a call, if err asks for
// input. The party that does not pass such an error on, and does not make the
// next round, calls it. [HandleInput] and package client do so.
func Abandon(err error) {
	if need, ok := errors.AsType[*InputRequired](err); ok && need.Abandon != nil {
		need.Abandon()
	}
}

// A Notification rides with a call: progress, a log line, or news of a change. Like a
// Call it has no envelope: whose note it is, is known from where it arrives.
type Notification struct {
	Method string
	Params json.RawMessage // an object, or nil
	Meta   Meta
}
