package streamable

import (
	"cmp"
	"container/list"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

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
	h      *Handler
	store  Store
	limits SessionLimits

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
	saving  chan struct{}       // closed when the save that runs has ended; nil if none runs

	inputRequests inputRequests // pending requests to the client
}

// An inFlight is a request that is being served.
type inFlight struct {
	cancel context.CancelFunc
	st     *stream // nil if it has none
}

func newSessions(h *Handler) *sessions {
	s := &sessions{h: h, store: h.opts.Store, limits: h.opts.Sessions, live: map[string]*session{}}
	if s.store == nil {
		s.store = &Memory{}
	}
	s.limits.Idle = cmp.Or(max(s.limits.Idle, 0), 30*time.Minute)
	s.limits.Live = cmp.Or(max(s.limits.Live, 0), 1024)
	return s
}

// savedState is the stored state of a session.
type savedState struct {
	Owner string          `json:"owner"`
	Era   json.RawMessage `json:"era"`
}

// open registers and stores a session that initialize has opened.
func (s *sessions) open(id string, es *eraconn.Session, p *mcp.Principal) (*session, error) {
	ses := &session{id: id, owner: p.Key(), era: es, busy: 1}
	if err := s.save(ses); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.live[ses.id] = ses
	s.armLocked()
	return ses, nil
}

// handlerID returns the ID of a session for Handlers: with the id itself anybody
// could use the session.
func handlerID(id string) string {
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:16])
}

// save writes the state of a session to the store if it has changed. Saves of
// one session follow each other, so that the newest state is stored last.
func (s *sessions) save(ses *session) error {
	ses.beginSaving()
	var stored []byte // nil if the store has what it had
	defer func() { ses.endSaving(stored) }()
	state, err := ses.era.State()
	if err != nil {
		return err
	}
	raw, err := mcp.Marshal(savedState{ses.owner, state})
	if err != nil || string(raw) == string(ses.lastSaved()) {
		return err
	}
	if err := s.store.SaveSession(ses.id, raw, s.limits.Idle); err != nil {
		s.h.opts.Logger.LogAttrs(context.Background(), slog.LevelError, "session not saved", slog.Any("error", err))
		return err
	}
	stored = raw
	return nil
}

// beginSaving waits until no other save of the session runs. No lock is held
// while the store is called.
func (ses *session) beginSaving() {
	for {
		ses.mu.Lock()
		running := ses.saving
		if running == nil {
			ses.saving = make(chan struct{})
		}
		ses.mu.Unlock()
		if running == nil {
			return
		}
		<-running
	}
}

// endSaving allows the next save; stored is the state now in the store, or nil if
// it is unchanged.
func (ses *session) endSaving(stored []byte) {
	ses.mu.Lock()
	defer ses.mu.Unlock()
	if stored != nil {
		ses.saved = stored
	}
	close(ses.saving)
	ses.saving = nil
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
	switch {
	case err == errForeign:
		s.h.logRequest(r, slog.LevelWarn, "session refused", slog.String("reason", err.Error()))
		refuse(w, http.StatusNotFound, noSession)
	case err != nil:
		s.h.logRequest(r, slog.LevelError, "session not restored", slog.Any("error", err))
		refuse(w, http.StatusInternalServerError, "restoring the session failed")
		return nil
	case ses == nil:
		refuse(w, http.StatusNotFound, noSession)
	}
	return ses
}

const noSession = "there is no such session: send initialize again"

func (s *sessions) take(ctx context.Context, id string, p *mcp.Principal) (*session, error) {
	raw, ok := s.store.LoadSession(id) // which also extends its ttl
	if !ok {
		s.end(id)
		return nil, nil
	}
	s.mu.Lock()
	ses := s.live[id]
	if ses != nil && ses.busy == 0 && string(raw) != string(ses.lastSaved()) {
		s.forgetLocked(ses.elem) // another instance has changed it
		ses = nil
	}
	if ses != nil {
		s.useLocked(ses)
	}
	s.mu.Unlock()
	if ses == nil {
		var err error
		if ses, err = s.restore(ctx, id, raw, p); ses == nil {
			return nil, err
		}
	}
	if ses.owner != p.Key() {
		s.release(ses)
		return nil, errForeign
	}
	return ses, nil
}

// errForeign is the error for a session of another principal. The client gets
// the same response as for an unknown session.
var errForeign = errors.New("the session belongs to another principal")

// restore restores a stored session for its owner.
func (s *sessions) restore(ctx context.Context, id string, raw []byte, p *mcp.Principal) (*session, error) {
	var in savedState
	if err := mcp.Unmarshal(raw, &in); err != nil {
		return nil, err
	}
	if in.Owner != p.Key() {
		return nil, errForeign
	}
	es, err := s.h.server.RestoreSession(ctx, handlerID(id), in.Era, p)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	ses := s.live[id] // another request may have restored it
	if ses == nil {
		ses = &session{id: id, owner: in.Owner, era: es, saved: raw}
		s.live[id] = ses
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
		ses.bytes = len(ses.lastSaved())
		s.bytes += ses.bytes
		for s.idle.Len() > s.limits.Live || s.bytes > maxLiveBytes && s.idle.Len() > 1 {
			s.forgetLocked(s.idle.Back())
		}
	}
}

// maxLiveBytes bounds the saved states of idle sessions in memory.
const maxLiveBytes = 16 << 20

// lastSaved returns the state in the store.
func (ses *session) lastSaved() []byte {
	ses.mu.Lock()
	defer ses.mu.Unlock()
	return ses.saved
}

// forgetLocked removes an idle session from memory.
func (s *sessions) forgetLocked(e *list.Element) {
	ses := e.Value.(*session)
	s.unlistLocked(ses)
	delete(s.live, ses.id)
}

// end ends a session: calls are cancelled, streams closed.
func (s *sessions) end(id string) {
	s.store.DropSession(id)
	s.mu.Lock()
	ses := s.live[id]
	delete(s.live, id)
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
	for _, id := range s.inUse() {
		s.store.LoadSession(id)
	}
	for _, st := range s.leftBefore(time.Now().Add(-s.limits.Idle)) {
		st.abandon()
	}
	left := false
	if sweeper, ok := s.store.(interface{ Sweep() (left bool) }); ok {
		left = sweeper.Sweep()
	}
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
	ses := s.find(w, r)
	if ses == nil {
		return
	}
	defer s.release(ses)
	s.end(ses.id)
	w.WriteHeader(http.StatusNoContent)
}
