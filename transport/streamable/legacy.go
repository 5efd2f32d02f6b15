package streamable

import (
	"context"
	"net/http"
	"strings"
	"time"

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
	ses, done := s.find(w, r)
	if ses == nil {
		return
	}
	if m.IsRequest() {
		s.request(w, r, ses, m, done)
		return
	}
	defer done()
	s.told(ses, m)
	w.WriteHeader(http.StatusAccepted)
}

// initialize opens a session.
func (s *sessions) initialize(w http.ResponseWriter, r *http.Request, m *jsonrpc.Message) {
	if !m.IsRequest() {
		refuse(w, http.StatusBadRequest, "initialize is a request: it needs an id")
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
	writeJSON(w, http.StatusOK, a.Append(nil))
}

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

// request serves a request. What may ask the client back, and so may take long,
// has a goroutine of its own: the client may be let go meanwhile.
func (s *sessions) request(w http.ResponseWriter, r *http.Request, ses *session, m *jsonrpc.Message, done func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context()))
	if !ses.begin(m.ID, cancel) {
		cancel()
		done()
		writeJSON(w, http.StatusBadRequest, era.Fail(m.ID, mcp.CodeInvalidRequest, "a request with this id is still being served, or the session has ended").Append(nil))
		return
	}
	out := newReply(w, r, s.h.opts.WriteIdle, s.h.opts.KeepAlive)
	defer out.close()
	p := s.h.edge.Principal(r)
	if !mcp.MayAsk(m.Method) {
		defer done()
		defer ses.finish(m.ID, cancel)
		a := ses.era.Serve(ctx, m, p, era.SessionBack{Tell: out.note})
		if m.Method == "logging/setLevel" || m.Method == "resources/subscribe" || m.Method == "resources/unsubscribe" {
			s.save(ses)
		}
		out.answer(legacyStatus(a.Code), a.Append)
		return
	}
	st := ses.newStream(s.store, out)
	freed := st.freed
	answered := make(chan era.Answer, 1)
	go func() {
		defer done()
		a := ses.era.Serve(ctx, m, p, era.SessionBack{Tell: st.note, Ask: st.ask, Release: st.letGo})
		if ctx.Err() != nil { // cancelled means silent
			a.Append = nil
		}
		ses.finish(m.ID, cancel)
		if a.Append == nil || !st.finish(a.Append) {
			answered <- a
		}
		if a.Append == nil {
			st.finish(func(dst []byte) []byte { return dst })
		}
	}()
	select {
	case a := <-answered:
		if a.Append == nil {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		out.answer(legacyStatus(a.Code), a.Append)
	case <-freed: // the answer was the end of a stream, or we were let go
	case <-r.Context().Done(): // gone, which cancels nothing in these revisions
		st.leave(out)
	}
}

// legacyStatus is the HTTP status of an answer: in these revisions an error of
// the protocol is a message like any other.
func legacyStatus(int) int { return http.StatusOK }

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

// note tells something that rides with the call.
func (st *stream) note(build func(dst []byte) []byte) { st.send(build) }

// ask sends a request to the client on the stream of its call and waits for
// the answer, which comes with a POST of its own.
func (st *stream) ask(ctx context.Context, method string, params []byte) (jsonrpc.Message, error) {
	ses := st.ses
	waits := make(chan jsonrpc.Message, 1)
	ses.mu.Lock()
	ses.asked++
	id := ses.asked
	if ses.asks == nil {
		ses.asks = map[int64]chan jsonrpc.Message{}
	}
	ses.asks[id] = waits
	ses.mu.Unlock()
	st.send(func(dst []byte) []byte { return jsonrpc.AppendRequest(dst, jsonrpc.IntID(id), method, params) })
	select {
	case m := <-waits:
		return m, nil
	case <-ctx.Done():
		ses.mu.Lock()
		delete(ses.asks, id)
		ses.mu.Unlock()
		return jsonrpc.Message{}, ctx.Err()
	}
}

// get serves GET: the stream of a session's news, or the rest of a stream that
// was cut off.
func (s *sessions) get(w http.ResponseWriter, r *http.Request) {
	if !strings.Contains(r.Header.Get("Accept"), "text/event-stream") {
		w.Header().Set("Allow", "POST")
		refuse(w, http.StatusMethodNotAllowed, "this is an MCP endpoint: send messages with POST, or accept text/event-stream")
		return
	}
	ses, done := s.find(w, r)
	if ses == nil {
		return
	}
	defer done()
	out := newReply(w, r, s.h.opts.WriteIdle, s.h.opts.KeepAlive)
	defer out.close()
	if last, present, _ := only(r.Header, headerLastEvent); present {
		s.resume(w, r, ses, out, last)
		return
	}
	s.hear(w, r, ses, out)
}

// resume sends what a client missed of one stream, and what is still to come.
func (s *sessions) resume(w http.ResponseWriter, r *http.Request, ses *session, out *reply, last string) {
	name, events, ok := s.store.EventsAfter(ses.id, last)
	if !ok {
		s.hear(w, r, ses, out) // nothing is left of it; news may still come
		return
	}
	ses.mu.Lock()
	st := ses.streams[name]
	ses.mu.Unlock()
	if st == nil {
		if strings.HasPrefix(name, newsStream) {
			for _, e := range events {
				out.write(e.ID, e.Data)
			}
			s.hear(w, r, ses, out)
			return
		}
		out.begin()
		for _, e := range events {
			out.write(e.ID, e.Data)
		}
		return
	}
	out.begin()
	freed, more := st.join(out, func() []StoredEvent {
		_, events, _ := s.store.EventsAfter(ses.id, last)
		return events
	})
	if !more {
		return
	}
	select {
	case <-freed:
	case <-r.Context().Done():
		st.leave(out)
	}
}

// newsStream is the name of the stream of a session's news.
const newsStream = "news"

// hear holds the stream of a session's news open.
func (s *sessions) hear(w http.ResponseWriter, r *http.Request, ses *session, out *reply) {
	st := &stream{ses: ses, store: s.store, name: newsStream, prime: ses.era.Resumes(), out: out, freed: make(chan struct{})}
	ses.mu.Lock()
	taken := ses.pushes != nil || ses.ended
	if !taken {
		ses.pushes = st
	}
	ses.mu.Unlock()
	if taken {
		refuse(w, http.StatusConflict, "the session has such a stream already")
		return
	}
	out.begin()
	st.mu.Lock()
	st.openLocked()
	st.mu.Unlock()
	ses.era.Attach(st.post)
	select {
	case <-st.freed:
	case <-r.Context().Done():
	}
	ses.era.Detach()
	st.leave(out)
	st.forget()
}

// post sends news from a goroutine that must not wait: a client that takes
// nothing loses it, and its stream with it.
func (st *stream) post(build func(dst []byte) []byte) {
	go st.send(build)
}

// batch serves several messages in one body, which one revision knows.
func (s *sessions) batch(w http.ResponseWriter, r *http.Request, body []byte) {
	if s.h.door.ModernOnly() || r.Header.Get(headerSession) == "" {
		writeJSON(w, http.StatusBadRequest, era.Fail(nil, mcp.CodeInvalidRequest, "a batch is not allowed here: send one message at a time").Append(nil))
		return
	}
	ses, done := s.find(w, r)
	if ses == nil {
		return
	}
	defer done()
	items, err := jsonrpc.DecodeBatch(body, maxBatch)
	if no := ses.era.Batches(); no != nil || err != nil {
		code, why := mcp.CodeInvalidRequest, ""
		if no != nil {
			why = no.Error()
		} else if bad, ok := err.(*jsonrpc.DecodeError); ok {
			code, why = bad.Code, bad.Reason
		}
		writeJSON(w, http.StatusBadRequest, era.Fail(nil, code, why).Append(nil))
		return
	}
	out := newReply(w, r, s.h.opts.WriteIdle, s.h.opts.KeepAlive)
	defer out.close()
	answers := s.answerAll(r, ses, items, out)
	if len(answers) == 0 {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	out.answer(http.StatusOK, func(dst []byte) []byte {
		dst = append(dst, '[')
		for i, a := range answers {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = a.Append(dst)
		}
		return append(dst, ']')
	})
}

const maxBatch = 100

// answerAll serves the messages of a batch in their order.
func (s *sessions) answerAll(r *http.Request, ses *session, items []jsonrpc.BatchItem, out *reply) (answers []era.Answer) {
	st := ses.newStream(s.store, nil)
	st.out = out
	defer st.forget()
	for i := range items {
		it := &items[i]
		bad, _ := it.Err.(*jsonrpc.DecodeError)
		switch {
		case bad != nil:
			answers = append(answers, era.Fail(bad.ID, bad.Code, bad.Reason))
		case it.Method == "initialize":
			answers = append(answers, era.Fail(it.ID, mcp.CodeInvalidRequest, "initialize must not be part of a batch"))
		case !it.IsRequest():
			s.told(ses, &it.Message)
		default:
			ctx, cancel := context.WithCancel(r.Context())
			if ses.begin(it.ID, cancel) {
				answers = append(answers, ses.era.Serve(ctx, &it.Message, s.h.edge.Principal(r), era.SessionBack{Tell: out.note, Ask: st.ask}))
				ses.finish(it.ID, cancel)
			}
			cancel()
		}
	}
	return answers
}

var _ = time.Second
