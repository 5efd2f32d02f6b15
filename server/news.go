package server

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/internal/notifyqueue"
	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/mcp"
)

// maxWatched is how many resources one subscription may name.
const maxWatched = 1000

// A newsroom tells subscriptions what has changed. Changes are gathered for a
// moment, so that a hundred of them make one announcement.
type broadcaster struct {
	delay time.Duration
	// allow says whether somebody may know of a feature; nil where everybody
	// may. It does not panic.
	allow func(c *mcp.Caller, f Feature) bool

	mu    sync.Mutex
	subs  map[*subscription]struct{}
	lists []string            // the announcements that wait, each once
	what  []map[Feature]bool  // for each of lists, which features it is about; kept where there is allow
	uris  map[string]struct{} // the resources that wait to be announced
	armed bool                // a timer runs, or an announcement
}

// changed announces that a list has changed, because these features came, went
// or became others.
func (n *broadcaster) changed(note string, k Kind, names ...string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.subs) == 0 {
		return
	}
	i := slices.Index(n.lists, note)
	if i < 0 {
		i = len(n.lists)
		n.lists = append(n.lists, note)
		n.what = append(n.what, map[Feature]bool{})
	}
	if n.allow != nil {
		for _, name := range names {
			n.what[i][Feature{k, name}] = true
		}
	}
	n.arm()
}

// concerns reports whether somebody may know of one of the features.
func (n *broadcaster) concerns(c *mcp.Caller, features map[Feature]bool) bool {
	if n.allow == nil {
		return true
	}
	for f := range features {
		if n.allow(c, f) {
			return true
		}
	}
	return false
}

// updated announces that a resource has changed.
func (n *broadcaster) updated(uri string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.subs) == 0 {
		return
	}
	if n.uris == nil {
		n.uris = map[string]struct{}{}
	}
	n.uris[uri] = struct{}{}
	n.arm()
}

func (n *broadcaster) arm() {
	if !n.armed {
		n.armed = true
		time.AfterFunc(n.delay, n.announce)
	}
}

// announce tells every subscription what has gathered. One announcement follows
// the other, so that no subscription hears of a later change first: what gathers
// meanwhile is announced next.
func (n *broadcaster) announce() {
	defer n.announced()
	n.mu.Lock()
	lists, what, uris := n.lists, n.what, n.uris
	n.lists, n.what, n.uris = nil, nil, nil
	subs := make([]*subscription, 0, len(n.subs))
	for s := range n.subs {
		subs = append(subs, s)
	}
	n.mu.Unlock()
	news := slices.Sorted(maps.Keys(uris))
	for _, s := range subs {
		for i, note := range lists {
			if s.wants(note) && n.concerns(&s.caller, what[i]) {
				s.notify(mcp.Notification{Method: note})
			}
		}
		s.notifyUpdated(news)
	}
}

// announced ends an announcement, and arms the timer for what has gathered.
func (n *broadcaster) announced() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.armed = false
	if len(n.lists) > 0 || len(n.uris) > 0 {
		n.arm()
	}
}

// subscribe opens the subscription that c asks for. A caller that can hold it
// gets the function that ends it before the first notification; for another, the
// caller of subscribe is the receiver of its queue.
func (s *Server) subscribe(c *mcp.Call) (*subscription, error) {
	var in mcp.ListenParams
	if err := c.Decode(&in); err != nil {
		return nil, err
	}
	switch wanted := rawjson.Lookup(c.Params, "notifications"); {
	case wanted == nil:
		return nil, mcp.InvalidParams("notifications: missing: say what to listen for")
	case !rawjson.IsObject(wanted):
		return nil, mcp.InvalidParams("notifications: expected an object")
	}
	if n := len(in.Notifications.ResourceSubscriptions); n > maxWatched {
		return nil, mcp.InvalidParams("resourceSubscriptions: %d resources are named, and one subscription takes at most %d", n, maxWatched)
	}
	honoured := s.honoured(&c.Caller, in.Notifications)
	ack, err := mcp.Marshal(mcp.SubscriptionsAcknowledgedParams{Notifications: honoured})
	if err != nil {
		return nil, err
	}
	sub := newSubscription(c, &honoured)
	if c.Detach != nil {
		c.Detach(func() { s.changes.drop(sub) })
	} else {
		sub.queue.Receive()
	}
	// The acknowledgement waits before the first change does.
	deliver := sub.queue.Put(notifyqueue.Item[mcp.Notification]{Value: mcp.Notification{Method: mcp.NotificationSubscriptionsAcknowledged, Params: ack}})
	s.changes.add(sub)
	if deliver {
		sub.queue.Deliver(sub.onNotification)
	}
	return sub, nil
}

// honoured is the part of a filter that this server will tell.
func (s *Server) honoured(c *mcp.Caller, f mcp.SubscriptionFilter) mcp.SubscriptionFilter {
	o := s.offers()
	f.ToolsListChanged = f.ToolsListChanged && o.Tools != nil && o.Tools.ListChanged
	f.PromptsListChanged = f.PromptsListChanged && o.Prompts != nil && o.Prompts.ListChanged
	f.ResourcesListChanged = f.ResourcesListChanged && o.Resources != nil && o.Resources.ListChanged
	f.Other = nil
	if o.Resources == nil || !o.Resources.Subscribe {
		f.ResourceSubscriptions = nil
	} else if s.opts.Allow != nil {
		f.ResourceSubscriptions = slices.DeleteFunc(slices.Clone(f.ResourceSubscriptions), func(uri string) bool {
			r, _ := s.findResource(c, uri)
			return r == nil
		})
	}
	return f
}

// listen serves subscriptions/listen: it stays open until its context ends,
// unless the caller can hold the subscription.
func (s *Server) listen(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
	sub, err := s.subscribe(c)
	if err != nil || c.Detach != nil {
		return mcp.Result{}, err
	}
	defer s.changes.drop(sub)
	for {
		select {
		case <-sub.queue.Ready():
			items, lost := sub.queue.Take()
			for _, it := range items {
				c.Notify(it.Value)
			}
			if lost {
				return mcp.Result{}, nil // the client subscribes again and looks for itself
			}
		case <-ctx.Done():
			return mcp.Result{}, nil
		}
	}
}
