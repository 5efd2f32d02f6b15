package streamable

import (
	"container/list"
	"time"
)

// A legacy client that disconnects does not cancel its call: the call continues
// and the client may resume the stream. Since such a call costs the server a
// goroutine, their number and duration are bounded.

// leftAlone records that the client of a stream has disconnected. If there are
// too many such streams, the oldest is cancelled.
func (s *sessions) leftAlone(st *stream) {
	s.mu.Lock()
	left := s.awayLike(st)
	st.left, st.away = time.Now(), left.PushFront(st)
	var oldest *stream
	if left.Len() > s.limits.Live {
		oldest = removeOldest(left)
	}
	s.mu.Unlock()
	if oldest != nil {
		oldest.abandon()
	}
}

// awayLike returns the list for a stream whose client has disconnected. Streams
// of calls and streams of changes have separate bounds.
func (s *sessions) awayLike(st *stream) *list.List {
	if st.changes {
		return &s.unheard
	}
	return &s.away
}

// returned records that the client has resumed, or that the call has ended.
func (s *sessions) returned(st *stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if st.away != nil {
		s.awayLike(st).Remove(st.away)
		st.away = nil
	}
}

// leftBefore removes and returns the calls whose clients disconnected before t.
func (s *sessions) leftBefore(t time.Time) (calls []*stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for e := s.away.Back(); e != nil && e.Value.(*stream).left.Before(t); e = s.away.Back() {
		calls = append(calls, removeOldest(&s.away))
	}
	return calls
}

func removeOldest(left *list.List) *stream {
	st := left.Remove(left.Back()).(*stream)
	st.away = nil
	return st
}
