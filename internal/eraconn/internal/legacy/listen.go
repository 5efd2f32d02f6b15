package legacy

import (
	"context"
	"slices"
	"strconv"

	"github.com/tenon-mcp/tenon/internal/eraconn/internal/clientcall"
	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
)

// A listener is an open subscription. It receives the notifications of the
// session that match its filter.
type listener struct {
	*clientcall.Open
	wants mcp.SubscriptionFilter // the part of the filter that the server supports
}

// listen holds a subscription open until ctx or the connection ends.
func (p *Peer) listen(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
	if err := ctx.Err(); err != nil {
		return mcp.Result{}, err // see [mcp.Call].Detach
	}
	var in mcp.ListenParams
	if err := mcp.Unmarshal(c.Params, &in); err != nil {
		return mcp.Result{}, mcp.InvalidParams("%s: %v", c.Method, err)
	}
	if !rawjson.IsObject(rawjson.Lookup(c.Params, "notifications")) {
		return mcp.Result{}, mcp.InvalidParams("notifications: expected an object")
	}
	l := &listener{Open: clientcall.NewOpen(0, c), wants: p.honoured(in.Notifications)}
	ack, err := mcp.Marshal(mcp.ListenParams{Notifications: l.wants})
	if err != nil {
		return mcp.Result{}, err
	}
	p.mu.Lock()
	p.listening[l] = struct{}{}
	p.mu.Unlock()
	watched, err := p.watch(ctx, l.wants.ResourceSubscriptions)
	defer func() {
		p.mu.Lock()
		delete(p.listening, l)
		p.mu.Unlock()
		p.unwatch(ctx, watched)
	}()
	if err != nil {
		return mcp.Result{}, err
	}
	c.Notify(mcp.Notification{Method: mcp.NotificationSubscriptionsAcknowledged, Params: ack})
	gone := p.link.Done()
	for {
		select {
		case <-l.Ready():
			if err := l.Deliver(c.OnNotification); err != nil {
				return mcp.Result{}, err
			}
		case <-gone:
			return mcp.Result{}, &jsonrpc.ClosedError{}
		case <-ctx.Done():
			return mcp.Result{}, ctx.Err()
		}
	}
}

// honoured returns the part of a filter that the server supports.
func (p *Peer) honoured(f mcp.SubscriptionFilter) mcp.SubscriptionFilter {
	o := p.offers
	f.ToolsListChanged = f.ToolsListChanged && o.Tools != nil && o.Tools.ListChanged
	f.PromptsListChanged = f.PromptsListChanged && o.Prompts != nil && o.Prompts.ListChanged
	f.ResourcesListChanged = f.ResourcesListChanged && o.Resources != nil && o.Resources.ListChanged
	if o.Resources == nil || !o.Resources.Subscribe {
		f.ResourceSubscriptions = nil
	}
	f.Other = nil
	return f
}

// watch subscribes to the resources that have no subscription yet. It returns the
// resources it has counted, also on error.
func (p *Peer) watch(ctx context.Context, uris []string) (watched []string, err error) {
	for i, uri := range uris {
		p.mu.Lock()
		p.watched[uri]++
		first := p.watched[uri] == 1
		p.mu.Unlock()
		if !first {
			continue
		}
		if _, err := p.request(ctx, mcp.MethodResourcesSubscribe, uriOnly(uri)); err != nil {
			return uris[:i+1], err
		}
	}
	return uris, nil
}

// unwatch ends the subscriptions that no listener needs any more. It waits
// neither for the link to send the requests nor for the responses.
func (p *Peer) unwatch(ctx context.Context, uris []string) {
	ctx, stop := context.WithCancel(ctx)
	stop()
	for _, uri := range uris {
		p.mu.Lock()
		p.watched[uri]--
		last := p.watched[uri] <= 0
		if last {
			delete(p.watched, uri)
		}
		p.mu.Unlock()
		if !last {
			continue
		}
		if pending, err := p.link.Start(ctx, p.link.NextID(), mcp.MethodResourcesUnsubscribe, uriOnly(uri)); err == nil {
			pending.Cancel()
		}
	}
}

func uriOnly(uri string) []byte {
	return append(rawjson.AppendString([]byte(`{"uri":`), uri), '}')
}

// Notification handles a notification of the server; origin is the id of the
// call on whose stream it arrived, or 0 if unknown.
func (p *Peer) Notification(m *jsonrpc.Message, origin int64) {
	note := mcp.Notification{Method: m.Method}
	if note.IsRelease() {
		return // internal to a process; no server sends it
	}
	var token []byte
	note.Params = rawjson.Cut(m.Params, func(name, value []byte) bool {
		switch {
		case string(name) == keyProgressToken && m.Method == mcp.NotificationProgress:
			token = value
		case string(name) == keyMeta:
			note.Meta = clientcall.AddMeta(nil, value)
		default:
			return false
		}
		return true
	})
	if p.extension(note) {
		return
	}
	if !p.deliver(note, token, origin) && p.profile.OnNotification != nil {
		p.profile.OnNotification(note)
	}
}

// extended returns the connection as extensions see it.
func (p *Peer) extended() []*mcp.LegacyConn {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.extensions
}

// extension passes a notification to the extensions and reports whether one of
// them handles it.
func (p *Peer) extension(n mcp.Notification) bool {
	return slices.ContainsFunc(p.extended(), func(c *mcp.LegacyConn) bool { return c.OnNotification != nil && c.OnNotification(n) })
}

// deliver queues a notification for the calls it belongs to and reports whether
// it needs no further handling.
func (p *Peer) deliver(n mcp.Notification, token []byte, origin int64) bool {
	hearers := p.listeners(n, token, origin)
	if n.Method == mcp.NotificationElicitationComplete {
		n = pageDone(n, parkedKey)
	}
	some := clientcall.PutAll(hearers, n)
	switch n.Method {
	case mcp.NotificationProgress, mcp.NotificationElicitationComplete:
		return true // an unknown token or page is dropped
	}
	return some
}

// listeners returns the calls that a notification belongs to.
func (p *Peer) listeners(n mcp.Notification, token []byte, origin int64) (all []*clientcall.Open) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch n.Method {
	case mcp.NotificationProgress:
		id, err := strconv.ParseInt(string(token), 10, 64)
		if o := p.open[id]; err == nil && o != nil && o.Call.Progress {
			all = append(all, o)
		}
		return all
	case mcp.NotificationElicitationComplete:
		id, _ := rawjson.String(rawjson.Lookup(n.Params, keyElicitation))
		for _, k := range p.carries {
			if k.page != "" && k.page == id {
				all = append(all, &k.Open)
			}
		}
		return all
	case mcp.NotificationMessage:
		wants := clientcall.WantsLog(n)
		if o := p.open[origin]; o != nil && wants(o.Call) {
			return append(all, o)
		}
		return clientcall.Listeners(p.open, wants)
	}
	for l := range p.listening {
		if l.wants.Wants(n) {
			all = append(all, l.Open)
		}
	}
	return all
}
