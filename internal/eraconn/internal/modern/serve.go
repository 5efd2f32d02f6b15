package modern

import (
	"bytes"
	"context"
	"errors"
	"hash/maphash"
	"sync/atomic"

	"github.com/tenon-mcp/tenon/internal/eraconn/internal/clientcall"
	"github.com/tenon-mcp/tenon/internal/protocol"
	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
)

// A Server serves modern requests with a Handler. It keeps no state of them.
type Server struct {
	// Replica is the name of this process in a cluster; empty without one. It
	// is set before the first request.
	Replica string

	h    mcp.Handler
	keys *Keys

	known   clientcall.Introductions
	encoded atomic.Pointer[encodedServer]
	listed  atomic.Pointer[listedTools]
}

type encodedServer struct {
	of  *mcp.Implementation
	raw []byte
}

// NewServer returns a Server that seals the state of calls that require input
// with keys.
func NewServer(h mcp.Handler, keys *Keys) *Server { return &Server{h: h, keys: keys} }

// A ReplyWriter sends notifications to the client that sent a request.
type ReplyWriter struct {
	// Notify sends a notification.
	Notify func(clientcall.Notification)

	// Shared says that all requests share one stream: the end of a subscription
	// is then sent as notifications/cancelled.
	Shared bool

	// Headers go into [mcp.Call].Headers.
	Headers map[string]string

	// Session goes into [mcp.Caller].Session.
	Session *mcp.Session
}

// Serve serves one request and returns the function that appends the response.
func (s *Server) Serve(ctx context.Context, m *jsonrpc.Message, p *mcp.Principal, back ReplyWriter) func(dst []byte) []byte {
	return s.Respond(ctx, m, p, back).Append
}

// Respond serves one request and returns its response.
func (s *Server) Respond(ctx context.Context, m *jsonrpc.Message, p *mcp.Principal, back ReplyWriter) clientcall.Response {
	r, err := s.lift(m, p)
	if err != nil {
		return failed(m.ID, err)
	}
	if clientcall.LegacyOnly(m.Method) {
		return failed(m.ID, mcp.MethodNotFound(m.Method))
	}
	return s.call(ctx, r, back)
}

// Notified passes a notification to the Handler. It drops one whose _meta does
// not name the client, and those that clients of this revision do not send or that
// only the protocol itself uses.
func (s *Server) Notified(ctx context.Context, m *jsonrpc.Message, p *mcp.Principal, session *mcp.Session) {
	switch m.Method {
	case mcp.NotificationInitialized, mcp.NotificationProgress, mcp.NotificationCancelled, mcp.NotificationRootsListChanged:
		return
	}
	r, err := s.lift(m, p)
	if err != nil || clientcall.LegacyOnly(m.Method) {
		return
	}
	r.call.IsNotification, r.call.Progress, r.call.Caller.Session = true, false, session
	protocol.Recover(nil)(s.h).Serve(ctx, &r.call) // a notification has no response
}

// call serves a request with the Handler.
func (s *Server) call(ctx context.Context, r *request, back ReplyWriter) clientcall.Response {
	r.call.Headers, r.call.Caller.Session = back.Headers, back.Session
	r.call.OnNotification = func(n mcp.Notification) {
		if r.wants(n) {
			back.Notify(clientcall.Outgoing(n, func(dst []byte) []byte { return appendNotification(dst, r, n) }))
		}
	}
	var err error
	r.res, err = s.h.Serve(ctx, &r.call)
	return s.finish(ctx, r, back, err)
}

// finish turns the result or error of the Handler into the response.
func (s *Server) finish(ctx context.Context, r *request, back ReplyWriter, err error) clientcall.Response {
	res := &r.res
	if need, ok := errors.AsType[*mcp.InputRequired](err); ok {
		a, asks := s.ask(r, need, res.Server)
		if !asks || ctx.Err() != nil { // the client will not continue the call
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
	if r.call.Method == mcp.MethodToolsList {
		res.Body = s.withoutExecution(res.Body)
	}
	if back.Shared && r.call.Method == mcp.MethodSubscriptionsListen {
		back.Notify(clientcall.Notification{Value: func(dst []byte) []byte {
			dst = append(append(dst, `{"jsonrpc":"2.0","method":"`+mcp.NotificationCancelled+`","params":{"requestId":`...), r.id...)
			return append(dst, `,"reason":"the server ends the subscription"}}`...)
		}})
	}
	a := clientcall.Response{Append: func(dst []byte) []byte { return s.appendResult(dst, r) }}
	if len(res.Body) > clientcall.Large {
		a.Split = func(dst []byte) ([]byte, int, []byte) { return s.splitResult(dst, r, false) }
	}
	return a
}

// listedTools is the last list of tools without its execution members.
type listedTools struct {
	sum  uint64 // hash of the list with them
	body []byte // nil if it has none
}

// listSeed is the seed of hashes of lists.
var listSeed = maphash.MakeSeed()

// withoutExecution removes the execution member of tools from a list, which only
// 2025-11-25 has. Without extensions there is none. Lists may be long, and most
// are equal to the last one, so that the Server keeps that.
func (s *Server) withoutExecution(body []byte) []byte {
	if len(mcp.RegisteredExtensions()) == 0 {
		return body
	}
	sum := maphash.Bytes(listSeed, body)
	last := s.listed.Load()
	if last == nil || last.sum != sum {
		last = &listedTools{sum: sum}
		if without := withoutExecution(body); !rawjson.Same(without, body) {
			last.body = without
		}
		s.listed.Store(last)
	}
	if last.body == nil {
		return body
	}
	return last.body
}

func withoutExecution(body []byte) []byte {
	if !bytes.Contains(body, []byte(`"execution"`)) {
		return body
	}
	return rawjson.RewriteMember(body, "tools", func(tools []byte) []byte {
		return rawjson.RewriteElements(tools, func(tool []byte) []byte {
			return rawjson.RewriteMember(tool, "execution", func([]byte) []byte { return nil })
		})
	})
}

func (r *request) checkBody() error {
	if r.res.Body != nil && !rawjson.IsObject(r.res.Body) {
		return mcp.Errorf(mcp.CodeInternal, "the result of %s is not an object", r.call.Method)
	}
	return nil
}

// wants reports whether the client has requested such notifications.
func (r *request) wants(n mcp.Notification) bool {
	if r.call.Method == mcp.MethodSubscriptionsListen {
		return isChange(n)
	}
	switch n.Method {
	case mcp.NotificationProgress:
		return r.token != nil
	case mcp.NotificationMessage:
		level, _ := rawjson.String(rawjson.Lookup(n.Params, "level"))
		return mcp.LogLevel(level).AtLeast(r.call.Caller.LogLevel)
	}
	return n.Method != mcp.NotificationElicitationComplete && !n.IsRelease() // not of this revision
}

// ask returns the input_required response, or, with asks false, an error.
func (s *Server) ask(r *request, need *mcp.InputRequired, server *mcp.Implementation) (a clientcall.Response, asks bool) {
	if !protocol.MayRequireInput(r.call.Method) {
		return failed(r.id, mcp.Errorf(mcp.CodeInternal, "%s cannot ask for input", r.call.Method)), false
	}
	for _, q := range need.Requests {
		if err := r.call.Caller.CanHandle(q); err != nil {
			return failed(r.id, err), false
		}
	}
	state, err := s.keys.seal(need, &r.call, s.Replica)
	if err != nil {
		return failed(r.id, err), false
	}
	return clientcall.Response{Append: func(dst []byte) []byte { return s.appendNeed(dst, r, need, state, server) }}, true
}

// Refuse returns the error of a ModernOnly server for a legacy request. For
// initialize it names the supported revision, which the user of an older client
// may get to see.
func Refuse(m *jsonrpc.Message) *jsonrpc.Error {
	if m.Method != mcp.MethodInitialize {
		return clientcall.ToWire((&envelope{}).readMeta(nil))
	}
	wanted, _ := rawjson.String(rawjson.Lookup(m.Params, "protocolVersion"))
	e := mcp.Errorf(mcp.CodeUnsupportedVersion, "this server supports revision %s, which has no initialize", Revision)
	return clientcall.ToWire(e.With(map[string]any{"supported": []mcp.Revision{Revision}, "requested": wanted}))
}

func failed(id jsonrpc.ID, err error) clientcall.Response {
	e := clientcall.ToWire(err)
	switch e.Code {
	case mcp.CodeLegacyResourceNotFound:
		e.Code = mcp.CodeInvalidParams
	case mcp.CodeLegacyURLElicitation:
		e.Code = mcp.CodeInternal
	}
	return clientcall.FailWith(id, e, err)
}

// identity returns the JSON of serverInfo, encoded once for each server.
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
