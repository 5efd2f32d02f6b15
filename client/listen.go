package client

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/internal/notifyqueue"
	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/mcp"
)

// Between two attempts to listen lie at least minPause and at most maxPause.
const (
	minPause = time.Second
	maxPause = 30 * time.Second
)

// Listen hears news of the kinds that the filter asks for until ctx ends or
// the client is closed, and returns why it ended. Notes come one at a time; the
// next waits until hear has returned. A nil hear is allowed: kept results are
// then dropped when they go stale, and that is all.
//
// The first note is a [mcp.NotificationSubscriptionsAcknowledged], which says what the server will
// tell. When the server goes away, Listen waits (1 s, then longer, up to 30 s)
// and subscribes again, as often as it takes. What changed in between is not
// known, so after the new acknowledgement hear is told of a change of
// everything that was subscribed to: nobody who acts on notes misses one.
//
// A server that refuses to be listened to, and a connection that cannot come
// back, end Listen with their error.
func (c *Client) Listen(ctx context.Context, filter mcp.SubscriptionFilter, hear func(mcp.Notification)) error {
	params, err := mcp.Marshal(mcp.ListenParams{Notifications: filter})
	if err != nil {
		return refused("filter: %v", err)
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	l := &listening{client: c, filter: filter, onNotification: hear}
	defer l.end()
	defer context.AfterFunc(c.life.ctx, func() { stop(ErrClosed) })()
	for pause := minPause; ; pause = min(2*pause, maxPause*2/3) {
		err := l.once(ctx, params)
		if c.life.ctx.Err() != nil {
			return ErrClosed
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if final(err) || closed(err) {
			return orClosed(err)
		}
		if l.lost() {
			pause = minPause
		}
		c.opts.warn("listening was interrupted (" + orClosed(err).Error() + "): it is tried again")
		if !sleep(ctx, pause+rand.N(pause/2)) {
			return context.Cause(ctx)
		}
	}
}

// A listening is a subscription through all its interruptions.
type listening struct {
	client         *Client
	filter         mcp.SubscriptionFilter
	onNotification func(mcp.Notification)

	queue notifyqueue.Queue[mcp.Notification] // notifications, of which one at a time is heard

	mu         sync.Mutex
	notified   bool        // the server has acknowledged since the last interruption
	gap        bool        // there was an interruption whose changes were not told
	retryDelay *time.Timer // ends an attempt that is never acknowledged
}

// once listens until the subscription ends, for whatever reason.
func (l *listening) once(ctx context.Context, params []byte) error {
	c := l.client
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if idle := c.opts.IdleTimeout; idle > 0 {
		late := &TimeoutError{Method: mcp.MethodSubscriptionsListen, Idle: true, After: idle}
		patience := time.AfterFunc(idle, func() { cancel(late) })
		defer patience.Stop()
		l.mu.Lock()
		l.retryDelay = patience
		l.mu.Unlock()
	}
	_, err := c.h.Serve(ctx, &mcp.Call{Method: mcp.MethodSubscriptionsListen, Params: params, Caller: c.caller, OnNotification: l.notification})
	if late, ok := context.Cause(ctx).(*TimeoutError); ok {
		return late
	}
	return err
}

// note takes a notification of the subscription. The Handler has merged and
// bounded what waits.
func (l *listening) notification(n mcp.Notification) {
	if l.queue.Put(notifyqueue.Item[mcp.Notification]{Size: len(n.Params), Value: n}) {
		l.queue.Deliver(l.take)
	}
}

// take deals with one notification. No lock is held, and no other is dealt with
// meanwhile.
func (l *listening) take(n mcp.Notification) {
	honoured := l.filter
	if n.Method == mcp.NotificationSubscriptionsAcknowledged {
		var ack mcp.SubscriptionsAcknowledgedParams
		if mcp.Unmarshal(n.Params, &ack) == nil {
			honoured = ack.Notifications
		}
	} else if !l.wants(n) {
		l.client.opts.warn("dropped a note " + quote(n.Method) + " that was not subscribed to")
		return
	}
	gap := l.through()
	l.deliver(n)
	if gap {
		for _, missed := range everything(honoured) {
			l.deliver(missed)
		}
	}
}

// through notes that the server has answered. It reports whether there was an
// interruption whose changes were not told.
func (l *listening) through() (gap bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.notified && l.retryDelay != nil {
		l.retryDelay.Stop()
	}
	gap, l.notified, l.gap = l.gap, true, false
	return gap
}

func (l *listening) deliver(n mcp.Notification) {
	l.client.changed(n)
	if l.onNotification != nil {
		l.onNotification(n)
	}
}

// wants reports whether a note was subscribed to. What is told of a resource
// may be told of a part of it, under another URI, and what the news of an
// extension looks like is not known here.
func (l *listening) wants(n mcp.Notification) bool {
	switch n.Method {
	case mcp.NotificationToolsListChanged, mcp.NotificationPromptsListChanged, mcp.NotificationResourcesListChanged:
		return l.filter.Wants(n)
	case mcp.NotificationResourceUpdated:
		return len(l.filter.ResourceSubscriptions) > 0
	}
	return len(l.filter.Other) > 0
}

// lost notes an interruption. From here on kept results cannot be trusted to
// be invalidated, so they go. It reports whether the attempt had got through.
func (l *listening) lost() bool {
	l.mu.Lock()
	through := l.notified
	l.gap, l.notified = l.gap || through, false
	l.mu.Unlock()
	if through {
		for _, n := range everything(l.filter) {
			l.client.changed(n)
		}
	}
	return through
}

// end makes sure that nothing is heard any more.
func (l *listening) end() {
	l.queue.Close()
	l.queue.Await()
}

// everything is the news that all that is subscribed to has changed.
func everything(f mcp.SubscriptionFilter) []mcp.Notification {
	var notes []mcp.Notification
	if f.ToolsListChanged {
		notes = append(notes, mcp.Notification{Method: mcp.NotificationToolsListChanged})
	}
	if f.PromptsListChanged {
		notes = append(notes, mcp.Notification{Method: mcp.NotificationPromptsListChanged})
	}
	if f.ResourcesListChanged {
		notes = append(notes, mcp.Notification{Method: mcp.NotificationResourcesListChanged})
	}
	for _, uri := range f.ResourceSubscriptions {
		params := append(rawjson.AppendString([]byte(`{"uri":`), uri), '}')
		notes = append(notes, mcp.Notification{Method: mcp.NotificationResourceUpdated, Params: params})
	}
	return notes
}

// final reports whether the server has said that it cannot be listened to.
func final(err error) bool {
	e, ok := errors.AsType[*mcp.Error](err)
	if !ok || e.Local {
		return false
	}
	switch e.Code {
	case mcp.CodeMethodNotFound, mcp.CodeInvalidParams, mcp.CodeInvalidRequest, mcp.CodeMissingCapability, mcp.CodeUnsupportedVersion:
		return true
	}
	return false
}

// closed reports whether the connection has ended for good.
func closed(err error) bool {
	_, ok := errors.AsType[*mcp.ClosedError](err)
	return ok
}

var errEnded = errors.New("the server has ended the subscription")

func orClosed(err error) error {
	if err == nil {
		return errEnded
	}
	return err
}

// sleep reports whether it could sleep to the end.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
