package streamable

import (
	"cmp"
	"container/list"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/cluster"
	"github.com/tenon-mcp/tenon/internal/eraconn"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/transport/internal/httpheader"
)

// SessionLimits bounds the sessions of legacy clients.
type SessionLimits struct {
	// Idle is how long an unused session is kept, and how long a call
	// continues after its client has disconnected. 0 means 30 min.
	Idle time.Duration

	// Live is how many idle sessions are held in memory; others are loaded
	// from the [Store] when they are used. It is also how many calls continue
	// after their clients have disconnected; beyond it, the calls whose
	// clients disconnected first are cancelled. 0 means 1024.
	Live int
}

// sessions holds the sessions of one Handler. A session is live while it serves a
// request or a stream, and for a while after; otherwise only the store has it.
type sessions struct {
	h       *Handler
	backend backend
	limits  SessionLimits

	mu           sync.Mutex
	live         map[string]*session
	idle         list.List // of *session without requests or streams, the last used first
	bytes        int       // of the saved states in idle
	disconnected list.List // of *stream of calls with disconnected clients, the latest first
	sweep        *time.Timer
	ended        bool

	unreadChanges list.List // of *stream of changes with disconnected clients, the latest first
}

// A session is the session of one legacy client.
type session struct {
	id    string
	owner string // the principal that opened it
	era   *eraconn.Session

	busy  int           // requests and streams that use it; guarded by sessions.mu
	elem  *list.Element // in sessions.idle while it is not busy
	bytes int           // what it had saved when it was put there
	used  time.Time     // when it was last busy

	mu      sync.Mutex
	ended   bool
	calls   map[string]inFlight // by the key of their id
	streams map[string]*stream  // that a client may resume, by name
	pushes  *stream             // receives changes; nil while no client is connected or may resume
	saved   []byte              // the state as the store has it
	version int64               // of that, in a cluster
	saving  chan struct{}       // closed when the change of state that runs has ended; nil if none runs
	loading loading             // of the state that another replica has stored

	inputRequests inputRequests // pending requests to the client
}

// An inFlight is a request that is being served.
type inFlight struct {
	cancel context.CancelFunc
	st     *stream // nil if it has none
}

func newSessions(h *Handler) (*sessions, error) {
	s := &sessions{h: h, limits: h.opts.Sessions, live: map[string]*session{}}
	s.limits.Idle = cmp.Or(max(s.limits.Idle, 0), 30*time.Minute)
	s.limits.Live = cmp.Or(max(s.limits.Live, 0), 1024)
	if h.opts.Cluster != nil {
		b, err := newClusterBackend(s, h.opts.Cluster, h.opts.Scope)
		s.backend = b
		return s, err
	}
	store := h.opts.Store
	if store == nil {
		store = &Memory{}
	}
	s.backend = &storeBackend{store, s.limits.Idle}
	return s, nil
}

// open registers and stores a session that initialize has opened. It returns the
// id for the client.
func (s *sessions) open(ctx context.Context, key string, es *eraconn.Session, p *mcp.Principal) (id string, ses *session, err error) {
	ses = &session{id: key, owner: p.Key(), era: es, busy: 1}
	if ses.saved, err = es.State(); err != nil {
		return "", nil, err
	}
	id, ses.version, err = s.backend.create(ctx, record{key: key, owner: []byte(ses.owner), state: ses.saved})
	if err != nil {
		s.logSave(err)
		return "", nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.live[key] = ses
	s.armLocked()
	return id, ses, nil
}

func (s *sessions) logSave(err error) {
	s.h.opts.Logger.LogAttrs(context.Background(), slog.LevelError, "session not saved", slog.Any("error", err))
}

// handlerID returns the ID of a session for Handlers: with the id itself anybody
// could use the session.
func handlerID(id string) string {
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:16])
}

// find returns the session that a request names, busy until it is released, or
// answers the request and returns nil. To other principals a session does not
// exist.
func (s *sessions) find(w http.ResponseWriter, r *http.Request) *session {
	id, present, err := only(r.Header, httpheader.Session)
	switch {
	case err != nil:
		refuse(w, http.StatusBadRequest, err.Error())
		return nil
	case !present || id == "":
		refuse(w, http.StatusBadRequest, "the header "+httpheader.Session+" is missing: send initialize first, or name the protocol version in _meta of each request")
		return nil
	}
	ses, err := s.take(r.Context(), id, s.h.guard.Principal(r))
	if _, away := errors.AsType[errStore](err); away {
		s.h.logRequest(r, slog.LevelError, "session not loaded", slog.Any("error", err))
		refuseAway(w)
		return nil
	}
	switch {
	case err == errForeign:
		s.h.logRequest(r, slog.LevelWarn, "session refused", slog.String("reason", err.Error()))
		refuse(w, http.StatusNotFound, noSession)
	case err == errNoSession:
		refuse(w, http.StatusNotFound, noSession)
	case err != nil:
		s.h.logRequest(r, slog.LevelError, "session not restored", slog.Any("error", err))
		refuse(w, http.StatusInternalServerError, "restoring the session failed")
	}
	return ses
}

// refuseAway refuses a request that needs the store while that is away.
func refuseAway(w http.ResponseWriter) {
	w.Header().Set("Retry-After", "1")
	refuse(w, http.StatusServiceUnavailable, "the store of sessions is unavailable: try again later")
}

const noSession = "there is no such session: send initialize again"

// take returns the session with this id, busy until it is released, or an error.
func (s *sessions) take(ctx context.Context, id string, p *mcp.Principal) (*session, error) {
	rec, err := s.backend.load(ctx, id) // which also extends its ttl
	if err != nil {
		if err == errNoSession && rec.key != "" {
			s.forget(rec.key)
		}
		return nil, err
	}
	if string(rec.owner) != p.Key() {
		return nil, errForeign
	}
	s.mu.Lock()
	ses := s.live[rec.key]
	if ses != nil && ses.busy == 0 && s.h.opts.Cluster == nil && ses.differs(rec) {
		s.forgetLocked(ses.elem) // another instance has changed it
		ses = nil
	}
	if ses != nil {
		s.useLocked(ses)
	}
	s.mu.Unlock()
	if ses == nil {
		return s.restore(ctx, rec, p)
	}
	if s.h.opts.Cluster != nil && ses.differs(rec) {
		if err := s.follow(ses, rec); err != nil {
			s.release(ses)
			return nil, err
		}
	}
	return ses, nil
}

// errForeign is the error for a session of another principal. The client gets
// the same response as for an unknown session.
var errForeign = errors.New("the session belongs to another principal")

// restore restores a stored session for its owner.
func (s *sessions) restore(ctx context.Context, rec record, p *mcp.Principal) (*session, error) {
	es, err := s.h.server.RestoreSession(ctx, handlerID(rec.key), rec.state, p)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	ses := s.live[rec.key] // another request may have restored it
	if ses == nil {
		ses = &session{id: rec.key, owner: string(rec.owner), era: es, saved: rec.state, version: rec.version}
		s.live[rec.key] = ses
		s.armLocked()
	}
	s.useLocked(ses)
	return ses, nil
}

// stayBusy marks a busy session busy once more, until it is released. It reports
// false if the session has ended or the Handler shuts down.
func (s *sessions) stayBusy(ses *session) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended || s.live[ses.id] != ses {
		return false
	}
	s.useLocked(ses)
	return true
}

func (s *sessions) useLocked(ses *session) {
	ses.busy++
	s.unlistLocked(ses)
}

// unlistLocked removes a session from the idle list.
func (s *sessions) unlistLocked(ses *session) {
	if ses.elem != nil {
		s.idle.Remove(ses.elem)
		ses.elem = nil
		s.bytes -= ses.bytes
	}
}

// release ends the use of a session by a request or stream.
func (s *sessions) release(ses *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ses.used = time.Now()
	if ses.busy--; ses.busy == 0 && s.live[ses.id] == ses {
		ses.elem = s.idle.PushFront(ses)
		state, _ := ses.lastSaved()
		ses.bytes = len(state)
		s.bytes += ses.bytes
		for s.idle.Len() > s.limits.Live || s.bytes > maxLiveBytes && s.idle.Len() > 1 {
			s.forgetLocked(s.idle.Back())
		}
	}
}

// maxLiveBytes bounds the saved states of idle sessions in memory.
const maxLiveBytes = 16 << 20

// forgetLocked removes an idle session from memory.
func (s *sessions) forgetLocked(e *list.Element) {
	ses := e.Value.(*session)
	s.unlistLocked(ses)
	delete(s.live, ses.id)
}

// forget ends a live session: calls are cancelled, streams closed.
func (s *sessions) forget(key string) {
	s.mu.Lock()
	ses := s.live[key]
	delete(s.live, key)
	if ses != nil {
		s.unlistLocked(ses)
	}
	s.mu.Unlock()
	if ses != nil {
		ses.close()
	}
}

func (ses *session) close() {
	ses.mu.Lock()
	ses.ended = true
	var stops []func()
	for _, call := range ses.calls {
		stops = append(stops, call.cancel)
		if call.st != nil {
			stops = append(stops, call.st.disconnect)
		}
	}
	for _, st := range ses.streams {
		stops = append(stops, st.disconnect)
	}
	if ses.pushes != nil {
		stops = append(stops, ses.pushes.disconnect, ses.pushes.abandon)
	}
	ses.mu.Unlock()
	for _, stop := range stops {
		stop()
	}
	ses.era.End()
}

// armLocked starts the timer that sweeps expired sessions.
func (s *sessions) armLocked() {
	if s.sweep == nil && !s.ended {
		s.sweep = time.AfterFunc(max(s.limits.Idle/4, time.Millisecond), s.sweepIdle)
	}
}

// sweepIdle removes expired sessions from memory. The store expires its own,
// except those of busy sessions.
func (s *sessions) sweepIdle() {
	ctx, cancel := context.WithTimeout(context.Background(), s.limits.Idle/4+time.Second)
	defer cancel()
	for _, key := range s.inUse() {
		if !s.backend.keep(ctx, key) {
			s.forget(key)
		}
	}
	for _, st := range s.leftBefore(time.Now().Add(-s.limits.Idle)) {
		st.abandon()
	}
	left := s.backend.sweep()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sweep = nil
	old := time.Now().Add(-s.limits.Idle / 4)
	for e := s.idle.Back(); e != nil && e.Value.(*session).used.Before(old); e = s.idle.Back() {
		s.forgetLocked(e)
	}
	if left || len(s.live) > 0 {
		s.armLocked()
	}
}

// inUse returns the ids of the busy sessions.
func (s *sessions) inUse() (ids []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, ses := range s.live {
		if ses.busy > 0 {
			ids = append(ids, id)
		}
	}
	return ids
}

// close ends the streams of changes and cancels calls whose clients have
// disconnected. Other calls continue, and their clients may still answer input
// requests. The store keeps the sessions for other processes.
func (s *sessions) close() {
	s.mu.Lock()
	s.ended = true
	if s.sweep != nil {
		s.sweep.Stop()
	}
	live := slices.Collect(maps.Values(s.live))
	s.mu.Unlock()
	for _, ses := range live {
		ses.endDisconnected()
	}
	s.backend.close()
}

// endDisconnected ends the streams and calls of a session without connected clients.
func (ses *session) endDisconnected() {
	ses.mu.Lock()
	news := ses.pushes
	calls := slices.Collect(maps.Values(ses.streams))
	ses.mu.Unlock()
	calls = ses.appendStreams(calls)
	if news != nil {
		news.disconnect()
		news.abandon()
	}
	for _, st := range calls {
		st.abandon()
	}
	ses.era.Close()
}

// appendStreams adds the streams of the calls in flight.
func (ses *session) appendStreams(to []*stream) []*stream {
	ses.mu.Lock()
	defer ses.mu.Unlock()
	for _, call := range ses.calls {
		if call.st != nil {
			to = append(to, call.st)
		}
	}
	return to
}

// delete serves DELETE, which ends a session.
func (s *sessions) delete(w http.ResponseWriter, r *http.Request) {
	if !sessional(r) {
		w.Header().Set("Allow", "POST")
		refuse(w, http.StatusMethodNotAllowed, "DELETE ends a session, which only older protocol revisions have")
		return
	}
	if cluster.Forwarded(r.Context()) {
		s.deleteForwarded(w, r)
		return
	}
	ses := s.find(w, r)
	if ses == nil {
		return
	}
	defer s.release(ses)
	if err := s.backend.drop(r.Context(), ses.id); err != nil {
		s.logSave(err)
		refuseAway(w)
		return
	}
	s.forget(ses.id)
	s.tellOthers(r, nil)
	w.WriteHeader(http.StatusNoContent)
}
