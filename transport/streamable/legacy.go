package streamable

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/tenon-mcp/tenon/cluster"
	"github.com/tenon-mcp/tenon/internal/eraconn"
	"github.com/tenon-mcp/tenon/internal/protocol"
	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/internal/stack"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/transport/internal/httpheader"
)

// post serves a legacy message.
func (s *sessions) post(w http.ResponseWriter, r *http.Request, m *jsonrpc.Message) {
	if m.Method == mcp.MethodInitialize && r.Header.Get(httpheader.Session) == "" {
		s.initialize(w, r, m)
		return
	}
	if m.Method == mcp.NotificationCancelled && cluster.Forwarded(r.Context()) {
		s.cancelForwarded(w, r, m)
		return
	}
	if !m.IsResponse() && s.forwardHome(w, r, m.ID, func() []byte { return encode(m) }) {
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
	if m.IsResponse() {
		if owner := s.ownerOf(m.ID); owner != "" {
			s.h.forward(w, r, m, owner)
			return
		}
		if !ses.hasSent(m) {
			s.refuseResponse(w)
			return
		}
	}
	if !s.receive(ses, m) {
		s.tellOthers(r, m)
	}
	w.WriteHeader(http.StatusAccepted)
}

// refuseResponse refuses a response to a request that this process has not sent.
func (s *sessions) refuseResponse(w http.ResponseWriter) {
	if s.h.opts.Cluster != nil {
		refuse(w, http.StatusGone, "the server has sent no request with this id, or the replica that sent it has stopped")
		return
	}
	refuse(w, http.StatusMisdirectedRequest, unknownResponse)
}

// unknownResponse is the error for a response whose request this process has not
// sent. The status is not 404, on which the client would drop its session.
const unknownResponse = "no request with this id was sent by this instance of the server: send the response to the instance that sent the request, by routing all requests with the same " + httpheader.Session + " to one instance"

// initialize opens a session.
func (s *sessions) initialize(w http.ResponseWriter, r *http.Request, m *jsonrpc.Message) {
	if !m.IsRequest() {
		refuse(w, http.StatusBadRequest, "initialize is a request: it needs an id")
		return
	}
	if len(m.Params) > maxInitialize {
		a := eraconn.Fail(m.ID, mcp.CodeInvalidParams, fmt.Sprintf("initialize is too large: a session remembers what the client says of itself, which may have %d bytes", maxInitialize))
		writeJSON(w, http.StatusBadRequest, a.Append(nil))
		return
	}
	p := s.h.guard.Principal(r)
	key := s.newKey()
	es := s.h.server.NewSession(handlerID(key))
	out := s.h.newReply(r.Context(), w)
	a := es.Serve(r.Context(), m, p, discard{})
	if a.Code != 0 {
		setRetryAfter(w.Header(), &a)
		writeJSON(w, statusOf(&a), a.Append(nil))
		return
	}
	id, ses, err := s.open(r.Context(), key, es, p)
	if err != nil {
		w.Header().Set("Retry-After", "1")
		refuse(w, http.StatusServiceUnavailable, "cannot store the session: try again later")
		return
	}
	defer s.release(ses)
	w.Header().Set(httpheader.Session, id)
	out.respond(http.StatusOK, &a)
}

// maxInitialize bounds the params of initialize.
const maxInitialize = 64 << 10

// receive handles a notification or a response of the client. It reports false
// for a cancellation of a call that this process does not serve.
func (s *sessions) receive(ses *session, m *jsonrpc.Message) (here bool) {
	switch {
	case m.IsResponse():
		ses.deliverResponse(m)
	case m.Method == mcp.NotificationCancelled:
		id := rawjson.Lookup(m.Params, "requestId")
		return id == nil || ses.cancel(jsonrpc.ID(id))
	default:
		ses.era.Notified(m)
	}
	return true
}

// cancel cancels a call and reports whether there is one with this id.
func (ses *session) cancel(id jsonrpc.ID) bool {
	ses.mu.Lock()
	call, there := ses.calls[id.Key()]
	ses.mu.Unlock()
	if there {
		call.cancel()
	}
	return there
}

// request serves a request. A call that may require input may take long, so its
// client may disconnect and resume.
func (s *sessions) request(w http.ResponseWriter, r *http.Request, ses *session, m *jsonrpc.Message) {
	ctx, cancel := context.WithCancel(&detached{r.Context(), r.Header})
	p := s.h.guard.Principal(r)
	if protocol.MayRequireInputInSession(m.Method) {
		st := s.newStream(ctx, cancel, ses, r)
		if st.shared != nil {
			st.shared.request = m.ID
		}
		if !ses.begin(m.ID, cancel, st) {
			s.refuseID(w, ses, m.ID, cancel)
			return
		}
		s.serveStream(w, r, st, func() {
			stack.Grow()
			st.close(st.call(m, p))
		})
		return
	}
	if !ses.begin(m.ID, cancel, nil) {
		s.refuseID(w, ses, m.ID, cancel)
		return
	}
	defer s.release(ses)
	out := s.h.newReply(ctx, w)
	out.jsonOnly = !acceptsEvents(r.Header)
	defer out.close()
	a := s.serveSession(ctx, ses, m, p, (*notifier)(out))
	cancelled := ctx.Err() != nil
	ses.finish(m.ID, cancel)
	if cancelled { // a cancelled request gets no response
		out.respondEmpty()
		return
	}
	out.respond(legacyStatus(&a), &a)
}

// refuseID refuses a request that cannot begin.
func (s *sessions) refuseID(w http.ResponseWriter, ses *session, id jsonrpc.ID, cancel func()) {
	cancel()
	s.release(ses)
	writeJSON(w, http.StatusBadRequest, idInUse(id).Append(nil))
}

// serveSession serves a request of a session, and stores what it changes.
func (s *sessions) serveSession(ctx context.Context, ses *session, m *jsonrpc.Message, p *mcp.Principal, back eraconn.SessionReplyWriter) eraconn.Response {
	switch m.Method {
	case mcp.MethodLoggingSetLevel, mcp.MethodResourcesSubscribe, mcp.MethodResourcesUnsubscribe:
		return s.change(ctx, ses, m, func() eraconn.Response { return ses.era.Serve(ctx, m, p, back) })
	}
	return ses.era.Serve(ctx, m, p, back)
}

// call serves a request whose messages st carries. It returns the response, or
// nil if the request was cancelled.
func (st *stream) call(m *jsonrpc.Message, p *mcp.Principal) *eraconn.Response {
	defer st.all.release(st.ses)
	st.response = st.ses.era.Serve(st.ctx, m, p, st)
	cancelled := st.ctx.Err() != nil
	st.ses.finish(m.ID, st.cancel) // before the response is sent: the id may be used again then
	if cancelled {
		return nil
	}
	return &st.response
}

// serveStream runs serve in a goroutine of its own, since the client may disconnect and
// resume. The goroutine of the request writes the messages until the client
// disconnects. serve closes st.
func (s *sessions) serveStream(w http.ResponseWriter, r *http.Request, st *stream, serve func()) {
	v := &st.first
	v.out.h, v.out.w, v.out.ctx = s.h, w, r.Context()
	st.client = v
	go serve()
	st.serve(r.Context(), v)
	v.out.respondEmpty() // if nothing was written
	v.out.w = nil        // the stream may detachContext this request
}

// A notifier is a reply to a request that may not send requests to the client. It
// sends notifications until the context of the reply ends.
type notifier reply

func (t *notifier) Notify(n eraconn.Notification) { (*reply)(t).notification(n) }

func (*notifier) Ask(context.Context, string, []byte) (jsonrpc.Message, error) {
	return jsonrpc.Message{}, errors.New("this request cannot ask the client")
}

func (*notifier) Release() {}

// discard is a notifier that drops notifications.
type discard struct{ *notifier }

func (discard) Notify(eraconn.Notification) {}

// idInUse returns the response to a request whose id is in use.
func idInUse(id jsonrpc.ID) eraconn.Response {
	return eraconn.Fail(id, mcp.CodeInvalidRequest, "a request with this id is still being served, or the session has ended")
}

// begin registers a request in flight; st is nil if it has no stream.
func (ses *session) begin(id jsonrpc.ID, cancel context.CancelFunc, st *stream) bool {
	ses.mu.Lock()
	defer ses.mu.Unlock()
	key := id.Key()
	if _, there := ses.calls[key]; there || ses.ended {
		return false
	}
	if ses.calls == nil {
		ses.calls = map[string]inFlight{}
	}
	ses.calls[key] = inFlight{cancel, st}
	return true
}

func (ses *session) finish(id jsonrpc.ID, cancel context.CancelFunc) {
	cancel()
	ses.mu.Lock()
	defer ses.mu.Unlock()
	delete(ses.calls, id.Key())
}
