package streamable

import (
	"net/http"

	"github.com/tenon-mcp/tenon/internal/eraconn"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/transport/internal/httpheader"
)

// noSessions is the error for a legacy client that uses a session with
// [Options.Stateless].
const noSessions = "this server keeps no sessions"

// stateless serves a legacy message without a session. A client that disconnects
// cancels its request, since it cannot resume.
func (s *Handler) stateless(w http.ResponseWriter, r *http.Request, m *jsonrpc.Message) {
	rev, ok := s.statelessRevision(w, r)
	switch {
	case !ok:
	case m.IsResponse():
		refuse(w, http.StatusBadRequest, noSessions+", so it has sent no request")
	case m.IsNotification():
		w.WriteHeader(http.StatusAccepted) // it has no effect without a session
	default:
		out := s.newReply(r.Context(), w)
		out.jsonOnly, out.header = !acceptsEvents(r.Header), r.Header
		defer out.close()
		ctx := (*callContext)(out)
		a := s.server.NewStateless(m, rev).Serve(ctx, m, s.guard.Principal(r), (*notifier)(out))
		out.respondLegacy(&a)
	}
}

// statelessRevision returns the revision in the headers of a request; empty means
// none. If the request names a session, it refuses it and reports false.
func (s *Handler) statelessRevision(w http.ResponseWriter, r *http.Request) (mcp.Revision, bool) {
	if r.Header.Get(httpheader.Session) != "" {
		refuse(w, http.StatusNotFound, noSessions+": send initialize again, and no "+httpheader.Session+" after it")
		return "", false
	}
	return mcp.Revision(r.Header.Get(httpheader.Version)), true // a repeated header was refused before
}

// respondLegacy sends the response to a legacy client, unless it has disconnected.
func (o *reply) respondLegacy(a *eraconn.Response) {
	if o.ctx.Err() == nil {
		o.respond(legacyStatus(a), a)
	}
}

// statelessBatch serves a batch without a session, and without notifications.
func (s *Handler) statelessBatch(w http.ResponseWriter, r *http.Request, body []byte) {
	rev, ok := s.statelessRevision(w, r)
	if !ok {
		return
	}
	items, ok := decodeBatch(w, s.server.NewStateless(&jsonrpc.Message{}, rev), body)
	if !ok {
		return
	}
	out := s.newReply(r.Context(), w)
	out.jsonOnly, out.header = true, r.Header
	defer out.close()
	p, ctx := s.guard.Principal(r), (*callContext)(out)
	var answers []eraconn.Response
	for i := range items {
		if a, done := rejectItem(&items[i]); done {
			answers = append(answers, a...)
			continue
		}
		if m := &items[i].Message; m.IsRequest() {
			answers = append(answers, s.server.NewStateless(m, rev).Serve(ctx, m, p, (*notifier)(out)))
		}
	}
	if a := joinResponses(answers); a != nil {
		out.respondLegacy(a)
	} else {
		out.respondEmpty()
	}
}
