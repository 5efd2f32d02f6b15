// Package socket serves over Unix sockets and TCP, with the framing of package
// stdio: one message on each line. It is separate so that a server over stdio
// does not link the network.
package socket

import (
	"cmp"
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/internal/tcpalive"
	"github.com/tenon-mcp/tenon/jsonrpc"
)

// Options configures [Serve]. A nil *Options means the defaults.
type Options struct {
	// MaxConns is how many connections are served at once; others wait to be
	// accepted. 0 means 128.
	MaxConns int

	// FrameLimit is the longest accepted message in bytes; 0 means
	// [jsonrpc.DefaultFrameLimit].
	FrameLimit int

	// Grace is how long open connections may continue after ctx has ended,
	// before they are closed. 0 means 5 s.
	Grace time.Duration
}

// Serve accepts connections and calls serve with each as a stream, usually for
// [era.Server.ServeStream]. It returns when l is closed or ctx ends, after all
// calls of serve have returned, and closes l.
//
// The context of serve ends with ctx. A stream is closed when serve returns, or
// after the grace time.
//
// Serve accepts every client that can connect: the permissions of the socket file
// or the listening address limit which can.
func Serve(ctx context.Context, l net.Listener, serve func(context.Context, jsonrpc.Stream), o *Options) error {
	var opts Options
	if o != nil {
		opts = *o
	}
	opts.MaxConns = cmp.Or(max(opts.MaxConns, 0), 128)
	opts.Grace = cmp.Or(max(opts.Grace, 0), 5*time.Second)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = l.Close() })
	defer stop()
	defer l.Close()

	cut, cutAll := context.WithCancel(context.Background())
	defer cutAll()
	var serving sync.WaitGroup
	err := acceptEach(ctx, l, opts.MaxConns, func(conn net.Conn, free func()) {
		serving.Go(func() {
			defer free()
			defer conn.Close()
			tcpalive.Set(conn)
			defer context.AfterFunc(cut, func() { _ = conn.Close() })()
			serve(ctx, jsonrpc.Lines(conn, conn, conn, opts.FrameLimit))
		})
	})
	cancel()
	timer := time.AfterFunc(opts.Grace, cutAll)
	defer timer.Stop()
	serving.Wait()
	return err
}

// maxAcceptFailures is how often in a row accepting may fail before Serve fails;
// with the pauses that is more than a minute.
const maxAcceptFailures = 100

// acceptEach calls take with each connection until l is closed. At most limit of
// them are not freed at any time. It returns nil if ctx ended.
func acceptEach(ctx context.Context, l net.Listener, limit int, take func(conn net.Conn, free func())) error {
	places := make(chan struct{}, limit)
	failures := 0 // in a row
	for {
		select {
		case places <- struct{}{}:
		case <-ctx.Done():
			return nil
		}
		conn, err := l.Accept()
		if err == nil {
			failures = 0
			take(conn, func() { <-places })
			continue
		}
		<-places
		if ctx.Err() != nil {
			return nil
		}
		if failures++; failures > maxAcceptFailures || errors.Is(err, net.ErrClosed) {
			return err
		}
		// Probably out of descriptors, until other files are closed.
		select {
		case <-time.After(min(time.Duration(failures*failures)*5*time.Millisecond, time.Second)):
		case <-ctx.Done():
			return nil
		}
	}
}
