package server

import (
	"strings"
	"sync"

	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/mcp"
)

// A subscription hears news until it is stopped. It is told things under its
// own lock, so that nothing arrives after stop.
type subscription struct {
	caller                    mcp.Caller
	tools, prompts, resources bool // whether it hears of these lists
	uris                      map[string]bool

	mu      sync.Mutex
	stopped bool
	side    func(mcp.Note)
}

// newSubscription returns a subscription of the call's, which it does not keep:
// there may be very many of them, and they may stay long.
func newSubscription(c *mcp.Call, f *mcp.Filter) *subscription {
	sub := &subscription{
		caller: c.Caller, side: c.Side, stopped: c.Side == nil,
		tools: f.ToolsListChanged, prompts: f.PromptsListChanged, resources: f.ResourcesListChanged,
	}
	if n := len(f.ResourceSubscriptions); n > 0 {
		sub.uris = make(map[string]bool, n)
		for _, uri := range f.ResourceSubscriptions {
			sub.uris[strings.Clone(uri)] = true // it may be part of something large
		}
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

// drop ends a subscription: when it returns, the last has been told.
func (n *newsroom) drop(sub *subscription) {
	n.mu.Lock()
	delete(n.subs, sub)
	n.mu.Unlock()
	sub.mu.Lock()
	defer sub.mu.Unlock()
	sub.stopped = true
}

func (s *subscription) tell(note mcp.Note) {
	if !s.wants(note.Method) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.stopped {
		s.side(note)
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
