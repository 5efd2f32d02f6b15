package legacy

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"strconv"
	"sync"

	"github.com/tenon-mcp/tenon/internal/eraconn/internal/clientcall"
	"github.com/tenon-mcp/tenon/internal/protocol"
	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
)

// A Peer is a client's session with a legacy server. It is an [mcp.Handler].
// When the server sends an input request while a call is open, the Peer parks the
// call: the round ends with InputRequired, and the next round sends the response
// and continues.
type Peer struct {
	link    clientcall.Link
	profile *mcp.ClientProfile
	rev     *revision
	found   mcp.Result // the initialize result as one of server/discover
	offers  mcp.ServerCapabilities

	mu         sync.Mutex
	open       map[int64]*clientcall.Open // calls in flight
	carries    map[int64]*carrier         // those that can carry input requests
	parked     map[string]*carrier        // those that wait for a response, by their state
	listening  map[*listener]struct{}     // open subscriptions
	watched    map[string]int             // number of listeners by URI
	level      mcp.LogLevel               // the last logging/setLevel
	end        context.CancelFunc         // ends the context of extensions; nil before Handler
	extensions []*mcp.LegacyConn          // the connection as extensions see it
	closed     bool                       // Close was called
}

// NewPeer returns a Peer. Call Handshake before Serve.
func NewPeer(link clientcall.Link, profile *mcp.ClientProfile) *Peer {
	return &Peer{
		link: link, profile: profile,
		open: map[int64]*clientcall.Open{}, carries: map[int64]*carrier{}, parked: map[string]*carrier{},
		listening: map[*listener]struct{}{}, watched: map[string]int{},
	}
}

// Revision returns the negotiated revision.
func (p *Peer) Revision() mcp.Revision { return p.rev.name }

// Handshake opens the session. It offers the revision want, or the newest legacy
// one if want is not legacy.
func (p *Peer) Handshake(ctx context.Context, want mcp.Revision) error {
	offer := find(want)
	if offer == nil {
		offer = latest()
	}
	params, err := mcp.Marshal(initializeParams{offer.name, p.profile.Capabilities, p.profile.Client})
	if err != nil {
		return err
	}
	pending, err := p.link.Start(ctx, p.link.NextID(), mcp.MethodInitialize, params)
	if err != nil {
		return err
	}
	select {
	case a := <-pending.Response():
		pending.Release()
		if bad, ok := errors.AsType[*jsonrpc.DecodeError](a.Err); ok {
			return clientcall.Invalid(mcp.MethodInitialize, bad.Reason)
		}
		if a.Err != nil {
			return a.Err
		}
		if a.Error != nil {
			return clientcall.FromWire(a.Error)
		}
		if err := p.agree(a.Result); err != nil {
			return err
		}
	case <-ctx.Done():
		pending.Cancel() // an initialize must not be cancelled
		return context.Cause(ctx)
	}
	return p.link.Notify(ctx, mcp.NotificationInitialized, nil)
}

// Handler returns the Peer after the handshake, wrapped for extensions.
func (p *Peer) Handler() mcp.Handler {
	ctx, end := context.WithCancel(context.Background())
	h, seen := protocol.ForLegacyServer(p, mcp.LegacyConn{Revision: p.rev.name, Context: ctx})
	p.mu.Lock()
	defer p.mu.Unlock()
	p.end, p.extensions = end, seen
	if p.closed {
		end()
	}
	return h
}

// agree reads the result of initialize.
func (p *Peer) agree(raw json.RawMessage) error {
	var in initializeResult
	if err := mcp.Unmarshal(raw, &in); err != nil {
		return clientcall.Invalid(mcp.MethodInitialize, err.Error())
	}
	if p.rev = find(in.ProtocolVersion); p.rev == nil {
		return clientcall.Invalid(mcp.MethodInitialize, "unknown protocol revision "+strconv.Quote(string(in.ProtocolVersion)))
	}
	p.offers = in.Capabilities
	var err error
	p.found.Server = &in.ServerInfo
	p.found.Body, err = mcp.Marshal(mcp.Discovery{Capabilities: in.Capabilities, Instructions: in.Instructions})
	return err
}

// Serve sends a call, or continues one that is parked.
func (p *Peer) Serve(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
	if c.IsNotification {
		return mcp.Result{}, p.notify(ctx, c)
	}
	switch c.Method {
	case mcp.MethodDiscover:
		return p.found, nil
	case mcp.MethodSubscriptionsListen:
		return p.listen(ctx, c)
	case protocol.MethodRevision:
		return clientcall.RevisionResult(p.rev.name)
	case mcp.MethodPing:
		_, err := p.request(ctx, mcp.MethodPing, nil)
		return mcp.Result{Server: p.found.Server}, err
	}
	if c.State == stateAgain {
		if err := consented(c); err != nil {
			return mcp.Result{}, err
		}
	} else if c.State != "" {
		k, again, err := p.resume(c)
		switch {
		case err != nil:
			return mcp.Result{}, err
		case again != nil:
			return p.park(k, again)
		}
		return p.wait(ctx, c, k)
	}
	if err := ctx.Err(); err != nil {
		return mcp.Result{}, err
	}
	if err := p.wantLevel(ctx, c.Caller.LogLevel); err != nil {
		return mcp.Result{}, err
	}
	k, err := p.start(ctx, c)
	if err != nil {
		return mcp.Result{}, err
	}
	return p.wait(ctx, c, k)
}

// notify sends a notification of the caller.
func (p *Peer) notify(ctx context.Context, c *mcp.Call) error {
	meta, err := stampMeta(c, 0)
	if err != nil {
		return err
	}
	params := c.Params
	if meta != nil {
		params = withMember(params, keyMeta, meta)
	}
	return p.link.Notify(ctx, c.Method, params)
}

// start sends a call.
func (p *Peer) start(ctx context.Context, c *mcp.Call) (*carrier, error) {
	id := p.link.NextID()
	params := c.Params
	meta, err := stampMeta(c, id)
	if err != nil {
		return nil, err
	}
	if meta != nil {
		params = withMember(params, keyMeta, meta)
	}
	k := &carrier{owner: c.Caller.Principal.Key()}
	k.Begin(id, c)
	p.mu.Lock()
	p.open[id] = &k.Open
	if protocol.MayRequireInputInSession(c.Method) {
		k.asks = make(chan *inputRequest, maxAsks)
		p.carries[id] = k
	}
	p.mu.Unlock()
	if k.Pending, err = p.link.Start(ctx, id, c.Method, params); err != nil {
		p.forget(k)
		return nil, err
	}
	return k, nil
}

// stampMeta returns the _meta of a call; nil if it needs none. It leaves out keys
// that belong to the envelope.
func stampMeta(c *mcp.Call, id int64) (meta []byte, err error) {
	if len(c.Meta) > 0 {
		rest := maps.Clone(c.Meta)
		maps.DeleteFunc(rest, func(key string, _ json.RawMessage) bool { return clientcall.Reserved(key) })
		if meta, err = mcp.Marshal(rest); err != nil {
			return nil, err
		}
	}
	if c.Progress && c.OnNotification != nil {
		meta = withMember(meta, keyProgressToken, strconv.AppendInt(nil, id, 10))
	}
	return meta, nil
}

// forget removes a call and refuses its pending input requests.
func (p *Peer) forget(k *carrier) {
	p.mu.Lock()
	delete(p.open, k.ID)
	delete(p.carries, k.ID)
	p.mu.Unlock()
	k.refuse()
}

// wait waits for the end of a round: the response of the server, or a request
// that the caller has to answer first.
func (p *Peer) wait(ctx context.Context, c *mcp.Call, k *carrier) (mcp.Result, error) {
	for {
		select {
		case a := <-k.Pending.Response():
			return p.finish(c, k, a)
		case <-k.Ready():
			if err := k.Deliver(c.OnNotification); err != nil {
				p.abandon(ctx, k, err.Error())
				return mcp.Result{}, err
			}
		case q := <-k.asks:
			if q.ctx.Err() != nil {
				continue // cancelled by the server
			}
			select {
			case a := <-k.Pending.Response(): // so the request belongs to another call
				defer func() { q.answer <- inputResponse{finished: true, err: callOver} }()
				return p.finish(c, k, a)
			default:
			}
			return p.park(k, q)
		case <-ctx.Done():
			p.abandon(ctx, k, context.Cause(ctx).Error())
			return mcp.Result{}, ctx.Err()
		}
	}
}

// finish ends a call with the response of the server.
func (p *Peer) finish(c *mcp.Call, k *carrier, a jsonrpc.Response) (mcp.Result, error) {
	k.Pending.Release()
	k.answered = a.Err == nil
	p.forget(k)
	if err := k.Deliver(c.OnNotification); err != nil {
		return mcp.Result{}, err
	}
	return p.answer(c, a)
}

// abandon cancels a call at the server.
func (p *Peer) abandon(ctx context.Context, k *carrier, reason string) {
	k.Pending.Cancel()
	p.forget(k)
	params := strconv.AppendInt([]byte(`{"requestId":`), k.ID, 10)
	params = rawjson.AppendString(append(params, `,"reason":`...), reason)
	stopped, stop := context.WithCancel(ctx)
	stop() // do not wait: the link sends the notification in its turn
	p.link.Notify(stopped, mcp.NotificationCancelled, append(params, '}'))
}

// answer turns a response into a result.
func (p *Peer) answer(c *mcp.Call, a jsonrpc.Response) (mcp.Result, error) {
	if a.Err != nil {
		if bad, ok := errors.AsType[*jsonrpc.DecodeError](a.Err); ok {
			return mcp.Result{}, clientcall.Invalid(c.Method, bad.Reason)
		}
		return mcp.Result{}, a.Err
	}
	if a.Error != nil {
		return mcp.Result{}, p.liftError(c, clientcall.FromWire(a.Error))
	}
	res := mcp.Result{Server: p.found.Server}
	res.Body = rawjson.CutOwn(a.Result, func(name, value []byte) bool {
		switch string(name) {
		case keyMeta:
			res.Meta = clientcall.AddMeta(nil, value)
			return true
		case "resultType":
			return true
		case "ttlMs", "cacheScope": // some servers send these in every era
			return protocol.Cacheable(c.Method)
		}
		return false
	})
	return res, nil
}

// liftError turns a legacy error into its modern form.
func (p *Peer) liftError(c *mcp.Call, e *mcp.Error) error {
	switch e.Code {
	case mcp.CodeLegacyResourceNotFound:
		e.Code = mcp.CodeInvalidParams
		if uri := rawjson.Lookup(c.Params, "uri"); uri != nil && rawjson.Lookup(e.Data, "uri") == nil {
			e.Data = withMember(nil, "uri", uri)
		}
	case mcp.CodeLegacyURLElicitation:
		if need := p.urlQuestions(c, e.Data); need != nil {
			return need
		}
	}
	return e
}

// wantLevel lowers the log level of the session to this level if it is higher.
// All calls of the session share one level, so it is never raised.
func (p *Peer) wantLevel(ctx context.Context, level mcp.LogLevel) error {
	p.mu.Lock()
	before := p.level
	ok := level == "" || p.offers.Logging == nil || p.level != "" && level.AtLeast(p.level)
	if !ok {
		p.level = level
	}
	p.mu.Unlock()
	if ok {
		return nil
	}
	params := append(rawjson.AppendString([]byte(`{"level":`), string(level)), '}')
	_, err := p.request(ctx, mcp.MethodLoggingSetLevel, params)
	if _, refused := errors.AsType[*mcp.Error](err); refused {
		return nil // a server without log levels is no reason to fail the call
	}
	if err != nil {
		p.mu.Lock()
		p.level = before // the server may not have received it
		p.mu.Unlock()
	}
	return err
}

// request sends a request of the session itself and waits for the result.
func (p *Peer) request(ctx context.Context, method string, params []byte) (json.RawMessage, error) {
	pending, err := p.link.Start(ctx, p.link.NextID(), method, params)
	if err != nil {
		return nil, err
	}
	select {
	case a := <-pending.Response():
		pending.Release()
		if a.Err != nil {
			return nil, a.Err
		}
		if a.Error != nil {
			return nil, clientcall.FromWire(a.Error)
		}
		return a.Result, nil
	case <-ctx.Done():
		pending.Cancel()
		return nil, ctx.Err()
	}
}
