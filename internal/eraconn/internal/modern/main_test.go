package modern

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenon-mcp/tenon/internal/eraconn/internal/clientcall"
	"github.com/tenon-mcp/tenon/internal/leaktest"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

const goodMeta = `"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}},"io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"}`

func newServer(t *testing.T, h mcp.HandlerFunc) *Server {
	t.Helper()
	keys, err := NewKeys(time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	return NewServer(h, keys)
}

func message(t testing.TB, raw string) *jsonrpc.Message {
	t.Helper()
	m, err := jsonrpc.Decode([]byte(raw))
	if err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return &m
}

func wantCode(t *testing.T, err error, code int) {
	t.Helper()
	e, ok := errors.AsType[*mcp.Error](err)
	if !ok || e.Code != code {
		t.Errorf("got the error %v, want code %d", err, code)
	}
}

// A wire is a Peer whose server is the test. It must live in a synctest bubble.
type wire struct {
	t     *testing.T
	peer  *Peer
	conn  *jsonrpc.Conn
	far   jsonrpc.Stream
	ran   chan error
	heard []mcp.Notification

	mu     sync.Mutex
	frames []string
}

func (w *wire) Request(_ context.Context, x *jsonrpc.Exchange) { x.Ignore() }
func (w *wire) Notification(_ context.Context, _ *jsonrpc.Conn, m *jsonrpc.Message) {
	w.peer.Notification(m, 0)
}

func newWire(t *testing.T) *wire {
	t.Helper()
	near, far := jsonrpc.Pipe()
	w := &wire{t: t, far: far, ran: make(chan error, 1)}
	w.conn = jsonrpc.NewConn(near, w, nil)
	persona := &mcp.ClientProfile{
		Client:         mcp.Implementation{Name: "c", Version: "1"},
		Capabilities:   mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapability{}},
		OnNotification: func(n mcp.Notification) { w.heard = append(w.heard, n) },
	}
	var err error
	if w.peer, err = NewPeer(w.conn, persona, true); err != nil {
		t.Fatal(err)
	}
	go func() { w.ran <- w.conn.Run(context.Background()) }()
	go func() {
		for {
			f, err := far.Read()
			if err != nil {
				return
			}
			w.mu.Lock()
			w.frames = append(w.frames, string(f))
			w.mu.Unlock()
		}
	}()
	return w
}

func (w *wire) send(lines ...string) {
	w.t.Helper()
	if err := w.far.Write([]byte(strings.Join(lines, "\n") + "\n")); err != nil {
		w.t.Error(err)
	}
	synctest.Wait()
}

func (w *wire) take() []string {
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	f := w.frames
	w.frames = nil
	return f
}

func (w *wire) end() {
	w.t.Helper()
	w.far.Close()
	if err := <-w.ran; err != nil {
		w.t.Errorf("Run: %v", err)
	}
}

type outcome struct {
	res mcp.Result
	err error
}

// start makes a call; notes of it go to the returned slice.
func (w *wire) start(ctx context.Context, c *mcp.Call) (chan outcome, *[]mcp.Notification) {
	notes := new([]mcp.Notification)
	if c.OnNotification == nil {
		c.OnNotification = func(n mcp.Notification) { *notes = append(*notes, n) }
	}
	done := make(chan outcome, 1)
	go func() {
		res, err := w.peer.Serve(ctx, c)
		done <- outcome{res, err}
	}()
	synctest.Wait()
	return done, notes
}

// answered makes a call that is answered with raw as its result.
func (w *wire) answered(c *mcp.Call, raw string) (mcp.Result, error) {
	w.t.Helper()
	done, _ := w.start(w.t.Context(), c)
	frames := w.take()
	if len(frames) != 1 {
		w.t.Fatalf("sent %q", frames)
	}
	m := message(w.t, frames[0])
	w.send(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":` + raw + `}`)
	o := <-done
	return o.res, o.err
}

func bubble(t *testing.T, f func(t *testing.T)) { t.Helper(); synctest.Test(t, f) }

func raw(s string) json.RawMessage { return json.RawMessage(s) }

// newOpen makes a call known to p as Serve does.
func newOpen(p *Peer, id int64, c *mcp.Call) *clientcall.Open {
	o := clientcall.NewOpen(id, c)
	p.track(o)
	return o
}
