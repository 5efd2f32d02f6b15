package streamable

import (
	"container/list"
	"time"
)

// A client of an older revision that goes away cancels nothing: the call goes
// on and the client may resume. That costs the client nothing and the server a
// goroutine, so the number of such calls is bounded, and their time.

// leftAlone notes that the client of a stream has gone. If there are too many of
// those, the one left longest ago is cancelled.
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

// awayLike is where a stream is listed whose client has gone: those of calls,
// and those of changes, do not take each other's place.
func (s *sessions) awayLike(st *stream) *list.List {
	if st.changes {
		return &s.unheard
	}
	return &s.away
}

// returned notes that the client is back, or that the call has ended.
func (s *sessions) returned(st *stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if st.away != nil {
		s.awayLike(st).Remove(st.away)
		st.away = nil
	}
}

// leftBefore takes the calls that were left before a time off the list.
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
