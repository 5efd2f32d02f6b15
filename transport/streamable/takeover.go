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

// Two thirds of what an open stream costs are net/http's: buffers, and the
// stack of a goroutine that has read a request and written a head. Where it may
// (Options.TakeOver), a stream that stays open leaves all of that behind: its
// connection is taken over, and a goroutine of its own serves it.

// mayTakeOver reports whether the connection of a request may be taken over.
func (s *Handler) mayTakeOver(r *http.Request) bool {
	return s.opts.TakeOver && r.ProtoMajor == 1 && r.ProtoMinor >= 1
}

// stay runs serve, which holds a stream open: on a goroutine of its own if the
// connection can be taken over, and otherwise before it returns. It reports
// whether the connection was taken over; w must not be used then.
func (s *Handler) stay(w http.ResponseWriter, r *http.Request, serve longPoll) (taken bool) {
	if !s.mayTakeOver(r) || r.Method != http.MethodPost && r.ContentLength != 0 {
		serve(r.Context(), w)
		return false
	}
	header := w.Header()
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		serve(r.Context(), w)
		return false
	}
	ctx, cancel := outlive(r.Context())
	own := &ownConn{conn: conn, header: header}
	own.SetWriteDeadline(time.Now().Add(s.opts.WriteIdle)) // for the head
	s.taken.add(conn)
	go watch(conn, cancel)
	go func() {
		defer s.taken.drop(conn)
		defer cancel()
		defer own.end()
		defer own.recovered(ctx, s.opts.Logger)
		serve(ctx, own)
	}()
	return true
}

// outlive returns a context that keeps the values and the deadline of the
// context of a request, and does not end when the request was served.
func outlive(request context.Context) (context.Context, context.CancelFunc) {
	ctx := context.WithoutCancel(request)
	if until, ok := request.Deadline(); ok {
		return context.WithDeadline(ctx, until)
	}
	return context.WithCancel(ctx)
}

// watch ends when the connection does, and so notices that the client has
// gone. A client has nothing to say on it any more.
func watch(c net.Conn, gone context.CancelFunc) {
	var nothing [64]byte
	for {
		if _, err := c.Read(nothing[:]); err != nil {
			gone()
			return
		}
	}
}

// takenConns are the connections that were taken over.
type takenConns struct {
	mu   sync.Mutex
	all  map[net.Conn]struct{}
	none sync.Cond // told when there are no more
}

func (t *takenConns) add(c net.Conn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.all == nil {
		t.all = map[net.Conn]struct{}{}
	}
	t.all[c] = struct{}{}
}

func (t *takenConns) drop(c net.Conn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.all, c)
	if len(t.all) == 0 && t.none.L != nil {
		t.none.Broadcast()
	}
}

// wait waits until there are none; those that are there after a while are
// closed.
func (t *takenConns) wait(while time.Duration) {
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

func (t *takenConns) closeAll() {
	t.mu.Lock()
	all := slices.Collect(maps.Keys(t.all))
	t.mu.Unlock()
	for _, c := range all {
		c.Close()
	}
}

// An ownConn answers one request on a connection that was taken over, and ends
// it. It is an http.ResponseWriter that sends what is written at once.
type ownConn struct {
	conn   net.Conn
	header http.Header // nil once it was sent
	failed bool
}

func (c *ownConn) Header() http.Header { return c.header }

func (c *ownConn) WriteHeader(status int) {
	if c.header == nil {
		return
	}
	h := c.header
	c.header = nil
	h.Del("Content-Length") // a message is framed in one way only
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
	h.Write(&head) // which leaves line breaks out of values
	return append(head.b, "\r\n"...)
}

type headBuffer struct{ b []byte }

func (h *headBuffer) Write(p []byte) (int, error) { h.b = append(h.b, p...); return len(p), nil }

// Write sends a chunk.
func (c *ownConn) Write(p []byte) (int, error) {
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
	giveBack(buf, b)
	if c.failed = err != nil; err != nil {
		return 0, err
	}
	return len(p), nil
}

// FlushError has nothing to do but to begin.
func (c *ownConn) FlushError() error {
	c.WriteHeader(http.StatusOK)
	if c.failed {
		return io.ErrClosedPipe
	}
	return nil
}

// SetWriteDeadline makes it known to http.ResponseController.
func (c *ownConn) SetWriteDeadline(t time.Time) error { return c.conn.SetWriteDeadline(t) }

// lastChunk ends an answer that is sent in chunks.
const lastChunk = "0\r\n\r\n"

// end ends the answer and the connection.
func (c *ownConn) end() {
	c.conn.SetWriteDeadline(time.Now().Add(time.Second))
	if !c.failed && c.header == nil {
		io.WriteString(c.conn, lastChunk)
	}
	c.conn.Close()
}

// recovered has a panic cost one stream, as net/http does, and reports it to the
// log of the http.Server, as net/http does, and to l.
func (c *ownConn) recovered(ctx context.Context, l *slog.Logger) {
	p := recover()
	if p == nil {
		return
	}
	c.failed = true // so that the client sees that this was not the end
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
