package httpsse

import (
	"context"
	"sync"
)

// A session is one client with an open stream.
type session struct {
	id     string
	owner  string // the key of the principal that opened it
	end    context.CancelFunc
	stream *stream
}

// sessions holds the open sessions.
type sessions struct {
	max int

	mu     sync.Mutex
	open   map[string]*session
	closed bool          // refuse new ones
	empty  chan struct{} // closed when closed and none is open
}

func (l *sessions) init(max int) {
	l.max, l.open, l.empty = max, map[string]*session{}, make(chan struct{})
}

// add adds a session, or returns why not.
func (l *sessions) add(s *session) (refused string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.closed:
		return "the server is shutting down"
	case len(l.open) >= l.max:
		return "too many sessions are open: try again later"
	}
	l.open[s.id] = s
	return ""
}

func (l *sessions) remove(s *session) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.open, s.id)
	if l.closed && len(l.open) == 0 {
		close(l.empty)
	}
}

// find returns the session of the only id in ids, if it belongs to owner.
func (l *sessions) find(ids []string, owner string) *session {
	if len(ids) != 1 {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if s := l.open[ids[0]]; s != nil && s.owner == owner {
		return s
	}
	return nil
}

func (l *sessions) shutdown(ctx context.Context) error {
	l.mu.Lock()
	if !l.closed {
		l.closed = true
		if len(l.open) == 0 {
			close(l.empty)
		}
	}
	for _, s := range l.open {
		s.end()
	}
	l.mu.Unlock()
	select {
	case <-l.empty:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
