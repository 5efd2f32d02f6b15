package socket

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/internal/leaktest"
	"github.com/tenon-mcp/tenon/internal/needtest"
	"github.com/tenon-mcp/tenon/jsonrpc"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// patience bounds every wait in these tests.
const patience = time.Minute

// echo sends every frame back until the stream ends.
func echo(_ context.Context, s jsonrpc.Stream) {
	for {
		frame, err := s.Read()
		if err != nil || s.Write(append(frame, '\n')) != nil {
			return
		}
	}
}

func listen(t *testing.T, network string) net.Listener {
	t.Helper()
	address := "127.0.0.1:0"
	if network == "unix" {
		address = filepath.Join(t.TempDir(), "s")
	}
	l, err := net.Listen(network, address)
	if err != nil {
		needtest.Missing(t, fmt.Sprintf("cannot listen on %s: %v", network, err))
	}
	return l
}

// dial opens a stream that is closed at the end of the test.
func dial(t *testing.T, l net.Listener) jsonrpc.Stream {
	t.Helper()
	conn, err := net.Dial(l.Addr().Network(), l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return jsonrpc.Lines(conn, conn, conn, 0)
}

// serve runs Serve; the returned func ends ctx and waits.
func serve(t *testing.T, l net.Listener, o *Options, f func(context.Context, jsonrpc.Stream)) (stop func() error) {
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- Serve(ctx, l, f, o) }()
	stop = sync.OnceValue(func() error {
		cancel()
		return <-served
	})
	t.Cleanup(func() { _ = stop() })
	return stop
}

func TestListenerServesEach(t *testing.T) {
	for _, network := range []string{"unix", "tcp"} {
		t.Run(network, func(t *testing.T) {
			l := listen(t, network)
			stop := serve(t, l, nil, echo)
			a, b := dial(t, l), dial(t, l)
			for _, s := range []jsonrpc.Stream{b, a} {
				if err := s.Write([]byte("hello\n")); err != nil {
					t.Fatal(err)
				}
				if got, err := s.Read(); err != nil || string(got) != "hello" {
					t.Errorf("got %q, %v", got, err)
				}
			}
			_ = a.Close()
			_ = b.Close()
			if err := stop(); err != nil {
				t.Errorf("Serve: %v", err)
			}
		})
	}
}

func TestListenerIsBounded(t *testing.T) {
	l := listen(t, "tcp")
	var now, most atomic.Int32
	stop := serve(t, l, &Options{MaxConns: 2}, func(ctx context.Context, s jsonrpc.Stream) {
		if n := now.Add(1); n > most.Load() {
			most.Store(n)
		}
		defer now.Add(-1)
		echo(ctx, s)
	})
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			s := dial(t, l)
			if s.Write([]byte("x\n")) != nil {
				t.Error("cannot write")
			}
			if _, err := s.Read(); err != nil {
				t.Error(err)
			}
			_ = s.Close()
		})
	}
	all.Wait()
	if err := stop(); err != nil {
		t.Error(err)
	}
	if most.Load() > 2 {
		t.Errorf("%d connections were served at once", most.Load())
	}
}

func TestListenerEnds(t *testing.T) {
	t.Run("cuts who does not finish", func(t *testing.T) {
		l := listen(t, "tcp")
		stop := serve(t, l, &Options{Grace: time.Millisecond}, echo)
		s := dial(t, l)
		if err := s.Write([]byte("x\n")); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Read(); err != nil {
			t.Fatal(err)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
		if _, err := s.Read(); err == nil {
			t.Error("the connection is still open")
		}
	})
	t.Run("lets finish", func(t *testing.T) {
		l := listen(t, "tcp")
		entered := make(chan struct{})
		stop := serve(t, l, &Options{Grace: patience}, func(ctx context.Context, s jsonrpc.Stream) {
			close(entered)
			<-ctx.Done()
			_ = s.Write([]byte("goodbye\n"))
		})
		s := dial(t, l)
		select {
		case <-entered:
		case <-time.After(patience):
			t.Fatal("not in time: the connection")
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
		if got, err := s.Read(); err != nil || string(got) != "goodbye" {
			t.Errorf("got %q, %v", got, err)
		}
	})
	t.Run("listener closed by another", func(t *testing.T) {
		l := listen(t, "tcp")
		l.Close()
		if err := Serve(t.Context(), l, echo, nil); !errors.Is(err, net.ErrClosed) {
			t.Errorf("got %v", err)
		}
	})
}
