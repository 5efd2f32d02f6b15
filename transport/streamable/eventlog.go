package streamable

import (
	"bytes"
	"container/list"
	"slices"
	"strconv"
	"strings"
)

// An eventLog holds the events of all streams, the newest first. Each session
// counts its own events, so that an id tells nothing about other sessions.
type eventLog struct {
	all      list.List // of *savedEvent
	size     int
	streams  map[streamKey]*savedStream
	sessions map[string]*savedStream // the first in the list of each session
}

type streamKey struct{ session, name string }

// A savedStream holds the stored events of one stream, the oldest first.
type savedStream struct {
	streamKey
	events     []*savedEvent
	floor      int64        // the events after this number are complete
	prev, next *savedStream // of the same session
}

// streamOverhead estimates the bytes of a stream besides its events.
const streamOverhead = 200

func (s *savedStream) size() int { return len(s.name) + streamOverhead }

type savedEvent struct {
	stream *savedStream
	number int64
	data   []byte
	elem   *list.Element
}

func (e *savedEvent) size() int { return len(e.data) + overhead }

func (e *savedEvent) id() string { return eventID(e.stream.name, e.number) }

func eventID(stream string, number int64) string {
	return stream + "-" + strconv.FormatInt(number, 10)
}

// add stores an event. Its number grows with each event of the session.
func (l *eventLog) add(session, stream string, number int64, data []byte) (id string) {
	key := streamKey{session, stream}
	s := l.streams[key]
	if s == nil {
		s = &savedStream{streamKey: key, floor: number}
	}
	e := &savedEvent{stream: s, number: number, data: data}
	if s.events == nil {
		l.open(s)
	} else if isChangeStream(stream) && isChange(data) {
		l.supersede(s, data)
	}
	s.events = append(s.events, e)
	e.elem = l.all.PushFront(e)
	l.size += e.size()
	return e.id()
}

// isChange reports whether a message says only that something has changed, so that a
// client that gets it once needs no earlier one.
func isChange(data []byte) bool {
	rest, ok := bytes.CutPrefix(data, []byte(`{"jsonrpc":"2.0","method":"notifications/`))
	name, _, _ := bytes.Cut(rest, []byte{'"'})
	return ok && (string(name) == "resources/updated" || bytes.HasSuffix(name, []byte("/list_changed")))
}

// maxCompared is the number of events that a change is compared with.
const maxCompared = 32

// supersede removes an event of a stream of changes that says what the next one says.
// Otherwise a session that hears of each restart of a server would fill the log.
func (l *eventLog) supersede(s *savedStream, data []byte) {
	for i := len(s.events) - 1; i >= max(0, len(s.events)-maxCompared); i-- {
		if bytes.Equal(s.events[i].data, data) {
			l.remove(s.events[i])
			s.events = slices.Delete(s.events, i, i+1)
			return
		}
	}
}

// open adds a stream.
func (l *eventLog) open(s *savedStream) {
	if l.streams == nil {
		l.streams, l.sessions = map[streamKey]*savedStream{}, map[string]*savedStream{}
	}
	l.streams[s.streamKey] = s
	if s.next = l.sessions[s.session]; s.next != nil {
		s.next.prev = s
	}
	l.sessions[s.session] = s
	l.size += s.size()
}

// close removes an empty stream.
func (l *eventLog) close(s *savedStream) {
	delete(l.streams, s.streamKey)
	if s.next != nil {
		s.next.prev = s.prev
	}
	switch {
	case s.prev != nil:
		s.prev.next = s.next
	case s.next != nil:
		l.sessions[s.session] = s.next
	default:
		delete(l.sessions, s.session)
	}
	l.size -= s.size()
}

// shrink drops the oldest events until the size is within limit.
func (l *eventLog) shrink(limit int) {
	for l.size > limit {
		e := l.all.Back().Value.(*savedEvent)
		l.remove(e)
		s := e.stream
		s.events[0] = nil // the oldest of all is the oldest of its stream
		s.events, s.floor = s.events[1:], e.number
		if len(s.events) == 0 {
			l.close(s)
		}
	}
}

func (l *eventLog) remove(e *savedEvent) {
	l.all.Remove(e.elem)
	l.size -= e.size()
}

// drop removes the events of a session.
func (l *eventLog) drop(session string) {
	for s := l.sessions[session]; s != nil; s = l.sessions[session] {
		for _, e := range s.events {
			l.remove(e)
		}
		l.close(s)
	}
}

// after returns the events after the one with this id, if all are stored.
func (l *eventLog) after(session, id string) (stream string, events []StoredEvent, ok bool) {
	i := strings.LastIndexByte(id, '-')
	if i < 0 {
		return "", nil, false
	}
	number, err := strconv.ParseInt(id[i+1:], 10, 64)
	s := l.streams[streamKey{session, id[:i]}]
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
