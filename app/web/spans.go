package web

import (
	"bytes"
	"net/http"
	"slices"
	"sync"

	"github.com/tenon-mcp/tenon/app/host"
	"github.com/tenon-mcp/tenon/app/speccheck"
	"github.com/tenon-mcp/tenon/app/wirelog"
	"github.com/tenon-mcp/tenon/mcp"
)

const (
	mostSpans   = 2000 // calls of models and questions whose messages can be found
	mostNotices = 50
)

// A spanKey names a call of a session, or with an empty session a question.
type spanKey struct{ session, id string }

// A span is where in the log the messages of a call or question are.
type span struct {
	after, until uint64 // until is 0 while a call runs
	call         *host.ToolCall
	ask          *host.Ask
	seq          uint64 // the request, once it was found
}

// spans remembers the latest calls of models and questions of servers with their
// places in the log. It is safe for concurrent use.
type spans struct {
	mu    sync.Mutex
	all   map[spanKey]*span
	order []spanKey          // oldest first
	taken map[uint64]spanKey // requests that belong to a call
}

// add takes what an event says about a call or question; last is the number of the
// latest message.
func (s *spans) add(e host.Event, last uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case e.Kind == host.EventAsk && e.Ask != nil:
		s.put(spanKey{id: e.Ask.ID}, &span{until: last, ask: e.Ask})
	case e.Kind != host.EventTool || e.Call == nil:
	case e.Call.Phase == host.CallRunning:
		key := spanKey{e.Session, e.Call.ID}
		if old := s.all[key]; old == nil || old.until > 0 { // otherwise it reports progress
			s.put(key, &span{after: last, call: e.Call})
		}
	default:
		if one := s.all[spanKey{e.Session, e.Call.ID}]; one != nil && one.until == 0 {
			one.until = last
		}
	}
}

// put adds a span and drops the oldest one if there are too many. The lock is held.
func (s *spans) put(key spanKey, one *span) {
	if s.all == nil {
		s.all, s.taken = map[spanKey]*span{}, map[uint64]spanKey{}
	}
	if s.all[key] == nil {
		s.order = append(s.order, key)
	}
	s.all[key] = one
	if len(s.order) > mostSpans {
		old := s.order[0]
		s.order = s.order[1:]
		delete(s.taken, s.all[old].seq)
		delete(s.all, old)
	}
}

// get returns a copy of a span.
func (s *spans) get(key spanKey) (span, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if one := s.all[key]; one != nil {
		return *one, true
	}
	return span{}, false
}

// take makes a request that of a call, unless it is another's.
func (s *spans) take(key spanKey, seq uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	one, ok := s.taken[seq]
	if ok && one != key || s.all[key] == nil {
		return false
	}
	s.taken[seq] = key
	s.all[key].seq = seq
	return true
}

// findCall returns the number of the request of a model's call, or of the message
// in which a server asks a question.
func (s *Server) findCall(r *http.Request) (any, error) {
	var q struct {
		Session string `json:"session"`
		Call    string `json:"call"`
		Ask     string `json:"ask"`
	}
	if err := body(r, &q); err != nil {
		return nil, err
	}
	key := spanKey{q.Session, q.Call}
	if q.Ask != "" {
		key = spanKey{id: q.Ask}
	}
	if one, ok := s.spans.get(key); ok {
		seq := one.seq
		switch {
		case seq > 0:
		case one.ask != nil:
			seq = s.questionOf(one)
		default:
			seq = s.requestOf(key, one)
		}
		if seq > 0 {
			return map[string]uint64{"seq": seq}, nil
		}
	}
	return nil, missing("the messages of this call are no longer in the log")
}

// requestOf returns the first tools/call request of a call: one to its tool with
// its arguments, sent while it ran, that is not another call's.
func (s *Server) requestOf(key spanKey, one span) (seq uint64) {
	args := s.work.Secrets().JSON(one.call.Arguments)
	s.scan(one.after, one.until, func(m *speccheck.Message) {
		if seq == 0 && m.Server == one.call.Server && m.Dir == speccheck.ToServer && m.Kind == speccheck.KindRequest && m.Method == mcp.MethodToolsCall && calls(m, one.call.Tool, args) && s.spans.take(key, m.Seq) {
			seq = m.Seq
		}
	})
	return seq
}

// questionOf returns the message in which a server asks a question: a request, or a
// result that requires input. Of several the latest with the same text is it.
func (s *Server) questionOf(one span) uint64 {
	list, _ := s.work.Log.Filter(wirelog.Query{Server: one.ask.Server, Dir: speccheck.FromServer}, one.until+1, 200)
	text, _ := mcp.Marshal(one.ask.Message)
	var other uint64
	for i := range list {
		m := &list[i]
		if m.Outcome != speccheck.OutcomeInput && (m.Kind != speccheck.KindRequest || m.Method != mcp.MethodElicit && m.Method != mcp.MethodCreateMessage) {
			continue
		}
		if one.ask.Message != "" && bytes.Contains(m.Frame, text) {
			return m.Seq
		}
		if other == 0 {
			other = m.Seq
		}
	}
	return other
}

// notices are the latest messages to the user that need no answer, for pages that
// are opened later. It is safe for concurrent use.
type notices struct {
	mu   sync.Mutex
	list []host.Event
}

func (n *notices) add(e host.Event) {
	if e.Kind != host.EventTask && (e.Kind != host.EventNotice || e.Session != "") {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.list = append(n.list[max(0, len(n.list)+1-mostNotices):], host.Event{Seq: e.Seq, At: e.At, Kind: e.Kind, Session: e.Session, Server: e.Server, Text: e.Text})
}

// lastNotices are the notices of each session since its last turn began, for pages
// that open it later. It is safe for concurrent use.
type lastNotices struct {
	mu    sync.Mutex
	lists map[string][]host.Event // by session
	order []string                // of sessions, the latest last
}

const noticedSessions = 50 // whose notices are kept

func (n *lastNotices) add(e host.Event) {
	if e.Session == "" || e.Kind != host.EventTurn && e.Kind != host.EventNotice {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if e.Kind == host.EventTurn {
		delete(n.lists, e.Session)
		return
	}
	if n.lists == nil {
		n.lists = map[string][]host.Event{}
	}
	n.order = append(slices.DeleteFunc(n.order, func(id string) bool { return id == e.Session }), e.Session)
	if len(n.order) > noticedSessions {
		delete(n.lists, n.order[0])
		n.order = slices.Delete(n.order, 0, 1)
	}
	old := n.lists[e.Session]
	n.lists[e.Session] = append(old[max(0, len(old)+1-mostNotices):len(old):len(old)], e)
}

func (n *lastNotices) of(session string) []host.Event {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.lists[session])
}

func (n *notices) all() []host.Event {
	n.mu.Lock()
	defer n.mu.Unlock()
	return append([]host.Event{}, n.list...)
}

// clearNotices forgets the notices that a user has read.
func (s *Server) clearNotices(*http.Request) (any, error) {
	s.notices.mu.Lock()
	defer s.notices.mu.Unlock()
	s.notices.list = nil
	return struct{}{}, nil
}
