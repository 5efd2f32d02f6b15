package legacy

import (
	"context"
	"encoding/json"
	"errors"
	"sync"

	"github.com/tenon-mcp/tenon/era/internal/clientcall"
	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
)

// A Session is one client's connection to a Handler. It stamps the caller that
// it remembers on each call, asks the client when the Handler does, and pushes
// the news of subscriptions that it holds open.
type Session struct {
	h mcp.Handler

	stateless bool // it serves one request and remembers nothing; see NewStateless

	mu      sync.Mutex
	push    *pusher   // where changes go; nil while nobody is there to hear them
	rev     *revision // nil until initialize
	caller  mcp.Caller
	offers  offers
	opening chan struct{} // closed when the initialize that has come was served; nil if none has
	early   bool          // the client said that it is ready while that was so
	ready   bool          // the client has said that it is
	closed  bool
	changes func()            // ends the news of lists; nil while there is none
	watched map[string]func() // ends the news of a resource; nil while there is none
	waiting sync.WaitGroup    // for subscriptions that need a goroutine
	inbox   clientcall.Inbox  // notifications that the Handler hears
}

// offers is what a session has to know of the server's capabilities. There may
// be many sessions, so it is all that they remember of them.
type offers struct{ logging, subscribe bool }

func offersOf(c *mcp.ServerCapabilities) offers {
	return offers{logging: c.Logging != nil, subscribe: c.Resources != nil && c.Resources.Subscribe}
}

// maxWatched is how many resources one session may subscribe to, and
// maxWatchedBytes how long their URIs may be together: a session remembers them.
const (
	maxWatched      = 1000
	maxWatchedBytes = 256 << 10
)

// NewSession returns a session whose changes go to push, which must not block;
// nil means that nobody is there to hear them before Attach.
func NewSession(h mcp.Handler, push func(clientcall.Notification)) *Session {
	s := &Session{h: h}
	if push != nil {
		s.push = &pusher{push}
	}
	return s
}

// A pusher is who hears the changes of a session.
type pusher struct{ push func(clientcall.Notification) }

// Close ends every subscription and waits for it.
func (s *Session) Close() {
	s.mu.Lock()
	s.closed = true
	stops := s.takeStopsLocked()
	s.mu.Unlock()
	for _, stop := range stops {
		stop()
	}
	s.inbox.Close()
	s.waiting.Wait()
}

// ReplyWriter is the way back to the client during one request.
type ReplyWriter interface {
	// Tell sends a notification.
	Notify(clientcall.Notification)
	// Ask sends a request to the client and waits for the answer.
	Ask(ctx context.Context, method string, params []byte) (jsonrpc.Message, error)
	// Release lets the client go, who comes back for the rest; where it has
	// to stay, it does nothing.
	Release()
}

// Revision is what initialize came to; empty before it.
func (s *Session) Revision() mcp.Revision {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.rev == nil {
		return ""
	}
	return s.rev.name
}

// Resumes reports whether the client comes back for the rest of a stream.
func (s *Session) Resumes() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rev != nil && s.rev.resumes
}

// Batches says whether a batch is welcome.
func (s *Session) Batches() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.rev == nil || !s.rev.batches {
		return errors.New("a batch is not allowed here: send one message at a time")
	}
	return nil
}

// Serve serves one request and returns the result object, or the error.
func (s *Session) Serve(ctx context.Context, m *jsonrpc.Message, p *mcp.Principal, back ReplyWriter) (json.RawMessage, *jsonrpc.Error) {
	body, err := s.serve(ctx, m, p, back)
	if err == nil {
		return body, nil
	}
	if own, ok := errors.AsType[*mcp.Error](err); ok {
		err = projectError(m.Method, own)
	}
	return nil, clientcall.ToWire(err)
}

// Answer serves one request and returns what appends its answer.
func (s *Session) Respond(ctx context.Context, m *jsonrpc.Message, p *mcp.Principal, back ReplyWriter) clientcall.Response {
	body, e := s.Serve(ctx, m, p, back)
	if e != nil {
		return clientcall.Fail(m.ID, e)
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
	case methodInitialize:
		return s.initialize(ctx, m.Params, p)
	case methodPing:
		return nil, nil
	}
	return s.serveOpen(ctx, m, p, back)
}

// serveOpen serves a request that needs an open session.
func (s *Session) serveOpen(ctx context.Context, m *jsonrpc.Message, p *mcp.Principal, back ReplyWriter) (json.RawMessage, error) {
	rev, caller := s.opener(ctx)
	if rev == nil {
		return nil, mcp.InvalidParams("%s came before initialize and without params._meta: a client of an older revision initializes first, one of the newest says with each request who it is", m.Method)
	}
	caller.Principal = p
	switch m.Method {
	case methodSetLevel, methodSubscribe, methodUnsubscribe:
		if s.stateless {
			return nil, needsSession(m.Method)
		}
	}
	switch m.Method {
	case methodSetLevel:
		return nil, s.setLevel(m.Params)
	case methodSubscribe:
		return nil, s.subscribe(m.Params)
	case methodUnsubscribe:
		return nil, s.unsubscribe(m.Params)
	case mcp.MethodDiscover, mcp.MethodSubscriptionsListen: // of the newest revision
		return nil, mcp.MethodNotFound(m.Method)
	}
	one := new(struct { // one piece of memory for both
		call  mcp.Call
		shown pages
	})
	call, shown := &one.call, &one.shown
	token := lift(m, call)
	call.Caller = caller
	least := caller.LogLevel
	call.OnNotification = func(n mcp.Notification) {
		switch n.Method {
		case mcp.NotificationRelease:
			if rev.resumes {
				back.Release()
			}
			return
		case mcp.NotificationElicitationComplete:
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
		call.OnNotification = mcp.IncreasingProgress(call.OnNotification) // through all rounds: to the client they are one call
	}
	res, err := s.h.Serve(ctx, call)
	if err != nil && s.stateless {
		mcp.Abandon(err)
		return nil, refuseInput(err)
	}
	if err != nil && mcp.MayRequireInput(m.Method) {
		res, err = mcp.ContinueInput(ctx, s.h, call, err, func(ctx context.Context, c *mcp.Call, key string, q mcp.InputRequest) (json.RawMessage, error) {
			params, err := project(rev, c, q)
			if err != nil {
				return nil, err
			}
			shown.asked(key, params)
			return ask(ctx, q.Method, params, back)
		}, 0)
	}
	if err != nil {
		mcp.Abandon(err) // of a method that cannot ask
		return nil, rev.unsupported(err)
	}
	return rev.body(m, &res)
}

// body is the result object as this revision has it.
func (rev *revision) body(m *jsonrpc.Message, res *mcp.Result) (json.RawMessage, error) {
	switch {
	case res.Type != "":
		return nil, mcp.Errorf(mcp.CodeInternal, "the result of %s is of type %q, which revision %s does not have", m.Method, res.Type, rev.name)
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

// lift takes the envelope off a request: _meta, and the task that one revision
// may ask for and a server may ignore.
func lift(m *jsonrpc.Message, c *mcp.Call) (token []byte) {
	c.Method = m.Method
	c.Params = rawjson.Cut(m.Params, func(name, value []byte) bool {
		switch {
		case string(name) == keyMeta:
			if t := rawjson.Lookup(value, keyProgressToken); clientcall.IsToken(t) {
				token = t
			}
			c.Meta = clientcall.AddMeta(nil, value)
			return true
		case string(name) == "task" && m.Method == mcp.MethodToolsCall:
			return true
		}
		return false
	})
	c.Progress = token != nil
	return token
}

// wants reports whether the client hears such notes with a call.
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

// project returns the params of the request that asks the client.
func project(rev *revision, c *mcp.Call, q mcp.InputRequest) (json.RawMessage, error) {
	if err := c.Caller.CanHandle(q); err != nil {
		return nil, err
	}
	return rev.projectInputRequest(q)
}

// ask sends an input request to the client and returns the response. An error
// response of the client is the error as it came.
func ask(ctx context.Context, method string, params json.RawMessage, back ReplyWriter) (json.RawMessage, error) {
	m, err := back.Ask(ctx, method, params)
	switch {
	case err != nil:
		return nil, err
	case m.Error != nil:
		return nil, clientcall.FromWire(m.Error)
	}
	return rawjson.Cut(m.Result, func(name, _ []byte) bool { return string(name) == keyMeta }), nil
}
