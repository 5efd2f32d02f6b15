package era

import (
	"context"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/tenon-mcp/tenon/era/internal/legacy"
	"github.com/tenon-mcp/tenon/era/internal/modern"
	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
)

// Keys seals the state of calls that require input into requestState, so that
// the server keeps no state between rounds. See [NewKeys].
type Keys = modern.Keys

// DefaultStateTTL is how long a client has to answer input requests by default.
const DefaultStateTTL = 30 * time.Minute

// NewKeys returns keys made from secrets of at least 16 bytes each. The first
// secret seals; all of them open, so that secrets can be rotated. Instances of
// one service share their secrets. Without secrets, NewKeys makes a random one.
// A ttl of 0 means [DefaultStateTTL].
func NewKeys(ttl time.Duration, secrets ...[]byte) (*Keys, error) {
	if ttl <= 0 {
		ttl = DefaultStateTTL
	}
	return modern.NewKeys(ttl, secrets...)
}

// ServerOptions configures a [Server]. A nil *ServerOptions means the defaults.
type ServerOptions struct {
	// Keys seals the state of calls that require input; nil means a random key
	// that no other process has.
	Keys *Keys

	// ModernOnly refuses legacy requests and names the supported revision in
	// the error. LegacyOnly refuses modern requests. They are meant for tests
	// and migrations; by default a Server serves both eras.
	ModernOnly, LegacyOnly bool

	// OnInvalidFrame is called with invalid frames and recovered panics. It
	// must not block. Nil ignores them.
	OnInvalidFrame func(frame []byte, err error)

	// Tap is called with every frame sent or received; see [jsonrpc.Tap]. Nil
	// means no tap.
	Tap func(d jsonrpc.Direction, frame []byte)

	// Subscriptions bounds the number of open subscriptions.
	Subscriptions SubscriptionLimits

	// MaxServing, Grace and Linger are those of [jsonrpc.ConnOptions].
	MaxServing    int
	Grace, Linger time.Duration
}

// A Server serves clients of every revision with one Handler.
type Server struct {
	h      mcp.Handler
	opts   ServerOptions
	modern *modern.Server

	subscriptions openSubscriptions
	pipes         atomic.Int64 // streams served so far
}

// NewServer returns a Server for h.
func NewServer(h mcp.Handler, o *ServerOptions) (*Server, error) {
	s := &Server{h: h}
	if o != nil {
		s.opts = *o
	}
	if s.opts.Keys == nil {
		keys, err := NewKeys(0)
		if err != nil {
			return nil, err
		}
		s.opts.Keys = keys
	}
	s.modern = modern.NewServer(h, s.opts.Keys)
	s.subscriptions.init(s.opts.Subscriptions)
	return s, nil
}

// ServeStream serves the client at the other end of a stream. It blocks until
// the client closes the stream or ctx ends, and closes the stream. The era of
// each message is detected separately, so a client may use both eras at once.
func (s *Server) ServeStream(ctx context.Context, stream jsonrpc.Stream) error {
	return s.ServeStreamFor(ctx, stream, nil)
}

// ServeStreamFor is [Server.ServeStream] for a client that the transport has
// verified: all calls on the stream are those of the principal who. A nil who
// means an unverified client.
func (s *Server) ServeStreamFor(ctx context.Context, stream jsonrpc.Stream, who *mcp.Principal) error {
	if s.opts.Tap != nil {
		stream = jsonrpc.Tap(stream, s.opts.Tap)
	}
	p := &pipe{server: s, who: who, client: who.Key()}
	if p.client == "" {
		p.client = "pipe " + strconv.FormatInt(s.pipes.Add(1), 10)
	}
	o := &jsonrpc.ConnOptions{
		RespondToInvalid: true,
		WriteInline:      true,
		OnInvalidFrame:   s.opts.OnInvalidFrame,
		MaxServing:       s.opts.MaxServing,
		Grace:            s.opts.Grace,
		Linger:           s.opts.Linger,
		Batch:            func() error { return p.session.Batches() },
	}
	conn := jsonrpc.NewConn(stream, p, o)
	p.session = legacy.NewSession(s.h, func(n Notification) { conn.Push(n.Key, n.Value) })
	defer p.session.Close()
	return conn.Run(ctx)
}

// A pipe is one client whose messages share a stream.
type pipe struct {
	server  *Server
	session *legacy.Session
	who     *mcp.Principal // nil means an unverified client
	client  string         // key for counting subscriptions
}

// Arrived tells the session that an initialize request has arrived: a client may
// send further requests before the response to it.
func (p *pipe) Arrived(m *jsonrpc.Message) {
	if legacy.Begins(m) && !p.server.opts.ModernOnly && !modern.Opens(m) {
		p.session.Arrived()
	}
}

// Request serves a request in its era.
func (p *pipe) Request(ctx context.Context, x *jsonrpc.Exchange) {
	s := p.server
	isModern := modern.Opens(&x.Message)
	switch {
	case isModern && !s.opts.LegacyOnly:
		p.serveModern(ctx, x)
	case s.opts.ModernOnly:
		x.RespondError(modern.Refuse(&x.Message))
	case isModern:
		x.RespondError(refusedModern)
	default:
		result, e := p.session.Serve(ctx, &x.Message, p.who, &pipeReplyWriter{ctx, x})
		if e != nil {
			x.RespondError(e)
			return
		}
		x.Respond(func(dst []byte) []byte { return jsonrpc.AppendResult(dst, x.ID, result) })
	}
}

// serveModern serves a modern request.
func (p *pipe) serveModern(ctx context.Context, x *jsonrpc.Exchange) {
	s := p.server
	if x.Method == mcp.MethodSubscriptionsListen {
		if refused := s.subscriptions.add(p.client); refused != nil {
			x.RespondError(refused)
			return
		}
		defer s.subscriptions.drop(p.client)
	}
	x.Respond(s.modern.Serve(ctx, &x.Message, p.who, modern.ReplyWriter{Notify: func(n Notification) { x.Notify(ctx, n.Value) }, Shared: true}))
}

// A pipeReplyWriter writes to a stream that other requests share.
type pipeReplyWriter struct {
	ctx context.Context // of the request
	x   *jsonrpc.Exchange
}

func (b *pipeReplyWriter) Notify(n Notification) { b.x.Notify(b.ctx, n.Value) }

// Ask sends a request to the client and waits for the response. When ctx ends,
// Ask cancels the request at the client.
func (b *pipeReplyWriter) Ask(ctx context.Context, method string, params []byte) (jsonrpc.Message, error) {
	c := b.x.Conn()
	id := c.NextID()
	pending, err := c.Start(ctx, id, method, params)
	if err != nil {
		return jsonrpc.Message{}, err
	}
	select {
	case a := <-pending.Response():
		pending.Release()
		return a.Message, a.Err
	case <-ctx.Done():
		pending.Cancel()
		c.Push("", func(dst []byte) []byte {
			return jsonrpc.AppendNotification(dst, notificationCancelled, append(append([]byte(`{"requestId":`), jsonrpc.IntID(id)...), '}'))
		})
		return jsonrpc.Message{}, ctx.Err()
	}
}

// Release does nothing: a stream cannot be resumed.
func (b *pipeReplyWriter) Release() {}

const notificationCancelled = "notifications/cancelled"

// Notification handles a notification. Cancellation is the same in both eras.
func (p *pipe) Notification(_ context.Context, c *jsonrpc.Conn, m *jsonrpc.Message) {
	if m.Method == notificationCancelled {
		cancelled(c, m)
		return
	}
	if modern.Opens(m) {
		kept := *m
		p.session.Later(func(ctx context.Context) { p.server.NotifiedModern(ctx, &kept, p.who) })
		return
	}
	p.session.Notified(m)
}

// cancelled cancels the request that a notification names, if any.
func cancelled(c *jsonrpc.Conn, m *jsonrpc.Message) {
	if id := rawjson.Lookup(m.Params, "requestId"); id != nil {
		c.Cancel(jsonrpc.ID(id))
	}
}
