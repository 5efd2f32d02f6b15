package streamable

import (
	"cmp"
	"container/list"
	"sync"
	"time"
)

// A Store stores the sessions of legacy clients, and the events of their streams
// for resumption, for one process. Replicas use [Options].Cluster instead. The
// state of calls that require input is sealed into requestState and never
// stored. Many goroutines call the methods, which must return quickly.
type Store interface {
	// SaveSession stores the state of a session. It expires when ttl has
	// passed since it was last loaded or saved.
	SaveSession(id string, state []byte, ttl time.Duration) error
	// LoadSession returns the state of a session, byte for byte as saved.
	LoadSession(id string) (state []byte, ok bool)
	// DropSession deletes a session and its events.
	DropSession(id string)

	// AddEvent stores an event of a session's stream and returns its id, which
	// is unique within the session.
	AddEvent(session, stream string, data []byte) (id string)
	// EventsAfter returns the name of the stream that has the event with this
	// id, and all later events of that stream. It reports false if the id is
	// unknown, or if later events are no longer stored.
	EventsAfter(session, id string) (stream string, events []StoredEvent, ok bool)
}

// A StoredEvent is an event that a client may resume after.
type StoredEvent struct {
	ID   string
	Data []byte
}

// Memory is a [Store] in memory. Its size is bounded: when it is full, it drops
// the least recently used sessions and the oldest events. The zero value is
// ready to use.
type Memory struct {
	// Sessions and Events are the limits in bytes. 0 means 64 MiB for sessions
	// and 10 MiB for events.
	Sessions, Events int

	mu     sync.Mutex
	byID   map[string]*list.Element // of *savedSession
	used   list.List                // of *savedSession, the last used first
	size   int
	events eventLog
}

type savedSession struct {
	id      string
	state   []byte
	ttl     time.Duration
	expires time.Time
	events  int64 // the number of its last event
}

// overhead estimates the bytes of a session or an event besides its data.
const overhead = 200

func (s *savedSession) size() int { return len(s.id) + len(s.state) + overhead }

// SaveSession implements [Store].
func (m *Memory) SaveSession(id string, state []byte, ttl time.Duration) error {
	limit := cmp.Or(max(m.Sessions, 0), 64<<20)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.byID == nil {
		m.byID = map[string]*list.Element{}
	}
	now := time.Now()
	s := &savedSession{id: id, state: state, ttl: ttl, expires: now.Add(ttl)}
	m.size += s.size()
	if e := m.byID[id]; e != nil {
		old := e.Value.(*savedSession)
		m.size -= old.size()
		s.events = old.events
		e.Value = s
		m.used.MoveToFront(e)
	} else {
		m.byID[id] = m.used.PushFront(s)
	}
	m.expire(now)
	for m.size > limit && m.used.Len() > 1 {
		m.forget(m.used.Back())
	}
	return nil
}

// expire deletes expired sessions.
func (m *Memory) expire(now time.Time) {
	for e := m.used.Back(); e != nil && now.After(e.Value.(*savedSession).expires); e = m.used.Back() {
		m.forget(e)
	}
}

func (m *Memory) forget(e *list.Element) {
	s := e.Value.(*savedSession)
	m.used.Remove(e)
	delete(m.byID, s.id)
	m.size -= s.size()
	m.events.drop(s.id)
}

// Sweep deletes expired sessions and reports whether any sessions are left.
func (m *Memory) Sweep() (left bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.expire(time.Now())
	return len(m.byID) > 0
}

// LoadSession implements [Store].
func (m *Memory) LoadSession(id string) ([]byte, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.byID[id]
	if e == nil {
		return nil, false
	}
	s, now := e.Value.(*savedSession), time.Now()
	if now.After(s.expires) {
		m.forget(e)
		return nil, false
	}
	s.expires = now.Add(s.ttl)
	m.used.MoveToFront(e)
	return s.state, true
}

// DropSession implements [Store].
func (m *Memory) DropSession(id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e := m.byID[id]; e != nil {
		m.forget(e)
	}
}

// Count returns the number of stored sessions, and the bytes that sessions and
// events use.
func (m *Memory) Count() (sessions, bytes int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.byID), m.size + m.events.size
}

// AddEvent implements [Store]. Events of a session that is not stored are not
// stored either, and have the number 0.
func (m *Memory) AddEvent(session, stream string, data []byte) string {
	limit := cmp.Or(max(m.Events, 0), 10<<20)
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.byID[session]
	if e == nil {
		return eventID(stream, 0)
	}
	s := e.Value.(*savedSession)
	s.events++
	id := m.events.add(session, stream, s.events, data)
	m.events.shrink(limit)
	return id
}

// EventsAfter implements [Store].
func (m *Memory) EventsAfter(session, id string) (string, []StoredEvent, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.events.after(session, id)
}
