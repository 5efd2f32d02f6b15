package jsonrpc

import (
	"context"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/tenon-mcp/tenon/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// serving is a Handler made of functions; nil ones answer with an empty result
// and hear nothing.
type serving struct {
	request func(ctx context.Context, x *Exchange)
	notice  func(ctx context.Context, c *Conn, m *Message)
}

func (s serving) Request(ctx context.Context, x *Exchange) {
	if s.request != nil {
		s.request(ctx, x)
		return
	}
	answer(x, `{}`)
}

func (s serving) Notification(ctx context.Context, c *Conn, m *Message) {
	if s.notice != nil {
		s.notice(ctx, c, m)
	}
}

func answer(x *Exchange, result string) {
	x.Respond(func(dst []byte) []byte { return AppendResult(dst, x.ID, []byte(result)) })
}

// A rig is a Conn whose far end is the test. It must live in a synctest
// bubble.
type rig struct {
	t      *testing.T
	conn   *Conn
	far    Stream
	ran    chan error
	cancel context.CancelFunc

	mu     sync.Mutex
	frames []string
	noises []string
}

func newRig(t *testing.T, h Handler, o *ConnOptions) *rig {
	t.Helper()
	near, far := Pipe()
	r := &rig{t: t, far: far, ran: make(chan error, 1)}
	var opts ConnOptions
	if o != nil {
		opts = *o
	}
	opts.OnInvalidFrame = func(_ []byte, err error) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.noises = append(r.noises, err.Error())
	}
	r.conn = NewConn(near, h, &opts)
	ctx, cancel := context.WithCancel(context.Background())
	r.cancel = cancel
	go func() { r.ran <- r.conn.Run(ctx) }()
	go func() {
		for {
			f, err := far.Read()
			if err != nil {
				return
			}
			r.mu.Lock()
			r.frames = append(r.frames, string(f))
			r.mu.Unlock()
		}
	}()
	return r
}

func (r *rig) send(lines ...string) {
	r.t.Helper()
	if err := r.far.Write([]byte(strings.Join(lines, "\n") + "\n")); err != nil {
		r.t.Errorf("sending to the conn: %v", err)
	}
}

// take returns what came since the last time, when all is quiet.
func (r *rig) take() []string {
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	f := r.frames
	r.frames = nil
	return f
}

// want compares what came, in any order, with parts of it.
func (r *rig) want(parts ...string) {
	r.t.Helper()
	got := r.take()
	if len(got) != len(parts) {
		r.t.Fatalf("got %d frames, want %d:\n%s", len(got), len(parts), strings.Join(got, "\n"))
	}
	for _, p := range parts {
		found := false
		for i, f := range got {
			if strings.Contains(f, p) {
				got = append(got[:i:i], got[i+1:]...)
				found = true
				break
			}
		}
		if !found {
			r.t.Errorf("no frame with %s in\n%s", p, strings.Join(got, "\n"))
		}
	}
}

// heard returns the noises since the last time.
func (r *rig) heard() []string {
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	n := r.noises
	r.noises = nil
	return n
}

// end closes the far end and returns what Run came to.
func (r *rig) end() error {
	r.far.Close()
	err := <-r.ran
	r.cancel()
	return err
}

func (r *rig) endWell() {
	r.t.Helper()
	if err := r.end(); err != nil {
		r.t.Errorf("Run: %v", err)
	}
}

func bubble(t *testing.T, f func(t *testing.T)) { t.Helper(); synctest.Test(t, f) }

// plug is a stream whose far end never reads: Write waits until Close.
type plug struct {
	once   sync.Once
	closed chan struct{}
	in     chan []byte
	wrote  chan struct{} // one token for each Write that began
}

func newPlug() *plug {
	return &plug{closed: make(chan struct{}), in: make(chan []byte, 64), wrote: make(chan struct{}, 1024)}
}

func (p *plug) Read() ([]byte, error) {
	select {
	case f := <-p.in:
		return f, nil
	case <-p.closed:
		return nil, io.EOF
	}
}

func (p *plug) Write([]byte) error {
	p.wrote <- struct{}{}
	<-p.closed
	return io.ErrClosedPipe
}

func (p *plug) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}
