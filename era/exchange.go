package era

import (
	"context"
	"fmt"
	"runtime/debug"

	"github.com/tenon-mcp/tenon/era/internal/clientcall"
	"github.com/tenon-mcp/tenon/era/internal/legacy"
	"github.com/tenon-mcp/tenon/era/internal/modern"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
)

// This file is the door for transports that bring each request by itself, as
// HTTP does, and not on a stream that all of them share.

// An Response is what a request came to, ready to be written.
type Response = clientcall.Response

// Fail is the error response to a request. A long message, which may repeat
// what the client sent, is shortened as [mcp.Errorf] does it.
func Fail(id jsonrpc.ID, code int, message string) Response {
	return clientcall.Fail(id, clientcall.ToWire(mcp.Errorf(code, "%s", message)))
}

// IsModern reports whether a message opens as one of the newest era.
func IsModern(m *jsonrpc.Message) bool { return modern.Opens(m) }

// NamedRevision returns the protocol version that a message names in its _meta.
func NamedRevision(m *jsonrpc.Message) (mcp.Revision, bool) { return modern.NamedRevision(m) }

// Eras reports whether a revision is one of the newest era, which has no
// sessions, and whether it is one of an older, which has. A revision that is
// not known is neither.
func Eras(r mcp.Revision) (isModern, isLegacy bool) {
	return r == modern.Revision, legacy.Knows(r)
}

// A Notification is a message to a client that is no response: Kind, Key and
// Size say what becomes of it in a queue that is full, and Value appends it.
type Notification = clientcall.Notification

// A ReplyWriter is the way back to who sent a request of the newest era.
type ReplyWriter struct {
	// Tell sends a notification.
	Notify func(Notification)
	// Headers go into [mcp.Call].Headers.
	Headers map[string]string
}

// ServeModern serves one request of the newest era. Nothing of it is
// remembered.
func (s *Server) ServeModern(ctx context.Context, m *jsonrpc.Message, p *mcp.Principal, back ReplyWriter) (a Response) {
	defer s.recovered(m, &a)
	if s.opts.LegacyOnly {
		return clientcall.Fail(m.ID, refusedModern)
	}
	return s.modern.Respond(ctx, m, p, modern.ReplyWriter{Notify: back.Notify, Headers: back.Headers})
}

// NotifiedModern has the Handler hear a notification of the newest era.
func (s *Server) NotifiedModern(ctx context.Context, m *jsonrpc.Message, p *mcp.Principal) {
	if !s.opts.LegacyOnly && m.Method != notificationCancelled {
		s.modern.Notified(ctx, m, p)
	}
}

// recovered turns a panic of the Handler into the answer to the one request
// that caused it. What panicked goes to Noise, never to the client.
func (s *Server) recovered(m *jsonrpc.Message, a *Response) {
	p := recover()
	if p == nil {
		return
	}
	if s.opts.OnInvalidFrame != nil {
		s.opts.OnInvalidFrame(m.Params, fmt.Errorf("panic while serving %s: %v\n%s", m.Method, p, debug.Stack()))
	}
	*a = Fail(m.ID, mcp.CodeInternal, "the server failed while it served this request")
}

// RefuseLegacy is the answer to a request of an older era by a server that is
// ModernOnly.
func RefuseLegacy(m *jsonrpc.Message) Response { return clientcall.Fail(m.ID, modern.Refuse(m)) }

// ModernOnly reports whether older eras are refused.
func (s *Server) ModernOnly() bool { return s.opts.ModernOnly }

// A Session is what a client of an older era has opened with initialize.
type Session struct {
	s      *legacy.Session
	server *Server
}

// NewSession returns a session that is of no use before initialize.
func (s *Server) NewSession() *Session {
	return &Session{legacy.NewSession(s.h, nil), s}
}

// RestoreSession returns a session as [Session.State] described it, for the
// principal that it belongs to; nil means that nobody was verified.
func (s *Server) RestoreSession(ctx context.Context, state []byte, p *mcp.Principal) (*Session, error) {
	restored := s.NewSession()
	return restored, restored.s.Restore(ctx, state, p)
}

// NewStateless returns a session for one message of a client of an older
// revision that has no session: the one that the client names in the headers of
// the request, or none. Input requests, subscriptions and logging/setLevel,
// which need a session, fail.
func (s *Server) NewStateless(m *jsonrpc.Message, r mcp.Revision) *Session {
	if legacy.Begins(m) {
		return &Session{legacy.NewStatelessOpening(s.h), s}
	}
	return &Session{legacy.NewStateless(s.h, r), s}
}

// State describes the session, for whoever has to go on with it.
func (s *Session) State() ([]byte, error) { return s.s.State() }

// Attach has changes, which belong to no request, go to push from now on until
// detach is called or Attach is called again. Push must not block. What the
// session is subscribed to is remembered.
func (s *Session) Attach(push func(Notification)) (detach func()) { return s.s.Attach(push) }

// A SessionReplyWriter is the way back to the client during one request of a session.
type SessionReplyWriter = legacy.ReplyWriter

// Serve serves one request of the session.
func (s *Session) Serve(ctx context.Context, m *jsonrpc.Message, p *mcp.Principal, back SessionReplyWriter) (a Response) {
	defer s.server.recovered(m, &a)
	return s.s.Respond(ctx, m, p, back)
}

// Notified hears a notification. Cancelling is not among them.
func (s *Session) Notified(m *jsonrpc.Message) { s.s.Notified(m) }

// Batches says whether a batch is welcome.
func (s *Session) Batches() error { return s.s.Batches() }

// Revision is what initialize came to; empty before it.
func (s *Session) Revision() mcp.Revision { return s.s.Revision() }

// Resumes reports whether clients of the session's revision come back for the
// rest of a stream when they are let go.
func (s *Session) Resumes() bool { return s.s.Resumes() }

// Close ends the session's subscriptions.
func (s *Session) Close() { s.s.Close() }
