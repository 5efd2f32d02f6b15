package streamable

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/cluster"
	"github.com/tenon-mcp/tenon/internal/sealring"
	"github.com/tenon-mcp/tenon/jsonrpc"
)

// A clusterBackend is a backend for one of many replicas.
//
// The id of a session is a sealed record with its state after initialize, so that
// a session that does not change is stored nowhere. What the store has of a
// session is its changed state, a mark that it is in use, or a mark that it has
// ended. Events are in memory; those of a call whose client has disconnected are
// also in the store, in case this replica stops.
type clusterBackend struct {
	s     *sessions
	r     *cluster.Replica
	store cluster.Store
	ids   *sealring.Ring
	topic *cluster.Topic
	idle  time.Duration
	ttl   time.Duration // of what is stored, and of an id of which nothing is
	stops []func()
	loads chan struct{} // has room for the sessions that are being loaded

	mu     sync.Mutex
	events eventLog
}

// Bounds of what a replica stores for others.
const (
	maxSealed      = 2 << 10 // bytes of a state within an id
	maxEvents      = 10 << 20
	maxLogEntries  = 1000
	maxLogBytes    = 256 << 10
	maxNamedID     = 128 // bytes of a request id within the name of a stream
	maxLoads       = 64
	clusterTimeout = 5 * time.Second
)

// The first byte of what the store has of a session.
const (
	markInUse   = 'u'
	markEnded   = 'e'
	markChanged = 's' // followed by the state
)

// A sharedStream is the part of a stream that only a cluster needs.
type sharedStream struct {
	request jsonrpc.ID // of the call; nil for changes and batches

	// Used by the goroutine that delivers:
	number  int64 // of the last event
	logged  int64 // of the last event in the cluster's store
	logging bool  // events go to the cluster's store, too

	// Of a stream of changes; guarded by stream.mu:
	order    int64 // among those of its session at all replicas
	replaced bool  // the client has connected to a later one elsewhere
}

func newClusterBackend(s *sessions, r *cluster.Replica, scope string) (*clusterBackend, error) {
	b := &clusterBackend{
		s: s, r: r, store: r.Store(), idle: s.limits.Idle, ttl: s.limits.Idle + s.limits.Idle/2,
		ids: sealring.New("tenon session id"), topic: r.Topic("sessions " + scope),
		loads: make(chan struct{}, maxLoads),
	}
	stop, err := r.WatchKeys("session "+scope, func(secrets [][]byte) { b.ids.Replace(secrets...) })
	if err != nil {
		return nil, err
	}
	b.stops = append(b.stops, stop)
	stop, err = b.topic.Subscribe(b.hint, b.missedHints)
	if err != nil {
		b.close()
		return nil, err
	}
	b.stops = append(b.stops, stop)
	return b, nil
}

func (b *clusterBackend) close() {
	for _, stop := range b.stops {
		stop()
	}
	b.stops = nil
}

func (b *clusterBackend) sweep() bool { return false }

// A sealedID is the content of a session id.
type sealedID struct {
	key    string
	epoch  string // of the store
	issued time.Time
	owner  []byte
	state  []byte // nil if the store has it
}

const sealedVersion = 1

func (in *sealedID) encode() []byte {
	out := []byte{sealedVersion}
	out = binary.AppendVarint(out, in.issued.UnixMilli())
	for _, part := range [][]byte{[]byte(in.key), []byte(in.epoch), in.owner} {
		out = append(binary.AppendUvarint(out, uint64(len(part))), part...)
	}
	return append(out, in.state...)
}

func (in *sealedID) decode(raw []byte) bool {
	if len(raw) == 0 || raw[0] != sealedVersion {
		return false
	}
	ms, n := binary.Varint(raw[1:])
	if n <= 0 {
		return false
	}
	raw = raw[1+n:]
	var parts [3][]byte
	for i := range parts {
		size, n := binary.Uvarint(raw)
		if n <= 0 || uint64(len(raw)-n) < size {
			return false
		}
		parts[i], raw = raw[n:n+int(size)], raw[n+int(size):]
	}
	in.key, in.epoch, in.owner = string(parts[0]), string(parts[1]), parts[2]
	in.issued, in.state = time.UnixMilli(ms), raw
	return true
}

func sessionKey(key string) string { return "session/" + key }

// errStore wraps errors of the cluster's store.
type errStore struct{ error }

func (e errStore) Unwrap() error { return e.error }

func (b *clusterBackend) create(ctx context.Context, rec record) (id string, version int64, err error) {
	in := sealedID{key: rec.key, owner: rec.owner, state: rec.state}
	if in.epoch, err = b.store.Epoch(ctx); err != nil {
		return "", 0, errStore{err}
	}
	if in.issued, err = b.store.Now(ctx); err != nil {
		return "", 0, errStore{err}
	}
	if len(rec.state) > maxSealed {
		in.state = nil
		if version, err = b.save(ctx, rec); err != nil {
			return "", 0, err
		}
	}
	sealed, err := b.ids.Seal(in.encode(), nil)
	return base64.RawURLEncoding.EncodeToString(sealed), version, err
}

// load opens the id and asks the store, once, whether the session has changed or
// ended. A session of which the store has nothing is known for idle after its
// last use all the same: from half of that on, the store gets a mark.
func (b *clusterBackend) load(ctx context.Context, id string) (record, error) {
	in, ok := b.open(id)
	if !ok {
		return record{}, errNoSession
	}
	rec := record{key: in.key, owner: in.owner, state: in.state}
	epoch, err := b.store.Epoch(ctx)
	if err != nil {
		return rec, errStore{err}
	}
	if in.epoch != epoch { // the store was emptied: what it had of the session is unknown
		return rec, errNoSession
	}
	value, version, err := b.store.Get(ctx, sessionKey(in.key), b.ttl)
	if err != nil {
		return rec, errStore{err}
	}
	rec.version = version
	if version != 0 {
		return rec, rec.read(value)
	}
	now, err := b.store.Now(ctx)
	switch age := now.Sub(in.issued); {
	case err != nil:
		return rec, errStore{err}
	case age > b.ttl || len(in.state) == 0:
		return rec, errNoSession
	case age > b.idle/2:
		version, err := b.mark(ctx, in.key)
		if rec.version = version; err != nil {
			return rec, errStore{err}
		}
	}
	return rec, nil
}

// mark stores that a session is in use. Version 0 means that another replica has
// stored something meanwhile.
func (b *clusterBackend) mark(ctx context.Context, key string) (version int64, err error) {
	version, err = b.store.Set(ctx, sessionKey(key), []byte{markInUse}, 0, b.ttl)
	if errors.Is(err, cluster.ErrConflict) {
		return 0, nil
	}
	return version, err
}

// read reads what the store has of a session.
func (rec *record) read(value []byte) error {
	switch {
	case len(value) > 0 && value[0] == markChanged:
		rec.state = value[1:]
	case len(value) == 0 || value[0] != markInUse || len(rec.state) == 0:
		return errNoSession
	}
	return nil
}

func (b *clusterBackend) open(id string) (in sealedID, ok bool) {
	sealed, err := base64.RawURLEncoding.Strict().DecodeString(id)
	if err != nil {
		return in, false
	}
	plain, ok := b.ids.Open(sealed, nil)
	return in, ok && in.decode(plain)
}

func (b *clusterBackend) keep(ctx context.Context, key string) bool {
	value, version, err := b.store.Get(ctx, sessionKey(key), b.ttl)
	if err == nil && version == 0 {
		_, err = b.mark(ctx, key)
	}
	if err != nil {
		b.s.h.opts.Logger.LogAttrs(ctx, slog.LevelError, "session not kept", slog.Any("error", err))
		return true
	}
	return len(value) == 0 || value[0] != markEnded
}

func (b *clusterBackend) save(ctx context.Context, rec record) (int64, error) {
	value := append([]byte{markChanged}, rec.state...)
	version, err := b.store.Set(ctx, sessionKey(rec.key), value, rec.version, b.ttl)
	if err != nil {
		return 0, errStore{err}
	}
	return version, nil
}

func (b *clusterBackend) drop(ctx context.Context, key string) error {
	b.mu.Lock()
	b.events.drop(key)
	b.mu.Unlock()
	if _, err := b.store.Set(ctx, sessionKey(key), []byte{markEnded}, cluster.AnyVersion, b.ttl); err != nil {
		return errStore{err}
	}
	return nil
}

// Hints to the other replicas, before the key of a session.
const (
	hintChanged   = "changed "   // its stored state has changed
	hintListening = "listening " // its client has connected to another stream of changes, with its order
)

// hint handles a hint of another replica.
func (b *clusterBackend) hint(data []byte) {
	if key, ok := strings.CutPrefix(string(data), hintChanged); ok {
		b.s.reload(key)
	}
	if rest, ok := strings.CutPrefix(string(data), hintListening); ok {
		number, key, _ := strings.Cut(rest, " ")
		if order, err := strconv.ParseInt(number, 10, 64); err == nil {
			b.s.supersede(key, order)
		}
	}
}

// missedHints loads the sessions that are in use.
func (b *clusterBackend) missedHints() {
	for _, key := range b.s.inUse() {
		b.s.reload(key)
	}
}

// current returns what the store has of a session, for one that is live.
func (b *clusterBackend) current(ctx context.Context, rec record) (record, error) {
	select { // all sessions in use may be loaded at once
	case b.loads <- struct{}{}:
		defer func() { <-b.loads }()
	case <-ctx.Done():
		return rec, errStore{ctx.Err()}
	}
	value, version, err := b.store.Get(ctx, sessionKey(rec.key), 0)
	if err != nil {
		return rec, errStore{err}
	}
	if rec.version = version; version == 0 {
		return rec, nil
	}
	return rec, rec.read(value)
}

// The name of a stream tells which replica has it and which request it answers:
// replica, kind and random text, and the id of the request, if it is short.
const (
	kindCall    = "s"
	kindChanges = "c"
)

func (b *clusterBackend) name(st *stream) string {
	kind := kindCall
	if st.changes {
		kind = kindChanges
	}
	name := b.r.ID() + "." + kind + randomName()
	if n := len(st.shared.request); n > 0 && n <= maxNamedID {
		name += "." + base64.RawURLEncoding.EncodeToString(st.shared.request)
	}
	return name
}

// parseStream returns the parts of the name of a stream.
func parseStream(name string) (replica, kind string, request jsonrpc.ID, ok bool) {
	parts := strings.Split(name, ".")
	if len(parts) < 2 || len(parts) > 3 || parts[0] == "" || parts[1] == "" {
		return "", "", nil, false
	}
	if len(parts) == 3 {
		raw, err := base64.RawURLEncoding.DecodeString(parts[2])
		m, bad := jsonrpc.Decode(jsonrpc.AppendRequest(nil, raw, "x", nil)) // is it an id?
		if err != nil || bad != nil || !m.IsRequest() {
			return "", "", nil, false
		}
		request = m.ID
	}
	return parts[0], parts[1][:1], request, true
}

// splitEventID returns the parts of an id of [eventID].
func splitEventID(id string) (stream string, number int64, ok bool) {
	i := strings.LastIndexByte(id, '-')
	if i < 0 {
		return "", 0, false
	}
	number, err := strconv.ParseInt(id[i+1:], 10, 64)
	return id[:i], number, err == nil && number >= 0
}

func (b *clusterBackend) add(st *stream, data []byte, end bool) string {
	st.shared.number++
	b.mu.Lock()
	id := b.events.add(st.ses.id, st.name, st.shared.number, data)
	b.events.shrink(maxEvents)
	b.mu.Unlock()
	if st.shared.logging {
		b.log(st, st.shared.number, data, end)
	}
	return id
}

// left stores the events of a call whose client has disconnected, and those to
// come, so that the client can resume elsewhere if this replica stops.
func (b *clusterBackend) left(st *stream) {
	b.mu.Lock()
	var events []*savedEvent
	if s := b.events.streams[streamKey{st.ses.id, st.name}]; s != nil {
		for _, e := range s.events {
			if e.number > st.shared.logged {
				events = append(events, e)
			}
		}
	}
	b.mu.Unlock()
	st.shared.logging = true
	for _, e := range events {
		b.log(st, e.number, e.data, false)
	}
}

// log stores an event: the name of its stream, its number, whether it is the
// last, and its data.
func (b *clusterBackend) log(st *stream, number int64, data []byte, end bool) {
	mark := " "
	if end {
		mark = " end "
	}
	entry := append([]byte(eventID(st.name, number)+mark), data...)
	ctx, cancel := context.WithTimeout(context.Background(), clusterTimeout)
	defer cancel()
	_, err := b.store.Append(ctx, logKey(st.ses.id), entry, cluster.LogLimit{Entries: maxLogEntries, Bytes: maxLogBytes, TTL: b.ttl})
	if errors.Is(err, cluster.ErrClosed) {
		return // this replica ends
	}
	if err != nil {
		b.s.h.opts.Logger.LogAttrs(ctx, slog.LevelError, "event not stored", slog.Any("error", err))
		return
	}
	st.shared.logged = number
}

func logKey(session string) string { return "events/" + session }

func (b *clusterBackend) after(session, id string) (string, []StoredEvent, bool) {
	b.mu.Lock()
	name, events, ok := b.events.after(session, id)
	b.mu.Unlock()
	if ok {
		return name, events, true
	}
	ctx, cancel := context.WithTimeout(context.Background(), clusterTimeout)
	defer cancel()
	events, ended, err := b.storedAfter(ctx, session, id)
	name, _, _ = splitEventID(id)
	return name, events, err == nil && ended
}

// storedAfter returns the events in the store that directly follow the one with
// this id, and whether the last of them ends the stream.
func (b *clusterBackend) storedAfter(ctx context.Context, session, id string) (events []StoredEvent, ended bool, err error) {
	name, number, ok := splitEventID(id)
	if !ok {
		return nil, false, errors.New("invalid event id")
	}
	entries, _, err := b.store.Read(ctx, logKey(session), "")
	if err != nil {
		return nil, false, err
	}
	for _, e := range entries {
		id, data, _ := strings.Cut(string(e.Data), " ")
		if of, n, ok := splitEventID(id); !ok || of != name || n != number+1 {
			continue
		}
		number++
		data, ended = strings.CutPrefix(data, "end ")
		events = append(events, StoredEvent{id, []byte(data)})
	}
	return events, ended, nil
}
