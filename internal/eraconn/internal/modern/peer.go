package modern

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/tenon-mcp/tenon/internal/eraconn/internal/clientcall"
	"github.com/tenon-mcp/tenon/internal/protocol"
	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
)

// A Peer is a client's connection to a modern server. It is an [mcp.Handler].
type Peer struct {
	link    clientcall.Link
	profile *mcp.ClientProfile
	stamps  stamps

	// shared means that all calls share one stream: a notification names its
	// call, and a call is cancelled with notifications/cancelled.
	shared bool

	server atomic.Pointer[introducedServer]

	mu          sync.Mutex
	open        map[int64]*clientcall.Open // calls that want notifications
	ends        map[int64]func()           // end functions of subscriptions
	lowestLevel mcp.LogLevel               // the lowest level that a call has requested
}

// NewPeer returns a Peer over link.
func NewPeer(link clientcall.Link, profile *mcp.ClientProfile, shared bool) (*Peer, error) {
	p := &Peer{link: link, profile: profile, shared: shared, open: map[int64]*clientcall.Open{}, ends: map[int64]func(){}}
	return p, p.stamps.prepare(profile)
}

// Serve sends a call to the server and waits for its result.
func (p *Peer) Serve(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
	if err := ctx.Err(); err != nil {
		return mcp.Result{}, err // see [mcp.Call].Detach
	}
	if c.IsNotification {
		return mcp.Result{}, p.notify(ctx, c)
	}
	switch c.Method {
	case mcp.MethodPing:
		_, err := p.Probe(ctx)
		return mcp.Result{}, err
	case protocol.MethodRevision:
		return clientcall.RevisionResult(Revision)
	}
	if err := c.Refusal(); err != nil { // inputResponses hold no errors, and the server does not wait
		return mcp.Result{}, err
	}
	id := p.link.NextID()
	params, err := p.stamps.request(c, id)
	if err != nil {
		return mcp.Result{}, err
	}
	o := clientcall.NewOpen(id, c)
	ended := p.track(o)
	defer p.untrack(id)
	if o.Pending, err = p.link.Start(ctx, id, c.Method, params); err != nil {
		return mcp.Result{}, err
	}
	for {
		select {
		case a := <-o.Pending.Response():
			o.Pending.Release()
			if a.Err != nil && ctx.Err() != nil {
				return mcp.Result{}, ctx.Err()
			}
			if err := o.Deliver(c.OnNotification); err != nil {
				return mcp.Result{}, err
			}
			return p.readResponse(c, a)
		case <-o.Ready():
			if err := o.Deliver(c.OnNotification); err != nil {
				o.Pending.Cancel()
				p.cancel(ctx, id, err.Error())
				return mcp.Result{}, err
			}
		case <-ended:
			o.Pending.Cancel()
			return mcp.Result{}, o.Deliver(c.OnNotification)
		case <-ctx.Done():
			o.Pending.Cancel()
			p.cancel(ctx, id, context.Cause(ctx).Error())
			return mcp.Result{}, ctx.Err()
		}
	}
}

// notify sends a notification of the caller.
func (p *Peer) notify(ctx context.Context, c *mcp.Call) error {
	if c.Method == mcp.NotificationRootsListChanged {
		return nil // removed in this revision
	}
	params, err := p.stamps.request(c, 0)
	if err != nil {
		return err
	}
	return p.link.Notify(ctx, c.Method, params)
}

// track registers a call for notifications. The channel is closed when the server
// cancels the call, which must be a subscription.
func (p *Peer) track(o *clientcall.Open) (ended chan struct{}) {
	if o.Call.OnNotification == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open[o.ID] = o
	if level := o.Call.Caller.LogLevel; level != "" && (p.lowestLevel == "" || p.lowestLevel.AtLeast(level)) {
		p.lowestLevel = level
	}
	if o.Call.Method == mcp.MethodSubscriptionsListen {
		ended = make(chan struct{})
		p.ends[o.ID] = sync.OnceFunc(func() { close(ended) })
	}
	return ended
}

func (p *Peer) untrack(id int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.open, id)
	delete(p.ends, id)
}

// cancel sends notifications/cancelled for a call. It does not wait: the link
// sends the notification in its turn.
func (p *Peer) cancel(ctx context.Context, id int64, reason string) {
	if !p.shared {
		return // closing the stream of the call cancels it
	}
	params := strconv.AppendInt([]byte(`{"requestId":`), id, 10)
	params = rawjson.AppendString(append(params, `,"reason":`...), reason)
	stopped, stop := context.WithCancel(ctx)
	stop()
	p.link.Notify(stopped, mcp.NotificationCancelled, append(params, '}'))
}

// readResponse turns a response into a result.
func (p *Peer) readResponse(c *mcp.Call, a jsonrpc.Response) (mcp.Result, error) {
	if a.Err != nil {
		if bad, ok := errors.AsType[*jsonrpc.DecodeError](a.Err); ok {
			return mcp.Result{}, clientcall.Invalid(c.Method, bad.Reason)
		}
		return mcp.Result{}, a.Err
	}
	if a.Error != nil {
		e := clientcall.FromWire(a.Error)
		if e.Code == mcp.CodeLegacyResourceNotFound {
			e.Code = mcp.CodeInvalidParams
		}
		return mcp.Result{}, e
	}
	return p.liftResult(c, a.Result)
}

// Notification handles a notification of the server and delivers it to its call;
// origin is the id of the call on whose stream it arrived, or 0. The profile gets
// a notification that belongs to no call, unless no call can have requested it.
func (p *Peer) Notification(m *jsonrpc.Message, origin int64) {
	note := mcp.Notification{Method: m.Method}
	if note.IsRelease() {
		return // internal to a process; no server sends it
	}
	var token, subscription []byte
	note.Params = rawjson.Cut(m.Params, func(name, value []byte) bool {
		switch string(name) {
		case keyMeta:
			subscription = liftNotificationMeta(&note, value)
		case keyProgressToken:
			token = value
			return m.Method == mcp.NotificationProgress
		default:
			return false
		}
		return true
	})
	if !p.deliver(note, token, subscription, origin) && p.profile.OnNotification != nil {
		p.profile.OnNotification(note)
	}
}

// deliver queues a notification for the calls it belongs to and reports whether
// it needs no further handling.
func (p *Peer) deliver(note mcp.Notification, token, subscription []byte, origin int64) bool {
	switch {
	case note.Method == mcp.NotificationCancelled:
		p.ended(number(rawjson.Lookup(note.Params, "requestId")))
		return true // the call may have ended already
	case note.Method == mcp.NotificationProgress:
		p.put(number(token), note, func(c *mcp.Call) bool { return c.Progress })
		return true // an unknown token is dropped
	case note.Method == mcp.NotificationMessage:
		return p.logged(note, origin) || !p.levelRequested(note)
	case subscription != nil:
		return p.put(number(subscription), note, func(c *mcp.Call) bool { return c.Method == mcp.MethodSubscriptionsListen })
	case origin == 0:
		// A change without a subscription id, as mcp-go sends it, goes to all
		// subscriptions whose filter matches.
		return clientcall.PutAll(p.listeners(func(c *mcp.Call) bool { return subscribed(c, note) }), note)
	}
	return p.put(origin, note, func(*mcp.Call) bool { return true })
}

// ended ends a subscription that the server has cancelled.
func (p *Peer) ended(id int64) {
	p.mu.Lock()
	end := p.ends[id]
	p.mu.Unlock()
	if end != nil {
		end()
	}
}

func (p *Peer) listeners(wants func(*mcp.Call) bool) []*clientcall.Open {
	p.mu.Lock()
	defer p.mu.Unlock()
	return clientcall.Listeners(p.open, wants)
}

// subscribed reports whether a call is a subscription that wants a notification.
func subscribed(c *mcp.Call, n mcp.Notification) bool {
	var p mcp.ListenParams
	return c.Method == mcp.MethodSubscriptionsListen && mcp.Unmarshal(c.Params, &p) == nil && p.Notifications.Wants(n)
}

// put queues a notification for one call, if it is open and wants it.
func (p *Peer) put(id int64, n mcp.Notification, wanted func(*mcp.Call) bool) bool {
	p.mu.Lock()
	o := p.open[id]
	p.mu.Unlock()
	if o == nil || !wanted(o.Call) {
		return false
	}
	o.Put(n)
	return true
}

// logged delivers a log message to the call that requested it. On a shared stream
// the message does not name its call: if all open calls belong to one principal,
// each of them gets it, and otherwise none.
func (p *Peer) logged(n mcp.Notification, origin int64) bool {
	wants := clientcall.WantsLog(n)
	if origin != 0 {
		return p.put(origin, n, wants)
	}
	return clientcall.PutAll(p.listeners(wants), n)
}

// levelRequested reports whether any call, also one that has ended, has
// requested log messages of this level.
func (p *Peer) levelRequested(n mcp.Notification) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	level, _ := rawjson.String(rawjson.Lookup(n.Params, "level"))
	return mcp.LogLevel(level).AtLeast(p.lowestLevel)
}

func liftNotificationMeta(n *mcp.Notification, meta []byte) (subscription []byte) {
	n.Meta = clientcall.AddMeta(nil, meta)
	return rawjson.Lookup(meta, mcp.MetaSubscriptionID)
}

// number parses an id of this peer; -1 if it is none.
func number(raw []byte) int64 {
	n, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil {
		return -1
	}
	return n
}

// Probe returns the revisions that the server supports. None means that the
// server is not modern: some legacy servers return an empty result for any
// method.
func (p *Peer) Probe(ctx context.Context) ([]mcp.Revision, error) {
	id := p.link.NextID()
	params, err := p.stamps.request(&mcp.Call{Method: mcp.MethodDiscover}, id)
	if err != nil {
		return nil, err
	}
	pending, err := p.link.Start(ctx, id, mcp.MethodDiscover, params)
	if err != nil {
		return nil, err
	}
	select {
	case a := <-pending.Response():
		pending.Release()
		if a.Err == nil && a.Error == nil {
			return revisions(rawjson.Lookup(a.Result, keyVersions)), nil
		}
		_, err := p.readResponse(&mcp.Call{Method: mcp.MethodDiscover}, a)
		return nil, err
	case <-ctx.Done():
		pending.Cancel()
		return nil, context.Cause(ctx)
	}
}

// Supported returns the revisions in an error that only a modern server sends,
// and reports whether e is such an error. Legacy servers may use the code for an
// unsupported version for errors of their own, so it counts only with a list of
// revisions in its data, as the specification requires. That list may be empty
// or invalid.
func Supported(e *mcp.Error) (revs []mcp.Revision, ok bool) {
	switch e.Code {
	case mcp.CodeUnsupportedVersion:
		list := rawjson.Lookup(e.Data, "supported")
		return revisions(list), rawjson.IsArray(list)
	case mcp.CodeHeaderMismatch, mcp.CodeMissingCapability:
		return []mcp.Revision{Revision}, true
	}
	return nil, false
}

func revisions(raw []byte) (revs []mcp.Revision) {
	for e := rawjson.Array(raw); e.Next(); {
		if s, ok := rawjson.String(e.Value); ok {
			revs = append(revs, mcp.Revision(s))
		}
	}
	return revs
}
