package streamable

import (
	"log/slog"
	"net/http"

	"github.com/tenon-mcp/tenon/era"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
)

// exchange serves one request or notification of the newest revision.
func (s *Handler) exchange(w http.ResponseWriter, r *http.Request, m *jsonrpc.Message) (rest longPoll) {
	version, named := era.NamedRevision(m)
	if err := checkHeaders(r.Header, version, named); err != nil {
		s.mismatch(w, r, m, err)
		return nil
	}
	if m.IsNotification() {
		s.server.NotifiedModern(r.Context(), m, s.guard.Principal(r))
		w.WriteHeader(http.StatusAccepted)
		return nil
	}
	if isModern, _ := era.Eras(version); isModern {
		if err := checkRouting(r.Header, m); err != nil {
			s.mismatch(w, r, m, err)
			return nil
		}
	}
	headers, err := paramHeaders(r.Header, m.Method)
	if err != nil {
		s.mismatch(w, r, m, err)
		return nil
	}
	p := s.guard.Principal(r)
	if m.Method == mcp.MethodSubscriptionsListen {
		if !acceptsEvents(r.Header) {
			a := era.Fail(m.ID, mcp.CodeInvalidRequest, m.Method+" is answered with a stream: the header Accept must list text/event-stream")
			writeJSON(w, http.StatusNotAcceptable, a.Append(nil))
			return nil
		}
		return s.listen(w, m, p, headers)
	}
	s.serveModern(w, r, m, p, headers)
	return nil
}

// serveModern serves a request for as long as the client is there.
func (s *Handler) serveModern(w http.ResponseWriter, r *http.Request, m *jsonrpc.Message, p *mcp.Principal, headers map[string]string) {
	out := s.newReply(r.Context(), w)
	out.jsonOnly, out.header = !acceptsEvents(r.Header), r.Header
	a := s.server.ServeModern((*callContext)(out), m, p, era.ReplyWriter{Notify: out.notification, Headers: headers})
	out.answerIfThere(&a)
	out.close()
}

// mismatch answers a request whose headers and body disagree.
func (s *Handler) mismatch(w http.ResponseWriter, r *http.Request, m *jsonrpc.Message, err error) {
	s.record(r, slog.LevelWarn, "invalid message", slog.String("reason", "headers and body disagree"))
	a := era.Fail(m.ID, mcp.CodeHeaderMismatch, err.Error())
	writeJSON(w, http.StatusBadRequest, a.Append(nil))
}
