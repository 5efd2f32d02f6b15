package term

import (
	"context"
	"sync"

	"github.com/tenon-mcp/tenon/app/connect"
	"github.com/tenon-mcp/tenon/app/host"
)

// A Feed queues events and states of a workspace until a user interface shows
// them. Its methods do not block. Create one with NewFeed.
type Feed struct {
	mu   sync.Mutex
	all  []any // host.Event and connect.State, in order
	wake chan struct{}
}

// NewFeed returns an empty Feed.
func NewFeed() *Feed { return &Feed{wake: make(chan struct{}, 1)} }

// Event queues an event of the host; use it as workspace.Options.Event.
func (f *Feed) Event(e host.Event) { f.put(e) }

// State queues a state of a server; use it as workspace.Options.State.
func (f *Feed) State(s connect.State) { f.put(s) }

// put queues v. Pieces of streaming text, and the progress of one call, are
// joined, so that a slow user interface does not fall behind.
func (f *Feed) put(v any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.join(v) {
		f.all = append(f.all, v)
	}
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// joined bounds the length of a text that more is joined to.
const joined = 4096

func (f *Feed) join(v any) bool {
	e, ok := v.(host.Event)
	if !ok || len(f.all) == 0 {
		return false
	}
	last, ok := f.all[len(f.all)-1].(host.Event)
	if !ok || last.Kind != e.Kind || last.Session != e.Session {
		return false
	}
	switch e.Kind {
	case host.EventText, host.EventThinking:
		if len(last.Text) > joined {
			return false
		}
		last.Text += e.Text
		f.all[len(f.all)-1] = last
		return true
	case host.EventTool:
		if last.Call.ID == e.Call.ID && last.Call.Phase == e.Call.Phase {
			f.all[len(f.all)-1] = e
			return true
		}
	}
	return false
}

// take returns what was queued since the last call.
func (f *Feed) take() []any {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := f.all
	f.all = nil
	return all
}

// forward calls to with what is queued, in order, until ctx ends.
func (f *Feed) forward(ctx context.Context, to func([]any)) {
	for {
		select {
		case <-f.wake:
			if some := f.take(); len(some) > 0 {
				to(some)
			}
		case <-ctx.Done():
			return
		}
	}
}
