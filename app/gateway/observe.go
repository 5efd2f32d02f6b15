package gateway

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tenon-mcp/tenon/internal/outcome"
	"github.com/tenon-mcp/tenon/internal/protocol"
	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/internal/redact"
	"github.com/tenon-mcp/tenon/mcp"
)

// An Observer remembers who uses a gateway and the latest calls, for a status or
// a page. Its memory is bounded. It is safe for concurrent use.
type Observer struct {
	opts ObserverOptions

	callersMu sync.RWMutex
	callers   map[callerKey]*observedCaller

	mu      sync.Mutex
	seq     uint64
	ring    []observedCall // the latest calls; the place of a call is its number modulo the size
	readers map[chan struct{}]bool
}

// ObserverOptions configures an [Observer]; nil means the defaults.
type ObserverOptions struct {
	// NoCalls remembers who uses the gateway, and not the calls.
	NoCalls bool
}

const (
	observedCalls   = 256
	observedCallers = 1000
)

// An Outcome is how a call ended. As text it is one of open, ok, tool_error,
// input_required, cancelled, limited, denied and error.
type Outcome = outcome.Outcome

// The outcomes of a call.
const (
	OutcomeOpen          = outcome.Open          // it has not ended
	OutcomeOK            = outcome.OK            // it has a result
	OutcomeToolError     = outcome.ToolError     // the tool reports an error
	OutcomeInputRequired = outcome.InputRequired // it goes on when the client has responded to an input request
	OutcomeCancelled     = outcome.Cancelled     // the client has cancelled it
	OutcomeLimited       = outcome.Limited       // a limit refuses it
	OutcomeDenied        = outcome.Denied        // a rule denies it; only in the audit log
	OutcomeError         = outcome.Error         // it has failed
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
	Name      string        `json:"name,omitzero"`   // of the tool, prompt or resource, as the client sees it; a URI without its query
	Server    string        `json:"server,omitzero"` // empty if it is unknown
	Start     time.Time     `json:"start"`
	Duration  time.Duration `json:"-"`
	Outcome   Outcome       `json:"outcome"`
	Error     string        `json:"error,omitzero"`
	Code      int           `json:"code,omitzero"` // of the JSON-RPC error
}

type callerKey struct{ client, version, revision, principal, issuer string }

// An observedCaller counts what a client does.
type observedCaller struct {
	callerKey
	since                              time.Time
	last                               atomic.Int64 // Unix nanoseconds
	calls, errors, open, subscriptions atomic.Int64
}

type observedCall struct {
	seq        uint64
	caller     *observedCaller
	method     string
	name, kind string
	start      time.Time
	took       time.Duration
	outcome    Outcome
	err        string
	code       int // of the JSON-RPC error
}

// NewObserver returns an Observer.
func NewObserver(o *ObserverOptions) *Observer {
	ob := &Observer{callers: map[callerKey]*observedCaller{}, readers: map[chan struct{}]bool{}}
	if o != nil {
		ob.opts = *o
	}
	if !ob.opts.NoCalls {
		ob.ring = make([]observedCall, observedCalls)
	}
	return ob
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
			now := time.Now()
			by := o.caller(&c.Caller, now)
			by.calls.Add(1)
			by.open.Add(1)
			by.last.Store(now.UnixNano())
			seq := o.begin(c, by, now)
			res, err := next.Serve(ctx, c)
			how := outcome.Of(ctx, c, &res, err)
			by.open.Add(-1)
			if how == OutcomeError || how == OutcomeToolError {
				by.errors.Add(1)
			}
			o.end(seq, how, err)
			return res, err
		})
	}
}

// subscription counts an open subscription.
func (o *Observer) subscription(ctx context.Context, c *mcp.Call, next mcp.Handler) (mcp.Result, error) {
	by := o.caller(&c.Caller, time.Now())
	by.subscriptions.Add(1)
	o.changed()
	return outcome.Subscribe(ctx, c, next, func() {
		by.subscriptions.Add(-1)
		o.changed()
	})
}

// begin records the start of a call and returns its number.
func (o *Observer) begin(c *mcp.Call, by *observedCaller, now time.Time) uint64 {
	if o.opts.NoCalls {
		return 0
	}
	name, kind := subject(c)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.seq++
	o.ring[o.seq%observedCalls] = observedCall{seq: o.seq, caller: by, method: clip(c.Method), name: name, kind: kind, start: now, outcome: OutcomeOpen}
	o.wake()
	return o.seq
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
	if kind == protocol.KindURI {
		name = redact.URI(name)
	}
	return clip(name), kind
}

// caller returns the client of a call.
func (o *Observer) caller(of *mcp.Caller, now time.Time) *observedCaller {
	key := callerKey{revision: string(of.Revision)}
	if info := of.Client; info != nil {
		key.client, key.version = clip(info.Name), clip(info.Version)
	}
	if p := of.Principal; p != nil {
		key.principal, key.issuer = clip(p.ID), clip(p.Issuer)
	}
	o.callersMu.RLock()
	by := o.callers[key]
	o.callersMu.RUnlock()
	if by != nil {
		return by
	}
	o.callersMu.Lock()
	defer o.callersMu.Unlock()
	if by = o.callers[key]; by != nil {
		return by
	}
	if len(o.callers) >= observedCallers {
		o.forget()
	}
	by = &observedCaller{callerKey: key, since: now}
	by.last.Store(now.UnixNano())
	o.callers[key] = by
	return by
}

// forget removes one of the clients that were not seen for long: the last one of a
// few, since a client may invent many names. o.callersMu is held.
func (o *Observer) forget() {
	const few = 16
	var oldest *observedCaller
	n := 0
	for _, by := range o.callers {
		if oldest == nil || by.last.Load() < oldest.last.Load() {
			oldest = by
		}
		if n++; n == few {
			break
		}
	}
	delete(o.callers, oldest.callerKey)
}

// end records the outcome of a call.
func (o *Observer) end(seq uint64, how Outcome, err error) {
	if o.opts.NoCalls {
		return
	}
	text, code := "", 0
	if how == OutcomeError || how == OutcomeLimited {
		text = clip(err.Error())
		if e, ok := errors.AsType[*mcp.Error](err); ok {
			code = e.Code
		}
	}
	now := time.Now()
	o.mu.Lock()
	defer o.mu.Unlock()
	if call := &o.ring[seq%observedCalls]; call.seq == seq { // otherwise many calls have begun since
		call.took, call.outcome, call.err, call.code = now.Sub(call.start), how, text, code
	}
	o.wake()
}

// changed tells readers that something has changed.
func (o *Observer) changed() {
	o.mu.Lock()
	defer o.mu.Unlock()
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
	o.callersMu.RLock()
	all := make([]CallerStatus, 0, len(o.callers))
	for _, by := range o.callers {
		all = append(all, CallerStatus{Client: by.client, Version: by.version, Revision: mcp.Revision(by.revision), Principal: by.principal, Issuer: by.issuer,
			Since: by.since, Last: time.Unix(0, by.last.Load()), Calls: int(by.calls.Load()), Errors: int(by.errors.Load()), Open: int(by.open.Load()), Subscriptions: int(by.subscriptions.Load())})
	}
	o.callersMu.RUnlock()
	slices.SortFunc(all, func(a, b CallerStatus) int { return cmp.Or(b.Last.Compare(a.Last), b.Since.Compare(a.Since)) })
	return all
}

// Calls returns the latest calls, the newest first. Names says whose names they
// have; nil means that it is not known.
func (o *Observer) Calls(names Resolver) []CallStatus {
	all := []CallStatus{}
	if o.opts.NoCalls {
		return all
	}
	o.mu.Lock()
	ring, last := o.ring, o.seq
	for seq := last; seq > 0 && last-seq < observedCalls; seq-- {
		c := &ring[seq%observedCalls]
		all = append(all, CallStatus{Seq: seq, Client: c.caller.client, Principal: c.caller.principal, Method: c.method, Name: c.name, Start: c.start, Duration: c.took, Outcome: c.outcome, Error: c.err, Code: c.code, Server: c.kind})
	}
	o.mu.Unlock()
	for i := range all {
		kind := all[i].Server
		all[i].Server = ""
		if kind != "" && names != nil {
			all[i].Server, _, _ = names.Resolve(context.Background(), nil, kind, all[i].Name)
		}
	}
	return all
}
