package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"syscall"

	"github.com/tenon-mcp/tenon/builtin/calc"
	"github.com/tenon-mcp/tenon/transport/stdio"
	"github.com/tenon-mcp/tenon/transport/streamable"
)

// serve serves a builtin server: on standard input and output until the input
// ends, or over HTTP until it is interrupted.
func serve(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("tenon serve", flag.ContinueOnError)
	addr := flags.String("http", "", "serve over HTTP at this `address`, such as 127.0.0.1:8080, instead of on stdio")
	flags.Usage = func() {
		fmt.Fprintln(flags.Output(), "usage: tenon serve [-http ADDRESS] calc")
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() != 1 || flags.Arg(0) != "calc" {
		return fmt.Errorf("say which server to serve: there is calc, as in tenon serve calc")
	}
	s, err := calc.New(calc.Config{})
	if err != nil {
		return err
	}
	if *addr == "" {
		return stdio.Serve(ctx, s, nil)
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	return streamable.ListenAndServe(ctx, *addr, s, nil, func(a net.Addr) {
		fmt.Fprintf(out, "Serving calc to clients of every revision at http://%s%s\n", a, streamable.Path)
	})
}
