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

// A Link carries requests to a server that is reached request by request, as
// over HTTP: NextID gives ids away, Start sends a request and returns where its
// answer will arrive (see [jsonrpc.NewPending]), Notify sends a notification,
// and Done is closed when the link has ended or may have missed something.
// When a Pending is dropped the link stops what it does for it.
type Link = clientcall.Link

// NotModern is an error of a Link that shows, without being an answer, that the
// far end does not speak the newest era.
type NotModern interface {
	error
	NotModern() bool
}

// An Receiver takes in what the server sends beside answers. origin is the id of
// the request on whose stream it came, or 0.
type Receiver struct{ d *dialling }

// Told takes in a notification. It does not block.
func (in *Receiver) Notification(m *jsonrpc.Message, origin int64) {
	if in.d.speaksModern() {
		in.d.modernPeer.Notification(m, origin)
		return
	}
	in.d.legacyPeer.Notification(m, origin)
}

// Asked takes in a request of the server and waits for its answer. Nil means
// that there must be none: a server of the newest era does not ask.
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

// Skipped takes in a frame of the server that cannot be used; see
// [DialOptions].Noise. The frame is nil if it is not at hand.
func (in *Receiver) InvalidFrame(frame []byte, err error) { in.d.invalidFrame(frame, err) }

// Undelivered takes in why a message to the server, for which no call waits,
// could not be delivered.
func (in *Receiver) Undelivered(err error) { in.d.warner.warn(err.Error()) }

func (d *dialling) speaksModern() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.modern
}

// A Conn is a server that was met over a Link, shaped as a Handler.
type Conn struct {
	d        *dialling
	handler  mcp.Handler
	revision mcp.Revision
}

// Connect finds out what the server behind a link speaks and returns it as a
// Handler. The link is made with where it is to bring what the server sends by
// itself.
func Connect(ctx context.Context, persona *mcp.ClientProfile, o *DialOptions, link func(in *Receiver) Link) (*Conn, error) {
	if o == nil {
		o = &DialOptions{}
	}
	if persona == nil {
		persona = &mcp.ClientProfile{Client: mcp.Implementation{Name: "tenon", Version: "0"}}
	}
	if o.ProbeTimeout <= 0 {
		// A server that is reached request by request answers each of them,
		// and a person may have to log in before it does: silence says nothing.
		patient := *o
		patient.ProbeTimeout = time.Hour
		o = &patient
	}
	d := &dialling{opts: o, profile: persona, connected: make(chan struct{})}
	d.warner.report = persona.OnWarning
	l := link(&Receiver{d})
	d.legacyPeer = legacy.NewPeer(l, persona)
	var err error
	if d.modernPeer, err = modern.NewPeer(l, persona, false); err != nil {
		return nil, err
	}
	ctx, stop := untilIdle(ctx, or(o.ConnectTimeout, 30*time.Second))
	defer stop()
	m := &Conn{d: d}
	if m.handler, m.revision, err = d.connect(ctx); err != nil {
		d.legacyPeer.Close()
		d.warner.close()
		return nil, fmt.Errorf("cannot meet the server: %w", err)
	}
	close(d.connected)
	return m, nil
}

// Serve makes a call.
func (m *Conn) Serve(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
	return m.handler.Serve(ctx, c)
}

// Revision is what is spoken with the server.
func (m *Conn) Revision() mcp.Revision { return m.revision }

// Modern reports whether the server is of the newest era, which has no session.
func (m *Conn) Modern() bool { return m.revision == modern.Revision }

// Close gives up calls that wait for an answer between two rounds, and reports
// nothing more to the persona's Warn. The caller closes the link.
func (m *Conn) Close() {
	m.d.legacyPeer.Close()
	m.d.warner.close()
}
