package streamable

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/transport/internal/httpguard"
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
		s.Close() // calls that did not end are cut off
	}
	if e := <-ended; !errors.Is(e, http.ErrServerClosed) {
		return e
	}
	return nil
}

// StrictListener returns a listener for a server that is not served with
// [Serve], such as one of [NewHTTPServer]:
//
//	s.Serve(streamable.StrictListener(s, l))
//
// It answers 400, and ends the connection, where net/http would read a request
// of HTTP/1 that somebody else, such as a proxy before it, could have read
// differently: one whose lines end with a bare line feed or have a carriage
// return in them, whose header lines go on in the next line or have a space
// before the colon, or that says in more than one way how long its body is.
//
// A request that has arrived when the server's time for it ends is served: a
// process that stood still, on a busy machine, refuses no client that was in
// time. Net/http by itself answers 400 then, or closes the connection.
//
// HTTP/2 passes as it is, and so does TLS, in which nothing can be seen: where
// the server itself ends TLS, HTTP/1 is read as net/http reads it. What a
// handler gets from http.Hijacker is not looked at any more; for that, the
// server's ConnState is set here, and calls the one that was set before.
func StrictListener(s *http.Server, l net.Listener) net.Listener { return httpguard.Strict(s, l) }

// NewHTTPServer returns an http.Server with the limits that a server on the
// open network needs and net/http does not set: on the time for headers and on
// their size, and on idle connections. It speaks HTTP/1.1 and HTTP/2, the latter
// also without TLS. Answers have no time limit, since streams stay open; the
// [Handler] bounds how long a client may take nothing. What it cannot set is how
// strictly HTTP/1 is read: see [StrictListener].
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
