package wrapping

import (
	"context"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/era"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/transport/httpsse"
	"github.com/tenon-mcp/tenon/transport/socket"
	"github.com/tenon-mcp/tenon/transport/stdio"
	"github.com/tenon-mcp/tenon/transport/streamable"
	"github.com/tenon-mcp/tenon/transport/streamclient"
)

// A way connects to the fixture, which speaks one era, and returns the Handler
// that the library makes of it. The test closes it.
type way func(t *testing.T, speaks string, p *mcp.ClientProfile) mcp.Conn

// ways are all that the library has.
var ways = map[string]way{
	"memory": func(t *testing.T, speaks string, p *mcp.ClientProfile) mcp.Conn {
		return overPipe(t, forward(newFixture()), speaks, p)
	},
	"stdio":      overChild,
	"supervised": supervised,
	"socket":     overSocket,
	"streamable": overHTTP,
	"httpsse":    overSSE,
}

// must returns v of a call that did not fail.
func must[T any](t *testing.T) func(v T, err error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// overPipe serves h over a pipe in memory.
func overPipe(t *testing.T, h mcp.Handler, speaks string, p *mcp.ClientProfile) mcp.Conn {
	t.Helper()
	s := must[*era.Server](t)(era.NewServer(h, eras[speaks]))
	near, far := jsonrpc.Pipe()
	var serving sync.WaitGroup
	serving.Go(func() { s.ServeStream(context.Background(), far) })
	conn := must[*era.Conn](t)(era.Dial(t.Context(), near, p, nil))
	t.Cleanup(func() { conn.Close(); serving.Wait() })
	return conn
}

// command runs the test binary as the fixture.
func command(t *testing.T, speaks string) *stdio.Command {
	t.Helper()
	return &stdio.Command{
		Path: must[string](t)(os.Executable()),
		Env: map[string]string{
			eraVar:       speaks,
			"GOCOVERDIR": t.TempDir(),         // or a coverage build complains on stderr
			"GORACE":     "atexit_sleep_ms=0", // or a race-checked server takes a second to end
		},
		Grace: 300 * time.Millisecond,
	}
}

func overChild(t *testing.T, speaks string, p *mcp.ClientProfile) mcp.Conn {
	t.Helper()
	conn := must[*stdio.Connection](t)(stdio.Dial(t.Context(), command(t, speaks), p))
	t.Cleanup(func() { conn.Close() })
	return conn
}

func supervised(t *testing.T, speaks string, p *mcp.ClientProfile) mcp.Conn {
	t.Helper()
	c := command(t, speaks)
	c.Restart.FirstDelay = time.Millisecond
	s := must[*stdio.Supervised](t)(stdio.Supervise(t.Context(), c, p))
	t.Cleanup(func() { s.Close() })
	return s
}

func overSocket(t *testing.T, speaks string, p *mcp.ClientProfile) mcp.Conn {
	t.Helper()
	s := must[*era.Server](t)(era.NewServer(forward(newFixture()), eras[speaks]))
	l := must[net.Listener](t)(net.Listen("unix", filepath.Join(t.TempDir(), "s")))
	ctx, cancel := context.WithCancel(context.Background())
	var serving sync.WaitGroup
	serving.Go(func() {
		socket.Serve(ctx, l, func(ctx context.Context, stream jsonrpc.Stream) { s.ServeStream(ctx, stream) }, nil)
	})
	t.Cleanup(func() { cancel(); serving.Wait() })
	near := must[net.Conn](t)(net.Dial("unix", l.Addr().String()))
	conn := must[*era.Conn](t)(era.Dial(t.Context(), jsonrpc.Lines(near, near, near, 0), p, nil))
	t.Cleanup(func() { conn.Close() })
	return conn
}

func overHTTP(t *testing.T, speaks string, p *mcp.ClientProfile) mcp.Conn {
	t.Helper()
	h := must[*streamable.Handler](t)(streamable.NewHandler(forward(newFixture()), &streamable.Options{Era: *eras[speaks]}))
	web := httptest.NewServer(h)
	t.Cleanup(func() { h.Shutdown(); web.Close() })
	conn := must[*streamclient.Connection](t)((&streamclient.Endpoint{URL: web.URL}).Connect(t.Context(), p))
	t.Cleanup(func() { conn.Close() })
	return conn
}

func overSSE(t *testing.T, speaks string, p *mcp.ClientProfile) mcp.Conn {
	t.Helper()
	if speaks == "modern" {
		t.Skip("this transport is of one older revision")
	}
	h := must[*httpsse.Handler](t)(httpsse.NewHandler(forward(newFixture()), nil))
	web := httptest.NewServer(h)
	t.Cleanup(func() { h.Shutdown(context.Background()); web.Close() })
	conn := must[*httpsse.Connection](t)((&httpsse.Endpoint{URL: web.URL}).Connect(t.Context(), p))
	t.Cleanup(func() { conn.Close() })
	return conn
}
