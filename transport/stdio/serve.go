package stdio

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/tenon-mcp/tenon/era"
	"github.com/tenon-mcp/tenon/mcp"
)

// serveLinger is how long Serve waits for handlers that ignore the end of
// their context, and for a client that reads nothing, unless told otherwise.
const serveLinger = 500 * time.Millisecond

// Serve serves h on the standard input and output of this process; see
// [Standard] for what becomes of other output. It returns when the client
// closes the input, when ctx ends, or when the process is interrupted or told
// to terminate (SIGINT, SIGTERM); a second signal ends the process at once.
// Calls in flight then get a moment to finish. Nil options mean the defaults;
// an unset Linger means 500 ms here, so that a server exits within two seconds
// whatever its handlers do.
func Serve(ctx context.Context, h mcp.Handler, o *era.ServerOptions) error {
	var opts era.ServerOptions
	if o != nil {
		opts = *o
	}
	if opts.Linger <= 0 {
		opts.Linger = serveLinger
	}
	server, err := era.NewServer(h, &opts)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	defer context.AfterFunc(ctx, stop)()
	stream, err := Standard(0)
	if err != nil {
		return err
	}
	return server.ServeStream(ctx, stream)
}
