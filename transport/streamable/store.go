package streamable

import "time"

// A Store keeps what clients of older revisions come back for: sessions, and
// the events of streams that were cut off. It is the seam at which several
// servers can stand in for each other; what can be sealed into a token (the
// state of an asking call) is never stored at all. Methods are called by many
// goroutines and must be quick.
type Store interface {
	// SaveSession keeps the state of a session until ttl has passed since it
	// was last loaded or saved.
	SaveSession(id string, state []byte, ttl time.Duration) error
	// LoadSession returns the state of a session that is kept, byte for byte as
	// it was saved.
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
