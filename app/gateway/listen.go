package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tenon-mcp/tenon/internal/notifyqueue"
	"github.com/tenon-mcp/tenon/internal/protocol"
	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/mcp"
)

// ackTimeout is how long a subscription waits for the servers to acknowledge
// their parts.
const ackTimeout = 5 * time.Second

// listen serves subscriptions/listen. Changes of lists come from the Router;
// all other members of the filter are split by server, and each server gets its
// part.
func (r *Router) listen(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
	var in mcp.ListenParams
	if err := c.Decode(&in); err != nil {
		return mcp.Result{}, err
	}
	wants := in.Notifications
	local := mcp.SubscriptionFilter{ToolsListChanged: wants.ToolsListChanged, PromptsListChanged: wants.PromptsListChanged, ResourcesListChanged: wants.ResourcesListChanged}
	parts, err := r.split(ctx, c)
	if err != nil {
		return mcp.Result{}, err
	}
	if len(parts) > 0 && ctx.Err() != nil {
		return mcp.Result{}, ctx.Err() // see [mcp.Call].Detach
	}
	sub := &subscription{wants: local, of: selectionOf(ctx), notify: c.OnNotification}
	sub.user, sub.grant, sub.session = PerUser.key(&c.Caller), PerGrant.key(&c.Caller), PerSession.key(&c.Caller)
	if c.OnNotification == nil {
		sub.queue.Close()
	}
	if len(parts) == 0 && c.Detach != nil {
		return mcp.Result{}, r.detach(c, sub)
	}
	return r.follow(ctx, c, sub, parts)
}

// detach opens a subscription that only the Router serves.
func (r *Router) detach(c *mcp.Call, sub *subscription) error {
	ack, err := acknowledgement(sub.wants)
	if err != nil {
		return err
	}
	c.Detach(func() { r.changes.drop(sub) })
	// Queue the acknowledgement before the first change.
	deliver := sub.queue.Put(notifyqueue.Item[mcp.Notification]{Value: ack})
	r.changes.add(sub)
	if deliver {
		sub.queue.Deliver(sub.notify)
	}
	return nil
}

// follow subscribes at the servers and serves the subscription until ctx ends.
// It fails if a server refuses its part. Changes that arrive before the
// acknowledgement is sent stay in the queue.
func (r *Router) follow(ctx context.Context, c *mcp.Call, sub *subscription, parts map[*upstream]json.RawMessage) (mcp.Result, error) {
	sub.queue.Receive()
	ctx, cancel := context.WithCancel(ctx)
	var following sync.WaitGroup
	defer following.Wait()
	defer cancel()
	answers := make(chan answer, len(parts))
	for u, params := range parts {
		f := &follower{r: r, key: u.key, sub: sub, call: *c, params: params, answers: answers}
		following.Go(func() { f.run(ctx) })
	}
	all, err := gather(ctx, sub.wants, answers, len(parts))
	if err != nil {
		return mcp.Result{}, err
	}
	ack, err := acknowledgement(all)
	if err != nil {
		return mcp.Result{}, err
	}
	r.changes.add(sub)
	defer r.changes.drop(sub)
	c.Notify(ack)
	return sub.deliver(ctx, c)
}

func acknowledgement(f mcp.SubscriptionFilter) (mcp.Notification, error) {
	params, err := mcp.Marshal(mcp.SubscriptionsAcknowledgedParams{Notifications: f})
	return mcp.Notification{Method: mcp.NotificationSubscriptionsAcknowledged, Params: params}, err
}

// split returns the parameters that each server gets, without the changes of
// lists.
func (r *Router) split(ctx context.Context, c *mcp.Call) (map[*upstream]json.RawMessage, error) {
	// Which servers are there?
	named := map[*upstream]bool{}
	_, err := protocol.RenameNames(mcp.MethodSubscriptionsListen, mcp.InParams, "", c.Params, func(kind, name string) (string, error) {
		if u, _, ok := r.inward(ctx, &c.Caller, kind, name); ok {
			named[u] = true
		}
		return name, nil
	})
	if err != nil {
		return nil, err
	}
	parts := make(map[*upstream]json.RawMessage, len(named))
	for u := range named {
		if parts[u], err = r.partOf(ctx, u, c); err != nil {
			return nil, err
		}
	}
	return parts, nil
}

// notOurs marks a name of another server: no server has it.
const notOurs = "\x00"

// partOf returns the parameters with only the names of u.
func (r *Router) partOf(ctx context.Context, u *upstream, c *mcp.Call) (json.RawMessage, error) {
	own, err := protocol.RenameNames(mcp.MethodSubscriptionsListen, mcp.InParams, "", c.Params, func(kind, name string) (string, error) {
		if to, own, ok := r.inward(ctx, &c.Caller, kind, name); ok && to == u {
			return own, nil
		}
		return notOurs, nil
	})
	if err != nil {
		return nil, err
	}
	in, err := unmarked(own)
	if err != nil {
		return nil, err
	}
	f := &in.Notifications
	f.ToolsListChanged, f.PromptsListChanged, f.ResourcesListChanged = false, false, false
	return mcp.Marshal(in)
}

// unmarked returns the parameters of a subscription without the names that are
// notOurs.
func unmarked(params json.RawMessage) (in mcp.ListenParams, err error) {
	if err := mcp.Unmarshal(params, &in); err != nil {
		return in, mcp.InvalidParams("%v", err)
	}
	f := &in.Notifications
	f.ResourceSubscriptions = slices.DeleteFunc(f.ResourceSubscriptions, func(uri string) bool { return uri == notOurs })
	for member, value := range f.Other {
		var names []string
		if mcp.Unmarshal(value, &names) != nil {
			continue // not a list of names
		}
		names = slices.DeleteFunc(names, func(name string) bool { return name == notOurs })
		if len(names) == 0 {
			delete(f.Other, member)
		} else if f.Other[member], err = mcp.Marshal(names); err != nil {
			return in, err
		}
	}
	return in, nil
}

// An answer is the response of a server to its part of a subscription.
type answer struct {
	honoured mcp.SubscriptionFilter
	err      error // the server refuses
}

// gather returns the filter that the servers acknowledge, or the first error. A
// server that does not answer in time is left out.
func gather(ctx context.Context, all mcp.SubscriptionFilter, answers <-chan answer, n int) (mcp.SubscriptionFilter, error) {
	ctx, cancel := context.WithTimeout(ctx, ackTimeout)
	defer cancel()
	for range n {
		select {
		case a := <-answers:
			if a.err != nil {
				return all, a.err
			}
			all.ResourceSubscriptions = append(all.ResourceSubscriptions, a.honoured.ResourceSubscriptions...)
			for member, value := range a.honoured.Other {
				all.Other = withNames(all.Other, member, value)
			}
		case <-ctx.Done():
			return all, nil
		}
	}
	return all, nil
}

// withNames adds a list of names to a member.
func withNames(all map[string]json.RawMessage, member string, value json.RawMessage) map[string]json.RawMessage {
	var names, more []string
	if all == nil {
		all = map[string]json.RawMessage{}
	}
	if mcp.Unmarshal(value, &more) != nil {
		return all
	}
	if all[member] != nil && mcp.Unmarshal(all[member], &names) != nil {
		return all
	}
	if joined, err := mcp.Marshal(append(names, more...)); err == nil {
		all[member] = joined
	}
	return all
}

// A follower passes the notifications of one server on to a subscription. It
// subscribes again when the server has ended the subscription or the connection,
// and at the new server when Update has replaced it.
type follower struct {
	r       *Router
	key     string // of the server
	sub     *subscription
	call    mcp.Call // of the client
	params  json.RawMessage
	answers chan<- answer
	once    sync.Once
	acks    atomic.Int64 // counts the acknowledgements of the server
}

func (f *follower) run(ctx context.Context) {
	for wait := firstRetry; ctx.Err() == nil; wait = min(2*wait, lastRetry) {
		u := f.r.table.Load().byKey[f.key]
		if u == nil || !mayContact(ctx, u) { // removed, or denied by new rules: it may come back
			pause(ctx, wait)
			continue
		}
		before := f.acks.Load()
		err := f.follow(ctx, u)
		acks := f.acks.Load()
		if e, ok := errors.AsType[*mcp.Error](err); ok && !e.Local && (acks == 0 || e.Code == mcp.CodeMethodNotFound) {
			f.refused(e)
			return
		}
		if acks > before {
			wait = firstRetry
		}
		if u.ctx.Err() == nil {
			pause(ctx, wait)
		}
	}
}

// follow subscribes at a server until the subscription ends, the server is
// removed or ctx ends.
func (f *follower) follow(ctx context.Context, u *upstream) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(u.ctx, cancel)()
	one, err := u.of(&f.call.Caller)
	if err != nil {
		return err
	}
	defer one.release()
	c := f.call
	c.Params, c.Detach = f.params, nil
	c.OnNotification = func(n mcp.Notification) {
		one.heard(n.Method, n.Params)
		f.notified(u.notification(n))
	}
	_, err = one.handler.Serve(ctx, &c)
	return err
}

// notified receives the notifications of the server, with the names that clients
// see.
func (f *follower) notified(n mcp.Notification) {
	if n.Method != mcp.NotificationSubscriptionsAcknowledged {
		f.sub.put(n)
		return
	}
	var ack mcp.SubscriptionsAcknowledgedParams
	_ = mcp.Unmarshal(n.Params, &ack)
	f.answer(answer{honoured: ack.Notifications})
	if f.acks.Add(1) == 1 {
		return
	}
	// Changes since the last subscription may be lost.
	for _, uri := range ack.Notifications.ResourceSubscriptions {
		params := append(rawjson.AppendString([]byte(`{"uri":`), uri), '}')
		f.sub.put(mcp.Notification{Method: mcp.NotificationResourceUpdated, Params: params})
	}
}

// refused answers with an error of the server. A server that has no
// subscriptions is left out instead.
func (f *follower) refused(err *mcp.Error) {
	if err.Code == mcp.CodeMethodNotFound {
		f.answer(answer{})
		return
	}
	f.answer(answer{err: err})
}

func (f *follower) answer(a answer) {
	f.once.Do(func() { f.answers <- a })
}

// pause waits for d or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// A subscription receives changes until it is dropped.
type subscription struct {
	wants  mcp.SubscriptionFilter // changes of lists
	of     *selection             // of these servers
	notify func(mcp.Notification)
	queue  notifyqueue.Queue[mcp.Notification]

	user, grant, session string // the client's keys in pools
}

// uses reports whether the client uses a connection; nil stands for all of them.
func (s *subscription) uses(u *upstream) bool {
	switch {
	case !s.of.involves(u):
		return false
	case u == nil || u.in == nil:
		return true
	case u.in.Scope == PerSession:
		return u.lease.owner == s.session
	case u.in.Scope == PerGrant:
		return u.lease.owner == s.grant
	}
	return u.lease.owner == s.user
}

// put queues a change.
func (s *subscription) put(n mcp.Notification) {
	if s.queue.Put(notifyqueue.Item[mcp.Notification]{Kind: notifyqueue.Change, Key: n.Method + " " + string(n.Params), Size: len(n.Params), Value: n}) {
		s.queue.Deliver(s.notify)
	}
}

// deliver passes changes to the caller until ctx ends.
func (s *subscription) deliver(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
	for {
		select {
		case <-s.queue.Ready():
			items, lost := s.queue.Take()
			for _, it := range items {
				c.Notify(it.Value)
			}
			if lost {
				return mcp.Result{}, nil // the client subscribes again
			}
		case <-ctx.Done():
			return mcp.Result{}, nil
		}
	}
}

// A broadcaster passes changes of lists to subscriptions.
type broadcaster struct {
	mu   sync.Mutex
	subs map[*subscription]struct{}
}

// add adds a subscription, unless it was dropped already.
func (b *broadcaster) add(s *subscription) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if s.queue.IsClosed() {
		return
	}
	if b.subs == nil {
		b.subs = map[*subscription]struct{}{}
	}
	b.subs[s] = struct{}{}
}

// drop ends a subscription, also one that is not added yet.
func (b *broadcaster) drop(s *subscription) {
	s.queue.Close()
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.subs, s)
}

// announce notifies the clients that use a connection of changes.
func (b *broadcaster) announce(u *upstream, what mcp.SubscriptionFilter) {
	b.mu.Lock()
	subs := slices.Collect(maps.Keys(b.subs))
	b.mu.Unlock()
	for _, s := range subs {
		if !s.uses(u) {
			continue
		}
		if what.ToolsListChanged && s.wants.ToolsListChanged {
			s.put(mcp.Notification{Method: mcp.NotificationToolsListChanged})
		}
		if what.PromptsListChanged && s.wants.PromptsListChanged {
			s.put(mcp.Notification{Method: mcp.NotificationPromptsListChanged})
		}
		if what.ResourcesListChanged && s.wants.ResourcesListChanged {
			s.put(mcp.Notification{Method: mcp.NotificationResourcesListChanged})
		}
	}
}
