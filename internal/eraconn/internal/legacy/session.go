package legacy

import (
	"context"
	"encoding/json"
	"errors"
	"sync"

	"github.com/tenon-mcp/tenon/internal/eraconn/internal/clientcall"
	"github.com/tenon-mcp/tenon/internal/protocol"
	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
)

// A Session is the session of one client with a Handler. It adds the remembered
// caller to each call, sends the Handler's input requests to the client, and
// pushes the notifications of its subscriptions.
type Session struct {
	h mcp.Handler

	stateless bool // serves one request and keeps no state; see NewStateless

	mu      sync.Mutex
	session *mcp.Session // as Handlers see it; nil if stateless
	push    Pusher       // receives changes; nil while detached
	rev     *revision    // nil until initialize
	caller  mcp.Caller
	offers  offers
	extends mcp.Handler        // h, wrapped in extensions that handle what only this era has; nil without them
	end     context.CancelFunc // ends the context of extensions; nil without them
	opening chan struct{}      // closed when a pending initialize is served; nil if none is pending
	early   bool               // notifications/initialized arrived while opening
	ready   bool               // notifications/initialized arrived
	closed  bool
	changes func()            // stops the subscription to lists; nil if not open
	watched map[string]func() // stop functions by URI; nil if not open
	waiting sync.WaitGroup    // for subscriptions that need a goroutine
	inbox   clientcall.Inbox  // notifications for the Handler
}

// offers is the part of the server's capabilities that a session needs. It is
// small, since there may be many sessions.
type offers struct{ logging, subscribe, tools, prompts, resources bool } // the last three: changes of lists

func offersOf(c *mcp.ServerCapabilities) offers {
	return offers{
		logging: c.Logging != nil, subscribe: c.Resources != nil && c.Resources.Subscribe,
		tools:     c.Tools != nil && c.Tools.ListChanged,
		prompts:   c.Prompts != nil && c.Prompts.ListChanged,
		resources: c.Resources != nil && c.Resources.ListChanged,
	}
}

// maxWatched bounds the resource subscriptions of a session, and maxWatchedBytes
// the total length of their URIs.
const (
	maxWatched      = 1000
	maxWatchedBytes = 256 << 10
)

// NewSession returns a session that sends changes to push, which must not block.
// A nil push means that the session is detached; see Attach. Calls belong to
// session, which the caller ends.
func NewSession(h mcp.Handler, session *mcp.Session, push Pusher) *Session {
	return &Session{h: h, session: session, push: push}
}

// A Pusher sends messages to the client that belong to no request. Two Pushers
// are comparable.
type Pusher interface {
	// Notify sends a notification. It does not block.
	Notify(clientcall.Notification)
	// Ask sends a request to the client and waits for the response.
	Ask(ctx context.Context, method string, params []byte) (jsonrpc.Message, error)
}

// Close ends all subscriptions and waits for their goroutines.
func (s *Session) Close() {
	s.mu.Lock()
	s.closed = true
	stops := s.takeStopsLocked()
	if s.end != nil {
		stops = append(stops, s.end)
	}
	s.mu.Unlock()
	for _, stop := range stops {
		stop()
	}
	s.inbox.Close()
	s.waiting.Wait()
}

// A ReplyWriter sends messages to the client during one request.
type ReplyWriter interface {
	// Notify sends a notification.
	Notify(clientcall.Notification)
	// Ask sends a request to the client and waits for the response.
	Ask(ctx context.Context, method string, params []byte) (jsonrpc.Message, error)
	// Release closes the stream so that the client resumes it later. It does
	// nothing if the transport cannot resume streams.
	Release()
}

// Revision returns the negotiated revision; "" before initialize.
func (s *Session) Revision() mcp.Revision {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.rev == nil {
		return ""
	}
	return s.rev.name
}

// Resumes reports whether the client resumes a stream that the server closes.
func (s *Session) Resumes() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rev != nil && s.rev.resumes
}

// Batches returns an error unless the revision allows batches.
func (s *Session) Batches() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.rev == nil || !s.rev.batches {
		return errors.New("batches are not allowed: send one message at a time")
	}
	return nil
}

// Serve serves one request and returns the result object, or the error as the
// revision of the session has it.
func (s *Session) Serve(ctx context.Context, m *jsonrpc.Message, p *mcp.Principal, back ReplyWriter) (json.RawMessage, error) {
	body, err := s.serve(ctx, m, p, back)
	if own, ok := errors.AsType[*mcp.Error](err); ok {
		err = projectError(m.Method, own)
	}
	return body, err
}

// Respond serves one request and returns its response.
func (s *Session) Respond(ctx context.Context, m *jsonrpc.Message, p *mcp.Principal, back ReplyWriter) clientcall.Response {
	body, err := s.Serve(ctx, m, p, back)
	if err != nil {
		return clientcall.FailWith(m.ID, clientcall.ToWire(err), err)
	}
	a := clientcall.Response{Append: func(dst []byte) []byte { return jsonrpc.AppendResult(dst, m.ID, body) }}
	if len(body) > clientcall.Large {
		a.Split = func(dst []byte) ([]byte, int, []byte) {
			dst = jsonrpc.AppendResult(dst, m.ID, nil)
			at := len(dst) - len("{}}")
			return append(dst[:at], '}'), at, body
		}
	}
	return a
}

func (s *Session) serve(ctx context.Context, m *jsonrpc.Message, p *mcp.Principal, back ReplyWriter) (json.RawMessage, error) {
	switch m.Method {
	case mcp.MethodInitialize:
		return s.initialize(ctx, m.Params, p)
	case mcp.MethodPing:
		return nil, nil
	}
	return s.serveOpen(ctx, m, p, back)
}

// serveOpen serves a request that needs an open session.
func (s *Session) serveOpen(ctx context.Context, m *jsonrpc.Message, p *mcp.Principal, back ReplyWriter) (json.RawMessage, error) {
	rev, caller := s.opener(ctx)
	h, extends := s.handler()
	if rev == nil {
		return nil, mcp.InvalidParams("%s before initialize and without params._meta: send initialize first, or name the protocol version in params._meta of each request", m.Method)
	}
	caller.Principal = p
	switch m.Method {
	case mcp.MethodLoggingSetLevel, mcp.MethodResourcesSubscribe, mcp.MethodResourcesUnsubscribe:
		if s.stateless {
			return nil, needsSession(m.Method)
		}
	}
	switch m.Method {
	case mcp.MethodLoggingSetLevel:
		return nil, s.setLevel(m.Params)
	case mcp.MethodResourcesSubscribe:
		return nil, s.subscribe(ctx, m.Params)
	case mcp.MethodResourcesUnsubscribe:
		return nil, s.unsubscribe(m.Params)
	}
	if clientcall.ModernOnly(m.Method) || protocol.IsPrivate(m.Method) {
		return nil, mcp.MethodNotFound(m.Method)
	}
	one := new(struct { // one allocation for both
		call  mcp.Call
		shown pages
	})
	call, shown := &one.call, &one.shown
	token := lift(m, call, extends)
	call.Caller = caller
	least := caller.LogLevel
	call.OnNotification = func(n mcp.Notification) {
		if n.IsRelease() {
			if rev.resumes {
				back.Release()
			}
			return
		}
		if n.Method == mcp.NotificationElicitationComplete {
			var ok bool
			if n, ok = shown.complete(n); !ok {
				return
			}
		}
		if wants(n, token, least) {
			back.Notify(clientcall.Outgoing(n, func(dst []byte) []byte { return appendNotification(dst, n, token) }))
		}
	}
	if token != nil {
		call.OnNotification = protocol.IncreasingProgress(call.OnNotification) // over all rounds, which are one call to the client
	}
	res, err := h.Serve(ctx, call)
	if err != nil && s.stateless {
		mcp.Abandon(err)
		return nil, refuseInput(err)
	}
	if err != nil && protocol.MayRequireInputInSession(m.Method) {
		res, err = mcp.InputHandler(func(ctx context.Context, c *mcp.Call, key string, q mcp.InputRequest) (json.RawMessage, error) {
			params, err := project(rev, c, q)
			if err != nil {
				return nil, err
			}
			shown.asked(key, params)
			return ask(ctx, q.Method, params, back)
		}).Continue(ctx, h, call, err, 0)
	}
	if err != nil {
		mcp.Abandon(err) // of a method that may not require input
		return nil, rev.unsupported(err)
	}
	return rev.body(m, &res)
}

// body returns the result object in the form of this revision.
func (rev *revision) body(m *jsonrpc.Message, res *mcp.Result) (json.RawMessage, error) {
	switch {
	case res.Type != "":
		return nil, mcp.Errorf(mcp.CodeInternal, "the result of %s has the type %q, which revision %s does not have", m.Method, res.Type, rev.name)
	case res.Body != nil && !rawjson.IsObject(res.Body):
		return nil, mcp.Errorf(mcp.CodeInternal, "the result of %s is not an object", m.Method)
	}
	body := rev.project(m.Method, res.Body)
	if len(res.Meta) > 0 {
		meta, err := mcp.Marshal(res.Meta)
		if err != nil {
			return nil, err
		}
		body = withMember(body, keyMeta, meta)
	}
	return body, nil
}

// lift removes the envelope of a request: _meta, and the task member of
// 2025-11-25, which a server may ignore, unless an extension handles it.
func lift(m *jsonrpc.Message, c *mcp.Call, extends bool) (token []byte) {
	c.Method = m.Method
	c.Params = rawjson.Cut(m.Params, func(name, value []byte) bool {
		switch {
		case string(name) == keyMeta:
			if t := rawjson.Lookup(value, keyProgressToken); clientcall.IsToken(t) {
				token = t
			}
			c.Meta = clientcall.AddMeta(nil, value)
			return true
		case string(name) == "task" && m.Method == mcp.MethodToolsCall && !extends:
			return true
		}
		return false
	})
	c.Progress = token != nil
	return token
}

// wants reports whether the client wants a notification of a call.
func wants(n mcp.Notification, token []byte, least mcp.LogLevel) bool {
	switch n.Method {
	case mcp.NotificationProgress:
		return token != nil
	case mcp.NotificationMessage:
		level, _ := rawjson.String(rawjson.Lookup(n.Params, "level"))
		return mcp.LogLevel(level).AtLeast(least)
	case mcp.NotificationSubscriptionsAcknowledged:
		return false
	}
	return true
}

// appendNotification appends a notification.
func appendNotification(dst []byte, n mcp.Notification, token []byte) []byte {
	params := n.Params
	if n.Method == mcp.NotificationProgress {
		params = withMember(params, keyProgressToken, token)
	}
	if len(n.Meta) > 0 {
		if meta, err := mcp.Marshal(n.Meta); err == nil {
			params = withMember(params, keyMeta, meta)
		}
	}
	return jsonrpc.AppendNotification(dst, n.Method, params)
}

// project returns the params of an input request to the client.
func project(rev *revision, c *mcp.Call, q mcp.InputRequest) (json.RawMessage, error) {
	if err := c.Caller.CanHandle(q); err != nil {
		return nil, err
	}
	return rev.projectInputRequest(q)
}

// ask sends an input request to the client and returns the response. It returns
// an error response of the client as the error.
func ask(ctx context.Context, method string, params json.RawMessage, back Pusher) (json.RawMessage, error) {
	m, err := back.Ask(ctx, method, params)
	switch {
	case err != nil:
		return nil, err
	case m.Error != nil:
		return nil, clientcall.FromWire(m.Error)
	}
	return rawjson.Cut(m.Result, func(name, _ []byte) bool { return string(name) == keyMeta }), nil
}
