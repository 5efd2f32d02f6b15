package streamable

import (
	"context"
	"net/http"

	"github.com/tenon-mcp/tenon/era"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
)

// exchange serves one request or notification of the newest revision.
func (s *Handler) exchange(w http.ResponseWriter, r *http.Request, m *jsonrpc.Message) {
	version, named := era.NamedRevision(m)
	if err := checkHeaders(r.Header, version, named); err != nil {
		s.mismatch(w, m, err)
		return
	}
	if m.IsNotification() {
		w.WriteHeader(http.StatusAccepted) // none of them means anything here
		return
	}
	if isModern, _ := era.Speaks(version); isModern {
		if err := checkRouting(r.Header, m); err != nil {
			s.mismatch(w, m, err)
			return
		}
	}
	headers, err := paramHeaders(r.Header, m.Method)
	if err != nil {
		s.mismatch(w, m, err)
		return
	}
	p := s.edge.Principal(r)
	if m.Method == mcp.MethodSubscriptionsListen {
		heard := *m
		s.stay(w, r, func(ctx context.Context, w http.ResponseWriter) { s.listen(ctx, w, &heard, p, headers) })
		return
	}
	s.serveModern(r.Context(), r.Context(), w, m, p, headers)
}

// listen serves a subscription, which Shutdown ends.
func (s *Handler) listen(ctx context.Context, w http.ResponseWriter, m *jsonrpc.Message, p *mcp.Principal, headers map[string]string) {
	held, end := s.hold(ctx)
	if held == nil {
		writeJSON(w, http.StatusServiceUnavailable, era.Fail(m.ID, mcp.CodeInternal, shuttingDown).Append(nil))
		return
	}
	defer end()
	s.serveModern(ctx, held, w, m, p, headers)
}

// serveModern serves a request until ctx ends; the answer goes to a client that
// is there until there ends.
func (s *Handler) serveModern(there, ctx context.Context, w http.ResponseWriter, m *jsonrpc.Message, p *mcp.Principal, headers map[string]string) {
	out := s.newReply(there, w)
	a := s.door.ServeModern(ctx, m, p, era.Back{Tell: out.note, Headers: headers})
	if there.Err() == nil { // or nobody is there to hear it
		out.answer(statusOf(a.Code), a.Append)
	}
	out.close()
}

// mismatch answers a request whose headers and body disagree.
func (s *Handler) mismatch(w http.ResponseWriter, m *jsonrpc.Message, err error) {
	a := era.Fail(m.ID, mcp.CodeHeaderMismatch, err.Error())
	writeJSON(w, http.StatusBadRequest, a.Append(nil))
}

// hold registers a subscription, which Shutdown ends.
func (s *Handler) hold(ctx context.Context) (held context.Context, end func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing.Load() {
		return nil, nil
	}
	ctx, stop := context.WithCancel(ctx)
	key := new(int)
	s.streams[key] = stop
	return ctx, func() {
		stop()
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.streams, key)
	}
}
