package streamable

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"runtime/debug"
	"slices"
	"strconv"
	"sync"
	"time"
)

// Two thirds of the memory of an open stream belong to net/http: buffers, and the
// stack of a goroutine that has read a request. With Options.TakeOver, the
// connection of a stream that stays open is hijacked, and a new goroutine serves
// it.

// mayHijack reports whether the connection of a request may be hijacked.
func (s *Handler) mayHijack(r *http.Request) bool {
	return s.opts.TakeOver && r.ProtoMajor == 1 && r.ProtoMinor >= 1
}

// serveLongPoll runs serve, in a new goroutine if the connection can be hijacked.
// It reports whether it was; w must not be used then.
func (s *Handler) serveLongPoll(w http.ResponseWriter, r *http.Request, serve longPoll) (taken bool) {
	if !s.mayHijack(r) || r.Method != http.MethodPost && r.ContentLength != 0 {
		serve(r.Context(), w)
		return false
	}
	header := w.Header()
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		serve(r.Context(), w)
		return false
	}
	ctx, cancel := detachContext(r.Context())
	own := &hijackedConn{conn: conn, header: header}
	own.SetWriteDeadline(time.Now().Add(s.opts.WriteIdle)) // for the head
	s.hijacked.add(conn)
	go watch(conn, cancel)
	go func() {
		defer s.hijacked.drop(conn)
		defer cancel()
		defer own.end()
		defer own.recovered(ctx, s.opts.Logger)
		serve(ctx, own)
	}()
	return true
}

// detachContext returns a context with the values and the deadline of a request's
// context that does not end with the request.
func detachContext(request context.Context) (context.Context, context.CancelFunc) {
	ctx := context.WithoutCancel(request)
	if until, ok := request.Deadline(); ok {
		return context.WithDeadline(ctx, until)
	}
	return context.WithCancel(ctx)
}

// watch reads until the connection ends, and then calls gone. The client sends
// nothing any more.
func watch(c net.Conn, gone context.CancelFunc) {
	var nothing [64]byte
	for {
		if _, err := c.Read(nothing[:]); err != nil {
			gone()
			return
		}
	}
}

// hijackedConns holds the open hijacked connections.
type hijackedConns struct {
	mu   sync.Mutex
	all  map[net.Conn]struct{}
	none sync.Cond // signalled when there are no more
}

func (t *hijackedConns) add(c net.Conn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.all == nil {
		t.all = map[net.Conn]struct{}{}
	}
	t.all[c] = struct{}{}
}

func (t *hijackedConns) drop(c net.Conn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.all, c)
	if len(t.all) == 0 && t.none.L != nil {
		t.none.Broadcast()
	}
}

// wait waits until there are none; connections still open after while are closed.
func (t *hijackedConns) wait(while time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.none.L = &t.mu
	if len(t.all) > 0 {
		defer time.AfterFunc(while, t.closeAll).Stop()
	}
	for len(t.all) > 0 {
		t.none.Wait()
	}
}

func (t *hijackedConns) closeAll() {
	t.mu.Lock()
	all := slices.Collect(maps.Keys(t.all))
	t.mu.Unlock()
	for _, c := range all {
		c.Close()
	}
}

// A hijackedConn is an http.ResponseWriter for one response on a hijacked
// connection. It does not buffer.
type hijackedConn struct {
	conn   net.Conn
	header http.Header // nil once it was sent
	failed bool
}

func (c *hijackedConn) Header() http.Header { return c.header }

func (c *hijackedConn) WriteHeader(status int) {
	if c.header == nil {
		return
	}
	h := c.header
	c.header = nil
	h.Del("Content-Length") // the response is chunked
	h.Set("Connection", "close")
	h.Set("Transfer-Encoding", "chunked")
	h.Set("Date", time.Now().UTC().Format(http.TimeFormat))
	_, err := c.conn.Write(appendHead(nil, status, h))
	c.failed = err != nil
}

func appendHead(b []byte, status int, h http.Header) []byte {
	b = append(b, "HTTP/1.1 "...)
	b = strconv.AppendInt(b, int64(status), 10)
	b = append(append(append(b, ' '), http.StatusText(status)...), "\r\n"...)
	head := headBuffer{b}
	h.Write(&head) // removes line breaks from values
	return append(head.b, "\r\n"...)
}

type headBuffer struct{ b []byte }

func (h *headBuffer) Write(p []byte) (int, error) { h.b = append(h.b, p...); return len(p), nil }

// Write sends a chunk.
func (c *hijackedConn) Write(p []byte) (int, error) {
	c.WriteHeader(http.StatusOK)
	if c.failed {
		return 0, io.ErrClosedPipe
	}
	if len(p) == 0 {
		return 0, nil
	}
	buf := buffers.Get().(*[]byte)
	b := strconv.AppendInt((*buf)[:0], int64(len(p)), 16)
	b = append(append(append(b, "\r\n"...), p...), "\r\n"...)
	_, err := c.conn.Write(b)
	putBuffer(buf, b)
	if c.failed = err != nil; err != nil {
		return 0, err
	}
	return len(p), nil
}

// FlushError sends the head.
func (c *hijackedConn) FlushError() error {
	c.WriteHeader(http.StatusOK)
	if c.failed {
		return io.ErrClosedPipe
	}
	return nil
}

// SetWriteDeadline is used by http.ResponseController.
func (c *hijackedConn) SetWriteDeadline(t time.Time) error { return c.conn.SetWriteDeadline(t) }

// lastChunk ends a chunked response.
const lastChunk = "0\r\n\r\n"

// end ends the response and the connection.
func (c *hijackedConn) end() {
	c.conn.SetWriteDeadline(time.Now().Add(time.Second))
	if !c.failed && c.header == nil {
		io.WriteString(c.conn, lastChunk)
	}
	c.conn.Close()
}

// recovered recovers a panic, as net/http does, and logs it to the ErrorLog of the
// http.Server and to l.
func (c *hijackedConn) recovered(ctx context.Context, l *slog.Logger) {
	p := recover()
	if p == nil {
		return
	}
	c.failed = true // so that the client sees an incomplete response
	if err, ok := p.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		return
	}
	l.LogAttrs(ctx, slog.LevelError, "handler failed", slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
	say := log.Printf
	if s, ok := ctx.Value(http.ServerContextKey).(*http.Server); ok && s.ErrorLog != nil {
		say = s.ErrorLog.Printf
	}
	say("%s", fmt.Sprintf("http: panic serving %v: %v\n%s", c.conn.RemoteAddr(), p, debug.Stack()))
}
