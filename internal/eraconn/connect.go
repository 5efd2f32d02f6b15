package eraconn

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tenon-mcp/tenon/internal/eraconn/internal/clientcall"
	"github.com/tenon-mcp/tenon/internal/eraconn/internal/legacy"
	"github.com/tenon-mcp/tenon/internal/eraconn/internal/modern"
	"github.com/tenon-mcp/tenon/internal/timeoutpause"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
)

// A Link carries requests to a server over a transport that carries each request
// separately, such as HTTP. NextID returns an unused id, Start sends a request
// and returns its pending response (see [jsonrpc.NewPending]), Notify sends a
// notification, and Done is closed when the link has ended or may have missed
// notifications. When a Pending is canceled, the link gives up its request.
type Link = clientcall.Link

// NotModern is an error of a Link that is no JSON-RPC response but may show that
// the server is not modern.
type NotModern interface {
	error
	NotModern() bool
}

// DialOptions has the fields of era.DialOptions, which documents them.
type DialOptions struct {
	Known                        mcp.Revision
	ProbeTimeout, ConnectTimeout time.Duration
	OnInvalidFrame               func(frame []byte, err error)
	Tap                          func(d jsonrpc.Direction, frame []byte)
}

// A Receiver handles the requests, notifications and invalid frames that a Link
// receives from the server. origin is the id of the request on whose stream the
// message arrived, or 0.
//
// A Receiver has the peers of both eras at one link. Once the era is known, only
// the matching peer is used.
type Receiver struct {
	opts       DialOptions
	modernPeer *modern.Peer
	legacyPeer *legacy.Peer
	warner     warner

	connected chan struct{} // closed when the era of the server is known
	modern    atomic.Bool   // the server is known to be modern
}

func newReceiver(profile *mcp.ClientProfile, o DialOptions) *Receiver {
	return &Receiver{opts: o, connected: make(chan struct{}), warner: warner{report: profile.OnWarning}}
}

// use creates the peers at a link. If shared is set, all requests share one
// stream.
func (r *Receiver) use(l Link, profile *mcp.ClientProfile, shared bool) (err error) {
	r.legacyPeer = legacy.NewPeer(l, profile)
	r.modernPeer, err = modern.NewPeer(l, profile, shared)
	return err
}

func (r *Receiver) close() {
	r.legacyPeer.Close()
	r.warner.close()
}

// profileOr returns the profile, or one without capabilities if it is nil.
func profileOr(p *mcp.ClientProfile) *mcp.ClientProfile {
	return cmp.Or(p, &mcp.ClientProfile{Client: mcp.Implementation{Name: "tenon", Version: "0"}})
}

// or returns n, or the default if n is not positive.
func or[T ~int | ~int64](n, byDefault T) T {
	if n > 0 {
		return n
	}
	return byDefault
}

// Notification handles a notification of the server. It does not block.
func (r *Receiver) Notification(m *jsonrpc.Message, origin int64) {
	if r.modern.Load() {
		r.modernPeer.Notification(m, origin)
		return
	}
	r.legacyPeer.Notification(m, origin)
}

// Request handles a request of the server and waits for the response. A nil
// answer means that the link must send none: a modern server sends no requests.
// Before the era is known, only ping is answered.
func (r *Receiver) Request(ctx context.Context, m *jsonrpc.Message, origin int64) (answer func(dst []byte) []byte) {
	if m.Method != mcp.MethodPing {
		select {
		case <-r.connected:
		case <-ctx.Done():
			return nil
		}
	}
	if r.modern.Load() {
		r.InvalidFrame(nil, fmt.Errorf("request %q from the server: not allowed in its protocol revision", m.Method))
		return nil
	}
	result, e := r.legacyPeer.Request(ctx, m, origin)
	if e != nil {
		return func(dst []byte) []byte { return jsonrpc.AppendError(dst, m.ID, e) }
	}
	return func(dst []byte) []byte { return jsonrpc.AppendResult(dst, m.ID, result) }
}

// InvalidFrame reports a frame of the server that was skipped; see
// era.DialOptions.OnInvalidFrame. The frame may be nil.
func (r *Receiver) InvalidFrame(frame []byte, err error) {
	if r.opts.OnInvalidFrame != nil {
		r.opts.OnInvalidFrame(frame, err)
	}
	r.warner.frame(frame, err)
}

// Undelivered reports why a message to the server could not be delivered that no
// call waits for.
func (r *Receiver) Undelivered(err error) { r.warner.warn(err.Error()) }

// A Conn is a connection to a server over a Link. It is an [mcp.Handler].
type Conn struct {
	receiver *Receiver
	handler  mcp.Handler
	revision mcp.Revision
}

// Connect detects the era of the server behind a link and returns the
// connection. It calls link once, with the Receiver for the messages of the
// server.
func Connect(ctx context.Context, profile *mcp.ClientProfile, o DialOptions, link func(*Receiver) Link) (*Conn, error) {
	profile = profileOr(profile)
	// Over HTTP every request is answered, and a person may have to log in first:
	// a slow response does not mean a legacy server.
	o.ProbeTimeout = or(o.ProbeTimeout, time.Hour)
	r := newReceiver(profile, o)
	if err := r.use(link(r), profile, false); err != nil {
		return nil, err
	}
	handler, revision, err := r.connect(ctx)
	if err != nil {
		r.close()
		return nil, fmt.Errorf("connect to the server: %w", err)
	}
	return &Conn{r, handler, revision}, nil
}

// Serve sends a call to the server and waits for its result.
func (c *Conn) Serve(ctx context.Context, call *mcp.Call) (mcp.Result, error) {
	return c.handler.Serve(ctx, call)
}

// Revision returns the protocol revision in use.
func (c *Conn) Revision() mcp.Revision { return c.revision }

// Modern reports whether the server is modern, and so has no session.
func (c *Conn) Modern() bool { return c.revision == modern.Revision }

// Close gives up calls that wait for an input response and reports no more
// warnings. The caller closes the link.
func (c *Conn) Close() { c.receiver.close() }

// A timeoutError ends the context of a connection attempt that took too long.
type timeoutError struct{}

func (timeoutError) Error() string { return "the server did not answer in time" }
func (timeoutError) Unwrap() error { return context.DeadlineExceeded }

var errTimeout error = timeoutError{}

// withPausableTimeout returns a context that ends after limit. The timeout
// stops while a person is asked, as for a login, which may take minutes, and
// starts from zero afterwards.
func withPausableTimeout(parent context.Context, limit time.Duration) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(parent)
	timer := time.AfterFunc(limit, func() { cancel(errTimeout) })
	var mu sync.Mutex
	holding := 0
	ctx = timeoutpause.With(ctx, func(n int) {
		mu.Lock()
		defer mu.Unlock()
		if holding += n; holding > 0 {
			timer.Stop()
		} else {
			timer.Reset(limit)
		}
	})
	return ctx, func() {
		mu.Lock()
		defer mu.Unlock()
		holding = 1 << 30 // a later release does not restart the timer
		timer.Stop()
		cancel(context.Canceled)
	}
}
