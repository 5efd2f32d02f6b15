package jsonrpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// sleeper serves requests that take as long as their method says, unless they
// are cancelled; "deaf" ones do not hear that.
func sleeper(release chan struct{}) Handler {
	return serving{request: func(ctx context.Context, x *Exchange) {
		if x.Method == "deaf" {
			<-release
			return
		}
		d, err := time.ParseDuration(x.Method)
		if err != nil {
			x.RespondError(&Error{Code: CodeMethodNotFound, Message: err.Error()})
			return
		}
		select {
		case <-time.After(d):
			answer(x, `{"slept":true}`)
		case <-ctx.Done():
			x.RespondError(&Error{Code: CodeInternal, Message: "woken"})
		}
	}}
}

func ask(id int, method string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q}`, id, method)
}

// halfClosed is a stream whose far end has said everything and still reads.
type halfClosed struct {
	in  []string
	out chan string
}

func (h *halfClosed) Read() ([]byte, error) {
	if len(h.in) == 0 {
		return nil, io.EOF
	}
	f := h.in[0]
	h.in = h.in[1:]
	return []byte(f), nil
}
func (h *halfClosed) Write(b []byte) error { h.out <- string(b); return nil }
func (h *halfClosed) Close() error         { return nil }

// A client that pipes its requests in and goes away, as a shell does, gets its
// answers: fast ones as they are, slow ones cancelled after the grace.
func TestEndOfInputLetsAnswersOut(t *testing.T) {
	bubble(t, func(t *testing.T) {
		for _, c := range []struct {
			grace time.Duration
			want  [2]string // the fast and the slow one
			took  time.Duration
		}{
			{0, [2]string{"slept", "woken"}, 500 * time.Millisecond},
			{-1, [2]string{"woken", "woken"}, 0},
			{time.Hour, [2]string{"slept", "slept"}, time.Minute},
		} {
			s := &halfClosed{in: []string{ask(1, "100ms"), ask(2, "1m")}, out: make(chan string, 8)}
			begin := time.Now()
			if err := NewConn(s, sleeper(nil), &ConnOptions{Grace: c.grace, WriteInline: true}).Run(t.Context()); err != nil {
				t.Error(err)
			}
			if took := time.Since(begin); took != c.took {
				t.Errorf("grace %s: Run took %s, want %s", c.grace, took, c.took)
			}
			close(s.out)
			all := ""
			for f := range s.out {
				all += f
			}
			for i, want := range c.want {
				found := false
				for line := range strings.Lines(all) {
					found = found || strings.Contains(line, fmt.Sprintf(`"id":%d,`, i+1)) && strings.Contains(line, want)
				}
				if !found {
					t.Errorf("grace %s: no answer %s to %d in\n%s", c.grace, want, i+1, all)
				}
			}
		}
	})
}

func TestHandlersThatNeverEndAreReported(t *testing.T) {
	bubble(t, func(t *testing.T) {
		release := make(chan struct{})
		r := newRig(t, sleeper(release), &ConnOptions{Linger: time.Second})
		r.send(ask(1, "deaf"))
		r.take()
		if err := r.end(); err == nil || !strings.Contains(err.Error(), "1 requests are still running 1s after") {
			t.Errorf("Run: %v", err)
		}
		close(release)
	})
}

// The end of Run's context, as a SIGTERM makes it, lets answers out and
// refuses what is new.
func TestEndOfContext(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, sleeper(nil), nil)
		r.send(ask(1, "100ms"), ask(2, "1h"))
		r.take()
		r.cancel()
		synctest.Wait()
		r.send(ask(3, "1ms"))
		r.want(`"id":3,"error":{"code":-32600,"message":"the server is shutting down"}`)
		if err := <-r.ran; err != nil {
			t.Errorf("Run: %v", err)
		}
		r.want(`"id":1,"result":{"slept":true}`, `"id":2,"error":{"code":-32603,"message":"woken"}`)
		if err := r.conn.Err(); err != nil {
			t.Errorf("Err: %v", err)
		}
	})
}

func TestCallsEndWithTheConnection(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, serving{}, nil)
		done := r.call(t.Context(), "m")
		r.take()
		r.endWell()
		closed, ok := errors.AsType[*ClosedError]((<-done).err)
		if !ok || closed.Error() != "the connection is closed" {
			t.Errorf("the call gave %v", closed)
		}
		select {
		case <-r.conn.Done():
		default:
			t.Error("Done is not closed")
		}
		if _, err := r.conn.Call(t.Context(), "m", nil); !errors.As(err, &closed) {
			t.Errorf("a call after the end gave %v", err)
		}
	})
}

// broken is a stream that cannot be written to.
type broken struct {
	closed chan struct{}
	in     chan []byte
}

func (b *broken) Read() ([]byte, error) {
	select {
	case f := <-b.in:
		return f, nil
	case <-b.closed:
		return nil, errors.New("file already closed")
	}
}
func (b *broken) Write([]byte) error { return errors.New("no space left") }
func (b *broken) Close() error       { close(b.closed); return nil }

// closeOnce makes Close safe to call again.
type closeOnce struct {
	Stream
	done bool
}

func (c *closeOnce) Close() error {
	if c.done {
		return nil
	}
	c.done = true
	return c.Stream.Close()
}

func TestWriteErrorEndsEverything(t *testing.T) {
	bubble(t, func(t *testing.T) {
		conn := NewConn(&closeOnce{Stream: &broken{closed: make(chan struct{})}}, serving{}, nil)
		ran := make(chan error, 1)
		go func() { ran <- conn.Run(t.Context()) }()
		_, err := conn.Call(t.Context(), "m", nil)
		if _, ok := errors.AsType[*ClosedError](err); !ok {
			t.Errorf("the call gave %v", err)
		}
		for _, err := range []error{<-ran, conn.Err()} {
			if err == nil || !strings.Contains(err.Error(), "no space left") {
				t.Errorf("the reason is %v, want that of the write", err)
			}
		}
		if conn.Push("", func(dst []byte) []byte { return append(dst, '1') }) {
			t.Error("Push took something after the end")
		}
		if err := conn.Notify(t.Context(), "n", nil); err == nil {
			t.Error("Notify took something after the end")
		}
	})
}

// The order in which requests came is known before any of them is served.
type ordered struct {
	serving
	came []string
}

func TestArrivalIsInTheOrderOfTheWire(t *testing.T) {
	bubble(t, func(t *testing.T) {
		o := &ordered{}
		o.notice = func(_ context.Context, _ *Conn, m *Message) { o.came = append(o.came, m.Method) }
		r := newRig(t, o, &ConnOptions{Batch: func() error { return nil }, Arrived: func(m *Message) { o.came = append(o.came, m.Method) }})
		r.send(ask(1, "a"), `{"jsonrpc":"2.0","method":"b"}`, ask(2, "c"), `[`+ask(3, "d")+`,{"jsonrpc":"2.0","method":"e"},`+ask(4, "f")+`]`)
		r.take()
		if got := strings.Join(o.came, ""); got != "abcdef" {
			t.Errorf("came %q", got)
		}
		r.endWell()
	})
}
