package streamable

import (
	"container/list"
	"time"
)

// A client of an older revision that goes away cancels nothing: the call goes
// on and the client may come back for the answer. That costs the client nothing
// and us a goroutine, so the number of such calls is bounded, and their time.

// lookEvery is how often it is looked whether clients have gone whose calls are
// served where their requests came in. To be told by each of their contexts
// would cost every call more than all else that its session does.
const lookEvery = time.Second / 4

// lookOut sees to it that it is noticed when the client of a call has gone.
func (s *sessions) lookOut() {
	if !s.looking.Load() && s.looking.CompareAndSwap(false, true) {
		time.AfterFunc(lookEvery, s.look)
	}
}

// look leaves the calls alone whose clients have gone.
func (s *sessions) look() {
	s.looking.Store(false)
	calls := s.callsWithStreams()
	for _, st := range calls {
		st.leaveIfGone()
	}
	if len(calls) > 0 {
		s.lookOut()
	}
}

func (s *sessions) callsWithStreams() (calls []*stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, ses := range s.live {
		if ses.busy > 0 {
			calls = ses.appendStreams(calls)
		}
	}
	return calls
}

// leftAlone notes that the client of a stream has gone. If there are too many of
// those, the one left longest ago is cancelled.
func (s *sessions) leftAlone(st *stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	left := s.awayLike(st)
	st.left, st.away = time.Now(), left.PushFront(st)
	if left.Len() > s.limits.Live {
		cancelOldestLocked(left)
	}
}

// awayLike is where a stream is listed whose client has gone: those of calls,
// and those of news, do not take each other's place.
func (s *sessions) awayLike(st *stream) *list.List {
	if st.name == newsStream {
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

// cancelLeftLocked cancels the calls that were left before a time.
func (s *sessions) cancelLeftLocked(before time.Time) {
	for e := s.away.Back(); e != nil && e.Value.(*stream).left.Before(before); e = s.away.Back() {
		cancelOldestLocked(&s.away)
	}
}

func cancelOldestLocked(left *list.List) {
	st := left.Remove(left.Back()).(*stream)
	st.away = nil
	st.cancel()
}
