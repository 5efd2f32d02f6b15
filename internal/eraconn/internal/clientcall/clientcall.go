// Package clientcall has what the codecs of both eras share, mostly at the
// client's end of a connection: the link, and the calls in flight on it.
package clientcall

import (
	"context"
	"fmt"
	"sync"

	"github.com/tenon-mcp/tenon/internal/notifyqueue"
	"github.com/tenon-mcp/tenon/internal/rawjson"
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

// WantsLog returns a function that reports whether a call takes a log message:
// it has asked for messages of this level, and somebody receives them.
func WantsLog(n mcp.Notification) func(*mcp.Call) bool {
	level, _ := rawjson.String(rawjson.Lookup(n.Params, "level"))
	return func(c *mcp.Call) bool {
		return c.OnNotification != nil && mcp.LogLevel(level).AtLeast(c.Caller.LogLevel)
	}
}

// Listeners returns the open calls that want a notification which does not say
// whose it is, if all of them belong to one principal. Otherwise it returns none,
// so that no principal receives the notifications of another.
func Listeners(open map[int64]*Open, wants func(*mcp.Call) bool) (all []*Open) {
	for _, o := range open {
		if !wants(o.Call) {
			continue
		}
		if len(all) > 0 && all[0].Call.Caller.Principal.Key() != o.Call.Caller.Principal.Key() {
			return nil
		}
		all = append(all, o)
	}
	return all
}

// PutAll puts a notification into all of them and reports whether there are any.
func PutAll(to []*Open, n mcp.Notification) bool {
	for _, o := range to {
		o.Put(n)
	}
	return len(to) > 0
}

// Detached holds a subscription that its Handler has left open. Its Add is the
// [mcp.Call].Detach of the call.
type Detached struct {
	mu       sync.Mutex
	stops    []func()
	any      bool // Add was called
	finished bool // Stop was called
}

// Add takes what ends the subscription, or a part of it. After Stop it calls
// stop at once.
func (d *Detached) Add(stop func()) {
	d.mu.Lock()
	over := d.finished
	d.any = true
	if !over {
		d.stops = append(d.stops, stop)
	}
	d.mu.Unlock()
	if over {
		stop()
	}
}

// Any reports whether the Handler has detached.
func (d *Detached) Any() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.any
}

// Stop ends the subscription. It may be called more than once.
func (d *Detached) Stop() {
	d.mu.Lock()
	stops := d.stops
	d.stops, d.finished = nil, true
	d.mu.Unlock()
	for _, stop := range stops {
		stop()
	}
}

// maxInbox is how many notifications of a client may wait to be served.
const maxInbox = 256

// An Inbox serves the notifications of one client one at a time, in order, so
// that their reader does not wait. When 256 wait, further ones are dropped: a
// notification has no response.
type Inbox struct {
	mu      sync.Mutex
	waiting []func(ctx context.Context)
	running bool
	closed  bool
	ctx     context.Context // ends with Close
	cancel  context.CancelFunc
	serving sync.WaitGroup
}

// Put has serve called, unless the Inbox is full or closed.
func (b *Inbox) Put(serve func(ctx context.Context)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed || len(b.waiting) >= maxInbox {
		return
	}
	if b.cancel == nil {
		b.ctx, b.cancel = context.WithCancel(context.Background())
	}
	b.waiting = append(b.waiting, serve)
	if !b.running {
		b.running = true
		b.serving.Go(b.run)
	}
}

// run serves what waits and ends when nothing does.
func (b *Inbox) run() {
	for {
		b.mu.Lock()
		if len(b.waiting) == 0 || b.closed {
			b.waiting, b.running = nil, false
			b.mu.Unlock()
			return
		}
		serve := b.waiting[0]
		b.waiting = b.waiting[1:]
		b.mu.Unlock()
		serve(b.ctx)
	}
}

// Close drops what waits and waits for what is being served.
func (b *Inbox) Close() {
	b.mu.Lock()
	b.closed = true
	if b.cancel != nil {
		b.cancel()
	}
	b.mu.Unlock()
	b.serving.Wait()
}
