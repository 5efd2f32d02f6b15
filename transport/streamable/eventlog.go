package streamable

import (
	"container/list"
	"strconv"
	"strings"
)

// An eventLog holds the events of all streams, the newest first. Its numbers
// only grow, so an id that was given is never given again.
type eventLog struct {
	all      list.List // of *savedEvent
	size     int
	last     int64
	sessions map[string]map[string]*savedStream
}

// A savedStream is the events of one stream that are kept, the oldest first.
type savedStream struct {
	session, name string
	events        []*savedEvent
	floor         int64 // who has heard this one has missed nothing that is not kept
}

type savedEvent struct {
	stream *savedStream
	number int64
	data   []byte
	elem   *list.Element
}

func (e *savedEvent) size() int { return len(e.data) + overhead }

// id is the name of the stream and the number.
func (e *savedEvent) id() string { return e.stream.name + "-" + strconv.FormatInt(e.number, 10) }

// add gives an event its number and keeps it if it is to be kept.
func (l *eventLog) add(session, stream string, data []byte, keep bool) (id string) {
	l.last++
	s := l.sessions[session][stream]
	if s == nil {
		s = &savedStream{session: session, name: stream, floor: l.last}
	}
	e := &savedEvent{stream: s, number: l.last, data: data}
	if !keep {
		return e.id()
	}
	if l.sessions == nil {
		l.sessions = map[string]map[string]*savedStream{}
	}
	if l.sessions[session] == nil {
		l.sessions[session] = map[string]*savedStream{}
	}
	l.sessions[session][stream] = s
	s.events = append(s.events, e)
	e.elem = l.all.PushFront(e)
	l.size += e.size()
	return e.id()
}

// shrink forgets the oldest events until the rest is small enough.
func (l *eventLog) shrink(limit int) {
	for l.size > limit {
		e := l.all.Back().Value.(*savedEvent)
		l.remove(e)
		s := e.stream
		s.events[0] = nil // the oldest of all is the oldest of its stream
		s.events, s.floor = s.events[1:], e.number
		if len(s.events) > 0 {
			continue
		}
		delete(l.sessions[s.session], s.name)
		if len(l.sessions[s.session]) == 0 {
			delete(l.sessions, s.session)
		}
	}
}

func (l *eventLog) remove(e *savedEvent) {
	l.all.Remove(e.elem)
	l.size -= e.size()
}

// drop forgets the events of a session.
func (l *eventLog) drop(session string) {
	for _, s := range l.sessions[session] {
		for _, e := range s.events {
			l.remove(e)
		}
	}
	delete(l.sessions, session)
}

// after returns the events of a stream that came after one of it, if they are
// all there.
func (l *eventLog) after(session, id string) (stream string, events []StoredEvent, ok bool) {
	i := strings.LastIndexByte(id, '-')
	if i < 0 {
		return "", nil, false
	}
	number, err := strconv.ParseInt(id[i+1:], 10, 64)
	s := l.sessions[session][id[:i]]
	if err != nil || s == nil || number < s.floor || number > s.events[len(s.events)-1].number {
		return "", nil, false
	}
	for _, e := range s.events {
		if e.number > number {
			events = append(events, StoredEvent{e.id(), e.data})
		}
	}
	return s.name, events, true
}
