package server

import (
	"strings"

	"github.com/tenon-mcp/tenon/internal/notifyqueue"
	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/mcp"
)

// A subscription is told of changes until it is stopped. They pass through its
// queue, so no lock is held while Side is called.
type subscription struct {
	caller                    mcp.Caller
	tools, prompts, resources bool // whether it hears of these lists
	uris                      map[string]bool

	side  func(mcp.Note)
	queue notifyqueue.Queue[mcp.Note]
}

// newSubscription returns a subscription of the call's, which it does not keep:
// there may be very many of them, and they may stay long.
func newSubscription(c *mcp.Call, f *mcp.Filter) *subscription {
	sub := &subscription{
		caller: c.Caller, side: c.Side,
		tools: f.ToolsListChanged, prompts: f.PromptsListChanged, resources: f.ResourcesListChanged,
	}
	if n := len(f.ResourceSubscriptions); n > 0 {
		sub.uris = make(map[string]bool, n)
		for _, uri := range f.ResourceSubscriptions {
			sub.uris[strings.Clone(uri)] = true // it may be part of something large
		}
	}
	if c.Side == nil {
		sub.queue.Close()
	}
	return sub
}

func (n *newsroom) add(sub *subscription) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.subs == nil {
		n.subs = map[*subscription]struct{}{}
	}
	n.subs[sub] = struct{}{}
}

// drop ends a subscription. A notification that is being told may still arrive.
func (n *newsroom) drop(sub *subscription) {
	n.mu.Lock()
	delete(n.subs, sub)
	n.mu.Unlock()
	sub.queue.Close()
}

// tell queues a change and delivers it, unless another goroutine does.
func (s *subscription) tell(note mcp.Note) {
	if !s.wants(note.Method) {
		return
	}
	if s.queue.Put(notifyqueue.Item[mcp.Note]{Kind: notifyqueue.Change, Key: note.Method + " " + string(note.Params), Size: len(note.Params), Value: note}) {
		s.queue.Deliver(s.side)
	}
}

func (s *subscription) wants(note string) bool {
	switch note {
	case mcp.NoteToolsListChanged:
		return s.tools
	case mcp.NotePromptsListChanged:
		return s.prompts
	case mcp.NoteResourcesListChanged:
		return s.resources
	}
	return note == mcp.NoteResourceUpdated
}

func (s *subscription) tellUpdated(uris []string) {
	if len(s.uris) == 0 {
		return
	}
	for _, uri := range uris {
		if s.uris[uri] {
			params := append(rawjson.AppendString([]byte(`{"uri":`), uri), '}')
			s.tell(mcp.Note{Method: mcp.NoteResourceUpdated, Params: params})
		}
	}
}
