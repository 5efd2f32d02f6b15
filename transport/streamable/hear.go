package streamable

import (
	"net/http"
	"strings"

	"github.com/tenon-mcp/tenon/era"
	"github.com/tenon-mcp/tenon/mcp"
)

// get serves GET: the stream of a session's news, or the rest of a stream that
// was cut off.
func (s *sessions) get(w http.ResponseWriter, r *http.Request) {
	if !strings.Contains(r.Header.Get("Accept"), "text/event-stream") || !sessional(r) {
		w.Header().Set("Allow", "POST")
		refuse(w, http.StatusMethodNotAllowed, "this is an MCP endpoint: send messages with POST; only a session of an older revision has a stream to GET, as text/event-stream")
		return
	}
	ses, done := s.find(w, r)
	if ses == nil {
		return
	}
	defer done()
	out := newReply(w, r, s.h.opts.WriteIdle, s.h.opts.KeepAlive)
	defer out.close()
	last, present, err := only(r.Header, headerLastEvent)
	switch {
	case err != nil:
		refuse(w, http.StatusBadRequest, err.Error())
	case present:
		s.resume(r, ses, out, last)
	default:
		s.hear(r, ses, out)
	}
}

// sessional reports whether a request may belong to a session: the newest
// revision, and what nobody knows yet, has none.
func sessional(r *http.Request) bool {
	said, present, _ := only(r.Header, headerVersion)
	_, isLegacy := era.Speaks(mcp.Revision(said))
	return !present || isLegacy
}

// resume sends what a client missed of one stream, and what is still to come.
func (s *sessions) resume(r *http.Request, ses *session, out *reply, last string) {
	name, _, ok := s.store.EventsAfter(ses.id, last)
	if !ok {
		s.hear(r, ses, out) // nothing is left of it; news may still come
		return
	}
	missed := func() []StoredEvent {
		_, events, _ := s.store.EventsAfter(ses.id, last)
		return events
	}
	ses.mu.Lock()
	st := ses.streams[name]
	ses.mu.Unlock()
	out.begin()
	if st == nil { // it is over, so what is kept is all of it
		for _, e := range missed() {
			out.write(e.ID, e.Data)
		}
		if name == newsStream {
			s.hear(r, ses, out)
		}
		return
	}
	freed, more := st.join(out, missed)
	if !more {
		return
	}
	select {
	case <-freed:
	case <-r.Context().Done():
		st.leave(out)
	}
}

// newsStream is the name of the stream of a session's news.
const newsStream = "news"

// hear holds the stream of a session's news open. There is one of them, for
// the client that came last: who comes again has often lost the one before
// without our noticing.
func (s *sessions) hear(r *http.Request, ses *session, out *reply) {
	st := &stream{all: s, ses: ses, name: newsStream, prime: ses.era.Resumes(), out: out, freed: make(chan struct{})}
	news := newsQueue{ready: make(chan struct{}, 1)}
	before, ok := ses.listen(st, news.put)
	if !ok {
		if !out.stream {
			refuse(out.w, http.StatusNotFound, noSession)
		}
		return
	}
	if before != nil {
		before.letGo()
	}
	out.begin()
	st.mu.Lock()
	st.openLocked()
	st.mu.Unlock()
	for open := true; open; {
		select {
		case <-news.ready:
			waiting, lost := news.take()
			for _, build := range waiting {
				st.send(build)
			}
			open = !lost // the client comes back and looks for itself
		case <-st.freed:
			open = false
		case <-r.Context().Done():
			open = false
		}
	}
	ses.unlisten(st)
	st.leave(out)
}

// listen makes st the stream of the session's news, which goes to push, and
// returns the one that was it. It reports false when the session has ended.
func (ses *session) listen(st *stream, push func(build func(dst []byte) []byte)) (before *stream, ok bool) {
	ses.hearing.Lock()
	defer ses.hearing.Unlock()
	ses.mu.Lock()
	before, ok = ses.pushes, !ses.ended
	if ok {
		ses.pushes = st
	}
	ses.mu.Unlock()
	if ok {
		ses.era.Attach(push)
	}
	return before, ok
}

// unlisten ends the news of a stream, unless there is another by now.
func (ses *session) unlisten(st *stream) {
	ses.hearing.Lock()
	defer ses.hearing.Unlock()
	ses.mu.Lock()
	last := ses.pushes == st
	if last {
		ses.pushes = nil
	}
	ses.mu.Unlock()
	if last {
		ses.era.Detach()
	}
}
