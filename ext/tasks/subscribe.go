package tasks

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/mcp"
)

// maxWatched is the maximum number of tasks in one subscription.
const maxWatched = 100

// subscribe serves the member taskIds of a subscription filter: it notifies the
// client of each change of the tasks that belong to the caller. Unknown tasks
// are left out of the acknowledgement.
func (m *Manager) subscribe(ctx context.Context, c *mcp.Call, filter json.RawMessage, notify func(mcp.Notification)) (honoured json.RawMessage, start func() (stop func()), err error) {
	var ids []string
	if err := mcp.Unmarshal(filter, &ids); err != nil {
		return nil, nil, mcp.InvalidParams("%s: %v", Filter, err)
	}
	if len(ids) > maxWatched {
		return nil, nil, mcp.InvalidParams("%s: %d tasks; at most %d are allowed", Filter, len(ids), maxWatched)
	}
	if err := supported(&c.Caller); err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	slices.Sort(ids)
	ids = slices.Compact(ids)
	var known []string
	for _, id := range ids {
		_, err := m.find(ctx, &c.Caller, id)
		if e, ok := errors.AsType[*mcp.Error](err); ok && e.Code == mcp.CodeInvalidParams {
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		known = append(known, id)
	}
	if honoured, err = mcp.Marshal(known); err != nil || len(known) == 0 {
		return nil, nil, err
	}
	return honoured, func() func() { return m.follow(known, notify) }, nil
}

// follow notifies of the present state of tasks and of each later change.
func (m *Manager) follow(ids []string, notify func(mcp.Notification)) (stop func()) {
	ctx, cancel := context.WithCancel(m.ctx)
	var stops []func()
	for _, id := range ids {
		f := &follower{m: m, ctx: ctx, id: id, notify: notify}
		stops = append(stops, m.store.Watch(id, f.changed))
		f.changed() // the state may have changed before the watch began
	}
	return func() {
		cancel()
		for _, stop := range stops {
			stop()
		}
	}
}

// A follower sends the states of one task to one subscription, in order.
type follower struct {
	m      *Manager
	ctx    context.Context
	id     string
	notify func(mcp.Notification)

	mu      sync.Mutex
	dirty   bool
	sending bool
	sent    []byte      // the state that was sent last
	timer   *time.Timer // calls changed
}

// changed sends the state in another goroutine, unless one is about to.
func (f *follower) changed() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.dirty = true
	if !f.sending && f.ctx.Err() == nil {
		f.sending = f.m.spawn(f.send)
	}
}

func (f *follower) send() {
	for f.next() {
		r, err := f.m.read(f.ctx, f.id)
		switch {
		case errors.Is(err, ErrNotFound):
			continue
		case err != nil:
			f.again(time.Second)
			continue
		}
		params, err := mcp.Marshal(r.Task)
		if err != nil || bytes.Equal(params, f.sent) {
			continue
		}
		f.sent = params
		f.notify(mcp.Notification{Method: Notification, Params: params})
	}
}

// again calls changed after a while.
func (f *follower) again(d time.Duration) {
	if f.timer == nil {
		f.timer = time.AfterFunc(d, f.changed)
		return
	}
	f.timer.Reset(d)
}

// next reports whether there is something to send.
func (f *follower) next() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sending = f.dirty && f.ctx.Err() == nil
	f.dirty = false
	return f.sending
}
