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
	ctx := r.Context()
	if m.Method == mcp.MethodSubscriptionsListen {
		var end func()
		if ctx, end = s.hold(ctx); ctx == nil {
			writeJSON(w, http.StatusServiceUnavailable, era.Fail(m.ID, mcp.CodeInternal, shuttingDown).Append(nil))
			return
		}
		defer end()
	}
	out := newReply(w, r, s.opts.WriteIdle, s.opts.KeepAlive)
	a := s.door.ServeModern(ctx, m, s.edge.Principal(r), era.Back{Tell: out.note, Headers: headers})
	if r.Context().Err() == nil { // or nobody is there to hear it
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
