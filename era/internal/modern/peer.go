package modern

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/tenon-mcp/tenon/era/internal/clientcall"
	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
)

// A Peer is a modern server at the far end of a link, shaped as a Handler.
type Peer struct {
	link    clientcall.Link
	profile *mcp.ClientProfile
	stamps  stamps

	// Shared says that all calls share one channel: whose note it is, is read
	// from the note, and a call is cancelled by name.
	shared bool

	server atomic.Pointer[introducedServer]

	mu             sync.Mutex
	open           map[int64]*clientcall.Open // calls that hear notes
	ends           map[int64]func()           // subscriptions that the server may end
	inputRequested mcp.LogLevel               // the least severe lines that a call has asked for
}

// NewPeer returns a Peer over link.
func NewPeer(link clientcall.Link, persona *mcp.ClientProfile, shared bool) (*Peer, error) {
	p := &Peer{link: link, profile: persona, shared: shared, open: map[int64]*clientcall.Open{}, ends: map[int64]func(){}}
	return p, p.stamps.prepare(persona)
}

// Serve makes a call.
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
	case mcp.MethodRevision:
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
			if err := o.Deliver(c.OnNotification); err != nil {
				return mcp.Result{}, err
			}
			return p.handleInput(c, a)
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
		return nil // this revision has removed it
	}
	params, err := p.stamps.request(c, 0)
	if err != nil {
		return err
	}
	return p.link.Notify(ctx, c.Method, params)
}

// track makes a call known to those who bring notes. The channel is closed
// when the server ends a subscription by name.
func (p *Peer) track(o *clientcall.Open) (ended chan struct{}) {
	if o.Call.OnNotification == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open[o.ID] = o
	if level := o.Call.Caller.LogLevel; level != "" && (p.inputRequested == "" || p.inputRequested.AtLeast(level)) {
		p.inputRequested = level
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
		return // closing the call's own stream has said it
	}
	params := strconv.AppendInt([]byte(`{"requestId":`), id, 10)
	params = rawjson.AppendString(append(params, `,"reason":`...), reason)
	stopped, stop := context.WithCancel(ctx)
	stop()
	p.link.Notify(stopped, notificationCancelled, append(params, '}'))
}

// answer turns what came back into a result.
func (p *Peer) handleInput(c *mcp.Call, a jsonrpc.Response) (mcp.Result, error) {
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

// Told is a notification from the server. It goes to the call it rides with;
// origin is that call's id where the link knows it, or 0. What belongs to none
// is for the persona, unless nobody can have asked for it.
func (p *Peer) Notification(m *jsonrpc.Message, origin int64) {
	if m.Method == mcp.NotificationRelease {
		return // it is between a handler and its door, and never comes from afar
	}
	note := mcp.Notification{Method: m.Method}
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
// it was dealt with.
func (p *Peer) deliver(note mcp.Notification, token, subscription []byte, origin int64) bool {
	switch {
	case note.Method == notificationCancelled:
		p.ended(number(rawjson.Lookup(note.Params, "requestId")))
		return true // what is over can still be named
	case note.Method == mcp.NotificationProgress:
		p.put(number(token), note, func(c *mcp.Call) bool { return c.Progress })
		return true // a token that nobody knows is nobody's
	case note.Method == mcp.NotificationMessage:
		return p.logged(note, origin) || !p.hasInputRequests(note)
	case subscription != nil:
		return p.put(number(subscription), note, func(c *mcp.Call) bool { return c.Method == mcp.MethodSubscriptionsListen })
	case origin == 0:
		// A change that does not name its subscription, as mcp-go sends it: it
		// is for those who asked for its kind.
		return clientcall.PutAll(p.listeners(func(c *mcp.Call) bool { return subscribed(c, note) }), note)
	}
	return p.put(origin, note, func(*mcp.Call) bool { return true })
}

// ended ends a subscription that the server has ended by name.
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

// subscribed reports whether the call is a subscription to such news.
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

// logged brings a log line to the call that asked for it. On a shared channel
// the line does not say which one that is: when all that are open belong to
// one principal each of them hears it, and otherwise none does.
func (p *Peer) logged(n mcp.Notification, origin int64) bool {
	level, _ := rawjson.String(rawjson.Lookup(n.Params, "level"))
	wants := func(c *mcp.Call) bool { return mcp.LogLevel(level).AtLeast(c.Caller.LogLevel) }
	if origin != 0 {
		return p.put(origin, n, wants)
	}
	return clientcall.PutAll(p.listeners(wants), n)
}

// hasAsked reports whether any call has asked for log messages like this one.
// One that was asked for may come late, when its call is over.
func (p *Peer) hasInputRequests(n mcp.Notification) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	level, _ := rawjson.String(rawjson.Lookup(n.Params, "level"))
	return mcp.LogLevel(level).AtLeast(p.inputRequested)
}

func liftNotificationMeta(n *mcp.Notification, meta []byte) (subscription []byte) {
	n.Meta = clientcall.AddMeta(nil, meta)
	return rawjson.Lookup(meta, metaSubscription)
}

// number reads one of our own ids; -1 if it is none.
func number(raw []byte) int64 {
	n, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil {
		return -1
	}
	return n
}
