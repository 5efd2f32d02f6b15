package streamable

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/era"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/transport/internal/httpguard"
	"github.com/tenon-mcp/tenon/transport/internal/httpheader"
)

// Options say how a Handler behaves; nil means the defaults.
type Options struct {
	// Era has the keys that seal the state of asking calls, and restricts the
	// eras that are served.
	Era era.ServerOptions

	// Hosts are names that the server is reached under, beside those of the
	// loopback: a name or an address, with a port or, for any port, without.
	// Unset, a server that listens on the loopback answers only to loopback
	// names, which keeps web pages away that have rebound a name of theirs to
	// it; one that listens elsewhere answers to any.
	Hosts []string

	// AnyHost switches the check of Host off, for a server behind a proxy
	// that makes it.
	AnyHost bool

	// Origins are the web origins that may call, beside the server's own; "*"
	// is all of them. Other requests with an Origin are refused.
	Origins []string

	// CORS lets pages of Origins read the answers. Unset, no header that
	// allows it is ever sent.
	CORS bool

	// Principal says who sends a request, once something before this handler
	// has verified it. Nil means nobody.
	Principal func(*http.Request) *mcp.Principal

	// BodyLimit is how many bytes a request may have. 0 means 4 MiB.
	BodyLimit int

	// ReadIdle and WriteIdle are how long a client may take to send, or to
	// take, the next bytes. 0 means 30 s.
	ReadIdle, WriteIdle time.Duration

	// KeepAlive is how often a stream on which nothing happens is told that
	// the server is still there. 0 means 25 s.
	KeepAlive time.Duration

	// TakeOver lets connections of HTTP/1.1 be taken over (see
	// http.Hijacker) for streams that wait for changes, which saves more than
	// half of their memory. Whatever stands between the http.Server and this
	// handler then sees a request end where its stream begins; and the
	// server's Shutdown does not wait for such streams, [Handler.Shutdown]
	// does. Unset, connections stay with net/http, except where [Serve]
	// serves: there nothing stands in between.
	TakeOver bool

	// Sessions bounds what clients of older revisions may keep open.
	Sessions SessionLimits

	// Store keeps sessions and events; nil means in memory.
	Store Store

	// Stateless serves clients of older revisions without sessions: initialize
	// gives no session id, and any instance answers any request. What needs a
	// session fails with a clear error: input requests, logging/setLevel,
	// subscriptions, and the streams of GET; none of it is announced. Of the
	// client only the revision is known, and a client that goes away has
	// cancelled its request. Clients of the newest revision are not affected.
	Stateless bool

	// Logger gets records for the server's operator: requests that are refused
	// because of their Host, Origin, type, size or session, invalid messages,
	// panics, streams that are dropped, and failures of the Store. Records hold
	// no token, no session id, no argument and no result; a panic is recorded
	// with its value and stack. Nil drops them.
	Logger *slog.Logger
}

// A Handler serves MCP at one URL. Make one with [NewHandler].
type Handler struct {
	server *era.Server
	opts   Options
	guard  *httpguard.Guard

	sessions *sessions
	taken    takenConns
	followed subscriptions
	timers   sync.Pool // of *keepAliveTimer
	begun    time.Time // what the times of keep-alive comments count from

	open context.Context // ends with Shutdown
	shut context.CancelFunc
}

// NewHandler returns a Handler that serves h.
func NewHandler(h mcp.Handler, o *Options) (*Handler, error) {
	s := &Handler{begun: time.Now()}
	s.open, s.shut = context.WithCancel(context.Background())
	if o != nil {
		s.opts = *o
	}
	if s.opts.Logger == nil {
		s.opts.Logger = slog.New(slog.DiscardHandler)
	}
	s.opts.Era.OnInvalidFrame = s.logInvalidFrame(s.opts.Era.OnInvalidFrame)
	var err error
	if s.server, err = era.NewServer(h, &s.opts.Era); err != nil {
		return nil, err
	}
	orElse(&s.opts.WriteIdle, 30*time.Second)
	orElse(&s.opts.KeepAlive, 25*time.Second)
	s.guard, err = httpguard.New(httpguard.Options{
		Hosts: s.opts.Hosts, AnyHost: s.opts.AnyHost, Origins: s.opts.Origins,
		Principal: s.opts.Principal, MaxBody: s.opts.BodyLimit, BodyIdle: s.opts.ReadIdle,
		Logger: s.opts.Logger,
	})
	if err != nil {
		return nil, err
	}
	s.sessions = newSessions(s)
	return s, nil
}

func orElse(d *time.Duration, unset time.Duration) {
	if *d <= 0 {
		*d = unset
	}
}

// Shutdown ends what stays open by itself: subscriptions of the newest era are
// completed, and so are the streams of news of older ones; calls that nobody
// waits for are cancelled. Other calls in flight go on; it is the http.Server
// that waits for them. New requests are refused. For streams whose connections
// were taken over, Shutdown itself waits, for a few seconds at most.
func (s *Handler) Shutdown() {
	s.shut()
	s.followed.wake()
	s.sessions.close()
	s.taken.wait(lastWords)
}

// lastWords is how long a client has to take the end of a stream.
const lastWords = 5 * time.Second

// ServeHTTP serves one request.
func (s *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	rc := http.NewResponseController(w)
	if r.ProtoMajor == 1 && r.Header["Expect"] != nil {
		// The deadline of the answer before this one would count for the
		// leave to go on, too. Whatever else is written has its own.
		rc.SetWriteDeadline(time.Time{})
	}
	if rest := s.serve(w, r); rest != nil && s.stay(w, r, rest) {
		return // the stream sets the deadlines of its connection itself
	}
	rc.SetWriteDeadline(time.Now().Add(s.opts.WriteIdle)) // for what net/http has not sent yet
}

// A staying holds a stream open. It must not use the request that the stream
// answers; ctx ends when the client goes away.
type longPoll func(ctx context.Context, w http.ResponseWriter)

// serve serves a request, or as much of it as comes before a stream that stays
// open. The rest is for the caller to run: whoever waits for long does so with
// none of what was needed to read the request still on its stack.
func (s *Handler) serve(w http.ResponseWriter, r *http.Request) (rest longPoll) {
	if len(r.TransferEncoding) > 0 {
		// net/http hides that there may have been a length as well, about
		// which whoever stands in between may have thought differently.
		w.Header().Set("Connection", "close")
	}
	if no := s.guard.Admit(r); no != nil {
		s.reject(w, r, no)
		return nil
	}
	if s.opts.CORS && s.guard.Share(w, r, sharing(r)) {
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
	case r.Method == http.MethodGet && s.isClosing():
		refuse(w, http.StatusServiceUnavailable, shuttingDown)
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

// refuse answers a request that never became a message.
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

// post serves a POST: it reads one message and sends it to the era in which it
// opens.
func (s *Handler) post(w http.ResponseWriter, r *http.Request) (rest longPoll) {
	m := s.message(w, r)
	switch {
	case m == nil:
	case s.opensModern(r, m) || s.server.ModernOnly() && era.IsModern(m):
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

// message reads the message of a POST. It is nil if the request is answered
// already: it could not be served, or was a batch.
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
		if s.isClosing() {
			refuse(w, http.StatusServiceUnavailable, shuttingDown)
			return nil
		}
		if s.opts.Stateless && !s.server.ModernOnly() {
			s.statelessBatch(w, r, body)
		} else {
			s.sessions.batch(w, r, body)
		}
		return nil
	}
	m, err := jsonrpc.Decode(body)
	if err != nil {
		bad := err.(*jsonrpc.DecodeError)
		s.recordInvalid(r, bad)
		writeJSON(w, http.StatusBadRequest, jsonrpc.AppendError(nil, bad.ID, &jsonrpc.Error{Code: bad.Code, Message: bad.Reason}))
		return nil
	}
	if m.IsRequest() && s.isClosing() { // what calls in flight wait for may still come
		writeJSON(w, http.StatusServiceUnavailable, era.Fail(m.ID, mcp.CodeInternal, shuttingDown).Append(nil))
		return nil
	}
	return &m
}

// refuseLegacy answers a message of an older revision where none is served.
func refuseLegacy(w http.ResponseWriter, r *http.Request, m *jsonrpc.Message) {
	a := era.RefuseLegacy(m)
	if !m.IsRequest() {
		a = era.Fail(nil, mcp.CodeInvalidRequest, "a client of this revision sends requests and notifications, nothing else")
	}
	if _, present, _ := only(r.Header, httpheader.Version); !present && m.Method != "initialize" && m.IsRequest() {
		a = era.Fail(m.ID, mcp.CodeHeaderMismatch, "the header "+httpheader.Version+" is missing")
	}
	writeJSON(w, http.StatusBadRequest, a.Append(nil))
}

// opensModern decides the era of a message. The version in the header counts
// as much as the one in the body: whoever says either must say both. A revision
// that nobody knows is a newer one.
func (s *Handler) opensModern(r *http.Request, m *jsonrpc.Message) bool {
	if m.IsResponse() {
		return false
	}
	if said, present, _ := only(r.Header, httpheader.Version); present {
		_, isLegacy := era.Eras(mcp.Revision(said))
		if !isLegacy {
			return true
		}
		named, ok := era.NamedRevision(m)
		_, namedLegacy := era.Eras(named)
		return ok && !namedLegacy || !ok && r.Header.Get(httpheader.Session) == "" && era.IsModern(m)
	}
	return era.IsModern(m)
}

// turnAway answers a request that the edge refuses.
func (s *Handler) reject(w http.ResponseWriter, r *http.Request, no *httpguard.Refusal) {
	s.guard.Log(r, no)
	s.guard.Abandon(w, r)
	refuse(w, no.Status, no.Reason)
}

// sharing is what pages of listed origins may do. A tool may have arguments go
// into headers of any name, so those that a page asks for are listed.
func sharing(r *http.Request) *httpguard.Sharing {
	headers := "Content-Type, Accept, Authorization, Last-Event-ID, " + httpheader.Version + ", " + httpheader.Method + ", " + httpheader.Name + ", " + httpheader.Session
	for asked := range strings.SplitSeq(r.Header.Get("Access-Control-Request-Headers"), ",") {
		asked = strings.TrimSpace(asked)
		if len(asked) > len(httpheader.ParamPrefix) && strings.EqualFold(asked[:len(httpheader.ParamPrefix)], httpheader.ParamPrefix) {
			headers += ", " + asked
		}
	}
	return &httpguard.Sharing{Methods: "GET, POST, DELETE", Headers: headers, Expose: httpheader.Session + ", WWW-Authenticate"}
}
