package streamable

import (
	"context"
	"fmt"
	"net/http"

	"github.com/tenon-mcp/tenon/era"
	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
)

// post serves a message of an older revision.
func (s *sessions) post(w http.ResponseWriter, r *http.Request, m *jsonrpc.Message) {
	if m.Method == "initialize" && r.Header.Get(headerSession) == "" {
		s.initialize(w, r, m)
		return
	}
	ses := s.find(w, r)
	if ses == nil {
		return
	}
	if m.IsRequest() {
		s.request(w, r, ses, m)
		return
	}
	defer s.release(ses)
	s.told(ses, m)
	w.WriteHeader(http.StatusAccepted)
}

// initialize opens a session.
func (s *sessions) initialize(w http.ResponseWriter, r *http.Request, m *jsonrpc.Message) {
	if !m.IsRequest() {
		refuse(w, http.StatusBadRequest, "initialize is a request: it needs an id")
		return
	}
	if len(m.Params) > maxHello {
		a := era.Fail(m.ID, mcp.CodeInvalidParams, fmt.Sprintf("initialize is too large: a session remembers what the client says of itself, which may have %d bytes", maxHello))
		writeJSON(w, http.StatusBadRequest, a.Append(nil))
		return
	}
	p := s.h.edge.Principal(r)
	es := s.h.door.NewSession()
	a := es.Serve(r.Context(), m, p, era.SessionBack{Tell: func(func([]byte) []byte) {}})
	if a.Code != 0 {
		writeJSON(w, statusOf(a.Code), a.Append(nil))
		return
	}
	ses, err := s.open(es, p)
	if err != nil {
		refuse(w, http.StatusServiceUnavailable, "no session can be kept now: try again later")
		return
	}
	defer s.release(ses)
	w.Header().Set(headerSession, ses.id)
	s.h.newReply(r.Context(), w).answer(http.StatusOK, &a)
}

// maxHello bounds the params of initialize.
const maxHello = 64 << 10

// told takes in a notification or an answer of the client.
func (s *sessions) told(ses *session, m *jsonrpc.Message) {
	switch {
	case m.IsResponse():
		ses.answered(m)
	case m.Method == "notifications/cancelled":
		if id := rawjson.Lookup(m.Params, "requestId"); id != nil {
			ses.cancel(jsonrpc.ID(id))
		}
	default:
		ses.era.Notified(m)
		s.save(ses) // whoever is ready stays so
	}
}

func (ses *session) cancel(id jsonrpc.ID) {
	ses.mu.Lock()
	cancel := ses.calls[id.Key()]
	ses.mu.Unlock()
	if cancel != nil {
		cancel()
	}
}

// answered hands the client's answer to whoever asked.
func (ses *session) answered(m *jsonrpc.Message) {
	var id int64 = -1
	for i, b := range m.ID {
		if b < '0' || b > '9' || i > 17 {
			return
		}
		id = max(id, 0)*10 + int64(b-'0')
	}
	ses.mu.Lock()
	waits := ses.asks[id]
	delete(ses.asks, id)
	ses.mu.Unlock()
	if waits != nil {
		waits <- *m
	}
}

// request serves a request. What may ask the client back may take long: the
// client may be let go meanwhile.
func (s *sessions) request(w http.ResponseWriter, r *http.Request, ses *session, m *jsonrpc.Message) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context()))
	if !ses.begin(m.ID, cancel) {
		cancel()
		s.release(ses)
		writeJSON(w, http.StatusBadRequest, taken(m.ID).Append(nil))
		return
	}
	out := s.h.newReply(r.Context(), w)
	defer out.close()
	p := s.h.edge.Principal(r)
	if mcp.MayAsk(m.Method) {
		st, freed := s.newStream(ses, out, cancel, s.h.mayTakeOver(r))
		s.long(r.Context(), st, freed, out, func() *era.Answer {
			defer s.release(ses)
			a := ses.era.Serve(ctx, m, p, era.SessionBack{Tell: until(ctx, st.send), Ask: st.ask, Release: st.letGo})
			cancelled := ctx.Err() != nil
			ses.finish(m.ID, cancel) // before the answer: the id may be used again then
			if cancelled {           // means silent
				return nil
			}
			return &a
		})
		return
	}
	defer s.release(ses)
	a := ses.era.Serve(ctx, m, p, era.SessionBack{Tell: until(ctx, out.note)})
	s.saveAfter(ses, m, &a)
	cancelled := ctx.Err() != nil
	ses.finish(m.ID, cancel)
	if cancelled { // means silent
		out.nothing()
		return
	}
	out.answer(http.StatusOK, &a)
}

// saveAfter saves a session that a request has changed. One that cannot be saved
// now is the same as before when it is restored.
func (s *sessions) saveAfter(ses *session, m *jsonrpc.Message, a *era.Answer) {
	switch m.Method {
	case "logging/setLevel", "resources/subscribe", "resources/unsubscribe":
		if a.Code == 0 {
			s.save(ses)
		}
	}
}

// long runs serve, for which the client need not wait. What is said goes to the
// stream, whoever listens there; only an answer before which nothing was said is
// sent without a stream. Serve returns the answer, or nil if there is none.
//
// Net/http ends an answer where the request came in. So serve has a goroutine of
// its own, and whoever waits here is freed; or there is no such channel, serve
// runs here, and the stream can cut the connection off.
func (s *sessions) long(there context.Context, st *stream, freed <-chan struct{}, out *reply, serve func() *era.Answer) {
	if freed == nil {
		defer context.AfterFunc(there, func() { st.leave(out) })()
		if silent := st.close(serve()); silent != nil {
			out.answer(http.StatusOK, silent)
		} else {
			out.nothing()
		}
		return
	}
	answer := make(chan *era.Answer, 1)
	s.workers.run(func() {
		if silent := st.close(serve()); silent != nil {
			answer <- silent
		}
	})
	select {
	case silent := <-answer:
		out.answer(http.StatusOK, silent)
	case <-freed:
		out.nothing()
	case <-there.Done(): // gone, which cancels nothing in these revisions
		st.leave(out)
	}
}

// until tells nothing more of a call that was cancelled.
func until(ctx context.Context, tell func(func([]byte) []byte)) func(func([]byte) []byte) {
	return func(build func([]byte) []byte) {
		if ctx.Err() == nil {
			tell(build)
		}
	}
}

// taken is the answer to a request that cannot begin.
func taken(id jsonrpc.ID) era.Answer {
	return era.Fail(id, mcp.CodeInvalidRequest, "a request with this id is still being served, or the session has ended")
}

func (ses *session) begin(id jsonrpc.ID, cancel context.CancelFunc) bool {
	ses.mu.Lock()
	defer ses.mu.Unlock()
	key := id.Key()
	if ses.ended || ses.calls[key] != nil {
		return false
	}
	if ses.calls == nil {
		ses.calls = map[string]context.CancelFunc{}
	}
	ses.calls[key] = cancel
	return true
}

func (ses *session) finish(id jsonrpc.ID, cancel context.CancelFunc) {
	cancel()
	ses.mu.Lock()
	defer ses.mu.Unlock()
	delete(ses.calls, id.Key())
}
