package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/internal/notifyqueue"
	"github.com/tenon-mcp/tenon/internal/protocol"
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
	parts, err := r.split(c.Params)
	if err != nil {
		return mcp.Result{}, err
	}
	if len(parts) > 0 && ctx.Err() != nil {
		return mcp.Result{}, ctx.Err() // see [mcp.Call].Detach
	}
	sub := &subscription{wants: local, notify: c.OnNotification}
	if c.OnNotification == nil {
		sub.queue.Close()
	}
	if len(parts) == 0 && c.Detach != nil {
		c.Detach(func() { r.changes.drop(sub) })
		sub.acknowledge(local)
		r.changes.add(sub)
		return mcp.Result{}, nil
	}
	sub.queue.Receive()
	ctx, cancel := context.WithCancel(ctx)
	var following sync.WaitGroup
	defer following.Wait()
	defer cancel()
	acks := make(chan mcp.SubscriptionFilter, len(parts))
	for u, params := range parts {
		f := &follower{u: u, sub: sub, call: *c, params: params, acks: acks}
		following.Go(func() { f.run(ctx) })
	}
	sub.acknowledge(gather(ctx, local, acks, len(parts)))
	r.changes.add(sub)
	defer r.changes.drop(sub)
	return sub.deliver(ctx, c)
}

// split returns the parameters that each server gets, without the changes of
// lists.
func (r *Router) split(params json.RawMessage) (map[*upstream]json.RawMessage, error) {
	// Which servers are there?
	named := map[*upstream]bool{}
	_, err := protocol.RenameNames(mcp.MethodSubscriptionsListen, mcp.InParams, "", params, func(kind, name string) (string, error) {
		if u, _, ok := r.inward(kind, name); ok {
			named[u] = true
		}
		return name, nil
	})
	if err != nil {
		return nil, err
	}
	parts := make(map[*upstream]json.RawMessage, len(named))
	for u := range named {
		if parts[u], err = r.partOf(u, params); err != nil {
			return nil, err
		}
	}
	return parts, nil
}

// notOurs marks a name of another server: no server has it.
const notOurs = "\x00"

// partOf returns the parameters with only the names of u.
func (r *Router) partOf(u *upstream, params json.RawMessage) (json.RawMessage, error) {
	own, err := protocol.RenameNames(mcp.MethodSubscriptionsListen, mcp.InParams, "", params, func(kind, name string) (string, error) {
		if to, own, ok := r.inward(kind, name); ok && to == u {
			return own, nil
		}
		return notOurs, nil
	})
	if err != nil {
		return nil, err
	}
	var in mcp.ListenParams
	if err := mcp.Unmarshal(own, &in); err != nil {
		return nil, mcp.InvalidParams("%v", err)
	}
	f := &in.Notifications
	f.ToolsListChanged, f.PromptsListChanged, f.ResourcesListChanged = false, false, false
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
			return nil, err
		}
	}
	return mcp.Marshal(in)
}

// gather adds what the servers acknowledge. A server that does not in time is
// left out.
func gather(ctx context.Context, all mcp.SubscriptionFilter, acks <-chan mcp.SubscriptionFilter, n int) mcp.SubscriptionFilter {
	ctx, cancel := context.WithTimeout(ctx, ackTimeout)
	defer cancel()
	for range n {
		select {
		case f := <-acks:
			all.ResourceSubscriptions = append(all.ResourceSubscriptions, f.ResourceSubscriptions...)
			for member, value := range f.Other {
				all.Other = withNames(all.Other, member, value)
			}
		case <-ctx.Done():
			return all
		}
	}
	return all
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
		all = maps.Clone(all)
		all[member] = joined
	}
	return all
}

// A follower passes the notifications of one server on to a subscription. It
// subscribes again when the connection to the server has ended.
type follower struct {
	u      *upstream
	sub    *subscription
	call   mcp.Call // of the client
	params json.RawMessage
	acks   chan<- mcp.SubscriptionFilter
	once   sync.Once
}

func (f *follower) run(ctx context.Context) {
	c := f.call
	c.Params, c.Detach = f.params, nil
	c.OnNotification = func(n mcp.Notification) {
		n = f.u.notification(n)
		if n.Method != mcp.NotificationSubscriptionsAcknowledged {
			f.sub.put(n)
			return
		}
		var ack mcp.SubscriptionsAcknowledgedParams
		_ = mcp.Unmarshal(n.Params, &ack)
		f.acknowledge(ack.Notifications)
	}
	for wait := firstRetry; ctx.Err() == nil; wait = min(2*wait, lastRetry) {
		_, err := f.u.handler.Serve(ctx, &c)
		if e, ok := errors.AsType[*mcp.Error](err); ok && !e.Local {
			f.acknowledge(mcp.SubscriptionFilter{}) // the server refuses
			return
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
		}
	}
}

func (f *follower) acknowledge(part mcp.SubscriptionFilter) {
	f.once.Do(func() { f.acks <- part })
}

// A subscription receives changes until it is dropped.
type subscription struct {
	wants  mcp.SubscriptionFilter // changes of lists
	notify func(mcp.Notification)
	queue  notifyqueue.Queue[mcp.Notification]
}

// acknowledge queues the acknowledgement, which comes before all changes.
func (s *subscription) acknowledge(f mcp.SubscriptionFilter) {
	params, err := mcp.Marshal(mcp.SubscriptionsAcknowledgedParams{Notifications: f})
	if err != nil {
		return
	}
	if s.queue.Put(notifyqueue.Item[mcp.Notification]{Value: mcp.Notification{Method: mcp.NotificationSubscriptionsAcknowledged, Params: params}}) {
		s.queue.Deliver(s.notify)
	}
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

func (b *broadcaster) add(s *subscription) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.subs == nil {
		b.subs = map[*subscription]struct{}{}
	}
	b.subs[s] = struct{}{}
}

func (b *broadcaster) drop(s *subscription) {
	b.mu.Lock()
	delete(b.subs, s)
	b.mu.Unlock()
	s.queue.Close()
}

// announce notifies of changes.
func (b *broadcaster) announce(what mcp.SubscriptionFilter) {
	b.mu.Lock()
	subs := slices.Collect(maps.Keys(b.subs))
	b.mu.Unlock()
	for _, s := range subs {
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
