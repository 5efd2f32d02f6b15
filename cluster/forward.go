package cluster

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/tenon-mcp/tenon/internal/credheader"
)

// Errors of [Replica.Forward]. They are wrapped: test them with [errors.Is].
var (
	// ErrGone means that the replica has left the cluster or has stopped.
	ErrGone = errors.New("the replica has stopped")
	// ErrCut means that the replica has stopped after the request was sent, so
	// that it may have served it. The error is also [ErrGone].
	ErrCut = errors.New("the replica may have served the request")
	// ErrBusy means that too many requests are being forwarded.
	ErrBusy = errors.New("too many requests are forwarded between replicas")
)

const (
	dialTimeout      = 2 * time.Second
	broadcastTimeout = 5 * time.Second
	writeTimeout     = 30 * time.Second
	maxPeerConns     = 64
)

// Headers of a forwarded request. They count only on the connections between
// replicas, which are authenticated.
const (
	headerClient = "Tenon-Forwarded-Client" // the address of the client
	headerSecure = "Tenon-Forwarded-Tls"    // the client uses TLS
)

// Handle sets the handler of requests that other replicas forward: the same that
// serves the clients of this replica, with its middleware. Requests have the URL,
// the headers and the body that the client sent, and [Forwarded] reports true for
// their context.
func (r *Replica) Handle(h http.Handler) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.handler = h
}

// HandleDefault sets the handler that is used if [Replica.Handle] is not called.
func (r *Replica) HandleDefault(h http.Handler) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fallback = h
}

// slots bounds the requests that are being forwarded in one direction. Streams,
// which last long, have slots of their own, so that they cannot take those of
// messages.
type slots struct{ streams, messages chan struct{} }

func newSlots(n int) slots { return slots{make(chan struct{}, n), make(chan struct{}, n)} }

// take takes a slot for a request with this method, and returns the function that
// frees it. It reports false if there is none.
func (s slots) take(method string) (done func(), ok bool) {
	of := s.messages
	if method == http.MethodGet {
		of = s.streams
	}
	select {
	case of <- struct{}{}:
		return func() { <-of }, true
	default:
		return nil, false
	}
}

// used returns the number of requests that are being forwarded.
func (s slots) used() int { return len(s.streams) + len(s.messages) }

type forwardedKey struct{}

// Forwarded reports whether the request with this context was forwarded by
// another replica, which has checked it before.
func Forwarded(ctx context.Context) bool { return ctx.Value(forwardedKey{}) != nil }

// newServer returns the server for requests of other replicas.
func (r *Replica) newServer() *http.Server {
	return &http.Server{
		Handler:           http.HandlerFunc(r.serveForwarded),
		TLSConfig:         r.serverTLS(),
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    128 << 10,
		HTTP2:             &http.HTTP2Config{MaxConcurrentStreams: 1000, SendPingTimeout: pingAfter, PingTimeout: pingTimeout},
		ErrorLog:          log.New(logWriter{r.opts.Logger}, "", 0),
	}
}

// A connection between replicas that is silent for pingAfter is checked, which
// may take pingTimeout.
const (
	pingAfter   = 2 * time.Second
	pingTimeout = 3 * time.Second
)

// logWriter logs what net/http reports, such as refused certificates.
type logWriter struct{ to *slog.Logger }

func (w logWriter) Write(p []byte) (int, error) {
	w.to.Warn("connection of a replica refused", "error", strings.TrimSpace(string(p)))
	return len(p), nil
}

// serveForwarded serves a request that another replica forwards.
func (r *Replica) serveForwarded(w http.ResponseWriter, q *http.Request) {
	r.mu.Lock()
	h := r.handler
	if h == nil {
		h = r.fallback
	}
	r.mu.Unlock()
	if done, ok := r.incoming.take(q.Method); ok {
		defer done()
	} else {
		h = nil
	}
	if h == nil {
		http.Error(w, "this replica cannot serve forwarded requests now", http.StatusServiceUnavailable)
		return
	}
	q = q.WithContext(context.WithValue(q.Context(), forwardedKey{}, true))
	if from := q.Header.Get(headerClient); from != "" {
		q.RemoteAddr = from
	}
	q.TLS = nil
	if q.Header.Get(headerSecure) != "" {
		q.TLS = &tls.ConnectionState{HandshakeComplete: true}
	}
	q.Header.Del(headerClient)
	q.Header.Del(headerSecure)
	h.ServeHTTP(w, q)
}

// newTransport returns the client for requests to other replicas. The host of a
// request is the id of a replica.
func (r *Replica) newTransport() *http.Transport {
	t := &http.Transport{
		DialTLSContext: func(ctx context.Context, _, addr string) (net.Conn, error) {
			id, _, _ := strings.Cut(addr, ".")
			return r.dial(ctx, id)
		},
		ForceAttemptHTTP2:   true,
		MaxConnsPerHost:     maxPeerConns,
		MaxIdleConnsPerHost: 4,
		IdleConnTimeout:     time.Minute,
		DisableCompression:  true,
		HTTP2:               &http.HTTP2Config{SendPingTimeout: pingAfter, PingTimeout: pingTimeout},
	}
	return t
}

// dial connects to a replica. It fails at once if that is not a member.
func (r *Replica) dial(ctx context.Context, id string) (net.Conn, error) {
	m, err := r.peer(ctx, id)
	if err != nil {
		return nil, err
	}
	conf, err := r.clientTLS(id)
	if err != nil {
		return nil, err
	}
	d := &tls.Dialer{NetDialer: &net.Dialer{Timeout: dialTimeout}, Config: conf}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	c, err := d.DialContext(ctx, "tcp", m.Addr)
	if err == nil {
		return c, nil
	}
	if _, isOther := errors.AsType[*tls.CertificateVerificationError](err); isOther || errors.Is(err, syscall.ECONNREFUSED) {
		return nil, fmt.Errorf("%w: %w", ErrGone, err)
	}
	return nil, unreachable{err}
}

// unreachable is the error of a replica that does not answer.
type unreachable struct{ error }

func (e unreachable) Unwrap() error { return e.error }

// Forward passes a request of a client with its body to the replica with this id,
// and its response to w as it arrives. It returns an error only if it has not
// written to w; [ErrGone] means that the replica has stopped. If the replica
// stops later, Forward cuts the response with [http.ErrAbortHandler]. A request
// that was forwarded is not forwarded again.
func (r *Replica) Forward(w http.ResponseWriter, q *http.Request, body []byte, id string) error {
	res, done, err := r.send(q.Context(), q, body, id)
	if err != nil {
		return fmt.Errorf("forward to the replica %q: %w", id, err)
	}
	defer done()
	defer res.Body.Close()
	dropHopHeaders(res.Header) // those of w are the caller's, such as Connection: close
	h := w.Header()
	for name, values := range res.Header {
		h[name] = values
	}
	w.WriteHeader(res.StatusCode)
	if err := copyBody(w, res); err != nil {
		panic(http.ErrAbortHandler)
	}
	return nil
}

// send sends a request to a replica. The caller calls done after it has read the
// response.
func (r *Replica) send(ctx context.Context, q *http.Request, body []byte, id string) (res *http.Response, done func(), err error) {
	if Forwarded(q.Context()) {
		return nil, nil, errors.New("the request was forwarded before")
	}
	if q.URL.Opaque != "" || !strings.HasPrefix(q.URL.Path, "/") {
		return nil, nil, errors.New("the target of the request is not a path")
	}
	if _, err := r.peer(ctx, id); err != nil {
		return nil, nil, err
	}
	done, ok := r.outgoing.take(q.Method)
	if !ok {
		return nil, nil, ErrBusy
	}
	defer func() {
		if err != nil {
			done()
		}
	}()
	out, err := http.NewRequestWithContext(ctx, q.Method, "https://"+hostOf(id)+"/", bytes.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	out.URL.Path, out.URL.RawPath = q.URL.Path, q.URL.EscapedPath()
	out.URL.RawQuery, out.URL.ForceQuery = q.URL.RawQuery, q.URL.ForceQuery
	out.Host = q.Host
	out.Header = q.Header.Clone()
	credheader.Restore(q.Context(), out.Header)
	dropHopHeaders(out.Header)
	out.Header.Del("Content-Length")
	out.Header.Set(headerClient, q.RemoteAddr)
	out.Header.Del(headerSecure)
	if q.TLS != nil {
		out.Header.Set(headerSecure, "1")
	}
	res, err = r.client.RoundTrip(out)
	if err != nil && ctx.Err() == nil && !errors.Is(err, ErrGone) {
		err = r.explain(ctx, id, err)
	}
	return res, done, err
}

// explain returns ErrGone and ErrCut if a connection to a replica broke because
// it has stopped, and err otherwise.
func (r *Replica) explain(ctx context.Context, id string, err error) error {
	if _, tried := errors.AsType[unreachable](err); tried {
		return err
	}
	c, gone := r.dial(ctx, id)
	if gone == nil {
		c.Close()
	}
	if errors.Is(gone, ErrGone) {
		return fmt.Errorf("%w: %w: %w", gone, ErrCut, err)
	}
	return err
}

// dropHopHeaders removes the headers that belong to one connection. What the
// Connection header names is kept: a client could remove headers that a proxy
// before this replica adds, such as Authorization.
func dropHopHeaders(h http.Header) {
	for _, name := range []string{"Connection", "Keep-Alive", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade", "Expect"} {
		h.Del(name)
	}
}

// copyBuffers has buffers for copyBody.
var copyBuffers = sync.Pool{New: func() any { return new([16 << 10]byte) }}

// copyBody copies the body of a response. If its length is unknown, it is a
// stream, of which each part is flushed.
func copyBody(w http.ResponseWriter, res *http.Response) error {
	rc := http.NewResponseController(w)
	flush := func() error {
		defer rc.SetWriteDeadline(time.Time{})
		if err := rc.Flush(); err != nil && !errors.Is(err, http.ErrNotSupported) {
			return err
		}
		return nil
	}
	stream := res.ContentLength < 0
	buf := copyBuffers.Get().(*[16 << 10]byte)
	defer copyBuffers.Put(buf)
	rc.SetWriteDeadline(time.Now().Add(writeTimeout))
	if stream {
		flush()
	}
	for {
		n, err := res.Body.Read(buf[:])
		if n > 0 {
			rc.SetWriteDeadline(time.Now().Add(writeTimeout))
			if _, err := w.Write(buf[:n]); err != nil {
				return err
			}
			if stream {
				if err := flush(); err != nil {
					return err
				}
			}
		}
		if err == io.EOF {
			return flush()
		}
		if err != nil {
			return err
		}
	}
}

// Send passes a request of a client with this body to the replica with this id,
// and returns the status of the response.
func (r *Replica) Send(q *http.Request, body []byte, id string) (status int, err error) {
	ctx, cancel := context.WithTimeout(q.Context(), broadcastTimeout)
	defer cancel()
	status, err = r.exchange(ctx, q, body, id)
	if err != nil {
		return 0, fmt.Errorf("forward to the replica %q: %w", id, err)
	}
	return status, nil
}

// exchange sends a request and drops the body of the response.
func (r *Replica) exchange(ctx context.Context, q *http.Request, body []byte, id string) (status int, err error) {
	res, done, err := r.send(ctx, q, body, id)
	if err != nil {
		return 0, err
	}
	defer done()
	defer res.Body.Close()
	io.Copy(io.Discard, io.LimitReader(res.Body, 64<<10))
	return res.StatusCode, nil
}

// Broadcast passes a request of a client to all other live replicas and waits for
// their responses, a few seconds at most. The error joins those of replicas that
// did not serve it; one that has stopped is none. Broadcast also returns an error
// if the store has lost the membership of this replica, and so perhaps of others.
func (r *Replica) Broadcast(q *http.Request, body []byte) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(q.Context()), broadcastTimeout)
	defer cancel()
	members, err := r.Members(ctx) // while the store is away, those that were last known
	if err != nil && len(members) == 0 {
		return fmt.Errorf("find the other replicas: %w", err)
	}
	errs := make([]error, len(members), len(members)+1)
	if errors.Is(err, errUnlisted) {
		errs = append(errs, fmt.Errorf("find the other replicas: %w", err))
	}
	var wg sync.WaitGroup
	for i, m := range members {
		if m.ID == r.id {
			continue
		}
		wg.Go(func() {
			status, err := r.exchange(ctx, q, body, m.ID)
			switch {
			case errors.Is(err, ErrGone):
			case err != nil:
				errs[i] = fmt.Errorf("forward to the replica %q: %w", m.ID, err)
			case status >= 500:
				errs[i] = fmt.Errorf("forward to the replica %q: status %d", m.ID, status)
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}
