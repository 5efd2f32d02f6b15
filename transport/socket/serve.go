// Package socket serves over Unix sockets and TCP, with the same framing as on
// standard input and output: one message on each line. It stands beside package
// stdio because a server that speaks over pipes alone need not link the network.
package socket

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/jsonrpc"
)

// Options change how Serve serves. Nil means all defaults.
type Options struct {
	// MaxConns is how many connections are served at once; more wait to be
	// accepted. 0 means 128.
	MaxConns int

	// FrameLimit is the longest message in bytes that is taken; 0 means
	// [jsonrpc.DefaultFrameLimit].
	FrameLimit int

	// Grace is how long connections that are open when ctx ends get to
	// finish before they are cut. 0 means 5 s.
	Grace time.Duration
}

// Serve accepts connections and gives each to serve as a stream, most often for
// [era.Server.ServeStream]. It returns when l is closed or ctx ends, after every
// serve has returned; l is closed then.
//
// The context given to serve ends with ctx. A stream is closed when its serve
// returns, and cut when serve has not returned within the grace time.
//
// Every client that can connect is served: the permissions of the socket file,
// or the address that is listened on, decide which clients can. Nil options
// mean the defaults.
func Serve(ctx context.Context, l net.Listener, serve func(context.Context, jsonrpc.Stream), o *Options) error {
	var opts Options
	if o != nil {
		opts = *o
	}
	if opts.MaxConns <= 0 {
		opts.MaxConns = 128
	}
	if opts.Grace <= 0 {
		opts.Grace = 5 * time.Second
	}
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

// maxAcceptFailures is how often in a row accepting may fail before the
// listener is given up; with the pauses in between that takes over a minute.
const maxAcceptFailures = 100

// acceptEach hands connections to take until l is closed. At most limit of
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
		// Out of descriptors, most likely: that passes when others are closed.
		select {
		case <-time.After(min(time.Duration(failures*failures)*5*time.Millisecond, time.Second)):
		case <-ctx.Done():
			return nil
		}
	}
}
