package streamable

import (
	"container/list"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A Store keeps what clients of older revisions come back for: sessions, and
// the events of streams that were cut off. It is the seam at which several
// servers can stand in for each other; what can be sealed into a token (the
// state of an asking call) is never stored at all. Methods are called by many
// goroutines and must be quick.
type Store interface {
	// SaveSession keeps the state of a session until ttl has passed since it
	// was last loaded or saved.
	SaveSession(id string, state []byte, ttl time.Duration) error
	// LoadSession returns the state of a session that is kept.
	LoadSession(id string) (state []byte, ok bool)
	// DropSession forgets a session and its events.
	DropSession(id string)

	// AddEvent keeps an event of a session's stream and returns its id, which
	// is unique within the session.
	AddEvent(session, stream string, data []byte) (id string)
	// EventsAfter returns the events of the same stream that came after the
	// one with this id, and the name of the stream. It reports false when the
	// id is not known, or is too old for what comes after it to be whole.
	EventsAfter(session, id string) (stream string, events []StoredEvent, ok bool)
}

// A StoredEvent is an event that a client may come back for.
type StoredEvent struct {
	ID   string
	Data []byte
}

// Memory is a Store in memory, bounded in bytes: when there is no more room,
// the sessions and events that were used longest ago are forgotten.
type Memory struct {
	// Sessions and Events are how many bytes each may take. 0 means 64 MiB
	// and 10 MiB.
	Sessions, Events int

	mu        sync.Mutex
	byID      map[string]*list.Element // of *savedSession
	used      list.List                // of *savedSession, the last used first
	size      int
	events    list.List // of *savedEvent, the newest first
	eventSize int
	streams   map[string]*savedStream // by session and stream
}

type savedSession struct {
	id      string
	state   []byte
	ttl     time.Duration
	expires time.Time
}

// overhead is about what a session or an event costs beside its bytes.
const overhead = 200

func (m *Memory) limits() (sessions, events int) {
	sessions, events = m.Sessions, m.Events
	if sessions <= 0 {
		sessions = 64 << 20
	}
	if events <= 0 {
		events = 10 << 20
	}
	return sessions, events
}

// SaveSession implements [Store].
func (m *Memory) SaveSession(id string, state []byte, ttl time.Duration) error {
	limit, _ := m.limits()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.byID == nil {
		m.byID = map[string]*list.Element{}
	}
	s := &savedSession{id, state, ttl, time.Now().Add(ttl)}
	if e := m.byID[id]; e != nil {
		m.size += len(state) - len(e.Value.(*savedSession).state)
		e.Value = s
		m.used.MoveToFront(e)
	} else {
		m.byID[id] = m.used.PushFront(s)
		m.size += len(id) + len(state) + overhead
	}
	now := time.Now()
	for e := m.used.Back(); e != nil && e.Value.(*savedSession).id != id; e = m.used.Back() {
		if m.size <= limit && now.Before(e.Value.(*savedSession).expires) {
			break
		}
		m.forget(e)
	}
	return nil
}

func (m *Memory) forget(e *list.Element) {
	s := e.Value.(*savedSession)
	m.used.Remove(e)
	delete(m.byID, s.id)
	m.size -= len(s.id) + len(s.state) + overhead
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

// Count returns how many sessions are kept, and how many bytes they and the
// events take.
func (m *Memory) Count() (sessions, bytes int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.byID), m.size + m.eventSize
}

// A savedStream is the events of one stream that are still kept, the oldest
// first.
type savedStream struct {
	key    string
	events []*savedEvent
	next   int64 // the number of the next event
}

type savedEvent struct {
	stream *savedStream
	number int64
	data   []byte
}

// AddEvent implements [Store]. An id is the name of its stream and a number.
func (m *Memory) AddEvent(session, stream string, data []byte) string {
	_, limit := m.limits()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.streams == nil {
		m.streams = map[string]*savedStream{}
	}
	key := session + "\x00" + stream
	s := m.streams[key]
	if s == nil {
		s = &savedStream{key: key, next: 1}
		m.streams[key] = s
	}
	e := &savedEvent{s, s.next, data}
	s.next++
	s.events = append(s.events, e)
	m.events.PushFront(e)
	m.eventSize += len(data) + overhead
	for m.eventSize > limit {
		m.dropOldest()
	}
	return stream + "-" + strconv.FormatInt(e.number, 10)
}

func (m *Memory) dropOldest() {
	old := m.events.Back()
	e := m.events.Remove(old).(*savedEvent)
	m.eventSize -= len(e.data) + overhead
	e.stream.events = e.stream.events[1:] // the oldest of all is the oldest of its stream
	if len(e.stream.events) == 0 {
		delete(m.streams, e.stream.key)
	}
}

// EventsAfter implements [Store].
func (m *Memory) EventsAfter(session, id string) (string, []StoredEvent, bool) {
	i := strings.LastIndexByte(id, '-')
	if i < 0 {
		return "", nil, false
	}
	after, err := strconv.ParseInt(id[i+1:], 10, 64)
	if err != nil || after < 1 {
		return "", nil, false
	}
	stream := id[:i]
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.streams[session+"\x00"+stream]
	if s == nil || after >= s.next || s.events[0].number > after+1 {
		return "", nil, false
	}
	var events []StoredEvent
	for _, e := range s.events {
		if e.number > after {
			events = append(events, StoredEvent{stream + "-" + strconv.FormatInt(e.number, 10), e.data})
		}
	}
	return stream, events, true
}
