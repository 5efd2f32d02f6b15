package streamable

import "time"

// A Store stores the sessions of legacy clients, and the events of their streams
// for resumption. Instances of one service can share a Store. The state of calls
// that require input is sealed into requestState and never stored. Many
// goroutines call the methods, which must return quickly.
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
