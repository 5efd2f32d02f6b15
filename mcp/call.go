package mcp

import (
	"encoding/json"
	"errors"
	"maps"
	"strings"
)

// A Call is one request, with everything that is known about its caller.
// Handlers must not modify it; middleware that needs a different call copies
// it.
type Call struct {
	// Method is one of the Method constants or the method of an extension.
	Method string

	// Params is the JSON object of parameters without envelope keys; nil means
	// none. It has been validated: UTF-8, no duplicate names, bounded depth.
	Params json.RawMessage

	// Meta holds the members of _meta, except for the reserved keys.
	Meta Meta

	// Caller identifies the client.
	Caller Caller

	// InputResponses holds the responses to the input requests of earlier
	// rounds, by key, the refusals that [Call.Refuse] recorded, and the values
	// stored with [Call.Save].
	InputResponses map[string]json.RawMessage

	// State is the state that the server returned with the previous
	// input_required result.
	State string

	// Headers holds the arguments that the transport carries in headers as well
	// (Mcp-Param-…), by the lower-case name that the tool's schema gives
	// them; nil if the transport has no headers. Package server compares them
	// with the arguments.
	Headers map[string]string

	// IsNotification is set if the call is a notification from the client: it
	// gets no response, also if the method is unknown. A connection to a server
	// sends it as a notification.
	IsNotification bool

	// Progress reports whether the caller asked for progress notifications.
	Progress bool

	// OnNotification receives the notifications that belong to the call:
	// progress, log messages, changes. Nil discards them.
	OnNotification func(Notification)

	// Detach lets the handler of a [MethodSubscriptionsListen] call return
	// while the subscription stays open, so that no goroutine waits in it. If
	// Detach is nil, Serve blocks until its context ends.
	//
	// A handler that detaches calls Detach before it sends the first
	// notification, with the function that ends the subscription, and then
	// returns the result that the caller sends at the end. From then on the
	// handler ignores its context and may call OnNotification from any
	// goroutine; OnNotification does not block. After stop returns, at most one
	// notification that was being delivered still arrives. If Serve returns an
	// error after Detach, the caller calls stop. Detach may be called more than
	// once, for a subscription that combines several.
	//
	// Detaching is optional. A caller that must not block sets Detach and passes
	// a context that has ended: a handler that does not detach then returns at
	// once.
	//
	// Middleware that forwards the call need not know about Detach. Middleware
	// that acts when a subscription ends, such as one that measures or logs how
	// long it was open, must not take the return of Serve, or the end of its
	// context, for the end: it forwards a copy of the call with its own Detach,
	// which passes on a stop function that acts as well, and acts after Serve
	// only if Detach was not called. See the example of [Middleware].
	Detach func(stop func())
}

// Notify passes a notification to OnNotification, if it is not nil.
func (c *Call) Notify(n Notification) {
	if c.OnNotification != nil {
		c.OnNotification(n)
	}
}

// releaseMethod is the method of the notification of [Call.Release].
const releaseMethod = "tenon/release"

// Release says that the call takes long and that the client need not keep its
// connection open meanwhile. A transport whose clients reconnect for the response
// closes the connection; other transports do nothing.
func (c *Call) Release() { c.Notify(Notification{Method: releaseMethod}) }

// IsRelease reports whether n is the notification of [Call.Release]. It is never
// sent to a client.
func (n Notification) IsRelease() bool { return n.Method == releaseMethod }

// Ask returns the client's response to an input request. If there is no
// response yet, Ask returns an [*InputRequired] error: the handler returns that
// error, and is called again from the top once the response is there.
//
// The key identifies the request within the call and must be the same each time
// the handler runs. If the client has not declared the necessary capability,
// the error says which one is missing. If the client refused the request, the
// error is that of [Call.Refused].
func (c *Call) Ask(key string, q InputRequest) (json.RawMessage, error) {
	if a, ok := c.InputResponses[key]; ok {
		return a, nil
	}
	_, err := c.AskAll(map[string]InputRequest{key: q})
	return nil, err
}

// AskAll is like [Call.Ask] for several input requests in one round. It returns
// the responses when all of them are there, and requests only those that are
// missing. If the client refused one of them, AskAll requests nothing more and
// returns the error of [Call.Refused].
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

// savedPrefix is the prefix of the keys in [Call.InputResponses] under which
// [Call.Save] stores values. A client cannot send a response with such a key.
const savedPrefix = "tenon/kept/"

// Save stores a JSON value that [Call.Saved] returns in this and all later
// rounds of the call. It modifies c (package server gives each handler a Call
// of its own) and must not run concurrently with Ask or AskAll. Most handlers
// use server.Once instead.
func (c *Call) Save(key string, value json.RawMessage) {
	responses := maps.Clone(c.InputResponses) // the map may be shared
	if responses == nil {
		responses = map[string]json.RawMessage{}
	}
	responses[savedPrefix+key] = value
	c.InputResponses = responses
}

// Saved returns the value stored under key in this round or an earlier one.
func (c *Call) Saved(key string) (value json.RawMessage, ok bool) {
	value, ok = c.InputResponses[savedPrefix+key]
	return value, ok
}

// IsOwnKey reports whether a key of InputResponses holds a value stored with
// [Call.Save] or a refusal. Clients do not respond under such keys, and such
// keys are not sent to a server.
func IsOwnKey(key string) bool {
	return strings.HasPrefix(key, savedPrefix) || strings.HasPrefix(key, refusedPrefix)
}

// A Caller describes the client that makes a call. The values that it points to
// are shared between calls and must not be modified.
type Caller struct {
	// Revision is the protocol revision that the client uses, for display. Only
	// package era depends on it.
	Revision Revision

	// Client is the client's name and version; nil if the client did not send
	// them.
	Client *Implementation

	// Capabilities lists what the client supports; nil means nothing.
	Capabilities *ClientCapabilities

	// LogLevel is the minimum severity of the log messages that the client
	// wants during this call; empty means none.
	LogLevel LogLevel

	// Principal is the verified identity of the caller; nil means that nobody
	// was authenticated. The transport sets it, never a message.
	Principal *Principal

	// Session is the session that the call belongs to; nil if the transport has
	// none, as for clients of 2026-07-28 over HTTP.
	Session *Session
}

// A Principal is an identity that a transport has verified.
type Principal struct {
	// ID is unique within its issuer and never reused.
	ID string
	// Issuer is the authority that vouches for ID.
	Issuer string
	// Scopes lists the scopes granted to the principal.
	Scopes []string
	// Claims holds further verified claims.
	Claims map[string]json.RawMessage
}

// Key returns a string that identifies the principal unambiguously. It is empty
// for nil.
func (p *Principal) Key() string {
	if p == nil {
		return ""
	}
	return p.Issuer + "\x00" + p.ID
}

// An InputRequest is a request from a server to the client during a call: an
// elicitation, sampling or roots request.
type InputRequest struct {
	Method string          `json:"method"`
	Params json.RawMessage `json:"params,omitempty"`
}

// InputRequired is the error with which a handler requests input. It ends the
// current round; the call is made again with the responses.
type InputRequired struct {
	// Requests holds the input requests by key. If it is empty, the call may be
	// made again at once.
	Requests map[string]InputRequest

	// State is the server's state for the next round, where it is found
	// unchanged in [Call.State]. Package era seals it before it leaves the
	// process.
	State string

	// PriorResponses holds responses of earlier rounds that the handler needs
	// again in [Call.InputResponses], beside the new ones. A connection to
	// another server leaves it empty, because that server keeps what it needs
	// in State.
	PriorResponses map[string]json.RawMessage

	// Abandon releases what a connection to a server of an older revision holds
	// for the next round; nil means nothing. Use the function [Abandon] to call
	// it. It does not block, and does nothing after the next round was made or
	// after the first call. A copy of an InputRequired shares it.
	Abandon func()
}

// Error returns a text for the developer of a handler. It is never sent.
func (*InputRequired) Error() string {
	return "input required: return this error from the handler, unchanged or wrapped with %w"
}

// Abandon releases what is held for the next round of a call, if err is an
// [InputRequired]. A caller that neither returns such an error nor makes the
// next round must call it. [HandleInput] and package client do so.
func Abandon(err error) {
	if need, ok := errors.AsType[*InputRequired](err); ok && need.Abandon != nil {
		need.Abandon()
	}
}

// A Notification belongs to a call: progress, a log message, or a change. Like
// a Call it has no envelope.
type Notification struct {
	Method string
	Params json.RawMessage // an object, or nil
	Meta   Meta
}
