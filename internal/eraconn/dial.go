package eraconn

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/internal/eraconn/internal/clientcall"
	"github.com/tenon-mcp/tenon/internal/eraconn/internal/legacy"
	"github.com/tenon-mcp/tenon/internal/eraconn/internal/modern"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
)

// A Peer is a connection to a server over a stream.
type Peer struct {
	conn     *jsonrpc.Conn
	handler  mcp.Handler // the peer of the detected era
	revision mcp.Revision
	stop     context.CancelFunc
	ended    chan struct{} // closed when all goroutines of the connection have ended
}

// Serve sends a call to the server and waits for its result. Once the connection
// has ended, the error is an [*mcp.ClosedError].
func (p *Peer) Serve(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
	res, err := p.handler.Serve(ctx, c)
	if err == nil {
		return res, nil
	}
	if _, closed := errors.AsType[*jsonrpc.ClosedError](err); closed {
		err = &mcp.ClosedError{Cause: err}
	}
	return mcp.Result{}, err
}

// Revision returns the protocol revision in use.
func (p *Peer) Revision() mcp.Revision { return p.revision }

// Done returns a channel that is closed when the connection has ended.
func (p *Peer) Done() <-chan struct{} { return p.conn.Done() }

// Err returns why the connection ended, once Done is closed.
func (p *Peer) Err() error { return p.conn.Err() }

// Close ends the connection and waits until its goroutines have ended.
func (p *Peer) Close() error {
	p.stop()
	<-p.ended
	return nil
}

// Dial connects to the server at the other end of a stream; see era.Dial.
func Dial(ctx context.Context, stream jsonrpc.Stream, profile *mcp.ClientProfile, o DialOptions) (*Peer, error) {
	profile = profileOr(profile)
	if o.Tap != nil {
		stream = jsonrpc.Tap(stream, o.Tap)
	}
	caller := ctx
	ctx, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	o.ProbeTimeout = or(o.ProbeTimeout, 3*time.Second)
	r := newReceiver(profile, o)
	conn := jsonrpc.NewConn(stream, &streamClient{r, giveUp}, &jsonrpc.ConnOptions{OnInvalidFrame: r.InvalidFrame, Grace: -1, Linger: 500 * time.Millisecond})
	if err := r.use(conn, profile, true); err != nil {
		stream.Close()
		return nil, err
	}
	runCtx, stop := context.WithCancel(context.WithoutCancel(caller))
	p := &Peer{conn: conn, stop: stop, ended: make(chan struct{})}
	go func() {
		defer close(p.ended)
		conn.Run(runCtx) // how it ended is in conn.Err
		r.close()
	}()

	var err error
	if p.handler, p.revision, err = r.connect(ctx); err != nil {
		if context.Cause(ctx) == errEcho {
			err = errEcho
		}
		p.stop()
		if caller.Err() == nil {
			<-p.ended
		} // otherwise the stream is closed in the background
		return nil, fmt.Errorf("connect to the server: %w", err)
	}
	return p, nil
}

// errEcho is the error for a program that echoes its input, such as cat. Dial
// would otherwise wait for it until ConnectTimeout.
var errEcho = errors.New("not an MCP server: it echoes its input; check the command")

// A streamClient passes what arrives on a stream to a Receiver.
type streamClient struct {
	*Receiver
	giveUp context.CancelCauseFunc // ends the attempt to connect
}

// Request serves a request of the server.
func (s *streamClient) Request(ctx context.Context, x *jsonrpc.Exchange) {
	if x.Method == mcp.MethodDiscover || x.Method == mcp.MethodInitialize {
		x.Ignore() // no server sends these
		s.giveUp(errEcho)
		return
	}
	if answer := s.Receiver.Request(ctx, &x.Message, 0); answer != nil {
		x.Respond(answer)
	} else {
		x.Ignore()
	}
}

// Notification handles a notification of the server.
func (s *streamClient) Notification(_ context.Context, c *jsonrpc.Conn, m *jsonrpc.Message) {
	if m.Method == mcp.NotificationCancelled && !s.modern.Load() {
		cancelled(c, m)
		return
	}
	s.Receiver.Notification(m, 0)
}

// connect detects the era of the server and returns the matching peer.
func (r *Receiver) connect(ctx context.Context) (h mcp.Handler, rev mcp.Revision, err error) {
	ctx, stop := withPausableTimeout(ctx, or(r.opts.ConnectTimeout, 30*time.Second))
	defer stop()
	defer func() {
		if err == nil {
			close(r.connected)
		}
	}()
	switch {
	case r.opts.Known == modern.Revision:
		r.modern.Store(true)
		return r.modernPeer, modern.Revision, nil
	case r.opts.Known != "":
		return r.handshake(ctx, r.opts.Known)
	}
	probed := make(chan verdict, 1)
	probeCtx, stopProbe := context.WithCancel(ctx)
	defer stopProbe()
	go func() { probed <- r.probe(probeCtx) }()
	defer func() { stopProbe(); <-probed }()

	silence := time.NewTimer(r.opts.ProbeTimeout)
	defer silence.Stop()
	select {
	case v := <-probed:
		probed <- v // for the deferred wait
		return r.follow(ctx, v)
	case <-silence.C:
		return r.either(ctx, probed)
	}
}

// follow acts on the verdict of the probe.
func (r *Receiver) follow(ctx context.Context, v verdict) (mcp.Handler, mcp.Revision, error) {
	switch {
	case v.err != nil:
		return nil, "", v.err
	case v.revision == modern.Revision:
		r.modern.Store(true)
		return r.modernPeer, modern.Revision, nil
	}
	return r.handshake(ctx, v.revision)
}

// either sends initialize to a server that has not answered the probe in time,
// and uses the response that arrives first.
func (r *Receiver) either(ctx context.Context, probed chan verdict) (mcp.Handler, mcp.Revision, error) {
	shakeCtx, stop := context.WithCancel(ctx)
	defer stop()
	shaken := make(chan error, 1)
	go func() { shaken <- r.legacyPeer.Handshake(shakeCtx, "") }()
	select {
	case err := <-shaken:
		if err == nil {
			return r.legacyPeer.Handler(), r.legacyPeer.Revision(), nil
		}
		if e, ok := errors.AsType[*mcp.Error](err); ok && !e.Local {
			return r.refused(ctx, probed, err)
		}
		return nil, "", err
	case v := <-probed:
		probed <- v
		if v.err != nil || v.revision == modern.Revision {
			stop()
			<-shaken
			return r.follow(ctx, v)
		}
		if err := <-shaken; err != nil {
			return nil, "", withSupported(err)
		}
		return r.legacyPeer.Handler(), r.legacyPeer.Revision(), nil
	}
}

// refused handles a server that refuses initialize. It may be a modern server
// that is slow to start, so refused waits for ProbeTimeout once more for the
// response to the probe.
func (r *Receiver) refused(ctx context.Context, probed chan verdict, err error) (mcp.Handler, mcp.Revision, error) {
	silence := time.NewTimer(r.opts.ProbeTimeout)
	defer silence.Stop()
	select {
	case v := <-probed:
		probed <- v
		if v.err != nil || v.revision == modern.Revision {
			return r.follow(ctx, v)
		}
	case <-silence.C:
	}
	return nil, "", withSupported(err)
}

func (r *Receiver) handshake(ctx context.Context, want mcp.Revision) (mcp.Handler, mcp.Revision, error) {
	if err := r.legacyPeer.Handshake(ctx, want); err != nil {
		return nil, "", withSupported(err)
	}
	return r.legacyPeer.Handler(), r.legacyPeer.Revision(), nil
}

// withSupported adds to the error of a refused handshake the revisions that the
// server says it supports.
func withSupported(err error) error {
	if e, ok := errors.AsType[*mcp.Error](err); ok && e.Code == mcp.CodeUnsupportedVersion {
		if supported, _ := modern.Supported(e); len(supported) > 0 {
			return fmt.Errorf("%w; the server supports %v", err, supported)
		}
	}
	return err
}

// A verdict is the outcome of a probe: the revision to use, or "" for any legacy
// one.
type verdict struct {
	revision mcp.Revision
	err      error
}

// probe sends server/discover. Only a response that is recognizably modern means
// a modern server; any other, whatever its code, means a legacy one.
func (r *Receiver) probe(ctx context.Context) verdict {
	for range 2 {
		found, err := r.modernPeer.Probe(ctx)
		if err == nil {
			return choose(found)
		}
		e, ok := errors.AsType[*mcp.Error](err)
		if !ok {
			if older, ok := errors.AsType[NotModern](err); ok && older.NotModern() {
				return verdict{}
			}
			return verdict{err: err} // no response at all
		}
		supported, isModern := modern.Supported(e)
		switch {
		case !isModern:
			return verdict{}
		case len(supported) == 0:
			return verdict{err: fmt.Errorf("no common protocol revision: the server lists none that it supports (%w)", e)}
		}
		if v := choose(supported); v.err != nil || v.revision != modern.Revision {
			return v
		}
	}
	return verdict{err: clientcall.Invalid(mcp.MethodDiscover, "the server refuses a revision that it lists as supported")}
}

// choose returns the newest revision that the server and Tenon both support.
func choose(supported []mcp.Revision) verdict {
	for _, r := range mcp.Revisions() {
		if slices.Contains(supported, r) {
			return verdict{revision: r}
		}
	}
	if len(supported) == 0 {
		return verdict{}
	}
	var theirs []string
	for _, r := range supported {
		theirs = append(theirs, string(r))
	}
	return verdict{err: fmt.Errorf("no common protocol revision: the server supports %s, Tenon supports %v", strings.Join(theirs, ", "), mcp.Revisions())}
}

// LatestWithHandshake returns the newest legacy revision. As DialOptions.Known it
// connects to a legacy server without a probe.
func LatestWithHandshake() mcp.Revision { return legacy.Latest() }
