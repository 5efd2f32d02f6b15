package modern

import (
	"context"

	"github.com/tenon-mcp/tenon/internal/eraconn/internal/clientcall"
	"github.com/tenon-mcp/tenon/internal/notifyqueue"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
)

// A Subscription is an open subscription without a goroutine in the Handler. It
// queues its notifications. Of its request it keeps only the id.
type Subscription struct {
	server *Server
	id     string // of the request, as JSON
	res    mcp.Result
	held   clientcall.Detached
	queue  notifyqueue.Queue[mcp.Notification]
}

// Listen serves subscriptions/listen. If the Handler detaches, Listen returns the
// open subscription; otherwise it blocks until the Handler returns, and returns
// the response.
func (s *Server) Listen(ctx context.Context, m *jsonrpc.Message, p *mcp.Principal, back ReplyWriter) (*Subscription, clientcall.Response) {
	r, err := s.lift(m, p)
	if err != nil {
		return nil, failed(m.ID, err)
	}
	sub := &Subscription{server: s, id: string(m.ID)}
	sub.queue.Receive()
	opened := false
	defer func() {
		if !opened { // also after a panic
			sub.held.Stop()
		}
	}()
	r.call.Headers, r.call.Caller.Session = back.Headers, back.Session
	r.call.Detach = sub.held.Add
	r.call.OnNotification = sub.onNotification(back.Notify)
	r.res, err = s.h.Serve(ctx, &r.call)
	if err == nil && sub.held.Any() {
		opened, sub.res = true, r.res
		return sub, clientcall.Response{}
	}
	return nil, s.finish(ctx, r, back, err)
}

// onNotification returns the function for notifications of the Handler: it passes
// them to notify and, once the Handler has detached, queues them. It keeps no
// reference to the request.
func (s *Subscription) onNotification(notify func(clientcall.Notification)) func(mcp.Notification) {
	return func(n mcp.Notification) {
		switch {
		case s.held.Any():
			s.put(n)
		case isChange(n):
			notify(clientcall.Outgoing(n, func(dst []byte) []byte { return s.Append(dst, n) }))
		}
	}
}

// put queues a notification.
func (s *Subscription) put(n mcp.Notification) {
	if isChange(n) {
		s.queue.Put(clientcall.Item(n))
	}
}

// Wake makes Ready receive a token.
func (s *Subscription) Wake() { s.queue.Wake() }

// isChange reports whether a notification is for subscriptions.
func isChange(n mcp.Notification) bool {
	return n.Method != mcp.NotificationProgress && n.Method != mcp.NotificationMessage && !n.IsRelease()
}

// Ready returns a channel that has a token when notifications wait, and after
// Wake.
func (s *Subscription) Ready() <-chan struct{} { return s.queue.Ready() }

// Take returns the notifications that wait, and whether changes were lost: then
// the subscription should end, so that the client subscribes again.
func (s *Subscription) Take() (notes []mcp.Notification, lost bool) {
	items, lost := s.queue.Take()
	for _, it := range items {
		notes = append(notes, it.Value)
	}
	return notes, lost
}

// Append appends the message of a notification.
func (s *Subscription) Append(dst []byte, n mcp.Notification) []byte {
	return appendNotification(dst, s.request(), n)
}

// End ends the subscription and returns its response.
func (s *Subscription) End() clientcall.Response {
	s.held.Stop()
	r := s.request()
	r.res = s.res
	if err := r.checkBody(); err != nil {
		return failed(r.id, err)
	}
	return clientcall.Response{Append: func(dst []byte) []byte { return s.server.appendResult(dst, r) }}
}

// request returns the parts of the request that its response and notifications
// repeat.
func (s *Subscription) request() *request {
	return &request{id: jsonrpc.ID(s.id), call: mcp.Call{Method: mcp.MethodSubscriptionsListen}}
}
