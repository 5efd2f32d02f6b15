package gateway

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/internal/protocol"
	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/mcp"
)

// An Observer remembers who uses a gateway and the latest calls, for a status or
// a page. Its memory is bounded. It is safe for concurrent use.
type Observer struct {
	mu      sync.Mutex
	seq     uint64
	ring    [observedCalls]observedCall // the latest calls; the place of a call is its number modulo the size
	callers map[callerKey]*observedCaller
	readers map[chan struct{}]bool
}

const (
	observedCalls   = 256
	observedCallers = 1000
)

// The outcomes of a call.
const (
	OutcomeOpen      = "open"      // it has not ended
	OutcomeOK        = "ok"        // it has a result
	OutcomeToolError = "toolError" // the tool reports an error
	OutcomeError     = "error"     // it has failed
	OutcomeInput     = "input"     // it goes on when the client has responded to an input request
	OutcomeCancelled = "cancelled" // the client has cancelled it
)

// A CallerStatus is a client that uses a gateway: all connections with the same
// name, version, revision and principal.
type CallerStatus struct {
	Client        string       `json:"client,omitzero"` // its name; empty if it does not say
	Version       string       `json:"version,omitzero"`
	Revision      mcp.Revision `json:"revision,omitzero"`
	Principal     string       `json:"principal,omitzero"` // its id; empty if nobody was authenticated
	Issuer        string       `json:"issuer,omitzero"`
	Since         time.Time    `json:"since"`
	Last          time.Time    `json:"last"` // when its last call began
	Calls         int          `json:"calls"`
	Errors        int          `json:"errors"`
	Open          int          `json:"open"` // calls that have not ended
	Subscriptions int          `json:"subscriptions"`
}

// A CallStatus is a call that passes a gateway.
type CallStatus struct {
	Seq       uint64        `json:"seq"`
	Client    string        `json:"client,omitzero"`
	Principal string        `json:"principal,omitzero"`
	Method    string        `json:"method"`
	Name      string        `json:"name,omitzero"`   // of the tool, prompt or resource, as the client sees it
	Server    string        `json:"server,omitzero"` // empty if it is unknown
	Start     time.Time     `json:"start"`
	Duration  time.Duration `json:"-"`
	Outcome   string        `json:"outcome"` // one of the Outcome constants
	Error     string        `json:"error,omitzero"`
}

type callerKey struct{ client, version, revision, principal, issuer string }

type observedCaller struct {
	CallerStatus
}

type observedCall struct {
	seq        uint64
	caller     *observedCaller
	method     string
	name, kind string
	start      time.Time
	took       time.Duration
	outcome    string
	err        string
}

// NewObserver returns an Observer.
func NewObserver() *Observer {
	return &Observer{callers: map[callerKey]*observedCaller{}, readers: map[chan struct{}]bool{}}
}

// Middleware returns the link that observes calls. It comes first in a chain, so
// that it sees calls that other links refuse.
func (o *Observer) Middleware() mcp.Middleware {
	return func(next mcp.Handler) mcp.Handler {
		return mcp.HandlerFunc(func(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
			switch {
			case c.IsNotification || c.Method == mcp.MethodPing || protocol.IsPrivate(c.Method):
				return next.Serve(ctx, c)
			case c.Method == mcp.MethodSubscriptionsListen:
				return o.subscription(ctx, c, next)
			}
			seq, by := o.begin(c)
			res, err := next.Serve(ctx, c)
			o.end(seq, by, outcomeOf(c, res, err, ctx.Err() != nil), err)
			return res, err
		})
	}
}

// subscription counts an open subscription.
func (o *Observer) subscription(ctx context.Context, c *mcp.Call, next mcp.Handler) (mcp.Result, error) {
	o.mu.Lock()
	by := o.caller(c, time.Now())
	by.Subscriptions++
	o.wake()
	o.mu.Unlock()
	return serveSubscription(ctx, c, next, func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		by.Subscriptions--
		o.wake()
	})
}

// begin records the start of a call and returns its number and its client.
func (o *Observer) begin(c *mcp.Call) (uint64, *observedCaller) {
	name, kind := subject(c)
	now := time.Now()
	o.mu.Lock()
	defer o.mu.Unlock()
	o.seq++
	by := o.caller(c, now)
	by.Calls++
	by.Open++
	by.Last = now
	o.ring[o.seq%observedCalls] = observedCall{seq: o.seq, caller: by, method: clip(c.Method), name: name, kind: kind, start: now, outcome: OutcomeOpen}
	o.wake()
	return o.seq, by
}

// subject returns the name that a call is about, and its kind.
func subject(c *mcp.Call) (name, kind string) {
	member := "name"
	switch c.Method {
	case mcp.MethodToolsCall:
		kind = protocol.KindTool
	case mcp.MethodPromptsGet:
		kind = protocol.KindPrompt
	case mcp.MethodResourcesRead:
		member, kind = "uri", protocol.KindURI
	default:
		return "", ""
	}
	name, _ = rawjson.String(rawjson.Lookup(c.Params, member))
	return clip(name), kind
}

// caller returns the client of a call. o.mu is held.
func (o *Observer) caller(c *mcp.Call, now time.Time) *observedCaller {
	key := callerKey{revision: string(c.Caller.Revision)}
	if info := c.Caller.Client; info != nil {
		key.client, key.version = clip(info.Name), clip(info.Version)
	}
	if p := c.Caller.Principal; p != nil {
		key.principal, key.issuer = clip(p.ID), clip(p.Issuer)
	}
	by := o.callers[key]
	if by != nil {
		return by
	}
	if len(o.callers) >= observedCallers {
		o.forget()
	}
	by = &observedCaller{CallerStatus{Client: key.client, Version: key.version, Revision: c.Caller.Revision, Principal: key.principal, Issuer: key.issuer, Since: now, Last: now}}
	o.callers[key] = by
	return by
}

// forget removes the client that was not seen for the longest time. o.mu is held.
func (o *Observer) forget() {
	var oldest callerKey
	var last time.Time
	for key, by := range o.callers {
		if last.IsZero() || by.Last.Before(last) {
			oldest, last = key, by.Last
		}
	}
	delete(o.callers, oldest)
}

func outcomeOf(c *mcp.Call, res mcp.Result, err error, cancelled bool) string {
	if err == nil {
		if c.Method == mcp.MethodToolsCall && string(rawjson.Lookup(res.Body, "isError")) == "true" {
			return OutcomeToolError
		}
		return OutcomeOK
	}
	if _, asks := errors.AsType[*mcp.InputRequired](err); asks {
		return OutcomeInput
	}
	if cancelled {
		return OutcomeCancelled
	}
	return OutcomeError
}

// end records the outcome of a call.
func (o *Observer) end(seq uint64, by *observedCaller, outcome string, err error) {
	text := ""
	if outcome == OutcomeError {
		text = clip(err.Error())
	}
	now := time.Now()
	o.mu.Lock()
	defer o.mu.Unlock()
	by.Open--
	if outcome == OutcomeError || outcome == OutcomeToolError {
		by.Errors++
	}
	if call := &o.ring[seq%observedCalls]; call.seq == seq { // otherwise many calls have begun since
		call.took, call.outcome, call.err = now.Sub(call.start), outcome, text
	}
	o.wake()
}

// wake tells readers that something has changed. o.mu is held.
func (o *Observer) wake() {
	for r := range o.readers {
		select {
		case r <- struct{}{}:
		default:
		}
	}
}

// Watch returns a channel that receives a value when something has changed, and a
// function that ends that.
func (o *Observer) Watch() (<-chan struct{}, func()) {
	changed := make(chan struct{}, 1)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.readers[changed] = true
	return changed, func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		delete(o.readers, changed)
	}
}

// Callers returns the clients, the one that was active last first.
func (o *Observer) Callers() []CallerStatus {
	o.mu.Lock()
	defer o.mu.Unlock()
	all := make([]CallerStatus, 0, len(o.callers))
	for _, by := range o.callers {
		all = append(all, by.CallerStatus)
	}
	slices.SortFunc(all, func(a, b CallerStatus) int { return cmp.Or(b.Last.Compare(a.Last), b.Since.Compare(a.Since)) })
	return all
}

// Calls returns the latest calls, the newest first. Names says whose names they
// have; nil means that it is not known.
func (o *Observer) Calls(names Resolver) []CallStatus {
	o.mu.Lock()
	ring, last := o.ring, o.seq
	all := []CallStatus{}
	for seq := last; seq > 0 && last-seq < observedCalls; seq-- {
		c := &ring[seq%observedCalls]
		all = append(all, CallStatus{Seq: seq, Client: c.caller.Client, Principal: c.caller.Principal, Method: c.method, Name: c.name, Start: c.start, Duration: c.took, Outcome: c.outcome, Error: c.err, Server: c.kind})
	}
	o.mu.Unlock()
	ctx, cancel := context.WithCancel(context.Background())
	cancel() // do not wait for lists
	for i := range all {
		kind := all[i].Server
		all[i].Server = ""
		if kind != "" && names != nil {
			all[i].Server, _, _ = names.Resolve(ctx, kind, all[i].Name)
		}
	}
	return all
}
