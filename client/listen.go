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

// The pause between two attempts to subscribe.
const (
	minPause = time.Second
	maxPause = 30 * time.Second
)

// Listen subscribes to the changes that the filter selects and passes them to
// onNotification, one at a time. It blocks until ctx ends or the client is
// closed, and returns the cause. If onNotification is nil, Listen only keeps
// the cache of the client up to date.
//
// The first notification is a [mcp.NotificationSubscriptionsAcknowledged] with
// the part of the filter that the server supports. If the connection is lost,
// Listen subscribes again, after 1 s at first and up to 30 s later, until it
// succeeds. Because changes may have been missed meanwhile, it then reports a
// change of everything in the filter.
//
// If the server rejects the subscription, or the connection is closed for good,
// Listen returns that error.
func (c *Client) Listen(ctx context.Context, filter mcp.SubscriptionFilter, onNotification func(mcp.Notification)) error {
	params, err := mcp.Marshal(mcp.ListenParams{Notifications: filter})
	if err != nil {
		return refused("filter: %v", err)
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	l := &listening{client: c, filter: filter, onNotification: onNotification}
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
			return orEnded(err)
		}
		if l.lost() {
			pause = minPause
		}
		c.opts.warn("subscription interrupted, subscribing again: " + orEnded(err).Error())
		if !sleep(ctx, pause+rand.N(pause/2)) {
			return context.Cause(ctx)
		}
	}
}

// A listening is a subscription, through all its interruptions.
type listening struct {
	client         *Client
	filter         mcp.SubscriptionFilter
	onNotification func(mcp.Notification)

	queue notifyqueue.Queue[mcp.Notification] // notifications, delivered one at a time

	mu           sync.Mutex
	acknowledged bool        // the server has acknowledged since the last interruption
	gap          bool        // changes during an interruption have not been reported
	ackTimer     *time.Timer // ends an attempt that is not acknowledged
}

// once subscribes and waits until the subscription ends.
func (l *listening) once(ctx context.Context, params []byte) error {
	c := l.client
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if idle := c.opts.IdleTimeout; idle > 0 {
		late := &TimeoutError{Method: mcp.MethodSubscriptionsListen, Idle: true, After: idle}
		timer := time.AfterFunc(idle, func() { cancel(late) })
		defer timer.Stop()
		l.mu.Lock()
		l.ackTimer = timer
		l.mu.Unlock()
	}
	_, err := c.h.Serve(ctx, &mcp.Call{Method: mcp.MethodSubscriptionsListen, Params: params, Caller: c.caller, OnNotification: l.notification})
	if late, ok := context.Cause(ctx).(*TimeoutError); ok {
		return late
	}
	return err
}

// notification queues a notification of the subscription. The Handler has
// merged and bounded pending changes.
func (l *listening) notification(n mcp.Notification) {
	if l.queue.Put(notifyqueue.Item[mcp.Notification]{Size: len(n.Params), Value: n}) {
		l.queue.Deliver(l.take)
	}
}

// take handles one notification. Notifications are handled one at a time, and
// no lock is held.
func (l *listening) take(n mcp.Notification) {
	honoured := l.filter
	if n.Method == mcp.NotificationSubscriptionsAcknowledged {
		var ack mcp.SubscriptionsAcknowledgedParams
		if mcp.Unmarshal(n.Params, &ack) == nil {
			honoured = ack.Notifications
		}
	} else if !l.wants(n) {
		l.client.opts.warn("dropped a notification " + quote(n.Method) + " that does not match the subscription")
		return
	}
	gap := l.acknowledge()
	l.deliver(n)
	if gap {
		for _, missed := range allChanges(honoured) {
			l.deliver(missed)
		}
	}
}

// acknowledge records that the server has responded. It reports whether changes
// during an interruption have not been reported.
func (l *listening) acknowledge() (gap bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.acknowledged && l.ackTimer != nil {
		l.ackTimer.Stop()
	}
	gap, l.acknowledged, l.gap = l.gap, true, false
	return gap
}

func (l *listening) deliver(n mcp.Notification) {
	l.client.changed(n)
	if l.onNotification != nil {
		l.onNotification(n)
	}
}

// wants reports whether the notification matches the filter. An update may
// concern a part of a subscribed resource and have another URI; notifications
// of extensions are not known.
func (l *listening) wants(n mcp.Notification) bool {
	switch n.Method {
	case mcp.NotificationToolsListChanged, mcp.NotificationPromptsListChanged, mcp.NotificationResourcesListChanged:
		return l.filter.Wants(n)
	case mcp.NotificationResourceUpdated:
		return len(l.filter.ResourceSubscriptions) > 0
	}
	return len(l.filter.Other) > 0
}

// lost records an interruption and drops the cached results that could become
// stale. It reports whether the server had acknowledged.
func (l *listening) lost() bool {
	l.mu.Lock()
	through := l.acknowledged
	l.gap, l.acknowledged = l.gap || through, false
	l.mu.Unlock()
	if through {
		for _, n := range allChanges(l.filter) {
			l.client.changed(n)
		}
	}
	return through
}

// end stops the delivery of notifications.
func (l *listening) end() {
	l.queue.Close()
	l.queue.Await()
}

// allChanges returns a change notification for everything in the filter.
func allChanges(f mcp.SubscriptionFilter) []mcp.Notification {
	var changes []mcp.Notification
	if f.ToolsListChanged {
		changes = append(changes, mcp.Notification{Method: mcp.NotificationToolsListChanged})
	}
	if f.PromptsListChanged {
		changes = append(changes, mcp.Notification{Method: mcp.NotificationPromptsListChanged})
	}
	if f.ResourcesListChanged {
		changes = append(changes, mcp.Notification{Method: mcp.NotificationResourcesListChanged})
	}
	for _, uri := range f.ResourceSubscriptions {
		params := append(rawjson.AppendString([]byte(`{"uri":`), uri), '}')
		changes = append(changes, mcp.Notification{Method: mcp.NotificationResourceUpdated, Params: params})
	}
	return changes
}

// final reports whether the server has rejected the subscription.
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

// closed reports whether the connection is closed for good.
func closed(err error) bool {
	_, ok := errors.AsType[*mcp.ClosedError](err)
	return ok
}

var errEnded = errors.New("the server ended the subscription")

func orEnded(err error) error {
	if err == nil {
		return errEnded
	}
	return err
}

// sleep reports whether it slept for d without ctx ending.
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
