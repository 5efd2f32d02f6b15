package modern

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/tenon-mcp/tenon/era/internal/joint"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
)

// maxNews is how much news may wait in one subscription.
const maxNews = 1024

// A Subscription is one that is open without a goroutine that waits inside the
// Handler. News gathers in it. It keeps nothing of its request but the id.
type Subscription struct {
	server *Server
	id     string // that of the request, as JSON
	end    func() mcp.Result

	mu    sync.Mutex
	notes []mcp.Note
	lost  bool
	ready chan struct{} // has a token when somebody should look
}

// Listen opens the subscription that a subscriptions/listen asks for, if the
// Handler is an [mcp.Listener]. Otherwise it returns what serves the request,
// for which back is.
func (s *Server) Listen(m *jsonrpc.Message, p *mcp.Principal, back Back) (*Subscription, func(context.Context) joint.Answer) {
	r, err := s.lift(m, p)
	if err != nil {
		return nil, refusing(m.ID, err)
	}
	l, ok := s.h.(mcp.Listener)
	if !ok {
		return nil, s.calling(r, back)
	}
	sub := &Subscription{server: s, id: string(m.ID), ready: make(chan struct{}, 1)}
	r.call.Headers = back.Headers
	r.call.Side = sub.put
	sub.end, err = l.Listen(&r.call)
	switch {
	case err == nil:
		return sub, nil
	case errors.Is(err, mcp.ErrListenByCall):
		return nil, s.calling(r, back)
	}
	return nil, refusing(m.ID, err)
}

func (s *Server) calling(r *request, back Back) func(context.Context) joint.Answer {
	return func(ctx context.Context) joint.Answer { return s.call(ctx, r, back) }
}

func refusing(id jsonrpc.ID, err error) func(context.Context) joint.Answer {
	return func(context.Context) joint.Answer { return failed(id, err) }
}

// put adds a note. News that already waits is not added again.
func (s *Subscription) put(n mcp.Note) {
	if !isNews(n.Method) {
		return
	}
	s.mu.Lock()
	switch {
	case slices.ContainsFunc(s.notes, func(m mcp.Note) bool { return same(m, n) }):
	case len(s.notes) < maxNews:
		s.notes = append(s.notes, n)
	default:
		s.lost = true
	}
	s.mu.Unlock()
	s.Wake()
}

// Wake has whoever waits for Ready look.
func (s *Subscription) Wake() {
	select {
	case s.ready <- struct{}{}:
	default:
	}
}

func same(a, b mcp.Note) bool {
	return a.Method == b.Method && bytes.Equal(a.Params, b.Params) && len(a.Meta) == 0 && len(b.Meta) == 0
}

// isNews tells what a subscription hears from what only other calls do.
func isNews(note string) bool {
	switch note {
	case mcp.NoteProgress, mcp.NoteMessage, mcp.NoteRelease:
		return false
	}
	return true
}

// Ready has a token when there is something to take, and after Wake.
func (s *Subscription) Ready() <-chan struct{} { return s.ready }

// Take returns the notes that wait, and whether there were more than could be
// kept.
func (s *Subscription) Take() (notes []mcp.Note, lost bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	notes, s.notes = s.notes, nil
	return notes, s.lost
}

// Append appends the notification that tells a note.
func (s *Subscription) Append(dst []byte, n mcp.Note) []byte {
	return appendNote(dst, s.request(), n)
}

// End ends the subscription and returns its answer.
func (s *Subscription) End() joint.Answer {
	r := s.request()
	r.res = s.end()
	if err := r.checkBody(); err != nil {
		return failed(r.id, err)
	}
	return joint.Answer{Append: func(dst []byte) []byte { return s.server.appendResult(dst, r) }}
}

// request is as much of the request as its answer and its news repeat.
func (s *Subscription) request() *request {
	return &request{id: jsonrpc.ID(s.id), call: mcp.Call{Method: mcp.MethodSubscriptionsListen}}
}
