package stdio

import (
	"cmp"
	"context"
	"os"
	"os/signal"
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
// within two seconds whatever its handlers do.
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
	type caught struct {
		ctx  context.Context
		stop context.CancelFunc
	}
	signals := make(chan caught, 1)
	go func() { // the runtime takes its time to begin, which Standard can use
		ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
		signals <- caught{ctx, stop}
	}()
	stream, err := Standard(0)
	c := <-signals
	defer c.stop()
	if err != nil {
		return err
	}
	defer context.AfterFunc(c.ctx, c.stop)()
	return server.ServeStream(c.ctx, stream)
}
