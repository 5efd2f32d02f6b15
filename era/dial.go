package era

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/era/internal/clientcall"
	"github.com/tenon-mcp/tenon/era/internal/legacy"
	"github.com/tenon-mcp/tenon/era/internal/modern"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
)

// DialOptions configures [Dial]. A nil *DialOptions means the defaults.
type DialOptions struct {
	// Known is the revision that the server speaks, as an earlier Dial
	// detected it. Dial then sends no probe. Empty means unknown.
	Known mcp.Revision

	// ProbeTimeout is how long Dial waits for the response to its probe before
	// it also sends initialize, for a legacy server. 0 means 3 s.
	ProbeTimeout time.Duration

	// ConnectTimeout bounds the whole of Dial. 0 means 30 s.
	ConnectTimeout time.Duration

	// OnInvalidFrame is called with every frame that is skipped: one that is
	// not a message, or a response with an unknown id. The frame is nil if it
	// exceeds the size limit. OnInvalidFrame must not block. Nil ignores such
	// frames.
	OnInvalidFrame func(frame []byte, err error)

	// Tap is called with every frame sent or received; see [jsonrpc.Tap]. Nil
	// means no tap.
	Tap func(d jsonrpc.Direction, frame []byte)
}

// A Peer is a connection to a server. It is an [mcp.Conn].
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

// Done returns a channel that is closed when the connection has ended. All later
// calls fail.
func (p *Peer) Done() <-chan struct{} { return p.conn.Done() }

// Err returns why the connection ended, once Done is closed; nil means an
// orderly close.
func (p *Peer) Err() error { return p.conn.Err() }

// Close ends the connection and waits until its goroutines have ended.
func (p *Peer) Close() error {
	p.stop()
	<-p.ended
	return nil
}

// Dial connects to the server at the other end of a stream. It detects the era
// as the specification describes: it probes with server/discover and falls back
// to initialize. ctx applies only while connecting.
//
// Dial owns the stream, also on error: it closes the stream before it returns
// an error, except when ctx ended first. Then Dial returns at once and closes
// the stream in the background.
func Dial(ctx context.Context, stream jsonrpc.Stream, profile *mcp.ClientProfile, o *DialOptions) (*Peer, error) {
	if o == nil {
		o = &DialOptions{}
	}
	if profile == nil {
		profile = &mcp.ClientProfile{Client: mcp.Implementation{Name: "tenon", Version: "0"}}
	}
	if o.Tap != nil {
		stream = jsonrpc.Tap(stream, o.Tap)
	}
	d := &dialling{opts: o, profile: profile, connected: make(chan struct{})}
	d.warner.report = profile.OnWarning
	d.conn = jsonrpc.NewConn(stream, d, &jsonrpc.ConnOptions{OnInvalidFrame: d.invalidFrame, Grace: -1, Linger: 500 * time.Millisecond})
	d.legacyPeer = legacy.NewPeer(d.conn, profile)
	var err error
	if d.modernPeer, err = modern.NewPeer(d.conn, profile, true); err != nil {
		stream.Close()
		return nil, err
	}
	caller := ctx
	runCtx, stop := context.WithCancel(context.WithoutCancel(ctx))
	ctx, cancel := context.WithTimeoutCause(ctx, or(o.ConnectTimeout, 30*time.Second), errTimeout)
	defer cancel()
	ctx, d.giveUp = context.WithCancelCause(ctx)
	defer d.giveUp(nil)
	p := &Peer{conn: d.conn, stop: stop, ended: make(chan struct{})}
	go func() {
		defer close(p.ended)
		d.conn.Run(runCtx) // how it ended is in conn.Err
		d.legacyPeer.Close()
		d.warner.close()
	}()

	if p.handler, p.revision, err = d.connect(ctx); err != nil {
		if context.Cause(ctx) == errEcho {
			err = errEcho
		}
		p.stop()
		if caller.Err() == nil {
			<-p.ended
		} // otherwise the stream is closed in the background
		return nil, fmt.Errorf("connect to the server: %w", err)
	}
	close(d.connected)
	return p, nil
}

// errEcho is the error for a program that echoes its input, such as cat. Dial
// would otherwise wait for it until ConnectTimeout.
var errEcho = errors.New("not an MCP server: it echoes its input; check the command")

const methodInitialize = "initialize"

func or(d, otherwise time.Duration) time.Duration {
	if d > 0 {
		return d
	}
	return otherwise
}

// A dialling has the peers of both eras at one connection. Once the era is
// known, only the matching peer is used.
type dialling struct {
	opts       *DialOptions
	profile    *mcp.ClientProfile
	conn       *jsonrpc.Conn
	modernPeer *modern.Peer
	legacyPeer *legacy.Peer
	warner     warner

	giveUp    context.CancelCauseFunc // ends the attempt to connect
	connected chan struct{}           // closed when the era of the server is known
	mu        sync.Mutex
	modern    bool // the server is known to be modern
}

// Request serves a request of a legacy server. A modern server must not send
// requests and gets no response, so before the era is known only ping is
// answered.
func (d *dialling) Request(ctx context.Context, x *jsonrpc.Exchange) {
	if x.Method == mcp.MethodDiscover || x.Method == methodInitialize {
		x.Ignore() // no server sends these
		d.giveUp(errEcho)
		return
	}
	if !legacy.IsPing(&x.Message) {
		select {
		case <-d.connected:
		case <-ctx.Done():
			x.Ignore()
			return
		}
	}
	d.mu.Lock()
	isModern := d.modern
	d.mu.Unlock()
	if isModern {
		x.Ignore()
		d.invalidFrame(nil, requestNotAllowed(x.Method))
		return
	}
	result, e := d.legacyPeer.Request(ctx, &x.Message, 0)
	if e != nil {
		x.RespondError(e)
		return
	}
	x.Respond(func(dst []byte) []byte { return jsonrpc.AppendResult(dst, x.ID, result) })
}

// requestNotAllowed is the error for a request of a modern server.
func requestNotAllowed(method string) error {
	return fmt.Errorf("request %q from the server: not allowed in its protocol revision", method)
}

// invalidFrame reports a frame that was skipped.
func (d *dialling) invalidFrame(frame []byte, err error) {
	if d.opts.OnInvalidFrame != nil {
		d.opts.OnInvalidFrame(frame, err)
	}
	d.warner.frame(frame, err)
}

// Notification handles a notification of the server.
func (d *dialling) Notification(_ context.Context, c *jsonrpc.Conn, m *jsonrpc.Message) {
	d.mu.Lock()
	isModern := d.modern
	d.mu.Unlock()
	if isModern {
		d.modernPeer.Notification(m, 0)
		return
	}
	if m.Method == notificationCancelled {
		cancelled(c, m)
		return
	}
	d.legacyPeer.Notification(m, 0)
}

// connect detects the era of the server and returns the matching peer.
func (d *dialling) connect(ctx context.Context) (mcp.Handler, mcp.Revision, error) {
	switch {
	case d.opts.Known == modern.Revision:
		d.isModern()
		return d.modernPeer, modern.Revision, nil
	case d.opts.Known != "":
		return d.handshake(ctx, d.opts.Known)
	}
	probed := make(chan verdict, 1)
	probeCtx, stopProbe := context.WithCancel(ctx)
	defer stopProbe()
	go func() { probed <- d.probe(probeCtx) }()
	defer func() { stopProbe(); <-probed }()

	silence := time.NewTimer(or(d.opts.ProbeTimeout, 3*time.Second))
	defer silence.Stop()
	select {
	case v := <-probed:
		probed <- v // for the deferred wait
		return d.follow(ctx, v)
	case <-silence.C:
		return d.either(ctx, probed)
	}
}

// follow acts on the verdict of the probe.
func (d *dialling) follow(ctx context.Context, v verdict) (mcp.Handler, mcp.Revision, error) {
	switch {
	case v.err != nil:
		return nil, "", v.err
	case v.revision == modern.Revision:
		d.isModern()
		return d.modernPeer, modern.Revision, nil
	}
	return d.handshake(ctx, v.revision)
}

// either sends initialize to a server that has not answered the probe in time,
// and uses the response that arrives first.
func (d *dialling) either(ctx context.Context, probed chan verdict) (mcp.Handler, mcp.Revision, error) {
	shakeCtx, stop := context.WithCancel(ctx)
	defer stop()
	shaken := make(chan error, 1)
	go func() { shaken <- d.legacyPeer.Handshake(shakeCtx, "") }()
	select {
	case err := <-shaken:
		if err == nil {
			return d.legacyPeer, d.legacyPeer.Revision(), nil
		}
		if e, ok := errors.AsType[*mcp.Error](err); ok && !e.Local {
			return d.refused(ctx, probed, err)
		}
		return nil, "", err
	case v := <-probed:
		probed <- v
		if v.err != nil || v.revision == modern.Revision {
			stop()
			<-shaken
			return d.follow(ctx, v)
		}
		if err := <-shaken; err != nil {
			return nil, "", withSupported(err)
		}
		return d.legacyPeer, d.legacyPeer.Revision(), nil
	}
}

// refused handles a server that refuses initialize. It may be a modern server
// that is slow to start, so refused waits for ProbeTimeout once more for the
// response to the probe.
func (d *dialling) refused(ctx context.Context, probed chan verdict, err error) (mcp.Handler, mcp.Revision, error) {
	silence := time.NewTimer(or(d.opts.ProbeTimeout, 3*time.Second))
	defer silence.Stop()
	select {
	case v := <-probed:
		probed <- v
		if v.err != nil || v.revision == modern.Revision {
			return d.follow(ctx, v)
		}
	case <-silence.C:
	}
	return nil, "", withSupported(err)
}

func (d *dialling) isModern() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.modern = true
}

func (d *dialling) handshake(ctx context.Context, want mcp.Revision) (mcp.Handler, mcp.Revision, error) {
	if err := d.legacyPeer.Handshake(ctx, want); err != nil {
		return nil, "", withSupported(err)
	}
	return d.legacyPeer, d.legacyPeer.Revision(), nil
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
func (d *dialling) probe(ctx context.Context) verdict {
	for range 2 {
		found, err := d.modernPeer.Probe(ctx)
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

// LatestWithHandshake returns the newest legacy revision. As [DialOptions].Known
// it connects to a legacy server without a probe.
func LatestWithHandshake() mcp.Revision { return legacy.Latest() }
