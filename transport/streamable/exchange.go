package streamable

import (
	"log/slog"
	"net/http"
	"strconv"

	"github.com/tenon-mcp/tenon/internal/eraconn"
	"github.com/tenon-mcp/tenon/internal/protocol"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
)

// exchange serves one modern request or notification.
func (s *Handler) exchange(w http.ResponseWriter, r *http.Request, m *jsonrpc.Message) (rest longPoll) {
	version, named := eraconn.NamedRevision(m)
	if err := checkHeaders(r.Header, version, named); err != nil {
		s.mismatch(w, r, m, err)
		return nil
	}
	if m.IsNotification() {
		s.server.NotifiedModern(r.Context(), m, s.guard.Principal(r))
		w.WriteHeader(http.StatusAccepted)
		return nil
	}
	if isModern, _ := eraconn.Eras(version); isModern {
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
	if s.opts.Cluster != nil && protocol.MayRequireInput(m.Method) {
		if owner := eraconn.StateOwner(m); owner != "" && owner != s.opts.Cluster.ID() {
			s.forward(w, r, m, owner)
			return nil
		}
	}
	p := s.guard.Principal(r)
	if m.Method == mcp.MethodSubscriptionsListen {
		if !acceptsEvents(r.Header) {
			a := eraconn.Fail(m.ID, mcp.CodeInvalidRequest, m.Method+" is answered with a stream: the header Accept must list text/event-stream")
			writeJSON(w, http.StatusNotAcceptable, a.Append(nil))
			return nil
		}
		return s.listen(w, m, p, headers)
	}
	s.serveModern(w, r, m, p, headers)
	return nil
}

// serveModern serves a request. A client that disconnects cancels it.
func (s *Handler) serveModern(w http.ResponseWriter, r *http.Request, m *jsonrpc.Message, p *mcp.Principal, headers map[string]string) {
	out := s.newReply(r.Context(), w)
	out.jsonOnly, out.header = !acceptsEvents(r.Header), r.Header
	a := s.server.ServeModern((*callContext)(out), m, p, eraconn.ReplyWriter{Notify: out.notification, Headers: headers})
	out.respondIfConnected(&a)
	out.close()
}

// mismatch refuses a request whose headers and body disagree.
func (s *Handler) mismatch(w http.ResponseWriter, r *http.Request, m *jsonrpc.Message, err error) {
	s.logRequest(r, slog.LevelWarn, "invalid message", slog.String("reason", "headers and body disagree"))
	a := eraconn.Fail(m.ID, mcp.CodeHeaderMismatch, err.Error())
	writeJSON(w, http.StatusBadRequest, a.Append(nil))
}

// statusOf returns the HTTP status for a modern response. The specification
// allows 200 and 400 for an error of the call itself, such as an unknown tool;
// statusOf returns 400 if the request is at fault.
func statusOf(a *eraconn.Response) int {
	if a.Err != nil && a.Err.HTTPStatus != 0 {
		return a.Err.HTTPStatus
	}
	switch a.Code {
	case 0:
		return http.StatusOK
	case mcp.CodeParse, mcp.CodeInvalidRequest, mcp.CodeInvalidParams,
		mcp.CodeHeaderMismatch, mcp.CodeMissingCapability, mcp.CodeUnsupportedVersion:
		return http.StatusBadRequest
	case mcp.CodeMethodNotFound:
		return http.StatusNotFound
	}
	return http.StatusOK
}

// legacyStatus returns the HTTP status for a legacy response.
func legacyStatus(a *eraconn.Response) int {
	if a.Err != nil && a.Err.HTTPStatus != 0 {
		return a.Err.HTTPStatus
	}
	return http.StatusOK
}

// setRetryAfter sets the header for a response that says when the client may try
// again.
func setRetryAfter(h http.Header, a *eraconn.Response) {
	if a.Err != nil && a.Err.RetryAfter > 0 {
		h.Set("Retry-After", strconv.FormatInt(mcp.RetrySeconds(a.Err.RetryAfter), 10))
	}
}
