package era

import (
	"context"
	"fmt"
	"time"

	"github.com/tenon-mcp/tenon/era/internal/clientcall"
	"github.com/tenon-mcp/tenon/era/internal/legacy"
	"github.com/tenon-mcp/tenon/era/internal/modern"
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

// A Receiver handles the requests, notifications and invalid frames that a Link
// receives from the server. origin is the id of the request on whose stream the
// message arrived, or 0.
type Receiver struct{ d *dialling }

// Notification handles a notification of the server. It does not block.
func (in *Receiver) Notification(m *jsonrpc.Message, origin int64) {
	if in.d.speaksModern() {
		in.d.modernPeer.Notification(m, origin)
		return
	}
	in.d.legacyPeer.Notification(m, origin)
}

// Request handles a request of the server and waits for the response. A nil
// answer means that the link must send none: a modern server sends no requests.
func (in *Receiver) Request(ctx context.Context, m *jsonrpc.Message, origin int64) (answer func(dst []byte) []byte) {
	if !legacy.IsPing(m) {
		select {
		case <-in.d.connected:
		case <-ctx.Done():
			return nil
		}
	}
	if in.d.speaksModern() {
		in.d.invalidFrame(nil, requestNotAllowed(m.Method))
		return nil
	}
	result, e := in.d.legacyPeer.Request(ctx, m, origin)
	if e != nil {
		return func(dst []byte) []byte { return jsonrpc.AppendError(dst, m.ID, e) }
	}
	return func(dst []byte) []byte { return jsonrpc.AppendResult(dst, m.ID, result) }
}

// InvalidFrame reports a frame of the server that was skipped; see
// [DialOptions].OnInvalidFrame. The frame may be nil.
func (in *Receiver) InvalidFrame(frame []byte, err error) { in.d.invalidFrame(frame, err) }

// Undelivered reports why a message to the server could not be delivered that no
// call waits for.
func (in *Receiver) Undelivered(err error) { in.d.warner.warn(err.Error()) }

func (d *dialling) speaksModern() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.modern
}

// A Conn is a connection to a server over a Link. It is an [mcp.Handler].
type Conn struct {
	d        *dialling
	handler  mcp.Handler
	revision mcp.Revision
}

// Connect detects the era of the server behind a link and returns the
// connection. It calls link once, with the Receiver for the messages of the
// server.
func Connect(ctx context.Context, profile *mcp.ClientProfile, o *DialOptions, link func(in *Receiver) Link) (*Conn, error) {
	if o == nil {
		o = &DialOptions{}
	}
	if profile == nil {
		profile = &mcp.ClientProfile{Client: mcp.Implementation{Name: "tenon", Version: "0"}}
	}
	if o.ProbeTimeout <= 0 {
		// Over HTTP every request is answered, and a person may have to log in
		// first: a slow response does not mean a legacy server.
		patient := *o
		patient.ProbeTimeout = time.Hour
		o = &patient
	}
	d := &dialling{opts: o, profile: profile, connected: make(chan struct{})}
	d.warner.report = profile.OnWarning
	l := link(&Receiver{d})
	d.legacyPeer = legacy.NewPeer(l, profile)
	var err error
	if d.modernPeer, err = modern.NewPeer(l, profile, false); err != nil {
		return nil, err
	}
	ctx, stop := withPausableTimeout(ctx, or(o.ConnectTimeout, 30*time.Second))
	defer stop()
	m := &Conn{d: d}
	if m.handler, m.revision, err = d.connect(ctx); err != nil {
		d.legacyPeer.Close()
		d.warner.close()
		return nil, fmt.Errorf("connect to the server: %w", err)
	}
	close(d.connected)
	return m, nil
}

// Serve sends a call to the server and waits for its result.
func (m *Conn) Serve(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
	return m.handler.Serve(ctx, c)
}

// Revision returns the protocol revision in use.
func (m *Conn) Revision() mcp.Revision { return m.revision }

// Modern reports whether the server is modern, and so has no session.
func (m *Conn) Modern() bool { return m.revision == modern.Revision }

// Close gives up calls that wait for an input response and reports no more
// warnings. The caller closes the link.
func (m *Conn) Close() {
	m.d.legacyPeer.Close()
	m.d.warner.close()
}
