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

// DialOptions say how a server is met; nil means the defaults.
type DialOptions struct {
	// Known is the revision that this server is known to speak, from an
	// earlier Dial: the probing is left out. Empty means that it is not known.
	Known mcp.Revision

	// ProbeTimeout is how long a server may be silent before it is taken for
	// an older one. 0 means 3 s.
	ProbeTimeout time.Duration

	// ConnectTimeout is how long it may take until the server is met. 0 means
	// 30 s.
	ConnectTimeout time.Duration

	// Noise is called with every frame that was skipped: one that is not a
	// message, or a response with an unknown id. The frame is nil if it was
	// too long to be kept. Noise must not block. Nil drops it.
	OnInvalidFrame func(frame []byte, err error)

	// Tap sees every frame that passes; see [jsonrpc.Tap]. Nil is nobody.
	Tap func(d jsonrpc.Direction, frame []byte)
}

// A Peer is a server that was met, shaped as a Handler.
type Peer struct {
	conn     *jsonrpc.Conn
	handler  mcp.Handler // the wing that speaks with it
	revision mcp.Revision
	stop     context.CancelFunc
	ended    chan struct{} // closed when nothing of the connection is left
}

// Serve makes a call. Once the connection has ended the error is an
// [*mcp.ClosedError].
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

// Revision is what is spoken with the server.
func (p *Peer) Revision() mcp.Revision { return p.revision }

// Done is closed when the connection has ended: calls fail from then on.
func (p *Peer) Done() <-chan struct{} { return p.conn.Done() }

// Err says why the connection ended, once Done is closed; nil means that it was
// closed in order.
func (p *Peer) Err() error { return p.conn.Err() }

// Close ends the connection and waits until nothing of it is left.
func (p *Peer) Close() error {
	p.stop()
	<-p.ended
	return nil
}

// Dial meets the server at the far end of a stream: it finds out which era it
// speaks, in the way that the specification asks for, and returns it as a
// Handler. It takes over the stream, also when it fails: it has closed the
// stream when it returns, except when ctx ended first. Then it returns at once
// and closes the stream in the background.
func Dial(ctx context.Context, stream jsonrpc.Stream, persona *mcp.ClientProfile, o *DialOptions) (*Peer, error) {
	if o == nil {
		o = &DialOptions{}
	}
	if persona == nil {
		persona = &mcp.ClientProfile{Client: mcp.Implementation{Name: "tenon", Version: "0"}}
	}
	if o.Tap != nil {
		stream = jsonrpc.Tap(stream, o.Tap)
	}
	d := &dialling{opts: o, profile: persona, connected: make(chan struct{})}
	d.warner.report = persona.OnWarning
	d.conn = jsonrpc.NewConn(stream, d, &jsonrpc.ConnOptions{OnInvalidFrame: d.invalidFrame, Grace: -1, Linger: 500 * time.Millisecond})
	d.legacyPeer = legacy.NewPeer(d.conn, persona)
	var err error
	if d.modernPeer, err = modern.NewPeer(d.conn, persona, true); err != nil {
		stream.Close()
		return nil, err
	}
	caller := ctx
	runCtx, stop := context.WithCancel(context.WithoutCancel(ctx))
	ctx, cancel := context.WithTimeoutCause(ctx, or(o.ConnectTimeout, 30*time.Second), errors.New("the server did not answer in time"))
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
		} // otherwise the caller waits no longer, and the stream ends by itself
		return nil, fmt.Errorf("cannot meet the server: %w", err)
	}
	close(d.connected)
	return p, nil
}

// errEcho is what became of a program such as cat, which would otherwise be
// waited for until the time is up.
var errEcho = errors.New("it sends back what it is sent, so it is no MCP server: check the command")

const methodInitialize = "initialize"

func or(d, otherwise time.Duration) time.Duration {
	if d > 0 {
		return d
	}
	return otherwise
}

// A dialling is both wings at one connection. The one that does not speak with
// the server stays silent.
type dialling struct {
	opts       *DialOptions
	profile    *mcp.ClientProfile
	conn       *jsonrpc.Conn
	modernPeer *modern.Peer
	legacyPeer *legacy.Peer
	warner     warner

	giveUp    context.CancelCauseFunc // ends the meeting
	connected chan struct{}           // closed when it is known what the server speaks
	mu        sync.Mutex
	modern    bool // the server is known to be of the newest era
}

// Request is asked by a legacy server. A modern one must not ask, and gets no
// answer, so nothing but a ping is answered before it is known which one it is.
func (d *dialling) Request(ctx context.Context, x *jsonrpc.Exchange) {
	if x.Method == mcp.MethodDiscover || x.Method == methodInitialize {
		x.Ignore() // no server asks that
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
	silent := d.modern
	d.mu.Unlock()
	if silent {
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
	return fmt.Errorf("the server sent a request (%s), which its revision does not allow", method)
}

// noise reports a frame that was skipped.
func (d *dialling) invalidFrame(frame []byte, err error) {
	if d.opts.OnInvalidFrame != nil {
		d.opts.OnInvalidFrame(frame, err)
	}
	d.warner.frame(frame, err)
}

// Notification hears a note of the server.
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

// meet finds out what the server speaks.
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

// follow does what the probe came to.
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

// either waits for whichever comes first from a server that was silent: the
// late answer to the probe, or the answer to initialize.
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
			return nil, "", sayingWhat(err)
		}
		return d.legacyPeer, d.legacyPeer.Revision(), nil
	}
}

// refused gives a server that does not want initialize, as a modern one that is
// slow to start does not, as long again for its answer to the probe.
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
	return nil, "", sayingWhat(err)
}

func (d *dialling) isModern() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.modern = true
}

func (d *dialling) handshake(ctx context.Context, want mcp.Revision) (mcp.Handler, mcp.Revision, error) {
	if err := d.legacyPeer.Handshake(ctx, want); err != nil {
		return nil, "", sayingWhat(err)
	}
	return d.legacyPeer, d.legacyPeer.Revision(), nil
}

// sayingWhat adds to the refusal of a handshake what the server speaks instead,
// if it says so.
func sayingWhat(err error) error {
	if e, ok := errors.AsType[*mcp.Error](err); ok && e.Code == mcp.CodeUnsupportedVersion {
		if supported, _ := modern.Supported(e); len(supported) > 0 {
			return fmt.Errorf("%w; the server speaks %v", err, supported)
		}
	}
	return err
}

// A verdict is what a probe says of a server: the revision to speak with it,
// empty meaning any of the older ones.
type verdict struct {
	revision mcp.Revision
	err      error
}

// probe asks the server what it is. Only an answer that is recognisably modern
// makes it modern; any other, whatever its code, means an older server.
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
			return verdict{err: err} // no answer at all
		}
		supported, isModern := modern.Supported(e)
		switch {
		case !isModern:
			return verdict{}
		case len(supported) == 0:
			return verdict{err: fmt.Errorf("no revision in common: the server names none that it supports (%w)", e)}
		}
		if v := choose(supported); v.err != nil || v.revision != modern.Revision {
			return v
		}
	}
	return verdict{err: clientcall.Invalid(mcp.MethodDiscover, "it refuses a revision that it says it supports")}
}

// choose picks the revision to speak from those that a server supports.
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
	return verdict{err: fmt.Errorf("no revision in common: the server speaks %s, Tenon speaks %v", strings.Join(theirs, ", "), mcp.Revisions())}
}

// LatestWithHandshake is the newest revision that begins with a handshake. As
// [DialOptions].Known it meets an older server without probing it.
func LatestWithHandshake() mcp.Revision { return legacy.Latest() }
