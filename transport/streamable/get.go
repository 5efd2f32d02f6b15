package streamable

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/internal/eraconn"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/transport/internal/httpheader"
)

// get serves GET: the stream of a session's changes, or the rest of a broken
// stream.
func (s *sessions) get(w http.ResponseWriter, r *http.Request) (rest longPoll) {
	if !strings.Contains(r.Header.Get("Accept"), "text/event-stream") || !sessional(r) {
		w.Header().Set("Allow", "POST")
		refuse(w, http.StatusMethodNotAllowed, "this is an MCP endpoint: send messages with POST; GET needs a session of an older protocol revision and Accept: text/event-stream")
		return nil
	}
	if r.Header.Get(httpheader.LastEvent) == "" && s.forwardHome(w, r, nil, func() []byte { return nil }) {
		return nil
	}
	ses := s.find(w, r)
	if ses == nil {
		return nil
	}
	defer func() { // also if forwarding panics
		if rest == nil {
			s.release(ses)
		}
	}()
	last, present, err := only(r.Header, httpheader.LastEvent)
	if err != nil {
		refuse(w, http.StatusBadRequest, err.Error())
		return nil
	}
	missed := false
	if owner := s.streamOwner(last); present && owner != "" {
		if ended := s.resumeElsewhere(w, r, ses, last, owner); ended {
			return nil
		}
		present, missed = false, true // a stream of changes of a replica that has stopped
	}
	release, refused := s.h.server.Subscribe(s.h.guard.Principal(r))
	if refused != nil {
		refuseSubscription(w, nil, refused)
		return nil
	}
	last = strings.Clone(last) // lets the other headers be freed
	return func(ctx context.Context, w http.ResponseWriter) {
		defer s.release(ses)
		defer release()
		v := new(clientConn)
		v.out.h, v.out.w, v.out.ctx = s.h, w, ctx
		defer v.out.close()
		if present {
			s.resume(ctx, ses, v, last)
		} else {
			s.listen(ctx, ses, v, missed)
		}
	}
}

// sessional reports whether a request may belong to a session. Modern and unknown
// revisions have no sessions.
func sessional(r *http.Request) bool {
	said, present, _ := only(r.Header, httpheader.Version)
	_, isLegacy := eraconn.Eras(mcp.Revision(said))
	return !present || isLegacy
}

// changeStream is the name of the stream of a session's changes, without a
// cluster.
const changeStream = "news"

// isChangeStream reports whether a stream carries the changes of a session.
func isChangeStream(name string) bool {
	_, kind, _, ok := parseStream(name)
	return name == changeStream || ok && kind == kindChanges
}

// cannotResume is the error for a Last-Event-ID after which events may be
// missing. Its status is 400, since 404 means that the session has ended.
const cannotResume = "cannot resume after this Last-Event-ID: it is unknown, or events after it are no longer kept; open a new stream without it"

// resume sends the events of a stream after the last one that the client has, and
// those still to come.
func (s *sessions) resume(ctx context.Context, ses *session, v *clientConn, last string) {
	out := &v.out
	name, _, ok := s.backend.after(ses.id, last)
	if !ok {
		refuse(out.w, http.StatusBadRequest, cannotResume)
		return
	}
	ses.mu.Lock()
	st := ses.streams[name]
	if ses.pushes != nil && isChangeStream(name) {
		st = ses.pushes
	}
	ses.mu.Unlock()
	if st == nil || !st.attach(v) {
		if isChangeStream(name) { // changes since its end are unknown
			refuse(out.w, http.StatusBadRequest, cannotResume)
			return
		}
		s.replay(ses, out, last) // the stream has ended: the stored events are complete
		return
	}
	if !st.claim(v) {
		return
	}
	if st.changes {
		s.tellListening(ctx, st)
	}
	if !s.replay(ses, out, last) {
		st.leave(v)
		return
	}
	st.serve(ctx, v)
}

// replay sends the stored events after the event last, or refuses if they are
// incomplete.
func (s *sessions) replay(ses *session, out *eventWriter, last string) bool {
	_, events, ok := s.backend.after(ses.id, last)
	if !ok {
		refuse(out.w, http.StatusBadRequest, cannotResume)
		return false
	}
	out.begin()
	for _, e := range events {
		out.event(e.ID, e.Data)
	}
	return true
}

// listen connects a client to the stream of the session's changes. missed says
// that the client may have missed some.
func (s *sessions) listen(ctx context.Context, ses *session, v *clientConn, missed bool) {
	out := &v.out
	st, isNew := s.changes(ses, v)
	switch {
	case st == nil:
		refuse(out.w, http.StatusNotFound, noSession)
		return
	case isNew:
		if s.h.opts.Cluster != nil {
			ses.era.Ready()
		}
		st.detach = ses.era.Attach((*pushWriter)(st))
	case !st.claim(v):
		return
	}
	s.tellListening(ctx, st)
	out.begin()
	st.opened = false // each new client gets an id to resume from
	st.open(out)
	if missed {
		ses.era.Missed()
	}
	st.serve(ctx, v)
}

// A pushWriter sends messages that belong to no request on a stream of changes.
type pushWriter stream

func (w *pushWriter) Notify(n eraconn.Notification) { (*stream)(w).notify(n) }

func (w *pushWriter) Ask(ctx context.Context, method string, params []byte) (jsonrpc.Message, error) {
	return (*stream)(w).Ask(ctx, method, params)
}

// changes returns the stream of the session's changes with a client connected to
// it. It is nil if the session has ended. The caller delivers the messages of a
// new one.
func (s *sessions) changes(ses *session, v *clientConn) (st *stream, isNew bool) {
	for {
		ses.mu.Lock()
		st := ses.pushes
		switch {
		case ses.ended:
			ses.mu.Unlock()
			return nil, false
		case st == nil:
			st = &stream{all: s, ses: ses, changes: true, prime: ses.era.Resumes(), client: v}
			st.queue.Receive()
			if s.h.opts.Cluster != nil {
				st.shared = new(sharedStream)
			}
			ses.pushes = st
			ses.mu.Unlock()
			return st, true
		}
		ses.mu.Unlock()
		if st.attach(v) {
			return st, false
		}
		ses.forgetChanges(st)
	}
}

func (ses *session) forgetChanges(st *stream) {
	ses.mu.Lock()
	defer ses.mu.Unlock()
	if ses.pushes == st {
		ses.pushes = nil
	}
}

// maxLinger is how long changes are kept for a client that may resume.
const maxLinger = 5 * time.Minute

// A lingering stores changes for a disconnected client. It keeps its session
// busy.
type lingering struct {
	stop func() // called when a client resumes
}

// linger stores changes for a disconnected client that has an id to resume from.
// The number of such clients is bounded, as for calls. The caller delivers.
func (s *sessions) linger(st *stream) {
	if !st.resumable || st.isReplaced() || !s.stayBusy(st.ses) {
		s.endChanges(st)
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), min(maxLinger, s.limits.Idle))
	unused := context.AfterFunc(ctx, func() {
		cancel()
		s.endChanges(st)
		s.release(st.ses)
	})
	l := &lingering{stop: func() {
		if unused() {
			cancel()
			s.release(st.ses)
		}
	}}
	st.mu.Lock()
	isBack := st.client != nil
	if !isBack {
		st.lingers, st.cancel = l, cancel
	}
	st.mu.Unlock()
	if isBack {
		l.stop()
		return
	}
	s.clientLeft(st)
}

// endChanges ends a stream of changes to which no client is connected.
func (s *sessions) endChanges(st *stream) {
	st.mu.Lock()
	isBack := st.client != nil
	st.closed = st.closed || !isBack
	st.mu.Unlock()
	if isBack {
		return
	}
	st.ses.forgetChanges(st)
	st.detach()
	st.close(nil)
}
