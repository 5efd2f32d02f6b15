package streamable

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"strings"

	"github.com/tenon-mcp/tenon/cluster"
	"github.com/tenon-mcp/tenon/internal/eraconn"
	"github.com/tenon-mcp/tenon/internal/protocol"
	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/transport/internal/httpheader"
)

// What belongs to a call, or to a stream, is in the memory of one replica. Its
// messages name that replica: the ids of requests to the client, the names of
// streams, and the requestState of a call that waits at an older server. Another
// replica forwards the HTTP request there. Cancellations, which name no replica,
// go to all.

// clusterKeys gives the Handler keys that all replicas of its cluster have.
func (s *Handler) clusterKeys() error {
	if s.opts.Cluster == nil || s.opts.Era.Keys != nil {
		return nil
	}
	keys, err := eraconn.NewKeys(0)
	if err != nil {
		return err
	}
	s.opts.Era.Keys = keys
	s.stopKeys, err = s.opts.Cluster.WatchKeys("request state "+s.opts.Scope, func(secrets [][]byte) { keys.Replace(secrets...) })
	return err
}

// encode encodes a message for another replica.
func encode(m *jsonrpc.Message) []byte {
	switch {
	case m == nil:
		return nil
	case m.IsRequest():
		return jsonrpc.AppendRequest(nil, m.ID, m.Method, m.Params)
	case m.Method != "":
		return jsonrpc.AppendNotification(nil, m.Method, m.Params)
	case m.Error != nil:
		return jsonrpc.AppendError(nil, m.ID, m.Error)
	}
	return jsonrpc.AppendResult(nil, m.ID, m.Result)
}

// Errors for messages whose replica has stopped, or does not answer.
const (
	callLost  = "the replica that served this call has stopped or does not answer, and the call is lost; whether it had an effect is unknown"
	stateLost = "the replica that holds this call has stopped, and the call with it: make the call again without requestState"
)

// forward sends a message of a client to the replica that can serve it, and its
// response to the client. A response of the client may be sent again after an
// error: the replica takes it once.
func (s *Handler) forward(w http.ResponseWriter, r *http.Request, m *jsonrpc.Message, to string) {
	err := errGone
	if !cluster.Forwarded(r.Context()) { // one hop
		err = s.opts.Cluster.Forward(w, s.withClient(r), encode(m), to)
	}
	switch {
	case err == nil:
	case errors.Is(err, cluster.ErrCut) && m.IsRequest():
		s.refuseCut(w, r, m.ID, err)
	case !errors.Is(err, cluster.ErrGone):
		s.refuseForward(w, r, m.ID, err)
	case m.IsRequest():
		a := eraconn.Fail(m.ID, mcp.CodeInvalidParams, stateLost)
		writeJSON(w, statusOf(&a), a.Append(nil))
	default:
		refuse(w, http.StatusGone, callLost)
	}
}

// withClient returns a request that names its client, so that one client cannot
// take all the room for requests that are forwarded: its principal, or else its
// session.
func (s *Handler) withClient(r *http.Request) *http.Request {
	key := s.guard.Principal(r).Key()
	if key == "" {
		key = r.Header.Get(httpheader.Session)
	}
	return r.WithContext(cluster.WithClient(r.Context(), key))
}

var errGone error = cluster.ErrGone

// refuseCut answers a request that another replica may have served. It does not
// suggest to send the request again.
func (s *Handler) refuseCut(w http.ResponseWriter, r *http.Request, id jsonrpc.ID, err error) {
	s.logRequest(r, slog.LevelError, "response of another replica lost", slog.Any("error", err))
	a := eraconn.Fail(id, mcp.CodeInternal, callLost)
	writeJSON(w, http.StatusBadGateway, a.Append(nil))
}

// refuseForward answers a request that could not be forwarded, or that may be sent
// again.
func (s *Handler) refuseForward(w http.ResponseWriter, r *http.Request, id jsonrpc.ID, err error) {
	s.logRequest(r, slog.LevelError, "request not forwarded", slog.Any("error", err))
	w.Header().Set("Retry-After", "1")
	a := eraconn.Fail(id, mcp.CodeInternal, "another replica of the server, which has to serve this request, cannot be reached: try again later")
	writeJSON(w, http.StatusServiceUnavailable, a.Append(nil))
}

// newKey returns the key of a new session. In a cluster it begins with the id of
// the replica that opens it.
func (s *sessions) newKey() string {
	key := rand.Text() + rand.Text()
	if c := s.h.opts.Cluster; c != nil {
		key = c.ID() + "." + key
	}
	return key
}

// forwardHome forwards a request of a session to the replica that opened it, if
// only that one can serve it. Errors have the id, if it has one. It reports whether
// the request was answered.
func (s *sessions) forwardHome(w http.ResponseWriter, r *http.Request, id jsonrpc.ID, body func() []byte) bool {
	keep := s.h.opts.KeepSessions
	b, ok := s.backend.(*clusterBackend)
	if !ok || keep == nil || !keep() || cluster.Forwarded(r.Context()) {
		return false
	}
	in, ok := b.open(r.Header.Get(httpheader.Session))
	home, _, named := strings.Cut(in.key, ".")
	if !ok || !named || home == b.r.ID() {
		return false
	}
	var err error
	if r.Method == http.MethodGet {
		err = s.h.forwardStream(w, r, home)
	} else {
		err = b.r.Forward(w, s.h.withClient(r), body(), home)
	}
	switch {
	case errors.Is(err, cluster.ErrCut) && r.Method == http.MethodPost: // on 404 the client would send it again
		s.h.refuseCut(w, r, id, err)
	case errors.Is(err, cluster.ErrGone):
		refuse(w, http.StatusNotFound, homeStopped)
	case err != nil:
		s.h.refuseForward(w, r, id, err)
	}
	return true
}

// homeStopped is the error for a request of a session whose replica has stopped,
// or does not serve new requests since it is shutting down. Its status is 404, on
// which the client opens another session.
const homeStopped = "the replica that has this session is stopping or has stopped: send initialize again"

// refuseClosing refuses a request with this id, since the Handler is shutting
// down. The replica that has forwarded it, if any, answers it as if this one had
// stopped.
func (s *Handler) refuseClosing(w http.ResponseWriter, r *http.Request, id jsonrpc.ID) {
	if cluster.Forwarded(r.Context()) {
		cluster.RefuseStopping(w)
		return
	}
	writeJSON(w, http.StatusServiceUnavailable, eraconn.Fail(id, mcp.CodeInternal, shuttingDown).Append(nil))
}

// continuesHere reports whether a request is the next round of a call that waits
// in the memory of this replica. It is served until the replica has stopped.
func (s *Handler) continuesHere(m *jsonrpc.Message) bool {
	c := s.opts.Cluster
	return c != nil && protocol.MayRequireInput(m.Method) && eraconn.StateOwner(m) == c.ID()
}

// resumesHere reports whether a GET resumes a call of this replica.
func (s *Handler) resumesHere(r *http.Request) bool {
	c := s.opts.Cluster
	if c == nil {
		return false
	}
	name, _, _ := splitEventID(r.Header.Get(httpheader.LastEvent))
	replica, kind, _, ok := parseStream(name)
	return ok && replica == c.ID() && kind == kindCall
}

// forwardStream forwards a GET to the replica that has its stream. The response
// ends with the stream, or when this Handler shuts down.
func (s *Handler) forwardStream(w http.ResponseWriter, r *http.Request, to string) error {
	r = s.withClient(r)
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(s.open, cancel)()
	defer func() {
		if e := recover(); e != nil && (e != http.ErrAbortHandler || !s.isClosing()) {
			panic(e)
		}
	}()
	return s.opts.Cluster.Forward(w, r.WithContext(ctx), nil, to)
}

// requestID returns the id of the nth request to the client. In a cluster it
// names the replica.
func (s *sessions) requestID(n int64) jsonrpc.ID {
	if c := s.h.opts.Cluster; c != nil {
		return jsonrpc.StringID(c.ID() + "." + strconv.FormatInt(n, 10))
	}
	return jsonrpc.IntID(n)
}

// parseRequestID returns the replica that has sent a request to the client, and
// the number of the request.
func parseRequestID(id jsonrpc.ID) (replica string, n int64, ok bool) {
	text, isText := rawjson.String(id)
	if !isText {
		n, err := strconv.ParseInt(string(id), 10, 64)
		return "", n, err == nil
	}
	replica, number, ok := strings.Cut(text, ".")
	n, err := strconv.ParseInt(number, 10, 64)
	return replica, n, ok && err == nil && replica != ""
}

// ownerOf returns the other replica that has sent the request with this id; ""
// if there is none.
func (s *sessions) ownerOf(id jsonrpc.ID) string {
	replica, _, ok := parseRequestID(id)
	if c := s.h.opts.Cluster; c == nil || !ok || replica == c.ID() {
		return ""
	}
	return replica
}

// forwardResponses forwards the responses of a batch that belong to other
// replicas, and returns the rest of the batch. It reports false if that failed.
func (s *sessions) forwardResponses(r *http.Request, items []jsonrpc.BatchItem) (rest []jsonrpc.BatchItem, ok bool) {
	ok = true
	for _, it := range items {
		owner := ""
		if it.Err == nil && it.IsResponse() {
			owner = s.ownerOf(it.ID)
		}
		if owner == "" || cluster.Forwarded(r.Context()) {
			rest = append(rest, it)
			continue
		}
		status, err := s.h.opts.Cluster.Send(s.h.withClient(r), encode(&it.Message), owner)
		ok = ok && err == nil && status < 300
	}
	return rest, ok
}

// tellOthers passes a request that concerns calls at other replicas to all of
// them, with this message, if any.
func (s *sessions) tellOthers(r *http.Request, m *jsonrpc.Message) {
	if s.h.opts.Cluster == nil || cluster.Forwarded(r.Context()) {
		return
	}
	if err := s.h.opts.Cluster.Broadcast(s.h.withClient(r), encode(m)); err != nil {
		s.h.logRequest(r, slog.LevelError, "not all replicas were told", slog.Any("error", err))
	}
}

// takeLive returns the session that a forwarded request names, if it is live here
// and belongs to the principal of the request.
func (s *sessions) takeLive(r *http.Request) *session {
	b, ok := s.backend.(*clusterBackend)
	if !ok {
		return nil
	}
	in, ok := b.open(r.Header.Get(httpheader.Session))
	if !ok || string(in.owner) != s.h.guard.Principal(r).Key() {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	ses := s.live[in.key]
	if ses != nil {
		s.useLocked(ses)
	}
	return ses
}

// cancelForwarded serves a cancellation that another replica has forwarded.
func (s *sessions) cancelForwarded(w http.ResponseWriter, r *http.Request, m *jsonrpc.Message) {
	if ses := s.takeLive(r); ses != nil {
		s.receive(ses, m)
		s.release(ses)
	}
	w.WriteHeader(http.StatusAccepted)
}

// deleteForwarded ends a live session that another replica has ended.
func (s *sessions) deleteForwarded(w http.ResponseWriter, r *http.Request) {
	if ses := s.takeLive(r); ses != nil {
		s.forget(ses.id)
		s.release(ses)
	}
	w.WriteHeader(http.StatusNoContent)
}

// streamOwner returns the other replica that has the stream of an event; "" if
// there is none.
func (s *sessions) streamOwner(last string) string {
	c := s.h.opts.Cluster
	if c == nil {
		return ""
	}
	name, _, _ := splitEventID(last)
	if replica, _, _, ok := parseStream(name); ok && replica != c.ID() {
		return replica
	}
	return ""
}

// resumeElsewhere resumes a stream of another replica. If that has stopped, the
// client gets the events that are stored, and an error in place of the response.
// It reports false if the stream has changes that are lost.
func (s *sessions) resumeElsewhere(w http.ResponseWriter, r *http.Request, ses *session, last, owner string) (ended bool) {
	err := errGone
	if !cluster.Forwarded(r.Context()) {
		err = s.h.forwardStream(w, r, owner)
	}
	if err == nil {
		return true
	}
	if !errors.Is(err, cluster.ErrGone) {
		s.h.refuseForward(w, r, nil, err)
		return true
	}
	name, number, _ := splitEventID(last)
	_, kind, request, _ := parseStream(name)
	if kind == kindChanges {
		return false
	}
	events, whole, err := s.backend.(*clusterBackend).storedAfter(r.Context(), ses.id, last)
	if err != nil {
		refuseAway(w)
		return true
	}
	if !whole && request == nil {
		refuse(w, http.StatusBadRequest, cannotResume)
		return true
	}
	out := &eventWriter{h: s.h, w: w, ctx: r.Context()}
	out.begin()
	for _, e := range events {
		out.event(e.ID, e.Data)
		number++
	}
	if !whole {
		a := eraconn.Fail(request, mcp.CodeInternal, callLost)
		out.event(eventID(name, number+1), a.Append(nil))
	}
	return true
}

// tellListening tells other replicas that the client of a session has connected
// to a stream of changes here. The store orders the streams of a session.
func (s *sessions) tellListening(ctx context.Context, st *stream) {
	b, ok := s.backend.(*clusterBackend)
	if !ok {
		return
	}
	order, err := b.store.Set(ctx, "stream/"+st.ses.id, []byte(b.r.ID()), cluster.AnyVersion, b.ttl)
	if err != nil {
		s.h.opts.Logger.LogAttrs(ctx, slog.LevelError, "stream not announced", slog.Any("error", err))
		return
	}
	st.mu.Lock()
	st.shared.order = max(st.shared.order, order)
	st.mu.Unlock()
	b.topic.Publish([]byte(hintListening + strconv.FormatInt(order, 10) + " " + st.ses.id))
}

// supersede ends the stream of changes of a session whose client has connected to
// a later one elsewhere: a change must reach the client once.
func (s *sessions) supersede(key string, order int64) {
	s.mu.Lock()
	ses := s.live[key]
	s.mu.Unlock()
	if ses == nil {
		return
	}
	ses.mu.Lock()
	st := ses.pushes
	ses.mu.Unlock()
	if st == nil {
		return
	}
	st.mu.Lock()
	later := order > st.shared.order
	st.shared.replaced = st.shared.replaced || later
	lingers := st.lingers
	st.mu.Unlock()
	if !later {
		return
	}
	st.disconnect()
	if lingers != nil {
		st.abandon()
	}
}

func (st *stream) isReplaced() bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.shared != nil && st.shared.replaced
}
