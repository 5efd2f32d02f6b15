package streamable

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/cluster"
	"github.com/tenon-mcp/tenon/era"
	"github.com/tenon-mcp/tenon/internal/eraconn"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/transport/internal/httpguard"
	"github.com/tenon-mcp/tenon/transport/internal/httpheader"
)

// Options configures a [Handler]. A nil *Options means the defaults.
type Options struct {
	// Era has the keys that seal the state of calls that require input, and
	// can restrict the served eras.
	Era era.ServerOptions

	// Hosts lists values of the Host header to accept, in addition to loopback
	// names: a name or an address, with a port, or without for any port. If
	// unset, a server on a loopback address accepts only loopback names, which
	// defends against DNS rebinding; a server on another address accepts any.
	Hosts []string

	// AnyHost disables the check of the Host header, for a server behind a
	// proxy that checks it.
	AnyHost bool

	// Origins lists the web origins that may call, in addition to the server's
	// own; "*" allows all. Other requests with an Origin header are refused.
	Origins []string

	// CORS allows pages of Origins to read responses. If unset, the Handler
	// sends no CORS headers.
	CORS bool

	// Principal returns the client that sent a request, as verified by
	// middleware before this Handler. Nil means that clients are unverified.
	Principal func(*http.Request) *mcp.Principal

	// BodyLimit is the largest request body in bytes. 0 means 4 MiB.
	BodyLimit int

	// ReadIdle and WriteIdle are how long the client may take to send, or to
	// receive, the next bytes. 0 means 30 s.
	ReadIdle, WriteIdle time.Duration

	// KeepAlive is the interval of keep-alive comments on an idle stream. 0
	// means 25 s.
	KeepAlive time.Duration

	// TakeOver allows the Handler to hijack HTTP/1.1 connections (see
	// http.Hijacker) of streams that wait for changes, which saves more than
	// half of their memory. Middleware then sees the request end where its
	// stream begins, and http.Server.Shutdown does not wait for such streams;
	// [Handler.Shutdown] does. [Serve] and [ListenAndServe] always hijack.
	TakeOver bool

	// Sessions bounds the sessions of legacy clients.
	Sessions SessionLimits

	// Store stores sessions and events; nil means a [Memory].
	Store Store

	// Cluster makes this Handler one of many: the Handlers of all replicas in
	// the cluster serve the same clients, of every revision, behind a load
	// balancer that sends each request to any of them. The Handler then uses
	// the store and the keys of the cluster: Store is ignored, and Era.Keys
	// defaults to keys that all replicas have. Requests that only another
	// replica can serve are forwarded to it; see [cluster.Replica.Handle] if
	// there is middleware before the Handler, or more than one Handler.
	Cluster *cluster.Replica

	// KeepSessions reports whether the requests of a session are served by the
	// replica that opened it, because what they use is in its memory only, such
	// as a connection of the session to another server. Other replicas forward
	// them. When that replica stops, the session ends; while it shuts down,
	// clients at other replicas are told to open another session. Nil means
	// that any replica serves them.
	KeepSessions func() bool

	// Scope distinguishes Handlers of one cluster that serve different things,
	// such as at different URLs. All replicas use the same names.
	Scope string

	// Stateless serves legacy clients without sessions: initialize returns no
	// session id, and any instance can serve any request. Input requests,
	// logging/setLevel, subscriptions and GET streams need a session: they
	// fail with an error and are not announced. Of the client only the
	// revision is known, and a client that disconnects cancels its request.
	// Modern clients are not affected.
	Stateless bool

	// Logger logs, for the server's operator, requests that are refused
	// because of their Host, Origin, type, size or session, invalid messages,
	// panics, dropped streams, and errors of the Store. Records contain no
	// token, session id, argument or result; a panic is logged with its value
	// and stack. Nil disables logging.
	Logger *slog.Logger
}

// A Handler serves MCP at one URL. Make one with [NewHandler].
type Handler struct {
	server *eraconn.Server
	opts   Options
	guard  *httpguard.Guard

	stopKeys func() // nil without keys of a cluster

	sessions  *sessions
	hijacked  hijackedConns
	listening sync.Map  // of *eraconn.Subscription
	started   time.Time // what the times of keep-alive comments count from

	open context.Context // ends with Shutdown
	shut context.CancelFunc
}

// NewHandler returns a Handler that serves h. The error says which option is
// invalid.
func NewHandler(h mcp.Handler, o *Options) (_ *Handler, err error) {
	s := &Handler{started: time.Now()}
	defer func() {
		if err != nil && s.stopKeys != nil {
			s.stopKeys()
		}
	}()
	s.open, s.shut = context.WithCancel(context.Background())
	if o != nil {
		s.opts = *o
	}
	if s.opts.Logger == nil {
		s.opts.Logger = slog.New(slog.DiscardHandler)
	}
	s.opts.Era.OnInvalidFrame = s.logInvalidFrame(s.opts.Era.OnInvalidFrame)
	if err = s.clusterKeys(); err != nil {
		return nil, err
	}
	if s.server, err = eraconn.NewServer(h, eraconn.ServerOptions(s.opts.Era)); err != nil {
		return nil, err
	}
	if c := s.opts.Cluster; c != nil {
		s.server.SetReplica(c.ID())
	}
	s.opts.WriteIdle = cmp.Or(max(s.opts.WriteIdle, 0), 30*time.Second)
	s.opts.KeepAlive = cmp.Or(max(s.opts.KeepAlive, 0), 25*time.Second)
	s.guard, err = httpguard.New(httpguard.Options{
		Hosts: s.opts.Hosts, AnyHost: s.opts.AnyHost, Origins: s.opts.Origins,
		Principal: s.opts.Principal, MaxBody: s.opts.BodyLimit, BodyIdle: s.opts.ReadIdle,
		Logger: s.opts.Logger,
	})
	if err != nil {
		return nil, err
	}
	if s.sessions, err = newSessions(s); err != nil {
		return nil, err
	}
	if c := s.opts.Cluster; c != nil {
		c.HandleDefault(s)
	}
	return s, nil
}

// Sessions returns the number of sessions of legacy clients that are in memory.
func (s *Handler) Sessions() int {
	s.sessions.mu.Lock()
	defer s.sessions.mu.Unlock()
	return len(s.sessions.live)
}

// Shutdown ends subscriptions and the GET streams of legacy clients, also those
// that are forwarded to another replica, cancels calls whose clients have
// disconnected, and refuses new requests. Other calls in flight continue, and
// their clients can still respond and resume; http.Server.Shutdown waits for them. Shutdown itself waits
// a few seconds at most for streams with hijacked connections.
func (s *Handler) Shutdown() {
	s.shut()
	s.listening.Range(func(sub, _ any) bool {
		sub.(*eraconn.Subscription).Wake()
		return true
	})
	s.sessions.close()
	if s.stopKeys != nil {
		s.stopKeys()
	}
	s.hijacked.wait(closeTimeout)
}

// closeTimeout bounds the write of the end of a stream.
const closeTimeout = 5 * time.Second

// ServeHTTP serves one request.
func (s *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	rc := http.NewResponseController(w)
	if r.ProtoMajor == 1 && r.Header["Expect"] != nil {
		// The write deadline of the previous response would apply to
		// 100 Continue, too. Other writes set their own.
		rc.SetWriteDeadline(time.Time{})
	}
	if rest := s.serve(w, r); rest != nil && s.serveLongPoll(w, r, rest) {
		return // the stream sets its own deadlines
	}
	rc.SetWriteDeadline(time.Now().Add(s.opts.WriteIdle)) // for what net/http has not sent yet
}

// A longPoll serves a stream that stays open. It must not use the request; ctx
// ends when the client disconnects.
type longPoll func(ctx context.Context, w http.ResponseWriter)

// serve serves a request up to the point where a stream stays open. The caller
// runs the rest, so that a long wait does not hold the stack that reading the
// request needed.
func (s *Handler) serve(w http.ResponseWriter, r *http.Request) (rest longPoll) {
	if len(r.TransferEncoding) > 0 {
		// net/http hides a Content-Length beside Transfer-Encoding, by which
		// a proxy may have framed the request differently.
		w.Header().Set("Connection", "close")
	}
	if no := s.guard.Admit(r); no != nil && !cluster.Forwarded(r.Context()) {
		s.reject(w, r, no)
		return nil
	}
	if s.opts.CORS && s.guard.Share(w, r, corsRules(r)) {
		return nil
	}
	switch {
	case r.Method == http.MethodPost:
		return s.post(w, r)
	case s.server.ModernOnly():
		w.Header().Set("Allow", "POST")
		refuse(w, http.StatusMethodNotAllowed, "send messages with POST")
	case s.opts.Stateless:
		w.Header().Set("Allow", "POST")
		refuse(w, http.StatusMethodNotAllowed, noSessions+": send messages with POST")
	case r.Method == http.MethodGet && s.isClosing() && !s.resumesHere(r):
		s.refuseClosing(w, r, nil)
	case r.Method == http.MethodGet:
		return s.sessions.get(w, r)
	case r.Method == http.MethodDelete:
		s.sessions.delete(w, r)
	default:
		w.Header().Set("Allow", "GET, POST, DELETE")
		refuse(w, http.StatusMethodNotAllowed, "send messages with POST")
	}
	return nil
}

const shuttingDown = "the server is shutting down"

func (s *Handler) isClosing() bool { return s.open.Err() != nil }

// refuse answers a request that has no valid message.
func refuse(w http.ResponseWriter, status int, why string) {
	e := &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: why}
	if status == http.StatusForbidden || status >= 500 {
		e.Code = jsonrpc.CodeInternal
	}
	writeJSON(w, status, jsonrpc.AppendError(nil, nil, e))
}

func writeJSON(w http.ResponseWriter, status int, body []byte) {
	h := w.Header()
	h["Content-Type"] = jsonType
	h["X-Content-Type-Options"] = noSniff
	w.WriteHeader(status)
	w.Write(body)
}

var (
	jsonType = []string{"application/json"}
	noSniff  = []string{"nosniff"}
)

// post serves a POST: it reads one message and dispatches it to its era.
func (s *Handler) post(w http.ResponseWriter, r *http.Request) (rest longPoll) {
	m := s.message(w, r)
	switch {
	case m == nil:
	case s.opensModern(r, m) || s.server.ModernOnly() && eraconn.IsModern(m):
		return s.exchange(w, r, m)
	case s.server.ModernOnly():
		refuseLegacy(w, r, m)
	case s.opts.Stateless:
		s.stateless(w, r, m)
	default:
		s.sessions.post(w, r, m)
	}
	return nil
}

// message reads the message of a POST. It returns nil if it has answered the
// request: the message was invalid, or a batch.
func (s *Handler) message(w http.ResponseWriter, r *http.Request) *jsonrpc.Message {
	if no := s.guard.IsJSON(r); no != nil {
		s.reject(w, r, no)
		return nil
	}
	body, no := s.guard.Body(w, r)
	if no != nil {
		s.reject(w, r, no)
		return nil
	}
	if jsonrpc.IsBatch(body) {
		switch {
		case !s.opts.Stateless || s.server.ModernOnly():
			s.sessions.batch(w, r, body)
		case s.isClosing():
			s.refuseClosing(w, r, nil)
		default:
			s.statelessBatch(w, r, body)
		}
		return nil
	}
	m, err := jsonrpc.Decode(body)
	if err != nil {
		bad := err.(*jsonrpc.DecodeError)
		s.logRequest(r, slog.LevelWarn, "invalid message", slog.String("reason", bad.Reason))
		writeJSON(w, http.StatusBadRequest, jsonrpc.AppendError(nil, bad.ID, &jsonrpc.Error{Code: bad.Code, Message: bad.Reason}))
		return nil
	}
	if m.IsRequest() && s.isClosing() && !s.continuesHere(&m) { // calls in flight may still need responses and notifications
		s.refuseClosing(w, r, m.ID)
		return nil
	}
	return &m
}

// refuseLegacy answers a legacy message on a ModernOnly server.
func refuseLegacy(w http.ResponseWriter, r *http.Request, m *jsonrpc.Message) {
	a := eraconn.RefuseLegacy(m)
	if !m.IsRequest() {
		a = eraconn.Fail(nil, mcp.CodeInvalidRequest, "a client of this revision sends requests and notifications, nothing else")
	}
	if _, present, _ := only(r.Header, httpheader.Version); !present && m.Method != mcp.MethodInitialize && m.IsRequest() {
		a = eraconn.Fail(m.ID, mcp.CodeHeaderMismatch, "the header "+httpheader.Version+" is missing")
	}
	writeJSON(w, http.StatusBadRequest, a.Append(nil))
}

// opensModern reports whether a message is modern. A modern version in either
// the header or the body is enough, since a modern message must have both. An
// unknown revision counts as modern.
func (s *Handler) opensModern(r *http.Request, m *jsonrpc.Message) bool {
	if m.IsResponse() {
		return false
	}
	if said, present, _ := only(r.Header, httpheader.Version); present {
		_, isLegacy := eraconn.Eras(mcp.Revision(said))
		if !isLegacy {
			return true
		}
		named, ok := eraconn.NamedRevision(m)
		_, namedLegacy := eraconn.Eras(named)
		return ok && !namedLegacy || !ok && r.Header.Get(httpheader.Session) == "" && eraconn.IsModern(m)
	}
	return eraconn.IsModern(m)
}

// reject answers a request that the guard refuses.
func (s *Handler) reject(w http.ResponseWriter, r *http.Request, no *httpguard.Refusal) {
	s.guard.Log(r, no)
	s.guard.Abandon(w, r)
	refuse(w, no.Status, no.Reason)
}

// corsRules returns what pages of listed origins may do. A tool may declare
// headers of any name, so the requested Mcp-Param headers are allowed.
func corsRules(r *http.Request) *httpguard.Sharing {
	headers := "Content-Type, Accept, Authorization, Last-Event-ID, " + httpheader.Version + ", " + httpheader.Method + ", " + httpheader.Name + ", " + httpheader.Session
	for asked := range strings.SplitSeq(r.Header.Get("Access-Control-Request-Headers"), ",") {
		asked = strings.TrimSpace(asked)
		if len(asked) > len(httpheader.ParamPrefix) && strings.EqualFold(asked[:len(httpheader.ParamPrefix)], httpheader.ParamPrefix) {
			headers += ", " + asked
		}
	}
	return &httpguard.Sharing{Methods: "GET, POST, DELETE", Headers: headers, Expose: httpheader.Session + ", WWW-Authenticate"}
}
