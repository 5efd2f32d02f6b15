// Package clientcall has what the codecs of both eras share, mostly at the
// client's end of a connection: the link, and the calls in flight on it.
package clientcall

import (
	"context"
	"fmt"

	"github.com/tenon-mcp/tenon/internal/notifyqueue"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
)

// A Link carries requests to a server. A jsonrpc.Conn is one. If the context has
// ended, Start and Notify still send, but do not wait.
type Link interface {
	NextID() int64
	Start(ctx context.Context, id int64, method string, params []byte) (*jsonrpc.Pending, error)
	Notify(ctx context.Context, method string, params []byte) error
	// Done is closed when the link has ended, or when notifications may have
	// been missed.
	Done() <-chan struct{}
}

// An Open is a call in flight. The goroutine that reads
// the link puts notifications in, and the one that waits for the response takes
// them out, so a slow caller does not delay others. A full queue never fails a
// call, which may have acted: see package notifyqueue for what it drops.
type Open struct {
	ID      int64
	Call    *mcp.Call
	Pending *jsonrpc.Pending

	queue notifyqueue.Queue[mcp.Notification]
}

// NewOpen returns an Open. It takes notifications if c.OnNotification is set.
func NewOpen(id int64, c *mcp.Call) *Open {
	o := new(Open)
	o.Begin(id, c)
	return o
}

// Begin is NewOpen for an Open embedded in another struct.
func (o *Open) Begin(id int64, c *mcp.Call) {
	o.ID, o.Call = id, c
	if c.OnNotification != nil {
		o.queue.Receive()
	}
}

// Put adds a notification. It does not block.
func (o *Open) Put(n mcp.Notification) {
	if o.queue.Ready() != nil {
		o.queue.Put(Item(n))
	}
}

// Ready has a token when Deliver has something to do.
func (o *Open) Ready() <-chan struct{} { return o.queue.Ready() }

// Deliver passes the notifications that wait to side. The error says that a
// subscription has lost changes: more different ones waited than fit.
func (o *Open) Deliver(side func(mcp.Notification)) error {
	if o.queue.Ready() == nil {
		return nil
	}
	items, lost := o.queue.Take()
	for _, it := range items {
		if side != nil { // a later round may not want notifications
			side(it.Value)
		}
	}
	if lost && o.Call.Method == mcp.MethodSubscriptionsListen {
		return &mcp.Error{Code: mcp.CodeInternal, Local: true, Message: fmt.Sprintf("too many unread notifications: more than %d different changes wait, and some were dropped", notifyqueue.MaxWaiting)}
	}
	return nil
}

// Item returns a notification as it waits in a queue. What this package does not
// know is a change: only one that says the same may stand for it.
func Item(n mcp.Notification) notifyqueue.Item[mcp.Notification] {
	it := notifyqueue.Item[mcp.Notification]{Size: len(n.Params), Value: n}
	switch n.Method {
	case mcp.NotificationProgress:
		it.Kind = notifyqueue.Progress
	case mcp.NotificationMessage:
		it.Kind = notifyqueue.Log
	case mcp.NotificationSubscriptionsAcknowledged:
		it.Kind = notifyqueue.Response
	default:
		it.Kind = notifyqueue.Change
		if len(n.Meta) == 0 {
			it.Key = n.Method + " " + string(n.Params)
		}
	}
	return it
}

// Outgoing returns a notification on its way to a client, encoded by appendTo.
func Outgoing(n mcp.Notification, appendTo func(dst []byte) []byte) Notification {
	it := Item(n)
	return Notification{Kind: it.Kind, Key: it.Key, Size: it.Size, Value: appendTo}
}

// A Notification is a message on its way to a client that is no response. Its
// Value appends it.
type Notification = notifyqueue.Message
