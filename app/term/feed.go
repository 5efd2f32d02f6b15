package term

import (
	"context"
	"sync"

	"github.com/tenon-mcp/tenon/app/connect"
	"github.com/tenon-mcp/tenon/app/host"
)

// A Feed holds what a workspace tells until a face has shown it. Telling never
// waits. Make one with NewFeed.
type Feed struct {
	mu   sync.Mutex
	all  []any // host.Event and connect.State, in order
	wake chan struct{}
}

// NewFeed makes an empty one.
func NewFeed() *Feed { return &Feed{wake: make(chan struct{}, 1)} }

// Event takes an event of the host: it is made for workspace.Options.Event.
func (f *Feed) Event(e host.Event) { f.put(e) }

// State takes a state of a server: it is made for workspace.Options.State.
func (f *Feed) State(s connect.State) { f.put(s) }

// put adds something. Text that streams in pieces, and the progress of one
// call, are joined while nobody looks, so that a face that is slower than a
// model does not fall behind.
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

// joined is how long a text may be that more is joined to: the cost of joining
// grows with it.
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

// take returns what has come since it was last asked.
func (f *Feed) take() []any {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := f.all
	f.all = nil
	return all
}

// forward passes on what comes, in order, until ctx ends.
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
