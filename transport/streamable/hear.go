package streamable

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/era"
	"github.com/tenon-mcp/tenon/mcp"
)

// get serves GET: the stream of a session's news, or the rest of a stream that
// was cut off.
func (s *sessions) get(w http.ResponseWriter, r *http.Request) (rest staying) {
	if !strings.Contains(r.Header.Get("Accept"), "text/event-stream") || !sessional(r) {
		w.Header().Set("Allow", "POST")
		refuse(w, http.StatusMethodNotAllowed, "this is an MCP endpoint: send messages with POST; only a session of an older revision has a stream to GET, as text/event-stream")
		return nil
	}
	ses := s.find(w, r)
	if ses == nil {
		return nil
	}
	last, present, err := only(r.Header, headerLastEvent)
	if err != nil {
		s.release(ses)
		refuse(w, http.StatusBadRequest, err.Error())
		return nil
	}
	last = strings.Clone(last) // the rest of the headers need not stay
	return func(ctx context.Context, w http.ResponseWriter) {
		defer s.release(ses)
		out := s.h.newReply(ctx, w)
		defer out.close()
		if present {
			s.resume(ctx, ses, out, last)
		} else {
			s.hear(ctx, ses, out, nil)
		}
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
func (s *sessions) resume(ctx context.Context, ses *session, out *reply, last string) {
	name, _, ok := s.store.EventsAfter(ses.id, last)
	if !ok {
		s.hear(ctx, ses, out, nil) // nothing is left of it; news may still come
		return
	}
	missed := func() []StoredEvent {
		_, events, _ := s.store.EventsAfter(ses.id, last)
		return events
	}
	if name == newsStream {
		s.hear(ctx, ses, out, missed)
		return
	}
	ses.mu.Lock()
	st := ses.streams[name]
	ses.mu.Unlock()
	out.begin()
	if st == nil { // it is over, so what is kept is all of it
		for _, e := range missed() {
			out.write(e.ID, e.Data)
		}
		return
	}
	freed, more := st.join(out, missed)
	if !more {
		return
	}
	select {
	case <-freed:
	case <-ctx.Done():
		st.leave(out)
	}
}

// newsStream is the name of the stream of a session's news.
const newsStream = "news"

// hear holds the stream of a session's news open, after what the client has
// missed of it, if it comes back. There is one of them, for the client that
// came last: who comes again has often lost the one before without our noticing.
func (s *sessions) hear(ctx context.Context, ses *session, out *reply, missed func() []StoredEvent) {
	news := &newsQueue{ready: make(chan struct{}, 1)}
	st := &stream{all: s, ses: ses, name: newsStream, prime: ses.era.Resumes(), out: out, news: news}
	before, ok := ses.listen(st, news.put)
	if !ok {
		refuse(out.w, http.StatusNotFound, noSession)
		return
	}
	defer func() {
		if st.cancel == nil {
			ses.unlisten(st)
		}
		st.leave(out)
	}()
	if before != nil {
		before.letGo()
		before.abandon()
	}
	out.begin()
	if missed != nil { // all of it is kept by now: what comes later waits in news
		for _, e := range missed() {
			out.write(e.ID, e.Data)
			st.told = true
		}
	}
	st.open()
	for open := true; open; {
		select {
		case <-news.ready:
			var waiting []func([]byte) []byte
			waiting, open = news.take() // if some is lost, the client comes back and looks for itself
			for _, build := range waiting {
				st.send(build)
			}
		case <-ctx.Done():
			open = false
			s.linger(st)
			news.leave(st.send) // which keeps it as long as that takes
		}
	}
}

// maxLinger is how long news is kept for a client that may come back for it.
const maxLinger = 5 * time.Minute

// linger goes on to keep news for a client that has gone without a word, and
// knows from where to come back. As with calls that were left, only so many are
// waited for.
func (s *sessions) linger(st *stream) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if !st.told || st.out == nil || !s.stayBusy(st.ses) {
		return // it would not come back, or another has come
	}
	ctx, cancel := context.WithTimeout(context.Background(), min(maxLinger, s.limits.Idle))
	st.cancel = cancel
	context.AfterFunc(ctx, func() {
		cancel()
		st.ses.unlisten(st)
		st.end()
		s.release(st.ses)
	})
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
