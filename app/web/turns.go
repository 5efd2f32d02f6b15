package web

import (
	"slices"
	"sync"

	"github.com/tenon-mcp/tenon/app/host"
	"github.com/tenon-mcp/tenon/mcp"
)

const (
	turnBytes  = 4 << 20 // of a turn that runs, as much is kept
	turnEvents = 2000    // and as many events
	piece      = 4096    // words that stream in are kept in pieces of about this size
)

// turns keeps what was told of the turns that run, for pages that are opened in
// the middle of one. What a turn leaves behind is in its session.
type turns struct {
	mu  sync.Mutex
	all map[string]*turn // by session
}

// A turn is what happened in one so far. Words are joined, and of a tool call
// only the latest event is there.
type turn struct {
	Before int          `json:"before"`       // how many messages the session had before it
	Seq    uint64       `json:"seq"`          // of the latest event in it
	Cut    bool         `json:"cut,omitzero"` // its beginning was too long to be kept
	Events []host.Event `json:"events"`
	costs  []int        // of each event, about, in bytes
	cost   int          // of all
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

// running lists the sessions with a turn that is not over.
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

// of is the turn of a session as it is now, nil if none runs.
func (t *turns) of(session string) *turn {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.all[session]
	if now == nil {
		return nil
	}
	return &turn{Before: now.Before, Seq: now.Seq, Cut: now.Cut, Events: slices.Clone(now.Events)}
}

func (t *turns) hear(e host.Event) {
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
		raw, _ := mcp.Marshal(e) // one that cannot be told has no size either
		for i, old := range now.Events {
			if old.Kind == e.Kind && old.Call.ID == e.Call.ID {
				now.Events[i] = e
				now.grow(i, len(raw)-now.costs[i])
				return
			}
		}
		now.add(e, len(raw))
	case host.EventTurn, host.EventNotice, host.EventError:
		now.add(e, len(e.Text))
	}
}

func (t *turn) add(e host.Event, cost int) {
	t.Events, t.costs = append(t.Events, e), append(t.costs, 0)
	t.grow(len(t.costs)-1, cost)
}

// grow notes that an event has become larger. What is then too much goes, the
// oldest first; but the words of the person and the latest event stay.
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
