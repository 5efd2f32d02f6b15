package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/tenon-mcp/tenon/era"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/transport/httpsse"
	"github.com/tenon-mcp/tenon/transport/streamable"

	"github.com/tenon-mcp/tenon/test/peers/internal/frames"
)

// serveHTTP prints its URL and serves until the process is told to end.
func serveHTTP(addr string, h mcp.Handler, o era.ServerOptions, recording *frames.Recording) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	endpoint, err := streamable.NewHandler(h, &streamable.Options{Era: o})
	if err != nil {
		return err
	}
	pair, err := httpsse.NewHandler(h, &httpsse.Options{Era: o})
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle(streamable.Path, endpoint)
	mux.Handle("/sse", pair)
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	s := streamable.NewHTTPServer(recording.Server(mux))
	ended := make(chan error, 1)
	strict := streamable.StrictListener(s, l)
	go func() { ended <- s.Serve(strict) }()
	fmt.Printf("http://%s%s\n", l.Addr(), streamable.Path)
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	endpoint.Shutdown()
	return errors.Join(pair.Shutdown(grace), s.Shutdown(grace))
}
