package eraconn

import (
	"context"
	"crypto/rand"
	"strconv"

	"github.com/tenon-mcp/tenon/internal/eraconn/internal/clientcall"
	"github.com/tenon-mcp/tenon/internal/eraconn/internal/legacy"
	"github.com/tenon-mcp/tenon/internal/eraconn/internal/modern"
	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
)

// ServeStream serves the client at the other end of a stream; see
// era.Server.ServeStreamFor.
func (s *Server) ServeStream(ctx context.Context, stream jsonrpc.Stream, who *mcp.Principal) error {
	if s.opts.Tap != nil {
		stream = jsonrpc.Tap(stream, s.opts.Tap)
	}
	p := &pipe{server: s, who: who, client: who.Key(), id: mcp.NewSession(rand.Text())}
	defer p.id.End()
	if p.client == "" {
		p.client = "pipe " + strconv.FormatInt(s.streams.Add(1), 10)
	}
	o := &jsonrpc.ConnOptions{
		RespondToInvalid: true,
		WriteInline:      true,
		OnInvalidFrame:   s.opts.OnInvalidFrame,
		MaxServing:       s.opts.MaxServing,
		Grace:            s.opts.Grace,
		Linger:           s.opts.Linger,
		Arrived:          p.arrived,
		Batch:            func() error { return p.session.Batches() },
	}
	conn := jsonrpc.NewConn(stream, p, o)
	p.session = legacy.NewSession(s.h, p.id, &pipePusher{conn})
	defer p.session.Close()
	return conn.Run(ctx)
}

// A pipe is one client whose messages share a stream.
type pipe struct {
	server  *Server
	session *legacy.Session
	who     *mcp.Principal // nil means an unverified client
	client  string         // key for counting subscriptions
	id      *mcp.Session   // as Handlers see it
}

// arrived tells the session that an initialize request has arrived: a client may
// send further requests before the response to it.
func (p *pipe) arrived(m *jsonrpc.Message) {
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
		result, err := p.session.Serve(ctx, &x.Message, p.who, &pipeReplyWriter{ctx, x})
		if err != nil {
			x.RespondError(clientcall.ToWire(err))
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
	x.Respond(s.modern.Serve(ctx, &x.Message, p.who, modern.ReplyWriter{Notify: func(n Notification) { x.Notify(ctx, n.Value) }, Shared: true, Session: p.id}))
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
	return askOver(ctx, b.x.Conn(), method, params)
}

// A pipePusher sends messages that belong to no request.
type pipePusher struct{ conn *jsonrpc.Conn }

func (p *pipePusher) Notify(n Notification) { p.conn.Push(n.Key, n.Value) }

func (p *pipePusher) Ask(ctx context.Context, method string, params []byte) (jsonrpc.Message, error) {
	return askOver(ctx, p.conn, method, params)
}

func askOver(ctx context.Context, c *jsonrpc.Conn, method string, params []byte) (jsonrpc.Message, error) {
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
			return jsonrpc.AppendNotification(dst, mcp.NotificationCancelled, append(append([]byte(`{"requestId":`), jsonrpc.IntID(id)...), '}'))
		})
		return jsonrpc.Message{}, ctx.Err()
	}
}

// Release does nothing: a stream cannot be resumed.
func (b *pipeReplyWriter) Release() {}

// Notification handles a notification. Cancellation is the same in both eras.
func (p *pipe) Notification(_ context.Context, c *jsonrpc.Conn, m *jsonrpc.Message) {
	if m.Method == mcp.NotificationCancelled {
		cancelled(c, m)
		return
	}
	if modern.Opens(m) {
		kept := *m
		p.session.Later(func(ctx context.Context) { p.server.notifiedModern(ctx, &kept, p.who, p.id) })
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
