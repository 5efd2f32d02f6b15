package server

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/internal/notifyqueue"
	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/mcp"
)

// maxWatched is the maximum number of resources in one subscription.
const maxWatched = 1000

// A broadcaster notifies subscriptions of changes. It collects changes for a
// moment and merges them into one notification.
type broadcaster struct {
	delay time.Duration
	// allow reports whether a caller may know about a feature; nil means
	// always. It does not panic.
	allow func(c *mcp.Caller, f Feature) bool

	mu      sync.Mutex
	subs    map[*subscription]struct{}
	local   changeSet         // pending changes of this instance
	remote  changeSet         // and of others, see ShareChanges
	publish func(data []byte) // publishes changes of this instance; may be nil
	armed   bool              // a timer or an announcement is running
}

// A changeSet is what has changed.
type changeSet struct {
	lists []string            // lists, by method of their notification, without duplicates
	what  []map[Feature]bool  // for each of lists, the features that changed
	uris  map[string]struct{} // resources that were updated
	all   bool                // everything may have changed
}

// list adds the change of a list because of these features.
func (c *changeSet) list(method string, features ...Feature) {
	i := slices.Index(c.lists, method)
	if i < 0 {
		i = len(c.lists)
		c.lists = append(c.lists, method)
		c.what = append(c.what, map[Feature]bool{})
	}
	for _, f := range features {
		c.what[i][f] = true
	}
}

// uri adds the update of a resource.
func (c *changeSet) uri(uri string) {
	if c.uris == nil {
		c.uris = map[string]struct{}{}
	}
	c.uris[uri] = struct{}{}
}

func (c *changeSet) merge(other *changeSet) {
	c.all = c.all || other.all
	for i, method := range other.lists {
		c.list(method, slices.Collect(maps.Keys(other.what[i]))...)
	}
	for uri := range other.uris {
		c.uri(uri)
	}
}

func (c *changeSet) empty() bool { return len(c.lists) == 0 && len(c.uris) == 0 && !c.all }

// updated returns the updated resources.
func (c *changeSet) updated() []string { return slices.Sorted(maps.Keys(c.uris)) }

// changed records that a list has changed because these features were added,
// removed or replaced.
func (n *broadcaster) changed(method string, k Kind, names ...string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.subs) == 0 && n.publish == nil {
		return
	}
	n.local.list(method)
	if n.allow != nil {
		for _, name := range names {
			n.local.list(method, Feature{k, name})
		}
	}
	n.arm()
}

// concerns reports whether a caller may know about one of the features.
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

// updated records that a resource has changed.
func (n *broadcaster) updated(uri string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.subs) > 0 || n.publish != nil {
		n.local.uri(uri)
		n.arm()
	}
}

func (n *broadcaster) arm() {
	if !n.armed {
		n.armed = true
		time.AfterFunc(n.delay, n.announce)
	}
}

// announce notifies every subscription of the collected changes, and publishes
// those of this instance. Announcements do not overlap, so that notifications
// stay in order; changes that arrive meanwhile are part of the next one.
func (n *broadcaster) announce() {
	defer n.announced()
	n.mu.Lock()
	local, changes, publish := n.local, n.remote, n.publish
	n.local, n.remote = changeSet{}, changeSet{}
	subs := slices.Collect(maps.Keys(n.subs))
	n.mu.Unlock()
	changes.merge(&local)
	updated := changes.updated()
	for _, s := range subs {
		if changes.all {
			s.notifyAll()
			continue
		}
		for i, method := range changes.lists {
			if s.wants(method) && n.concerns(&s.caller, changes.what[i]) {
				s.notify(mcp.Notification{Method: method})
			}
		}
		s.notifyUpdated(updated)
	}
	if publish != nil && !local.empty() {
		publish(local.encode())
	}
}

// announced ends an announcement and arms the timer for further changes.
func (n *broadcaster) announced() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.armed = false
	if !n.local.empty() || !n.remote.empty() {
		n.arm()
	}
}

// subscribe opens the subscription that c requests. If the caller can detach
// it, the caller gets the function that ends it before the first notification;
// otherwise the caller of subscribe receives from its queue.
func (s *Server) subscribe(ctx context.Context, c *mcp.Call) (*subscription, error) {
	var in mcp.ListenParams
	if err := c.Decode(&in); err != nil {
		return nil, err
	}
	switch wanted := rawjson.Lookup(c.Params, "notifications"); {
	case wanted == nil:
		return nil, mcp.InvalidParams("notifications: missing")
	case !rawjson.IsObject(wanted):
		return nil, mcp.InvalidParams("notifications: expected an object")
	}
	if n := len(in.Notifications.ResourceSubscriptions); n > maxWatched {
		return nil, mcp.InvalidParams("resourceSubscriptions: %d resources; at most %d are allowed", n, maxWatched)
	}
	honoured := s.honoured(&c.Caller, in.Notifications)
	sub := newSubscription(c, &honoured)
	var starts []func() (stop func())
	var err error
	if honoured.Other, starts, err = s.extensions.subscribe(ctx, c, in.Notifications.Other, sub.put); err != nil {
		return nil, err
	}
	ack, err := mcp.Marshal(mcp.SubscriptionsAcknowledgedParams{Notifications: honoured})
	if err != nil {
		return nil, err
	}
	if c.Detach != nil {
		c.Detach(func() { s.changes.drop(sub) })
	} else {
		sub.queue.Receive()
	}
	// Queue the acknowledgement before the first change.
	deliver := sub.queue.Put(notifyqueue.Item[mcp.Notification]{Value: mcp.Notification{Method: mcp.NotificationSubscriptionsAcknowledged, Params: ack}})
	s.changes.add(sub)
	if deliver {
		sub.queue.Deliver(sub.onNotification)
	}
	sub.start(starts)
	return sub, nil
}

// honoured returns the part of a filter that this server supports.
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

// listen serves subscriptions/listen. It blocks until its context ends, unless
// the caller can detach the subscription.
func (s *Server) listen(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
	sub, err := s.subscribe(ctx, c)
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
				return mcp.Result{}, nil // the client subscribes again and reloads
			}
		case <-ctx.Done():
			return mcp.Result{}, nil
		}
	}
}

// A subscription receives changes until it is dropped. They pass through its
// queue, so no lock is held while OnNotification is called.
type subscription struct {
	caller                    mcp.Caller
	tools, prompts, resources bool // which lists it is subscribed to
	uris                      map[string]bool

	onNotification func(mcp.Notification)
	queue          notifyqueue.Queue[mcp.Notification]

	mu    sync.Mutex
	stops []func() // end the parts that extensions serve
	ended bool
}

// newSubscription returns a subscription for the call. It does not retain the
// call, because there may be many subscriptions for a long time.
func newSubscription(c *mcp.Call, f *mcp.SubscriptionFilter) *subscription {
	sub := &subscription{
		caller: c.Caller, onNotification: c.OnNotification,
		tools: f.ToolsListChanged, prompts: f.PromptsListChanged, resources: f.ResourcesListChanged,
	}
	if n := len(f.ResourceSubscriptions); n > 0 {
		sub.uris = make(map[string]bool, n)
		for _, uri := range f.ResourceSubscriptions {
			sub.uris[strings.Clone(uri)] = true // do not retain the request
		}
	}
	if c.OnNotification == nil {
		sub.queue.Close()
	}
	return sub
}

// add adds a subscription, unless it was dropped already.
func (n *broadcaster) add(sub *subscription) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if sub.queue.IsClosed() {
		return
	}
	if n.subs == nil {
		n.subs = map[*subscription]struct{}{}
	}
	n.subs[sub] = struct{}{}
}

// drop ends a subscription, also one that is not added yet. A notification that
// is being delivered may still arrive.
func (n *broadcaster) drop(sub *subscription) {
	sub.queue.Close()
	n.mu.Lock()
	delete(n.subs, sub)
	n.mu.Unlock()
	sub.end()
}

// start begins the parts that extensions serve.
func (s *subscription) start(starts []func() (stop func())) {
	for _, start := range starts {
		stop := start()
		s.mu.Lock()
		ended := s.ended
		if !ended {
			s.stops = append(s.stops, stop)
		}
		s.mu.Unlock()
		if ended {
			stop()
		}
	}
}

func (s *subscription) end() {
	s.mu.Lock()
	stops := s.stops
	s.stops, s.ended = nil, true
	s.mu.Unlock()
	for _, stop := range stops {
		stop()
	}
}

// notify queues a change that the client subscribed to.
func (s *subscription) notify(n mcp.Notification) {
	if s.wants(n.Method) {
		s.put(n)
	}
}

// put queues a notification and delivers it, unless another goroutine does.
func (s *subscription) put(n mcp.Notification) {
	if s.queue.Put(notifyqueue.Item[mcp.Notification]{Kind: notifyqueue.Change, Key: n.Method + " " + string(n.Params), Size: len(n.Params), Value: n}) {
		s.queue.Deliver(s.onNotification)
	}
}

func (s *subscription) wants(method string) bool {
	switch method {
	case mcp.NotificationToolsListChanged:
		return s.tools
	case mcp.NotificationPromptsListChanged:
		return s.prompts
	case mcp.NotificationResourcesListChanged:
		return s.resources
	}
	return method == mcp.NotificationResourceUpdated
}

// notifyAll notifies of all that the client subscribed to.
func (s *subscription) notifyAll() {
	for _, method := range []string{mcp.NotificationToolsListChanged, mcp.NotificationPromptsListChanged, mcp.NotificationResourcesListChanged} {
		s.notify(mcp.Notification{Method: method})
	}
	s.notifyUpdated(slices.Sorted(maps.Keys(s.uris)))
}

func (s *subscription) notifyUpdated(uris []string) {
	if len(s.uris) == 0 {
		return
	}
	for _, uri := range uris {
		if s.uris[uri] {
			params := append(rawjson.AppendString([]byte(`{"uri":`), uri), '}')
			s.notify(mcp.Notification{Method: mcp.NotificationResourceUpdated, Params: params})
		}
	}
}
