package streamable

import (
	"container/list"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/era"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/transport/internal/httpheader"
)

// SessionLimits bound what clients of older revisions may keep open.
type SessionLimits struct {
	// Idle is how long a session is kept that nobody uses, and how long a
	// call goes on that its client has left. 0 means 30 min.
	Idle time.Duration

	// Live is how many sessions are held ready to be used although nothing
	// is going on in them; the others are kept by the [Store] and made ready
	// when they are used. It is also how many calls go on that their clients
	// have left: beyond it those left longest ago are cancelled. 0 means 1024.
	Live int
}

// sessions are those of one Handler. A session is live while something goes on
// in it, and for a while after; otherwise there is only what the store keeps.
type sessions struct {
	h      *Handler
	store  Store
	limits SessionLimits

	workers *workers

	mu    sync.Mutex
	live  map[string]*session
	idle  list.List // of *session, those nothing goes on in, the last used first
	bytes int       // what those in idle have saved
	away  list.List // of *stream, those of calls that their clients have left, the last left first
	sweep *time.Timer
	ended bool

	unheard list.List // of *stream, those of changes that are kept for clients that have gone, the last left first
}

// A session is one client of an older revision.
type session struct {
	id    string
	owner string // the principal that opened it
	era   *era.Session

	busy  int           // requests and streams that use it; guarded by sessions.mu
	elem  *list.Element // in sessions.idle while it is not busy
	bytes int           // what it had saved when it was put there
	used  time.Time     // when it was last busy

	mu      sync.Mutex
	ended   bool
	calls   map[string]inFlight // by the key of their id
	streams map[string]*stream  // that a client may come back to, by name
	pushes  *stream             // where changes go; nil while no client is there or may resume
	saved   []byte              // the state as the store has it
	saving  chan struct{}       // closed when the save that runs has ended; nil if none runs

	inputRequests inputRequests // what we asked the client
}

// An inFlight is a request that is being served.
type inFlight struct {
	cancel context.CancelFunc
	st     *stream // nil if it has none
}

func newSessions(h *Handler) *sessions {
	s := &sessions{h: h, store: h.opts.Store, limits: h.opts.Sessions, workers: newWorkers(), live: map[string]*session{}}
	if s.store == nil {
		s.store = &Memory{}
	}
	orElse(&s.limits.Idle, 30*time.Minute)
	if s.limits.Live <= 0 {
		s.limits.Live = 1024
	}
	return s
}

// savedState is what the store keeps of a session.
type savedState struct {
	Owner string          `json:"owner"`
	Era   json.RawMessage `json:"era"`
}

// open keeps a session that initialize has just made.
func (s *sessions) open(es *era.Session, p *mcp.Principal) (*session, error) {
	ses := &session{id: rand.Text() + rand.Text(), owner: p.Key(), era: es, busy: 1}
	if err := s.save(ses); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.live[ses.id] = ses
	s.armLocked()
	return ses, nil
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
		s.recordUnsaved(err)
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

// endSaving ends what beginSaving began; stored is what the store has now, or
// nil if that is what it had before.
func (ses *session) endSaving(stored []byte) {
	ses.mu.Lock()
	defer ses.mu.Unlock()
	if stored != nil {
		ses.saved = stored
	}
	close(ses.saving)
	ses.saving = nil
}

// find returns the session that a request names, in use until it is released,
// or answers the request and returns nil. One that belongs to somebody else is
// not there.
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
		s.h.record(r, slog.LevelWarn, "session refused", slog.String("reason", err.Error()))
		refuse(w, http.StatusNotFound, noSession)
	case err != nil:
		s.h.record(r, slog.LevelError, "session not restored", slog.Any("error", err))
		refuse(w, http.StatusInternalServerError, "the session could not be restored")
		return nil
	case ses == nil:
		refuse(w, http.StatusNotFound, noSession)
	}
	return ses
}

const noSession = "there is no such session: send initialize again"

func (s *sessions) take(ctx context.Context, id string, p *mcp.Principal) (*session, error) {
	raw, ok := s.store.LoadSession(id) // which also says that it was used
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
		if ses, err = s.revive(ctx, id, raw, p); ses == nil {
			return nil, err
		}
	}
	if ses.owner != p.Key() {
		s.release(ses)
		return nil, errForeign
	}
	return ses, nil
}

// errForeign says that a session belongs to another principal. A client is not
// told: the session is not there for it.
var errForeign = errors.New("the session belongs to another principal")

// revive makes a session live that only the store knew, for its owner.
func (s *sessions) revive(ctx context.Context, id string, raw []byte, p *mcp.Principal) (*session, error) {
	var in savedState
	if err := mcp.Unmarshal(raw, &in); err != nil {
		return nil, err
	}
	if in.Owner != p.Key() {
		return nil, errForeign
	}
	es, err := s.h.server.RestoreSession(ctx, in.Era, p)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	ses := s.live[id] // somebody may have been faster
	if ses == nil {
		ses = &session{id: id, owner: in.Owner, era: es, saved: raw}
		s.live[id] = ses
		s.armLocked()
	}
	s.useLocked(ses)
	return ses, nil
}

// stayBusy has a session that is busy be so once more, until it is released; it
// reports false when the session, or this process, is at its end.
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

// unlistLocked takes a session from among those that nothing goes on in.
func (s *sessions) unlistLocked(ses *session) {
	if ses.elem != nil {
		s.idle.Remove(ses.elem)
		ses.elem = nil
		s.bytes -= ses.bytes
	}
}

// release says that a request or stream is done with a session.
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

// maxLiveBytes is how much the sessions may have saved that are held ready.
const maxLiveBytes = 16 << 20

// lastSaved is the state as the store has it.
func (ses *session) lastSaved() []byte {
	ses.mu.Lock()
	defer ses.mu.Unlock()
	return ses.saved
}

// forgetLocked takes a session out of memory in which nothing goes on.
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
			stops = append(stops, call.st.letGo)
		}
	}
	for _, st := range ses.streams {
		stops = append(stops, st.letGo)
	}
	if ses.pushes != nil {
		stops = append(stops, ses.pushes.letGo, ses.pushes.abandon)
	}
	ses.mu.Unlock()
	for _, stop := range stops {
		stop()
	}
	ses.era.Close()
}

// armLocked sees to it that sessions are swept that nobody says goodbye to.
func (s *sessions) armLocked() {
	if s.sweep == nil && !s.ended {
		s.sweep = time.AfterFunc(max(s.limits.Idle/4, time.Millisecond), s.sweepIdle)
	}
}

// sweepIdle takes sessions out of memory that were not used for a while. The
// store forgets its own, but none in which something goes on.
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

// inUse lists the sessions in which something goes on.
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

// close has this process be done with its sessions: nobody hears news any more,
// and calls that nobody waits for are cancelled. The others go on, and their
// clients may still answer what they ask. The store keeps what it has: another
// process may go on with the session.
func (s *sessions) close() {
	s.mu.Lock()
	s.ended = true
	if s.sweep != nil {
		s.sweep.Stop()
	}
	live := slices.Collect(maps.Values(s.live))
	s.mu.Unlock()
	for _, ses := range live {
		ses.wind()
	}
	s.workers.close()
}

// wind ends what goes on in a session without anybody waiting for it.
func (ses *session) wind() {
	ses.mu.Lock()
	news := ses.pushes
	calls := slices.Collect(maps.Values(ses.streams))
	ses.mu.Unlock()
	calls = ses.appendStreams(calls)
	if news != nil {
		news.letGo()
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
		refuse(w, http.StatusMethodNotAllowed, "only a session of an older revision can be ended")
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
