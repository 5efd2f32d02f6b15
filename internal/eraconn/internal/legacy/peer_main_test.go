package legacy

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
)

// A wire is a Peer whose legacy server is the test. It must live in a synctest
// bubble.
type wire struct {
	t       *testing.T
	peer    *Peer
	conn    *jsonrpc.Conn
	far     jsonrpc.Stream
	ran     chan error
	persona *mcp.ClientProfile
	heard   []mcp.Notification

	mu     sync.Mutex
	frames []string
}

func (w *wire) Request(ctx context.Context, x *jsonrpc.Exchange) {
	result, e := w.peer.Request(ctx, &x.Message, 0)
	if e != nil {
		x.RespondError(e)
		return
	}
	x.Respond(func(dst []byte) []byte { return jsonrpc.AppendResult(dst, x.ID, result) })
}

func (w *wire) Notification(_ context.Context, c *jsonrpc.Conn, m *jsonrpc.Message) {
	if m.Method == mcp.NotificationCancelled {
		c.Cancel(jsonrpc.ID(rawjson.Lookup(m.Params, "requestId")))
		return
	}
	w.peer.Notification(m, 0)
}

func newWire(t *testing.T) *wire {
	t.Helper()
	near, far := jsonrpc.Pipe()
	w := &wire{t: t, far: far, ran: make(chan error, 1)}
	w.conn = jsonrpc.NewConn(near, w, &jsonrpc.ConnOptions{Grace: -1})
	w.persona = &mcp.ClientProfile{
		Client: mcp.Implementation{Name: "c", Version: "1"},
		Capabilities: mcp.ClientCapabilities{
			Elicitation: &mcp.ElicitationCapability{Form: mcp.Settings{}, URL: mcp.Settings{}},
			Roots:       &mcp.RootsCapability{},
		},
		OnNotification: func(n mcp.Notification) { w.heard = append(w.heard, n) },
	}
	w.peer = NewPeer(w.conn, w.persona)
	go func() {
		err := w.conn.Run(context.Background())
		w.peer.Close()
		w.ran <- err
	}()
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

// ready shakes hands with a server that offers what capabilities says.
func ready(t *testing.T, capabilities string) *wire {
	t.Helper()
	w := newWire(t)
	done := make(chan error, 1)
	go func() { done <- w.peer.Handshake(t.Context(), "") }()
	id := message(t, w.one()).ID
	w.send(`{"jsonrpc":"2.0","id":` + string(id) + `,"result":{"protocolVersion":"2025-11-25","capabilities":` + capabilities + `,"serverInfo":{"name":"s","version":"1"}}}`)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if f := w.one(); !strings.Contains(f, mcp.NotificationInitialized) {
		t.Fatalf("after the handshake came %s", f)
	}
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

// one returns the one frame that came.
func (w *wire) one() string {
	w.t.Helper()
	f := w.take()
	if len(f) != 1 {
		w.t.Fatalf("got %d frames, want 1: %q", len(f), f)
	}
	return f[0]
}

func (w *wire) silent() {
	w.t.Helper()
	if f := w.take(); len(f) > 0 {
		w.t.Errorf("got %q, want silence", f)
	}
}

func (w *wire) end() {
	w.t.Helper()
	w.far.Close()
	if err := <-w.ran; err != nil {
		w.t.Errorf("Run: %v", err)
	}
	synctest.Wait() // until calls that failed with it have been told
	w.peer.mu.Lock()
	defer w.peer.mu.Unlock()
	if n := len(w.peer.parked) + len(w.peer.carries) + len(w.peer.open) + len(w.peer.listening) + len(w.peer.watched); n > 0 {
		w.t.Errorf("the peer remembers %d things: %d parked, %d carriers, %d open", n, len(w.peer.parked), len(w.peer.carries), len(w.peer.open))
	}
}

type outcome struct {
	res mcp.Result
	err error
}

func (w *wire) start(ctx context.Context, c *mcp.Call) chan outcome {
	done := make(chan outcome, 1)
	go func() {
		res, err := w.peer.Serve(ctx, c)
		done <- outcome{res, err}
	}()
	synctest.Wait()
	return done
}

func callBy(principal string) *mcp.Call {
	c := &mcp.Call{Method: mcp.MethodToolsCall, Params: raw(`{"name":"t"}`)}
	if principal != "" {
		c.Caller.Principal = &mcp.Principal{ID: principal}
	}
	return c
}

func elicit(id string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"elicitation/create","params":{"message":"?","requestedSchema":{"type":"object","properties":{}},"_meta":{"x":1},"task":{}}}`
}

// put starts a call and returns its id on the wire.
func (w *wire) put(c *mcp.Call) (chan outcome, string) {
	w.t.Helper()
	done := w.start(w.t.Context(), c)
	return done, string(message(w.t, w.one()).ID)
}

// need waits for the end of a round.
func (w *wire) need(done chan outcome) *mcp.InputRequired {
	w.t.Helper()
	synctest.Wait()
	select {
	case o := <-done:
		if need, ok := o.err.(*mcp.InputRequired); ok {
			return need
		}
		w.t.Fatalf("got %s, %v; want a question", o.res.Body, o.err)
	default:
		w.t.Fatal("the call still waits")
	}
	return nil
}

// again returns the next round of a call.
func again(c *mcp.Call, need *mcp.InputRequired, answer string) *mcp.Call {
	next := *c
	next.State, next.InputResponses = need.State, nil
	if answer != "" {
		next.InputResponses = map[string]json.RawMessage{}
		for key := range need.Requests {
			next.InputResponses[key] = raw(answer)
		}
	}
	return &next
}

func result(id, text string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[],"_meta":{"text":%q}}}`, id, text)
}

func (w *wire) wantResult(done chan outcome, text string) {
	w.t.Helper()
	o := <-done
	if o.err != nil || string(o.res.Meta["text"]) != `"`+text+`"` || string(o.res.Body) != `{"content":[]}` {
		w.t.Errorf("got %s %s, %v; want %s", o.res.Body, o.res.Meta, o.err, text)
	}
}
