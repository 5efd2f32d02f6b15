package modern

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/tenon-mcp/tenon/internal/eraconn/internal/clientcall"
	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
)

// A Server answers modern requests with a Handler. It remembers nothing of
// them.
type Server struct {
	h    mcp.Handler
	keys *Keys

	known   known
	encoded atomic.Pointer[encodedServer]
}

type encodedServer struct {
	of  *mcp.Implementation
	raw []byte
}

// NewServer returns a Server that seals the state of asking calls with keys.
func NewServer(h mcp.Handler, keys *Keys) *Server { return &Server{h: h, keys: keys} }

// ReplyWriter is the way back to who sent a request.
type ReplyWriter struct {
	// Tell sends a notification.
	Notify func(clientcall.Notification)

	// Shared says that all requests share one channel, so that the end of a
	// subscription has to be told by name.
	Shared bool

	// Headers go into [mcp.Call].Headers.
	Headers map[string]string
}

// Serve serves one request and returns what appends its answer.
func (s *Server) Serve(ctx context.Context, m *jsonrpc.Message, p *mcp.Principal, back ReplyWriter) func(dst []byte) []byte {
	return s.Respond(ctx, m, p, back).Append
}

// Answer serves one request.
func (s *Server) Respond(ctx context.Context, m *jsonrpc.Message, p *mcp.Principal, back ReplyWriter) clientcall.Response {
	r, err := s.lift(m, p)
	if err != nil {
		return failed(m.ID, err)
	}
	if removed(m.Method) {
		return failed(m.ID, mcp.MethodNotFound(m.Method))
	}
	return s.call(ctx, r, back)
}

// Notified has the Handler hear a notification. One that does not say who sends
// it is dropped.
func (s *Server) Notified(ctx context.Context, m *jsonrpc.Message, p *mcp.Principal) {
	r, err := s.lift(m, p)
	if err != nil || removed(m.Method) {
		return
	}
	r.call.IsNotification, r.call.Progress = true, false
	mcp.Recover(nil)(s.h).Serve(ctx, &r.call) // there is no answer
}

// call has the Handler serve a request.
func (s *Server) call(ctx context.Context, r *request, back ReplyWriter) clientcall.Response {
	r.call.Headers = back.Headers
	r.call.OnNotification = func(n mcp.Notification) {
		if r.wants(n) {
			back.Notify(clientcall.Outgoing(n, func(dst []byte) []byte { return appendNotification(dst, r, n) }))
		}
	}
	var err error
	r.res, err = s.h.Serve(ctx, &r.call)
	return s.finish(ctx, r, back, err)
}

// finish turns what the Handler returned into the answer.
func (s *Server) finish(ctx context.Context, r *request, back ReplyWriter, err error) clientcall.Response {
	res := &r.res
	if need, ok := errors.AsType[*mcp.InputRequired](err); ok {
		a, asks := s.ask(r, need, res.Server)
		if !asks || ctx.Err() != nil { // nobody hears of it, so nobody comes back
			mcp.Abandon(need)
		}
		return a
	}
	if err == nil {
		err = r.checkBody()
	}
	if err != nil {
		return failed(r.id, err)
	}
	if back.Shared && r.call.Method == mcp.MethodSubscriptionsListen {
		back.Notify(clientcall.Notification{Value: func(dst []byte) []byte {
			dst = append(append(dst, `{"jsonrpc":"2.0","method":"`+notificationCancelled+`","params":{"requestId":`...), r.id...)
			return append(dst, `,"reason":"the server ends the subscription"}}`...)
		}})
	}
	a := clientcall.Response{Append: func(dst []byte) []byte { return s.appendResult(dst, r) }}
	if len(res.Body) > clientcall.Large {
		a.Split = func(dst []byte) ([]byte, int, []byte) { return s.splitResult(dst, r, false) }
	}
	return a
}

func (r *request) checkBody() error {
	if r.res.Body != nil && !rawjson.IsObject(r.res.Body) {
		return mcp.Errorf(mcp.CodeInternal, "the result of %s is not an object", r.call.Method)
	}
	return nil
}

// wants reports whether the caller has asked for such notes.
func (r *request) wants(n mcp.Notification) bool {
	if r.call.Method == mcp.MethodSubscriptionsListen {
		return isChange(n.Method)
	}
	switch n.Method {
	case mcp.NotificationProgress:
		return r.token != nil
	case mcp.NotificationMessage:
		level, _ := rawjson.String(rawjson.Lookup(n.Params, "level"))
		return mcp.LogLevel(level).AtLeast(r.call.Caller.LogLevel)
	case mcp.NotificationRelease, mcp.NotificationElicitationComplete:
		return false // not of this revision
	}
	return true
}

// ask ends a round, and reports whether it really asks.
func (s *Server) ask(r *request, need *mcp.InputRequired, server *mcp.Implementation) (a clientcall.Response, asks bool) {
	if !mcp.MayRequireInput(r.call.Method) {
		return failed(r.id, mcp.Errorf(mcp.CodeInternal, "%s cannot ask for input", r.call.Method)), false
	}
	for _, q := range need.Requests {
		if err := r.call.Caller.CanHandle(q); err != nil {
			return failed(r.id, err), false
		}
	}
	state, err := s.keys.seal(need, &r.call)
	if err != nil {
		return failed(r.id, err), false
	}
	return clientcall.Response{Append: func(dst []byte) []byte { return s.appendNeed(dst, r, need, state, server) }}, true
}

// removed lists what this revision has taken out of the protocol: a Handler
// never hears of it, whoever asks.
func removed(method string) bool {
	switch method {
	case "initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe", mcp.MethodRevision:
		return true
	}
	return false
}

func failed(id jsonrpc.ID, err error) clientcall.Response {
	e := clientcall.ToWire(err)
	switch e.Code {
	case mcp.CodeLegacyResourceNotFound:
		e.Code = mcp.CodeInvalidParams
	case mcp.CodeLegacyURLElicitation:
		e.Code = mcp.CodeInternal
	}
	return clientcall.Fail(id, e)
}

// identity returns the JSON of who answers, encoded once for each server.
func (s *Server) identity(of *mcp.Implementation) []byte {
	if of == nil {
		return nil
	}
	if e := s.encoded.Load(); e != nil && e.of == of {
		return e.raw
	}
	raw, err := mcp.Marshal(of)
	if err != nil {
		return nil
	}
	s.encoded.Store(&encodedServer{of, raw})
	return raw
}
