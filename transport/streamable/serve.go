package streamable

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/tenon-mcp/tenon/internal/tcpalive"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/transport/internal/httpguard"
)

// Path is the URL path at which [ListenAndServe] serves.
const Path = "/mcp"

// ListenAndServe serves h at [Path] of a TCP address, such as
// "127.0.0.1:8080". It blocks until ctx ends; calls in flight then have ten
// seconds to complete. If ready is not nil, ListenAndServe calls it once with
// the address it listens on.
func ListenAndServe(ctx context.Context, addr string, h mcp.Handler, o *Options, ready func(net.Addr)) error {
	l, err := tcpalive.Listen(ctx, addr)
	if err != nil {
		return err
	}
	return Serve(ctx, l, h, o, ready)
}

// Serve is [ListenAndServe] on an existing listener. It closes the listener.
func Serve(ctx context.Context, l net.Listener, h mcp.Handler, o *Options, ready func(net.Addr)) error {
	var opts Options
	if o != nil {
		opts = *o
	}
	opts.TakeOver = true
	handler, err := NewHandler(h, &opts)
	if err != nil {
		l.Close()
		return err
	}
	s := NewHTTPServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != Path {
			http.Error(w, "nothing is here: MCP is served at "+Path, http.StatusNotFound)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	if ready != nil {
		ready(l.Addr())
	}
	strict, ended := StrictListener(s, l), make(chan error, 1)
	go func() { ended <- s.Serve(strict) }()
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
		s.Close() // cancels calls that did not complete
	}
	if e := <-ended; !errors.Is(e, http.ErrServerClosed) {
		return e
	}
	return nil
}

// StrictListener returns a listener that rejects ambiguous HTTP/1 requests, for
// a server that does not use [Serve], such as one of [NewHTTPServer]:
//
//	s.Serve(streamable.StrictListener(s, l))
//
// It answers 400 and closes the connection for requests that net/http accepts
// but a proxy may read differently: lines that end with a bare line feed or
// contain a carriage return, folded header lines, a space before the colon of a
// header, and more than one way to give the length of the body.
//
// It serves a request that has arrived when the server's read deadline passes,
// as after a pause of the process on a busy machine. net/http alone would answer
// 400 or close the connection.
//
// A connection on which no request has begun is closed after the server's
// IdleTimeout, and its ReadHeaderTimeout begins with the first bytes. net/http
// alone closes such a connection after ReadHeaderTimeout, so that a client whose
// pool holds it may get EOF or 400 for its first request.
//
// HTTP/2 and TLS pass unchecked: if the server itself terminates TLS, net/http
// alone parses HTTP/1. Hijacked connections are no longer checked; to know of
// them, StrictListener sets s.ConnState to a function that calls the previous
// one.
func StrictListener(s *http.Server, l net.Listener) net.Listener { return httpguard.Strict(s, l) }

// NewHTTPServer returns an http.Server with limits for a public network that
// net/http does not set by default: on the time to read headers, the size of
// headers, and idle connections. It serves HTTP/1.1 and HTTP/2, the latter also
// without TLS. It sets no write timeout, since streams stay open; the [Handler]
// limits how long a client may read nothing. For strict parsing of HTTP/1, see
// [StrictListener].
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
