package stdio

import (
	"cmp"
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/tenon-mcp/tenon/era"
	"github.com/tenon-mcp/tenon/mcp"
)

// serveLinger is the default of Linger: how long Serve waits for handlers that
// ignore their context and for a client that does not read.
const serveLinger = 500 * time.Millisecond

// Serve serves h on the standard input and output of this process; other output
// goes to standard error, see [Standard]. Serve returns when the client closes
// the input, ctx ends, or the process gets SIGINT or SIGTERM; a second signal
// ends the process at once. Calls in flight then have a moment to finish. Nil
// options mean the defaults; an unset Linger means 500 ms, so that a server exits
// within two seconds whatever its handlers do. Signals have this effect before
// Serve reads a second time from the input.
func Serve(ctx context.Context, h mcp.Handler, o *era.ServerOptions) error {
	var opts era.ServerOptions
	if o != nil {
		opts = *o
	}
	opts.Linger = cmp.Or(max(opts.Linger, 0), serveLinger)
	server, err := era.NewServer(h, &opts)
	if err != nil {
		return err
	}
	ctx, end := context.WithCancelCause(ctx)
	caught := make(chan struct{}) // closed when signals are caught
	var catching sync.WaitGroup
	catching.Go(func() { // beside, because the runtime needs as long for it as for the first response
		signalled, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
		close(caught)
		<-signalled.Done()
		stop()
		end(context.Cause(signalled))
	})
	defer catching.Wait()
	defer end(nil)
	stream, err := standardStream(0, caught)
	if err != nil {
		return err
	}
	return server.ServeStream(ctx, stream)
}
