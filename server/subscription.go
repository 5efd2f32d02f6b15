package server

import (
	"strings"

	"github.com/tenon-mcp/tenon/internal/notifyqueue"
	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/mcp"
)

// A subscription receives changes until it is dropped. They pass through its
// queue, so no lock is held while OnNotification is called.
type subscription struct {
	caller                    mcp.Caller
	tools, prompts, resources bool // which lists it is subscribed to
	uris                      map[string]bool

	onNotification func(mcp.Notification)
	queue          notifyqueue.Queue[mcp.Notification]
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

func (n *broadcaster) add(sub *subscription) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.subs == nil {
		n.subs = map[*subscription]struct{}{}
	}
	n.subs[sub] = struct{}{}
}

// drop ends a subscription. A notification that is being delivered may still
// arrive.
func (n *broadcaster) drop(sub *subscription) {
	n.mu.Lock()
	delete(n.subs, sub)
	n.mu.Unlock()
	sub.queue.Close()
}

// notify queues a change and delivers it, unless another goroutine does.
func (s *subscription) notify(n mcp.Notification) {
	if !s.wants(n.Method) {
		return
	}
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
