package streamable

import (
	"context"
	"net/http"
	"slices"

	"github.com/tenon-mcp/tenon/internal/eraconn"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/transport/internal/httpheader"
)

// batch serves a batch of a legacy client.
func (s *sessions) batch(w http.ResponseWriter, r *http.Request, body []byte) {
	if s.h.server.ModernOnly() || r.Header.Get(httpheader.Session) == "" {
		writeJSON(w, http.StatusBadRequest, eraconn.Fail(nil, mcp.CodeInvalidRequest, "a batch is not allowed here: send one message at a time").Append(nil))
		return
	}
	if s.forwardHome(w, r, nil, func() []byte { return body }) {
		return
	}
	ses := s.find(w, r)
	if ses == nil {
		return
	}
	items, ok := decodeBatch(w, ses.era, body)
	if !ok {
		s.release(ses)
		return
	}
	if items, ok = s.forwardResponses(r, items); !ok || slices.ContainsFunc(items, func(it jsonrpc.BatchItem) bool {
		return it.Err == nil && it.IsResponse() && !ses.hasSent(&it.Message)
	}) {
		s.release(ses)
		s.refuseResponse(w)
		return
	}
	if s.h.isClosing() && slices.ContainsFunc(items, func(it jsonrpc.BatchItem) bool { return it.Err == nil && it.IsRequest() }) {
		s.receiveAll(ses, items) // calls in flight may need them
		s.release(ses)
		s.h.refuseClosing(w, r, nil)
		return
	}
	ctx, cancel := context.WithCancel(&detached{r.Context(), r.Header})
	p := s.h.guard.Principal(r)
	st := s.newStream(ctx, cancel, ses, r)
	s.serveStream(w, r, st, func() {
		answer := joinResponses(s.serveAll(ctx, r, p, st, items))
		cancel()
		s.release(ses)
		st.close(answer)
	})
}

// receiveAll handles the notifications and responses of a batch.
func (s *sessions) receiveAll(ses *session, items []jsonrpc.BatchItem) {
	for i := range items {
		if it := &items[i]; it.Err == nil && !it.IsRequest() {
			s.receive(ses, &it.Message)
		}
	}
}

// decodeBatch decodes a batch if the revision of the session allows batches.
// Otherwise it refuses the request and reports false.
func decodeBatch(w http.ResponseWriter, ses *eraconn.Session, body []byte) ([]jsonrpc.BatchItem, bool) {
	if err := ses.Batches(); err != nil {
		writeJSON(w, http.StatusBadRequest, eraconn.Fail(nil, mcp.CodeInvalidRequest, err.Error()).Append(nil))
		return nil, false
	}
	items, err := jsonrpc.DecodeBatch(body, maxBatch)
	if bad, ok := err.(*jsonrpc.DecodeError); ok {
		writeJSON(w, http.StatusBadRequest, eraconn.Fail(nil, bad.Code, bad.Reason).Append(nil))
		return nil, false
	}
	return items, true
}

// rejectItem reports whether a message of a batch is not served, and returns the
// response to it, if any.
func rejectItem(it *jsonrpc.BatchItem) (response []eraconn.Response, done bool) {
	bad, _ := it.Err.(*jsonrpc.DecodeError)
	switch {
	case bad != nil && bad.NeedsNoResponse():
		return nil, true
	case bad != nil:
		return []eraconn.Response{eraconn.Fail(bad.ID, bad.Code, bad.Reason)}, true
	case it.Method == mcp.MethodInitialize:
		return []eraconn.Response{eraconn.Fail(it.ID, mcp.CodeInvalidRequest, "initialize must not be part of a batch")}, true
	}
	return nil, false
}

// joinResponses returns the response to a batch, nil if there are none.
func joinResponses(answers []eraconn.Response) *eraconn.Response {
	if len(answers) == 0 {
		return nil
	}
	return &eraconn.Response{Append: func(dst []byte) []byte {
		dst = append(dst, '[')
		for i, a := range answers {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = a.Append(dst)
		}
		return append(dst, ']')
	}}
}

const maxBatch = 100

// serveAll serves the messages of a batch in order. A client that disconnects
// cancels nothing and may resume, as with a single request.
func (s *sessions) serveAll(ctx context.Context, r *http.Request, p *mcp.Principal, st *stream, items []jsonrpc.BatchItem) (answers []eraconn.Response) {
	for i := range items {
		it := &items[i]
		unserved, done := rejectItem(it)
		switch {
		case done:
			answers = append(answers, unserved...)
		case !it.IsRequest():
			if !s.receive(st.ses, &it.Message) {
				s.tellOthers(r, &it.Message)
			}
		default:
			if a, ok := s.serveOne(ctx, p, st, &it.Message); ok {
				answers = append(answers, a)
			}
		}
	}
	return answers
}

// serveOne serves one request of a batch. A cancelled one has no response.
func (s *sessions) serveOne(ctx context.Context, p *mcp.Principal, st *stream, m *jsonrpc.Message) (a eraconn.Response, ok bool) {
	ctx, cancel := context.WithCancel(ctx)
	if !st.ses.begin(m.ID, cancel, st) {
		cancel()
		return idInUse(m.ID), true
	}
	defer st.ses.finish(m.ID, cancel)
	a = s.serveSession(ctx, st.ses, m, p, oneOfBatch{st, ctx})
	return a, ctx.Err() == nil
}

// oneOfBatch is the ReplyWriter for one request of a batch, which shares the
// stream.
type oneOfBatch struct {
	*stream
	ctx context.Context
}

func (b oneOfBatch) Notify(n eraconn.Notification) {
	if b.ctx.Err() == nil {
		b.stream.Notify(n)
	}
}
