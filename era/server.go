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

// Keys seal the state of calls that ask for input, so that a server need not
// remember them. See [NewKeys].
type Keys = modern.Keys

// DefaultStateTTL is how long a caller has to answer unless told otherwise.
const DefaultStateTTL = 30 * time.Minute

// NewKeys makes keys from secrets of at least 16 bytes, the current one first;
// the others still open what they sealed. Servers that stand in for each other
// share their secrets. Without any, a random one is made. A ttl of 0 means
// [DefaultStateTTL].
func NewKeys(ttl time.Duration, secrets ...[]byte) (*Keys, error) {
	if ttl <= 0 {
		ttl = DefaultStateTTL
	}
	return modern.NewKeys(ttl, secrets...)
}

// ServerOptions say how a Server behaves; nil means the defaults.
type ServerOptions struct {
	// Keys seal the state of asking calls; nil means a random key that no
	// other process has.
	Keys *Keys

	// ModernOnly refuses clients of older revisions, and tells them which
	// revision is spoken. LegacyOnly refuses the newest. They are there for
	// tests and for migrations; both unset serves everybody.
	ModernOnly, LegacyOnly bool

	// Noise hears what came in and was no use, and panics. Nil drops it.
	OnInvalidFrame func(frame []byte, err error)

	// Tap sees every frame that passes; see [jsonrpc.Tap]. Nil is nobody.
	Tap func(d jsonrpc.Direction, frame []byte)

	// Subscriptions bounds how many subscriptions are open.
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
	pipes         atomic.Int64 // how many there were
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

// ServeStream serves the one client at the far end of a stream until that
// client closes it or ctx ends, and closes it. Both eras may be spoken on it at
// the same time: each message is served as it opens.
func (s *Server) ServeStream(ctx context.Context, stream jsonrpc.Stream) error {
	return s.ServeStreamFor(ctx, stream, nil)
}

// ServeStreamFor is ServeStream for a client that the transport has verified;
// nil means that it has not. All calls on the stream are the principal's.
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
	who     *mcp.Principal // nil means nobody was verified
	client  string         // whose subscriptions these are
}

// Arrived lets the session know that it is being opened: clients need not wait
// for the answer to initialize.
func (p *pipe) Arrived(m *jsonrpc.Message) {
	if legacy.Begins(m) && !p.server.opts.ModernOnly && !modern.Opens(m) {
		p.session.Arrived()
	}
}

// Request serves a request in the era in which it opens.
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

// serveModern serves a request of the newest era.
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

// A pipeReplyWriter is the way back on a stream that other requests share.
type pipeReplyWriter struct {
	ctx context.Context // of the request
	x   *jsonrpc.Exchange
}

func (b *pipeReplyWriter) Notify(n Notification) { b.x.Notify(b.ctx, n.Value) }

// Ask asks the client; a question that is given up is cancelled there.
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

// Release does nothing: nobody comes back for the rest.
func (b *pipeReplyWriter) Release() {}

const notificationCancelled = "notifications/cancelled"

// Notification hears a notification. Cancelling works the same in both eras.
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

// cancelled ends the request that a notification names; one that names none
// is of no concern.
func cancelled(c *jsonrpc.Conn, m *jsonrpc.Message) {
	if id := rawjson.Lookup(m.Params, "requestId"); id != nil {
		c.Cancel(jsonrpc.ID(id))
	}
}
