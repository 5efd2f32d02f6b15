package mcp

import "sync"

// A Session identifies a series of calls of one client: the session of a client
// of an older revision, or all calls on one stream, such as standard input and
// output. Handlers use it for state that belongs to one client and must not
// outlive it.
type Session struct {
	id string

	mu    sync.Mutex
	ended bool
	after map[*func()]struct{}
}

// NewSession returns a Session for a transport. The transport calls End.
func NewSession(id string) *Session { return &Session{id: id} }

// ID returns a string that no other session of the server has. It is not the
// identifier that the client sends, which is a secret. A session that is
// restored, for example by another process, keeps its ID.
func (s *Session) ID() string { return s.id }

// AfterEnd arranges that f is called once the session has ended, or at once if it
// has ended already. f must not block. It is not called if the session expires
// without a message of the client, or ends in another process, so what belongs to
// a session needs a time limit as well. stop makes s forget f.
func (s *Session) AfterEnd(f func()) (stop func()) {
	key := &f
	s.mu.Lock()
	ended := s.ended
	if !ended {
		if s.after == nil {
			s.after = map[*func()]struct{}{}
		}
		s.after[key] = struct{}{}
	}
	s.mu.Unlock()
	if ended {
		f()
	}
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.after, key)
	}
}

// End ends the session and calls the functions that AfterEnd was given. Further
// calls of End do nothing.
func (s *Session) End() {
	s.mu.Lock()
	after := s.after
	s.ended, s.after = true, nil
	s.mu.Unlock()
	for f := range after {
		(*f)()
	}
}
