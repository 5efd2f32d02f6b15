package streamable

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/tenon-mcp/tenon/mcp"
)

// Path is where [ListenAndServe] serves.
const Path = "/mcp"

// ListenAndServe serves h at [Path] of a TCP address, such as
// "127.0.0.1:8080", until ctx ends. Calls in flight then have ten seconds to
// come to their end. Ready, if it is not nil, is told where the server listens.
func ListenAndServe(ctx context.Context, addr string, h mcp.Handler, o *Options, ready func(net.Addr)) error {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	return Serve(ctx, l, h, o, ready)
}

// Serve is [ListenAndServe] on a listener that is there already, which it
// closes.
func Serve(ctx context.Context, l net.Listener, h mcp.Handler, o *Options, ready func(net.Addr)) error {
	handler, err := NewHandler(h, o)
	if err != nil {
		l.Close()
		return err
	}
	mux := http.NewServeMux()
	mux.Handle(Path, handler)
	s := NewHTTPServer(mux)
	if ready != nil {
		ready(l.Addr())
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(l) }()
	select {
	case err := <-ended:
		handler.Shutdown()
		return err
	case <-ctx.Done():
	}
	handler.Shutdown()
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	err = s.Shutdown(grace)
	if err != nil {
		s.Close() // calls that did not end are cut off
	}
	if e := <-ended; !errors.Is(e, http.ErrServerClosed) {
		return e
	}
	return nil
}

// NewHTTPServer returns an http.Server with the limits that a server on the
// open network needs and net/http does not set: on the time for headers and on
// their size, and on idle connections. It speaks HTTP/1.1 and HTTP/2, the latter
// also without TLS. Answers have no time limit, since streams stay open; the
// [Handler] bounds how long a client may take nothing.
func NewHTTPServer(h http.Handler) *http.Server {
	s := &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		HTTP2:             &http.HTTP2Config{MaxConcurrentStreams: 250},
	}
	p := new(http.Protocols)
	p.SetHTTP1(true)
	p.SetHTTP2(true)
	p.SetUnencryptedHTTP2(true)
	s.Protocols = p
	return s
}
