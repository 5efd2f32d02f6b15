package streamable

import "time"

// A client of an older revision that goes away cancels nothing: the call goes
// on and the client may come back for the answer. That costs the client nothing
// and us a goroutine, so the number of such calls is bounded, and their time.

// leftAlone notes that the client of a call has gone. If there are too many of
// those, the one left longest ago is cancelled.
func (s *sessions) leftAlone(st *stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	st.left, st.away = time.Now(), s.away.PushFront(st)
	if s.away.Len() > s.limits.Live {
		s.cancelOldestLocked()
	}
}

// returned notes that the client is back, or that the call has ended.
func (s *sessions) returned(st *stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if st.away != nil {
		s.away.Remove(st.away)
		st.away = nil
	}
}

// cancelLeftLocked cancels the calls that were left before a time.
func (s *sessions) cancelLeftLocked(before time.Time) {
	for e := s.away.Back(); e != nil && e.Value.(*stream).left.Before(before); e = s.away.Back() {
		s.cancelOldestLocked()
	}
}

func (s *sessions) cancelOldestLocked() {
	st := s.away.Remove(s.away.Back()).(*stream)
	st.away = nil
	st.cancel()
}
