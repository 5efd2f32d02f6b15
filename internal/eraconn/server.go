// Package eraconn translates between the messages of each protocol revision and
// [mcp.Handler], for the transports of this module. Package era exports the part
// that other modules need: serving and dialing a [jsonrpc.Stream]. A transport
// that carries each request separately, as HTTP does, uses the rest: on the
// server's side [Server.ServeModern], [Server.Listen] and [Session], on the
// client's side [Connect] with a [Link].
package eraconn

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tenon-mcp/tenon/internal/eraconn/internal/clientcall"
	"github.com/tenon-mcp/tenon/internal/eraconn/internal/legacy"
	"github.com/tenon-mcp/tenon/internal/eraconn/internal/modern"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
)

// Keys seals the state of calls that require input into requestState.
type Keys = modern.Keys

// NewKeys returns keys made from secrets; see era.NewKeys. A ttl of 0 means 30
// minutes.
func NewKeys(ttl time.Duration, secrets ...[]byte) (*Keys, error) {
	return modern.NewKeys(or(ttl, 30*time.Minute), secrets...)
}

// ServerOptions has the fields of era.ServerOptions, which documents them.
type ServerOptions struct {
	Keys                      *Keys
	ModernOnly, LegacyOnly    bool
	OnInvalidFrame            func(frame []byte, err error)
	Tap                       func(d jsonrpc.Direction, frame []byte)
	MaxSubscriptions          int
	MaxSubscriptionsPerClient int
	MaxServing                int
	Grace, Linger             time.Duration
}

// A Server serves clients of every revision with one Handler.
type Server struct {
	h      mcp.Handler
	opts   ServerOptions
	modern *modern.Server

	subscriptions openSubscriptions
	streams       atomic.Int64 // streams served so far
}

// NewServer returns a Server for h.
func NewServer(h mcp.Handler, o ServerOptions) (*Server, error) {
	if o.Keys == nil {
		var err error
		if o.Keys, err = NewKeys(0); err != nil {
			return nil, err
		}
	}
	s := &Server{h: h, opts: o, modern: modern.NewServer(h, o.Keys)}
	s.subscriptions.init(o.MaxSubscriptionsPerClient, o.MaxSubscriptions)
	return s, nil
}

// A Response is the response to a request, ready to be written.
type Response = clientcall.Response

// Fail returns the error response to a request. It shortens a long message as
// [mcp.Errorf] does, since the message may repeat what the client sent.
func Fail(id jsonrpc.ID, code int, message string) Response {
	return clientcall.Fail(id, clientcall.ToWire(mcp.Errorf(code, "%s", message)))
}

// SetReplica names this process in a cluster. Call it before the first request.
func (s *Server) SetReplica(name string) { s.modern.Replica = name }

// StateOwner returns the name of the replica at which a modern call can continue;
// "" means any. See [Server.SetReplica].
func StateOwner(m *jsonrpc.Message) string { return modern.StateOwner(m.Params) }

// IsModern reports whether a message is one of the modern era.
func IsModern(m *jsonrpc.Message) bool { return modern.Opens(m) }

// NamedRevision returns the protocol version that a message names in its _meta.
func NamedRevision(m *jsonrpc.Message) (mcp.Revision, bool) { return modern.NamedRevision(m) }

// Eras reports whether a revision is modern (without sessions) and whether it is
// legacy (with sessions). An unknown revision is neither.
func Eras(r mcp.Revision) (isModern, isLegacy bool) {
	return r == modern.Revision, legacy.Knows(r)
}

// A Notification is a notification or request to a client. Kind, Key and Size
// decide what happens to it in a full queue; Value appends the message.
type Notification = clientcall.Notification

// A ReplyWriter sends notifications to the client that sent a modern request.
type ReplyWriter struct {
	// Notify sends a notification.
	Notify func(Notification)
	// Headers becomes [mcp.Call].Headers.
	Headers map[string]string
}

// ServeModern serves one modern request. It keeps no state.
func (s *Server) ServeModern(ctx context.Context, m *jsonrpc.Message, p *mcp.Principal, back ReplyWriter) (a Response) {
	defer s.recovered(m, &a)
	if s.opts.LegacyOnly {
		return clientcall.Fail(m.ID, refusedModern)
	}
	return s.modern.Respond(ctx, m, p, modern.ReplyWriter{Notify: back.Notify, Headers: back.Headers})
}

// NotifiedModern passes a modern notification to the Handler.
func (s *Server) NotifiedModern(ctx context.Context, m *jsonrpc.Message, p *mcp.Principal) {
	s.notifiedModern(ctx, m, p, nil)
}

func (s *Server) notifiedModern(ctx context.Context, m *jsonrpc.Message, p *mcp.Principal, session *mcp.Session) {
	if !s.opts.LegacyOnly && m.Method != mcp.NotificationCancelled {
		s.modern.Notified(ctx, m, p, session)
	}
}

// recovered turns a panic of the Handler into the error response to the request
// that caused it. The value of the panic goes to OnInvalidFrame, never to the
// client.
func (s *Server) recovered(m *jsonrpc.Message, a *Response) {
	p := recover()
	if p == nil {
		return
	}
	if s.opts.OnInvalidFrame != nil {
		s.opts.OnInvalidFrame(m.Params, fmt.Errorf("panic while serving %s: %v\n%s", m.Method, p, debug.Stack()))
	}
	*a = Fail(m.ID, mcp.CodeInternal, "the server failed while serving this request")
}

// A Subscription is an open subscription of a modern client. It queues its
// notifications, the acknowledgement first, until its End is called.
type Subscription = modern.Subscription

// Listen serves subscriptions/listen. If the Handler detaches (see
// [mcp.Call].Detach), Listen returns the open subscription. Otherwise it blocks
// until ctx or the subscription ends, sends notifications to back, and returns
// the response.
func (s *Server) Listen(ctx context.Context, m *jsonrpc.Message, p *mcp.Principal, back ReplyWriter) (sub *Subscription, a Response) {
	defer s.recovered(m, &a)
	if s.opts.LegacyOnly {
		return nil, clientcall.Fail(m.ID, refusedModern)
	}
	return s.modern.Listen(ctx, m, p, modern.ReplyWriter{Notify: back.Notify, Headers: back.Headers})
}

// refusedModern is the response of a LegacyOnly server to a modern request.
var refusedModern = &jsonrpc.Error{Code: mcp.CodeMethodNotFound, Message: "this server supports only older protocol revisions: send initialize"}

// RefuseLegacy returns the response of a ModernOnly server to a legacy request.
func RefuseLegacy(m *jsonrpc.Message) Response { return clientcall.Fail(m.ID, modern.Refuse(m)) }

// ModernOnly reports whether the server refuses legacy requests.
func (s *Server) ModernOnly() bool { return s.opts.ModernOnly }

// A Session is the session of a legacy client.
type Session struct {
	s      *legacy.Session
	server *Server
	id     *mcp.Session // nil if stateless
}

// NewSession returns a session whose first request must be initialize. Handlers
// see id, which is not that of the client, in [mcp.Caller].
func (s *Server) NewSession(id string) *Session {
	session := mcp.NewSession(id)
	return &Session{legacy.NewSession(s.h, session, nil), s, session}
}

// RestoreSession returns a session with a state that [Session.State] returned.
// p is the principal that the session belongs to; nil means an unverified client.
func (s *Server) RestoreSession(ctx context.Context, id string, state []byte, p *mcp.Principal) (*Session, error) {
	restored := s.NewSession(id)
	return restored, restored.s.Restore(ctx, state, p)
}

// NewStateless returns a session for the single message m of a legacy client.
// r is the revision in the headers of the request, or "". Input requests,
// subscriptions and logging/setLevel need a lasting session and fail.
func (s *Server) NewStateless(m *jsonrpc.Message, r mcp.Revision) *Session {
	if legacy.Begins(m) {
		return &Session{legacy.NewStatelessOpening(s.h), s, nil}
	}
	return &Session{legacy.NewStateless(s.h, r), s, nil}
}

// State returns the state of the session for [Server.RestoreSession]; nil before
// initialize.
func (s *Session) State() ([]byte, error) { return s.s.State() }

// Update gives a live session the state that another replica has stored: the log
// level and the subscriptions.
func (s *Session) Update(state []byte) error { return s.s.Update(state) }

// Ready counts the client as ready, as notifications/initialized does. Another
// replica may have received that.
func (s *Session) Ready() { s.s.Ready() }

// Missed tells a client that changes may have been missed: it sends all
// notifications of changes that the session is subscribed to.
func (s *Session) Missed() { s.s.Missed() }

// Attach sends messages that belong to no request, such as notifications of
// changes, to p until the caller calls detach or Attach again. The session keeps
// its subscriptions while detached.
func (s *Session) Attach(p Pusher) (detach func()) { return s.s.Attach(p) }

// A Pusher sends messages to the client of a session that belong to no request.
type Pusher = legacy.Pusher

// A SessionReplyWriter sends notifications and requests to the client during one
// request of a session.
type SessionReplyWriter = legacy.ReplyWriter

// Serve serves one request of the session.
func (s *Session) Serve(ctx context.Context, m *jsonrpc.Message, p *mcp.Principal, back SessionReplyWriter) (a Response) {
	defer s.server.recovered(m, &a)
	return s.s.Respond(ctx, m, p, back)
}

// Notified handles a notification of the client. The transport handles
// notifications/cancelled itself.
func (s *Session) Notified(m *jsonrpc.Message) { s.s.Notified(m) }

// Batches returns an error unless the session's revision allows batches.
func (s *Session) Batches() error { return s.s.Batches() }

// Revision returns the negotiated revision; "" before initialize.
func (s *Session) Revision() mcp.Revision { return s.s.Revision() }

// Resumes reports whether clients of the session's revision resume a stream
// after the server closes it.
func (s *Session) Resumes() bool { return s.s.Resumes() }

// Close ends the session's subscriptions. The session can be restored.
func (s *Session) Close() { s.s.Close() }

// End closes the session and tells Handlers that it has ended; see
// [mcp.Session.AfterEnd].
func (s *Session) End() {
	s.s.Close()
	s.id.End()
}

// openSubscriptions counts the subscriptions that are open.
type openSubscriptions struct {
	perClient, limit int // the limits

	mu     sync.Mutex
	total  int
	client map[string]int
}

func (o *openSubscriptions) init(perClient, limit int) {
	o.perClient, o.limit, o.client = or(perClient, 512), or(limit, 16384), map[string]int{}
}

// add counts a subscription of a client, or returns the error that refuses it.
// An empty client counts toward the total only.
func (o *openSubscriptions) add(client string) *jsonrpc.Error {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case client != "" && o.client[client] >= o.perClient:
		return &jsonrpc.Error{Code: mcp.CodeInternal, Message: fmt.Sprintf("too many subscriptions: this client has %d open, the limit; end one, or combine several in one subscription", o.perClient)}
	case o.total >= o.limit:
		return &jsonrpc.Error{Code: mcp.CodeInternal, Message: fmt.Sprintf("too many subscriptions: this server has %d open, its limit; try again later", o.limit)}
	}
	o.total++
	if client != "" {
		o.client[client]++
	}
	return nil
}

func (o *openSubscriptions) drop(client string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.total--
	if client == "" {
		return
	}
	if o.client[client]--; o.client[client] == 0 {
		delete(o.client, client)
	}
}

// Subscribe counts a subscription of a principal (nil for an unverified client)
// until the caller calls release. The error says which limit is reached.
func (s *Server) Subscribe(p *mcp.Principal) (release func(), refused *jsonrpc.Error) {
	key := p.Key()
	if refused := s.subscriptions.add(key); refused != nil {
		return nil, refused
	}
	return func() { s.subscriptions.drop(key) }, nil
}
