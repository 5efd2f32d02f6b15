package tasks

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/tenon-mcp/tenon/mcp"
)

// askAfter is how long a task requires input before the client is asked outside
// of a call: some clients never call tasks/result while they wait.
const askAfter = 2 * time.Second

// follow notifies the client of each status of a task, and asks it for input if
// it does not call tasks/result for that. It returns when the task or the
// session has ended.
func (l *legacyClient) follow(caller mcp.Caller, t Task) {
	ctx := l.session.Context
	c := &mcp.Call{Caller: caller}
	w := newWatch(ctx, l.server, c, t)
	defer w.stop()
	var asked *asker
	defer func() { asked.stop() }()
	for last := t.Status; ; {
		now, err := w.next(ctx)
		if err != nil {
			return
		}
		if l.isCancelled(t.ID) {
			now.Status = Cancelled
		}
		if now.Status != last {
			last = now.Status
			if params, err := mcp.Marshal(toLegacy(now)); err == nil {
				l.session.Notify(mcp.Notification{Method: legacyNotification, Params: params})
			}
			asked.stop()
			asked = nil
		}
		switch {
		case now.Status.Final():
			return
		case now.Status == InputRequired && asked == nil:
			asked = l.ask(ctx, c, t.ID)
		}
	}
}

// An asker asks the client for the input of a task outside of a call.
type asker struct {
	cancel context.CancelFunc
	done   chan struct{}
}

func (a *asker) stop() {
	if a != nil {
		a.cancel()
		<-a.done
	}
}

func (l *legacyClient) ask(ctx context.Context, c *mcp.Call, id string) *asker {
	ctx, cancel := context.WithCancel(ctx)
	a := &asker{cancel, make(chan struct{})}
	go func() {
		defer close(a.done)
		for l.askOnce(ctx, c, id) {
		}
	}()
	return a
}

// askOnce waits, asks for one input that is still required and passes the
// response on. It returns false when there is no more to do.
func (l *legacyClient) askOnce(ctx context.Context, c *mcp.Call, id string) (more bool) {
	select {
	case <-time.After(askAfter):
	case <-ctx.Done():
		return false
	}
	t, err := l.find(ctx, c, id)
	if err != nil || t.Status != InputRequired {
		return true // it ends when the task has another status
	}
	key := l.claimOne(ctx, c, *t)
	if key == "" {
		return true // a call asks, or will, here or in another process
	}
	defer l.release(c, id, []string{key})
	response, err := l.session.Ask(ctx, related(t.InputRequests[key], id))
	switch e, refused := errors.AsType[*mcp.Error](err); {
	case ctx.Err() != nil:
		return false
	case refused && !e.Local:
		cancelTask(l.server, c, id)
		return false
	case err != nil:
		return true // the client is not connected
	}
	for { // the client is not asked twice because the server is away for a moment
		_, err = request(ctx, l.server, c, MethodUpdate, UpdateParams{ID: id, InputResponses: map[string]json.RawMessage{key: response}})
		if e, answered := errors.AsType[*mcp.Error](err); err == nil || answered && !e.Local {
			return true
		}
		select {
		case <-time.After(askAfter):
		case <-ctx.Done():
			return false
		}
	}
}

// claimOne chooses an input request that no call asks, and claims it; "" if there
// is none.
func (l *legacyClient) claimOne(ctx context.Context, c *mcp.Call, t Task) string {
	l.mu.Lock()
	s := l.tasks[t.ID]
	calls := s == nil || s.results > 0
	l.mu.Unlock()
	if calls {
		return ""
	}
	for key := range t.InputRequests {
		if len(l.claim(ctx, c, t.ID, []string{key})) > 0 {
			return key
		}
	}
	return ""
}
