package web

import (
	"slices"
	"sync"

	"github.com/tenon-mcp/tenon/app/host"
	"github.com/tenon-mcp/tenon/mcp"
)

const (
	turnBytes  = 4 << 20 // kept of a running turn
	turnEvents = 2000    // kept of a running turn
	piece      = 4096    // streaming text is kept in pieces of about this size
)

// turns keeps the events of running turns, for pages opened meanwhile. Ended
// turns are in their sessions.
type turns struct {
	mu  sync.Mutex
	all map[string]*turn // by session
}

// A turn has the events of one turn so far. Text is joined, and of a tool call
// only the latest event is kept.
type turn struct {
	Before int          `json:"before"`       // messages of the session before it
	Seq    uint64       `json:"seq"`          // of its latest event
	Cut    bool         `json:"cut,omitzero"` // its beginning was dropped
	Events []host.Event `json:"events"`
	costs  []int        // approximate bytes of each event
	cost   int          // the sum
}

func (t *turns) begin(session string, before int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all[session] = &turn{Before: before, Events: []host.Event{}}
}

func (t *turns) end(session string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.all, session)
}

// running returns the sessions with a running turn.
func (t *turns) running() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := []string{}
	for id := range t.all {
		all = append(all, id)
	}
	slices.Sort(all)
	return all
}

// of returns the running turn of a session; nil if there is none.
func (t *turns) of(session string) *turn {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.all[session]
	if now == nil {
		return nil
	}
	return &turn{Before: now.Before, Seq: now.Seq, Cut: now.Cut, Events: slices.Clone(now.Events)}
}

func (t *turns) add(e host.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.all[e.Session]
	if now == nil {
		return
	}
	now.Seq = e.Seq
	switch e.Kind {
	case host.EventDone:
		delete(t.all, e.Session)
	case host.EventText, host.EventThinking:
		last := len(now.Events) - 1
		if last < 0 || now.Events[last].Kind != e.Kind || len(now.Events[last].Text) > piece {
			now.add(e, len(e.Text))
			return
		}
		now.Events[last].Text += e.Text
		now.Events[last].Seq = e.Seq
		now.grow(last, len(e.Text))
	case host.EventTool:
		raw, _ := mcp.Marshal(e) // an event that cannot be encoded is not sent
		for i, old := range now.Events {
			if old.Kind == e.Kind && old.Call.ID == e.Call.ID {
				now.Events[i] = e
				now.grow(i, len(raw)-now.costs[i])
				return
			}
		}
		now.add(e, len(raw))
	case host.EventRetract:
		now.retract()
	case host.EventTurn, host.EventMessage, host.EventNotice, host.EventError:
		now.add(e, len(e.Text))
	}
}

func (t *turn) add(e host.Event, cost int) {
	t.Events, t.costs = append(t.Events, e), append(t.costs, 0)
	t.grow(len(t.costs)-1, cost)
}

// retract drops the text and thinking of the running step, which are after the
// last call.
func (t *turn) retract() {
	from := len(t.Events)
	for from > 0 && t.Events[from-1].Kind != host.EventTool && t.Events[from-1].Kind != host.EventTurn {
		from--
	}
	for i := len(t.Events) - 1; i >= from; i-- {
		if k := t.Events[i].Kind; k == host.EventText || k == host.EventThinking {
			t.cost -= t.costs[i]
			t.Events, t.costs = slices.Delete(t.Events, i, i+1), slices.Delete(t.costs, i, i+1)
		}
	}
}

// grow records that an event has become larger, and drops the oldest events
// beyond the limits, except the user's message and the latest event.
func (t *turn) grow(i, more int) {
	t.costs[i] += more
	t.cost += more
	n := 1
	for ; n < len(t.Events)-1 && (t.cost > turnBytes || len(t.Events)-n >= turnEvents); n++ {
		t.cost -= t.costs[n]
	}
	if n > 1 {
		t.Events, t.costs, t.Cut = slices.Delete(t.Events, 1, n), slices.Delete(t.costs, 1, n), true
	}
}
