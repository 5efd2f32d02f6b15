package streamable

import (
	"net/http"

	"github.com/tenon-mcp/tenon/era"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/transport/internal/httpheader"
)

// noSessions is said to a client of an older revision that wants to use a
// session of a server without sessions ([Options.Stateless]).
const noSessions = "this server keeps no sessions"

// stateless serves a message of an older revision on its own. A client that
// goes away has cancelled its request, since it cannot come back for the answer.
func (s *Handler) stateless(w http.ResponseWriter, r *http.Request, m *jsonrpc.Message) {
	rev, ok := s.statelessRevision(w, r)
	switch {
	case !ok:
	case m.IsResponse():
		refuse(w, http.StatusBadRequest, noSessions+", so it has sent no request")
	case m.IsNotification():
		w.WriteHeader(http.StatusAccepted) // there is nothing that it could change
	default:
		out := s.newReply(r.Context(), w)
		out.jsonOnly, out.header = !acceptsEvents(r.Header), r.Header
		defer out.close()
		ctx := (*callContext)(out)
		a := s.server.NewStateless(m, rev).Serve(ctx, m, s.guard.Principal(r), (*notifier)(out))
		out.answerOlder(&a)
	}
}

// statelessRevision returns the revision that a request names in its headers;
// empty means none. It reports false if the request was answered.
func (s *Handler) statelessRevision(w http.ResponseWriter, r *http.Request) (mcp.Revision, bool) {
	if r.Header.Get(httpheader.Session) != "" { // of another server, or from before
		refuse(w, http.StatusNotFound, noSessions+": send initialize again, and no "+httpheader.Session+" after it")
		return "", false
	}
	return mcp.Revision(r.Header.Get(httpheader.Version)), true // one that stands twice was refused before
}

// answerOlder sends the answer to a client of an older revision that is still
// there.
func (o *reply) answerOlder(a *era.Response) {
	if o.ctx.Err() == nil {
		o.answer(http.StatusOK, a)
	}
}

// statelessBatch serves several messages in one body on their own. Their
// notifications are left out.
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
	var answers []era.Response
	for i := range items {
		if a, done := answerUnserved(&items[i]); done {
			answers = append(answers, a...)
			continue
		}
		if m := &items[i].Message; m.IsRequest() {
			answers = append(answers, s.server.NewStateless(m, rev).Serve(ctx, m, p, (*notifier)(out)))
		}
	}
	if a := together(answers); a != nil {
		out.answerOlder(a)
	} else {
		out.nothing()
	}
}
