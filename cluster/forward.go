package cluster

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/internal/credheader"
)

// Errors of [Replica.Forward]. They are wrapped: test them with [errors.Is].
var (
	// ErrGone means that the replica has left the cluster or has stopped.
	ErrGone = errors.New("the replica has stopped")
	// ErrCut means that the connection broke, or was cut because the replica does
	// not answer, after the request may have been sent: the replica may have served
	// it, or may serve it later. If the replica has stopped, the error is also
	// [ErrGone].
	ErrCut = errors.New("the replica may have served the request")
	// ErrBusy means that too many requests are being forwarded.
	ErrBusy = errors.New("too many requests are forwarded between replicas")
)

const (
	broadcastTimeout = 5 * time.Second
	writeTimeout     = 30 * time.Second
	maxPeerConns     = 64
)

// Headers of a forwarded request. They count only on the connections between
// replicas, which are authenticated.
const (
	headerClient = "Tenon-Forwarded-Client" // the address of the client
	headerSecure = "Tenon-Forwarded-Tls"    // the client uses TLS
	headerShare  = "Tenon-Forwarded-Share"  // a digest of the key of WithClient
	headerAll    = "Tenon-Forwarded-All"    // the request is a broadcast
)

// headerStopping in a response says that the replica has not served the request,
// since it is shutting down.
const headerStopping = "Tenon-Replica-Stopping"

// RefuseStopping refuses a request that another replica has forwarded, because this
// replica is shutting down: for the other, it has stopped.
func RefuseStopping(w http.ResponseWriter) {
	w.Header().Set(headerStopping, "1")
	http.Error(w, "this replica is shutting down", http.StatusServiceUnavailable)
}

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

type forwardedKey struct{}

// Forwarded reports whether the request with this context was forwarded by
// another replica, which has checked it before.
func Forwarded(ctx context.Context) bool { return ctx.Value(forwardedKey{}) != nil }

type clientKey struct{}

// WithClient returns a context for requests of one client, which key identifies.
// Requests that are forwarded with the same key take a quarter of
// [Options.MaxForwards] at most. Without a key, they are bounded with all others.
func WithClient(ctx context.Context, key string) context.Context {
	if key == "" {
		return ctx
	}
	return context.WithValue(ctx, clientKey{}, key)
}

// clientOf returns a digest of the key of a client; "" if it has none.
func clientOf(ctx context.Context) string {
	key, _ := ctx.Value(clientKey{}).(string)
	if key == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(key))
	return base64.RawURLEncoding.EncodeToString(sum[:12])
}

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
// may take pingTimeout. When a request has failed, explainTimeout is how long it may
// take to find out whether the replica has stopped: its address refuses connections
// at once then.
const (
	pingAfter      = time.Second
	pingTimeout    = 3 * time.Second
	explainTimeout = time.Second
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
	taken := &slot{r.incoming, kindOf(q), q.Header.Get(headerShare)}
	if q.Header.Get(headerAll) != "" {
		taken.kind = broadcastSlot
	}
	if h == nil || !taken.take(q.Context()) {
		http.Error(w, "this replica cannot serve forwarded requests now", http.StatusServiceUnavailable)
		return
	}
	defer func() { taken.free() }()
	if q.ProtoMajor == 1 {
		// The deadline of the response before would apply.
		http.NewResponseController(w).SetWriteDeadline(time.Time{})
		w = &forwardedWriter{ResponseWriter: w, taken: taken}
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
	q.Header.Del(headerShare)
	q.Header.Del(headerAll)
	h.ServeHTTP(w, q)
}

// kindOf returns the kind of slot that a request begins with, unless it is a
// broadcast.
func kindOf(q *http.Request) slotKind {
	if q.Method == http.MethodGet {
		return streamSlot
	}
	return messageSlot
}

// isStream reports whether a response is an event stream.
func isStream(h http.Header) bool {
	return strings.HasPrefix(h.Get("Content-Type"), "text/event-stream")
}

// A forwardedWriter writes the response to a message. If that is a stream, it
// takes the slot of one.
type forwardedWriter struct {
	http.ResponseWriter
	taken *slot
	began bool
}

func (w *forwardedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *forwardedWriter) begin() {
	if !w.began && isStream(w.Header()) {
		w.taken.becomeStream()
	}
	w.began = true
}

func (w *forwardedWriter) WriteHeader(status int) {
	w.begin()
	w.ResponseWriter.WriteHeader(status)
}

func (w *forwardedWriter) Write(p []byte) (int, error) {
	w.begin()
	return w.ResponseWriter.Write(p)
}

// Hijack fails: the connection serves further messages.
func (w *forwardedWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return nil, nil, http.ErrNotSupported
}

func (w *forwardedWriter) Flush() { w.FlushError() }

// FlushError is what [http.ResponseController] calls instead of Flush.
func (w *forwardedWriter) FlushError() error {
	w.begin()
	return http.NewResponseController(w.ResponseWriter).Flush()
}

// newTransport returns the client for streams of other replicas. The host of a
// request is the id of a replica.
func (r *Replica) newTransport() *http.Transport {
	return &http.Transport{
		DialTLSContext: func(ctx context.Context, _, addr string) (net.Conn, error) {
			m, err := r.peer(ctx, idOf(addr))
			if err != nil {
				return nil, err
			}
			return r.dial(ctx, m, dialTimeout, "h2")
		},
		ForceAttemptHTTP2:   true,
		MaxConnsPerHost:     maxPeerConns,
		MaxIdleConnsPerHost: 4,
		IdleConnTimeout:     time.Minute,
		DisableCompression:  true,
		HTTP2:               &http.HTTP2Config{SendPingTimeout: pingAfter, PingTimeout: pingTimeout},
	}
}

// Forward passes a request of a client with its body to the replica with this id,
// and its response to w as it arrives. It returns an error only if it has not
// written to w; [ErrGone] means that the replica has stopped, [ErrCut] that it may
// have served the request. If the replica stops later, Forward cuts the response with [http.ErrAbortHandler]. A request
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
	taken := &slot{r.outgoing, kindOf(q), clientOf(ctx)}
	if !r.outgoing.take(taken.kind, taken.client) {
		return nil, nil, ErrBusy
	}
	res, end, err := r.roundTrip(ctx, q, body, id, taken.kind)
	if err != nil {
		taken.free()
		return nil, nil, err
	}
	if isStream(res.Header) {
		taken.becomeStream()
	}
	return res, func() { end(); taken.free() }, nil
}

// roundTrip sends a request of this kind to a replica, which is watched until the
// caller calls end.
func (r *Replica) roundTrip(ctx context.Context, q *http.Request, body []byte, id string, kind slotKind) (res *http.Response, end func(), err error) {
	m, err := r.peer(ctx, id)
	if err != nil {
		return nil, nil, err
	}
	out, err := outgoing(ctx, q, body, id)
	if err != nil {
		return nil, nil, err
	}
	if kind == broadcastSlot {
		out.Header.Set(headerAll, "1")
	}
	if q.Method == http.MethodGet {
		end = func() {}
		if res, err = r.streams.RoundTrip(out); err != nil && !notConnected(err) {
			err = cut(err)
		}
	} else {
		r.links.begin(m)
		end = func() { r.links.end(m) }
		res, err = r.exchange(m, out)
	}
	switch {
	case err != nil:
		end()
		if ctx.Err() == nil && !errors.Is(err, ErrGone) {
			err = r.explain(ctx, id, err)
		}
	case res.Header.Get(headerStopping) != "":
		drain(res)
		end()
		err = ErrGone
	}
	return res, end, err
}

// outgoing returns a request of a client as it is sent to the replica with this
// id.
func outgoing(ctx context.Context, q *http.Request, body []byte, id string) (*http.Request, error) {
	if Forwarded(q.Context()) {
		return nil, errors.New("the request was forwarded before")
	}
	if q.URL.Opaque != "" || !strings.HasPrefix(q.URL.Path, "/") {
		return nil, errors.New("the target of the request is not a path")
	}
	out, err := http.NewRequestWithContext(ctx, q.Method, "https://"+hostOf(id)+"/", bytes.NewReader(body))
	if err != nil {
		return nil, err
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
	out.Header.Del(headerAll)
	out.Header.Del(headerShare)
	if share := clientOf(ctx); share != "" {
		out.Header.Set(headerShare, share)
	}
	if _, named := out.Header["User-Agent"]; !named {
		out.Header["User-Agent"] = nil // net/http would add its own
	}
	return out, nil
}

// cut returns the error of a request that may have been sent.
func cut(err error) error { return fmt.Errorf("%w: %w", ErrCut, err) }

// notConnected reports whether err is of [Replica.dial], or of the search for the
// address.
func notConnected(err error) bool {
	_, silent := errors.AsType[unreachable](err)
	return silent || errors.Is(err, ErrGone)
}

// explain adds ErrGone to the error of a connection that broke because the replica
// has stopped.
func (r *Replica) explain(ctx context.Context, id string, err error) error {
	if _, tried := errors.AsType[unreachable](err); tried {
		return err
	}
	m, gone := r.peer(ctx, id)
	if gone == nil {
		gone = r.probe(ctx, m, explainTimeout)
	}
	if errors.Is(gone, ErrGone) {
		return fmt.Errorf("%w: %w", gone, err)
	}
	return err
}

// probe connects to a replica and disconnects.
func (r *Replica) probe(ctx context.Context, m Member, timeout time.Duration) error {
	c, err := r.dial(ctx, m, timeout, "http/1.1")
	if err != nil {
		return err
	}
	return c.Close()
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
	res, done, err := r.send(ctx, q, body, id)
	if err == nil {
		defer done()
		status = drain(res)
	}
	if err != nil {
		return 0, fmt.Errorf("forward to the replica %q: %w", id, err)
	}
	return status, nil
}

// drain drops the body of a response, so that its connection can be used again.
func drain(res *http.Response) (status int) {
	defer res.Body.Close()
	io.Copy(io.Discard, io.LimitReader(res.Body, 64<<10))
	return res.StatusCode
}

// Broadcast passes a request of a client to all other live replicas and waits for
// their responses, a few seconds at most. If too many are in progress, Broadcast
// waits for its turn as long. The error joins those of replicas that
// did not serve it; one that has stopped is none. Broadcast also returns an error
// if the store has lost the membership of this replica, and so perhaps of others.
func (r *Replica) Broadcast(q *http.Request, body []byte) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(q.Context()), broadcastTimeout)
	defer cancel()
	client := clientOf(ctx)
	if !r.outgoing.wait(ctx, broadcastSlot, client) {
		return ErrBusy
	}
	defer r.outgoing.free(broadcastSlot, client)
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
			res, end, err := r.roundTrip(ctx, q, body, m.ID, broadcastSlot)
			status := 0
			if err == nil {
				defer end()
				status = drain(res)
			}
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
