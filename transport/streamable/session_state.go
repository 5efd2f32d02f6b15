package streamable

import (
	"context"
	"errors"
	"log/slog"

	"github.com/tenon-mcp/tenon/cluster"
	"github.com/tenon-mcp/tenon/internal/eraconn"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
)

// The state of a session is what the client has set: its log level and its
// subscriptions. It is stored when it changes, and loaded when another replica
// has changed it.

// change serves a request that may change the state of a session, and stores the
// state. Changes of one session follow each other. If another replica has changed
// the session meanwhile, the request is served again on that state. In a cluster,
// a change that cannot be stored is undone and fails; in one process it is stored
// with the next change.
func (s *sessions) change(ctx context.Context, ses *session, m *jsonrpc.Message, serve func() eraconn.Response) eraconn.Response {
	ses.beginSaving()
	defer ses.endSaving()
	for range maxConflicts {
		a := serve()
		if a.Code != 0 {
			return a
		}
		err := s.save(ctx, ses)
		if err == nil || s.h.opts.Cluster == nil {
			return a
		}
		if !errors.Is(err, cluster.ErrConflict) || s.refresh(ctx, ses) != nil {
			break
		}
	}
	state, _ := ses.lastSaved()
	if err := ses.era.Update(state); err != nil {
		s.logSave(err)
	}
	return eraconn.Fail(m.ID, mcp.CodeInternal, "the change could not be stored: try again later")
}

// maxConflicts bounds how often a change is made again because other replicas
// have changed the same session.
const maxConflicts = 10

// save stores the state of a session if it has changed. The caller has called
// beginSaving.
func (s *sessions) save(ctx context.Context, ses *session) error {
	state, err := ses.era.State()
	if err != nil {
		return err
	}
	rec := ses.record()
	if string(state) == string(rec.state) {
		return nil
	}
	rec.state = state
	if rec.version, err = s.backend.save(ctx, rec); err != nil {
		if !errors.Is(err, cluster.ErrConflict) {
			s.logSave(err)
		}
		return err
	}
	ses.setSaved(rec)
	if b, ok := s.backend.(*clusterBackend); ok {
		b.topic.Publish([]byte(hintChanged + ses.id))
	}
	return nil
}

// refresh gives a live session the state that the store has. The caller has
// called beginSaving.
func (s *sessions) refresh(ctx context.Context, ses *session) error {
	b, ok := s.backend.(*clusterBackend)
	if !ok {
		return nil
	}
	rec, err := b.current(ctx, ses.record())
	if err != nil {
		return err
	}
	return ses.update(rec)
}

// update gives a live session another state. The caller has called beginSaving.
func (ses *session) update(rec record) error {
	if state, _ := ses.lastSaved(); string(rec.state) != string(state) {
		if err := ses.era.Update(rec.state); err != nil {
			return err
		}
	}
	ses.setSaved(rec)
	return nil
}

// loading says whether a goroutine loads the state of a session.
type loading int

const (
	notLoading loading = iota
	isLoading
	loadAgain // when it has
)

// reload gives a session the state that the store has, if the session is in use
// here. A session that has ended is ended here as well. reload does not wait: a
// change of the session may take long, and other sessions must not wait for it.
func (s *sessions) reload(key string) {
	s.mu.Lock()
	ses := s.live[key]
	if ses != nil && ses.busy == 0 {
		ses = nil // its next use loads it
	}
	s.mu.Unlock()
	if ses == nil {
		return
	}
	ses.mu.Lock()
	idle := ses.loading == notLoading
	ses.loading = loadAgain
	if idle {
		ses.loading = isLoading
	}
	ses.mu.Unlock()
	if !idle {
		return
	}
	go func() {
		for again := true; again; {
			s.reloadNow(ses)
			ses.mu.Lock()
			again = ses.loading == loadAgain
			ses.loading = notLoading
			if again {
				ses.loading = isLoading
			}
			ses.mu.Unlock()
		}
	}()
}

// reloadNow gives a live session the state that the store has.
func (s *sessions) reloadNow(ses *session) {
	ses.beginSaving()
	ctx, cancel := context.WithTimeout(context.Background(), clusterTimeout)
	defer cancel()
	err := s.refresh(ctx, ses)
	ses.endSaving()
	switch {
	case errors.Is(err, errNoSession):
		s.forget(ses.id)
	case err != nil:
		s.h.opts.Logger.LogAttrs(ctx, slog.LevelError, "session not reloaded", slog.Any("error", err))
	}
}

// beginSaving waits until no other change of the session's state runs. No lock is
// held while the store is called.
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

// endSaving allows the next change.
func (ses *session) endSaving() {
	ses.mu.Lock()
	defer ses.mu.Unlock()
	close(ses.saving)
	ses.saving = nil
}

func (ses *session) setSaved(rec record) {
	ses.mu.Lock()
	defer ses.mu.Unlock()
	ses.saved, ses.version = rec.state, rec.version
}

// differs reports whether the store has another state than it had.
func (ses *session) differs(rec record) bool {
	state, version := ses.lastSaved()
	return rec.version != version || string(rec.state) != string(state)
}

// follow gives a live session the state that another replica has stored, unless
// the session has a newer one.
func (s *sessions) follow(ses *session, rec record) error {
	ses.beginSaving()
	defer ses.endSaving()
	if _, version := ses.lastSaved(); rec.version < version {
		return nil
	}
	return ses.update(rec)
}

// lastSaved returns the state as the store has it, and its version.
func (ses *session) lastSaved() ([]byte, int64) {
	ses.mu.Lock()
	defer ses.mu.Unlock()
	return ses.saved, ses.version
}

// record returns the session as the store has it.
func (ses *session) record() record {
	state, version := ses.lastSaved()
	return record{key: ses.id, owner: []byte(ses.owner), state: state, version: version}
}
