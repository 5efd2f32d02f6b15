package lesson

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/builtin/calc"
	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/era"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
	"github.com/tenon-mcp/tenon/transport/streamable"
	"github.com/tenon-mcp/tenon/transport/streamclient"
)

// A Carried is one call as a transport carried it: every byte, in order.
type Carried struct {
	Transport string       `json:"transport"` // stdio, http or stream
	Pieces    []Piece      `json:"pieces"`
	Result    string       `json:"result"` // of the calculation, as a model reads it
	Revision  mcp.Revision `json:"revision"`
	Ms        float64      `json:"ms"`
}

// A Piece is bytes in one direction, up to the next in the other.
type Piece struct {
	Sent bool   `json:"sent"` // to the server
	Text string `json:"text"`
	Us   int64  `json:"us"` // microseconds since the call began
}

// Carry makes one call, the sum of two numbers, over stdio, over HTTP with a JSON
// response and over HTTP with an event stream, and returns their bytes. Servers
// and clients are in this process; the bytes pass through pipes and sockets of the
// system.
func Carry(ctx context.Context, n Numbers, revision mcp.Revision) ([]*Carried, error) {
	ctx, stop := context.WithTimeout(ctx, 20*time.Second)
	defer stop()
	var all []*Carried
	for _, one := range []struct {
		name string
		run  func(context.Context, *recorder, func(mcp.Dialer) error) error
	}{{"stdio", overPipes}, {"http", overHTTP}, {"stream", overHTTP}} {
		rec := &recorder{}
		out := &Carried{Transport: one.name}
		err := one.run(ctx, rec, func(d mcp.Dialer) error { return out.call(ctx, rec, knowing{d, revision}, n) })
		if err != nil {
			return nil, err
		}
		all = append(all, out)
	}
	return all, nil
}

// call connects and makes the call. Only the event stream has progress to carry.
func (out *Carried) call(ctx context.Context, rec *recorder, d mcp.Dialer, n Numbers) error {
	c, err := client.Dial(ctx, d, &client.Options{Client: mcp.Implementation{Name: "tenon", Version: "1"}, SkipOutputCheck: true})
	if err != nil {
		return err
	}
	defer c.Close()
	if out.Revision, err = c.Revision(ctx); err != nil {
		return err
	}
	o := &client.CallOptions{}
	if out.Transport == "stream" {
		o.Progress = func(mcp.ProgressParams) {}
	}
	rec.start()
	began := time.Now()
	sum, err := c.CallTool(ctx, "add", map[string]float64{"a": n.A, "b": n.B}, o)
	out.Ms = float64(time.Since(began).Microseconds()) / 1000
	out.Pieces = rec.stop()
	if err != nil {
		return err
	}
	for _, part := range sum.Content {
		if text, ok := part.(*mcp.TextContent); ok {
			out.Result = text.Text
		}
	}
	return nil
}

// A knowing Dialer sets the revision to use.
type knowing struct {
	mcp.Dialer
	revision mcp.Revision
}

func (k knowing) Dial(ctx context.Context, p *mcp.ClientProfile) (mcp.Conn, error) {
	switch d := k.Dialer.(type) {
	case *streamclient.Endpoint:
		d.Era.Known = k.revision
	case *lineDialer:
		d.known = k.revision
	}
	return k.Dialer.Dial(ctx, p)
}

// A lineDialer connects to a server behind two pipes, one message on each line.
type lineDialer struct {
	p     *pipes
	rec   *recorder
	known mcp.Revision
}

func (d *lineDialer) Dial(ctx context.Context, profile *mcp.ClientProfile) (mcp.Conn, error) {
	track := d.rec.track()
	stream := jsonrpc.Lines(reader{d.p.out, track}, writer{d.p.in, track}, d.p.in, 0)
	return era.Dial(ctx, stream, profile, &era.DialOptions{Known: d.known})
}

func overPipes(ctx context.Context, rec *recorder, call func(mcp.Dialer) error) error {
	h, err := calc.New(calc.Config{})
	if err != nil {
		return err
	}
	defer h.Close()
	p, err := serve(ctx, h)
	if err != nil {
		return err
	}
	defer p.Close()
	return call(&lineDialer{p: p, rec: rec})
}

func overHTTP(ctx context.Context, rec *recorder, call func(mcp.Dialer) error) error {
	h, err := calc.New(calc.Config{})
	if err != nil {
		return err
	}
	defer h.Close()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	serving, stop := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- streamable.Serve(serving, l, reporting{h}, nil, nil) }()
	defer func() { stop(); <-done }()
	web := &http.Transport{DisableCompression: true, DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return recordedConn{conn, rec.track()}, nil
	}}
	defer web.CloseIdleConnections()
	return call(&streamclient.Endpoint{URL: "http://" + l.Addr().String() + streamable.Path, HTTP: &http.Client{Transport: web}})
}

// A reporting server reports progress before each result, if it was asked for.
type reporting struct{ mcp.Handler }

func (r reporting) Serve(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
	if c.Method == mcp.MethodToolsCall {
		server.Progress(c, 1, 2, "adding")
	}
	return r.Handler.Serve(ctx, c)
}

// A recorder keeps the bytes of connections between start and stop, for each
// connection by itself.
type recorder struct {
	mu     sync.Mutex
	on     bool
	began  time.Time
	tracks []*track
}

// A track is what was recorded of one connection.
type track struct {
	rec    *recorder
	pieces []Piece
}

func (r *recorder) track() *track {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := &track{rec: r}
	r.tracks = append(r.tracks, t)
	return t
}

func (r *recorder) start() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.on, r.began = true, time.Now()
}

// stop returns the pieces of the connection that carried the call: a legacy client
// has another one, on which the server may send.
func (r *recorder) stop() []Piece {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.on = false
	for _, t := range r.tracks {
		for _, p := range t.pieces {
			if p.Sent && strings.Contains(p.Text, `"`+mcp.MethodToolsCall+`"`) {
				return t.pieces
			}
		}
	}
	return nil
}

// maxRecorded bounds the bytes of one piece.
const maxRecorded = 64 << 10

func (t *track) add(sent bool, data []byte) {
	t.rec.mu.Lock()
	defer t.rec.mu.Unlock()
	if !t.rec.on || len(data) == 0 {
		return
	}
	data = bytes.ToValidUTF8(data, []byte("\uFFFD"))
	if n := len(t.pieces); n > 0 && t.pieces[n-1].Sent == sent {
		if last := &t.pieces[n-1]; len(last.Text) < maxRecorded {
			last.Text += string(data)
		}
		return
	}
	t.pieces = append(t.pieces, Piece{sent, string(data), time.Since(t.rec.began).Microseconds()})
}

// reader and writer record what passes through them.
type reader struct {
	io.Reader
	track *track
}

func (r reader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	r.track.add(false, p[:n])
	return n, err
}

type writer struct {
	io.Writer
	track *track
}

func (w writer) Write(p []byte) (int, error) {
	w.track.add(true, p)
	return w.Writer.Write(p)
}

type recordedConn struct {
	net.Conn
	track *track
}

func (c recordedConn) Read(p []byte) (int, error)  { return reader{c.Conn, c.track}.Read(p) }
func (c recordedConn) Write(p []byte) (int, error) { return writer{c.Conn, c.track}.Write(p) }
