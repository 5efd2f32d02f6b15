package streamable

import (
	"bytes"
	"context"
	"errors"
	"time"
)

// A backend has the sessions of a Handler and the events of their streams: in a
// [Store], or in the store of a cluster.
type backend interface {
	// create returns the id of a new session, and stores what the id does not
	// contain.
	create(ctx context.Context, rec record) (id string, version int64, err error)
	// load returns the state of a session and extends its time to live. The
	// error is errNoSession if there is none; the record then has its key, if
	// that is known.
	load(ctx context.Context, id string) (record, error)
	// keep extends the time to live of a session that is in use. It reports
	// false if the session has ended.
	keep(ctx context.Context, key string) bool
	// save stores a changed state. The error is cluster.ErrConflict if another
	// replica has stored one since.
	save(ctx context.Context, rec record) (version int64, err error)
	// drop ends a session.
	drop(ctx context.Context, key string) error

	// name returns the name of a new stream.
	name(st *stream) string
	// add stores an event of a stream and returns its id. The caller delivers.
	add(st *stream, data []byte, end bool) (id string)
	// left is called when the client of a stream of a call has disconnected and
	// may resume. The caller delivers.
	left(st *stream)
	// after returns the events after the one with this id, and the name of
	// their stream; false if it is unknown or some are no longer stored.
	after(session, id string) (name string, events []StoredEvent, ok bool)

	// sweep deletes what has expired and reports whether anything is left.
	sweep() (left bool)
	close()
}

// A record is the stored state of a session.
type record struct {
	key     string // names the session within the Handler
	owner   []byte // the principal that opened it
	state   []byte // of its eraconn.Session
	version int64  // in the store of a cluster; 0 if only the id has the state
}

var errNoSession = errors.New("there is no such session")

// A storeBackend is a backend for one process, with a [Store].
type storeBackend struct {
	store Store
	idle  time.Duration
}

func (b *storeBackend) create(ctx context.Context, rec record) (string, int64, error) {
	_, err := b.save(ctx, rec)
	return rec.key, 0, err
}

func (b *storeBackend) save(_ context.Context, rec record) (int64, error) {
	raw := append(append(bytes.Clone(rec.owner), 0), rec.state...)
	return 0, b.store.SaveSession(rec.key, raw, b.idle)
}

func (b *storeBackend) load(_ context.Context, id string) (record, error) {
	raw, ok := b.store.LoadSession(id) // which also extends its ttl
	if !ok {
		return record{key: id}, errNoSession
	}
	i := bytes.LastIndexByte(raw, 0) // the state is JSON
	if i < 0 {
		return record{key: id}, errors.New("the stored session is invalid")
	}
	return record{key: id, owner: raw[:i], state: raw[i+1:]}, nil
}

func (b *storeBackend) keep(_ context.Context, key string) bool {
	b.store.LoadSession(key)
	return true
}

func (b *storeBackend) drop(_ context.Context, key string) error {
	b.store.DropSession(key)
	return nil
}

func (*storeBackend) name(st *stream) string {
	if st.changes {
		return changeStream
	}
	return randomName()
}

func (b *storeBackend) add(st *stream, data []byte, _ bool) string {
	return b.store.AddEvent(st.ses.id, st.name, data)
}

func (*storeBackend) left(*stream) {}

func (b *storeBackend) after(session, id string) (string, []StoredEvent, bool) {
	return b.store.EventsAfter(session, id)
}

func (b *storeBackend) sweep() (left bool) {
	if sweeper, ok := b.store.(interface{ Sweep() (left bool) }); ok {
		return sweeper.Sweep()
	}
	return false
}

func (*storeBackend) close() {}
