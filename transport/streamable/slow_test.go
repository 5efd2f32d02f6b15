package streamable_test

import (
	"context"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenon-mcp/tenon/transport/streamable"
)

// A client that is slow gets all of an answer, be it an event or not; one that
// takes nothing for half a minute gets no more, and its call is over.
func TestSlowClients(t *testing.T) {
	big := askTool("1", "big", `"n":1048576`)
	quiet := streamable.Options{KeepAlive: 24 * time.Hour} // a sign of life would wait for a lock, which stops the clock of a bubble
	for name, c := range map[string]struct {
		send  *request
		pause time.Duration
		whole bool
	}{
		"slow":                   {big, 5 * time.Second, true},
		"stuck":                  {big, 31 * time.Second, false},
		"slow on a small answer": {askTool("1", "big", `"n":8000`), 5 * time.Second, true},
		"slow on a stream":       {askTool("1", "count", `"n":2,"who":"`+strings.Repeat("x", 500_000)+`"`).swap(`"_meta":{`, `"_meta":{"progressToken":1,`), 5 * time.Second, true},
		"stuck on a stream":      {askTool("1", "count", `"n":2,"who":"`+strings.Repeat("x", 500_000)+`"`).swap(`"_meta":{`, `"_meta":{"progressToken":1,`), 31 * time.Second, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var said lockedBuffer
				quiet.Logger = slog.New(slog.NewTextHandler(&said, nil))
				near, far := net.Pipe()
				ctx, stop := context.WithCancel(t.Context())
				l := &oneConn{conn: far, ended: make(chan struct{})}
				served := make(chan error, 1)
				go func() { served <- streamable.Serve(ctx, l, newFixture(t).Server, &quiet, nil) }()
				f := &fort{port: "80", path: streamable.Path}
				if _, err := io.WriteString(near, c.send.header("Connection", "Connection: close").on(f)); err != nil {
					t.Fatal(err)
				}
				var got strings.Builder
				buf := make([]byte, 30<<10)
				var err error
				for err == nil {
					var n int
					n, err = near.Read(buf)
					got.Write(buf[:n])
					time.Sleep(c.pause)
				}
				whole := strings.Count(got.String(), `"result"`) == 1 && strings.HasSuffix(got.String(), "0\r\n\r\n") ||
					strings.HasSuffix(got.String(), "}")
				if whole != c.whole {
					t.Errorf("%d bytes came, and then %v", got.Len(), err)
				}
				if dropped := strings.Contains(said.String(), "read nothing for 30s"); dropped == c.whole {
					t.Errorf("the operator is told %q", said.String())
				}
				near.Close()
				stop()
				if err := <-served; err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// A oneConn is a listener with one connection.
type oneConn struct {
	conn  net.Conn
	once  sync.Once
	ended chan struct{}
}

func (l *oneConn) Accept() (net.Conn, error) {
	if c := l.conn; c != nil {
		l.conn = nil
		return c, nil
	}
	<-l.ended
	return nil, net.ErrClosed
}

func (l *oneConn) Close() error   { l.once.Do(func() { close(l.ended) }); return nil }
func (l *oneConn) Addr() net.Addr { return &net.UnixAddr{Name: "memory"} }
