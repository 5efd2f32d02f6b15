package streamclient

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tenon-mcp/tenon/era"
	"github.com/tenon-mcp/tenon/internal/eraconn"
	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/transport/internal/httpheader"
)

const (
	maxServing    = 256              // requests of the server that wait for a response
	cancelTimeout = 5 * time.Second  // for messages sent after their call has ended
	notifyTimeout = 30 * time.Second // for the server to accept a response
)

// A link carries messages to a server over HTTP. With a legacy server it is one
// session: when the session is lost, a new link replaces the old one.
//
// The path of a request is:
//
//	Start    registers the request                    link.go
//	headers  repeat parts of the body                 headers.go
//	POST     status, content type                     post.go
//	 JSON    the response
//	 events  notifications, requests, the response    events.go
//	GET      legacy: the rest of a broken stream      events.go
type link struct {
	to    *target
	in    *eraconn.Receiver
	ids   *atomic.Int64
	tools *toolHeaders
	opts  *era.DialOptions

	ctx  context.Context // ends with the link
	stop context.CancelCauseFunc
	idle chan struct{} // closed when the link is retired or closed and its goroutines have ended

	mu      sync.Mutex
	running int  // goroutines and exchanges of the link
	retired bool // replaced by a new link; calls in flight continue
	closed  bool
	session string                        // of the initialize response
	version string                        // likewise
	status  int                           // HTTP status of the initialize response
	open    map[string]*post              // requests that are not answered, by their ids
	serving map[string]context.CancelFunc // requests of the server, by theirs
	push    pushStream                    // what is pushed without a request

	lost atomic.Bool // the server does not know the session any more
}

func newLink(c *Connection, in *eraconn.Receiver) *link {
	l := &link{to: c.to, in: in, ids: &c.ids, tools: &c.tools, opts: &c.opts,
		idle: make(chan struct{}), open: map[string]*post{}, serving: map[string]context.CancelFunc{}}
	l.ctx, l.stop = context.WithCancelCause(context.Background())
	l.push.init()
	return l
}

// NextID returns an id that was not used on this connection.
func (l *link) NextID() int64 { return l.ids.Add(1) }

// Start sends a request with the values of ctx. It ends with its response, when
// the caller cancels it, or with the link.
//
// Start waits for the headers of a modern response, and for all of one that is
// JSON: a modern server sends nothing else before them, and the end of ctx
// cancels the request. Other exchanges have a goroutine of their own.
func (l *link) Start(ctx context.Context, id int64, method string, params []byte) (*jsonrpc.Pending, error) {
	m := &jsonrpc.Message{ID: jsonrpc.IntID(id), Method: method, Params: params}
	p := &post{link: l, origin: id, m: m, modern: eraconn.IsModern(m)}
	waits := p.modern && method != mcp.MethodSubscriptionsListen
	if !waits {
		ctx = context.WithoutCancel(ctx)
	}
	ctx, p.cancel = context.WithCancelCause(ctx)
	pending, deliver := jsonrpc.NewPending(p.drop)
	p.deliver = deliver
	if err := l.beginRequest(p); err != nil {
		p.cancel(nil)
		return nil, err
	}
	if !waits {
		go p.exchange(ctx)
	} else {
		p.exchange(ctx)
	}
	return pending, nil
}

// beginRequest registers a request and counts its exchange.
func (l *link) beginRequest(p *post) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.closed:
		return &jsonrpc.ClosedError{}
	case l.retired:
		return &errSessionLost{method: p.m.Method, unserved: true}
	}
	l.running++
	l.open[p.m.ID.Key()] = p
	return nil
}

// endRequest is called when the exchange of a request has ended.
func (l *link) endRequest(p *post) {
	p.cancel(nil)
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.open, p.m.ID.Key())
	l.endLocked()
}

// deliverStray delivers a response that arrived on another stream than that of
// its request, as some legacy servers send them. It reports whether the request
// is open.
func (l *link) deliverStray(m jsonrpc.Message) bool {
	l.mu.Lock()
	p := l.open[m.ID.Key()]
	l.mu.Unlock()
	if p == nil || p.modern {
		return false
	}
	p.done(jsonrpc.Response{Message: m})
	p.cancel(nil)
	return true
}

// unexpected returns the error for a response that no request waits for.
func (l *link) unexpected(id jsonrpc.ID) error {
	if n, err := strconv.ParseInt(string(id), 10, 64); err == nil && n > 0 && n <= l.ids.Load() {
		return jsonrpc.ErrLateResponse
	}
	return fmt.Errorf("response with the unknown id %.64s", id)
}

// Notify sends a notification and waits until the server accepts it. If ctx has
// ended, Notify sends it in the background.
func (l *link) Notify(ctx context.Context, method string, params []byte) error {
	m := &jsonrpc.Message{Method: method, Params: params}
	body := jsonrpc.AppendNotification(nil, method, params)
	if ctx.Err() == nil {
		return l.sendOneWay(ctx, m, body)
	}
	if !l.begin() {
		return &jsonrpc.ClosedError{}
	}
	go func() { // one notification
		defer l.end()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cancelTimeout)
		defer cancel()
		if err := l.sendOneWay(ctx, m, body); err != nil && l.ctx.Err() == nil {
			l.in.Undelivered(fmt.Errorf("send %s: %w", method, err))
		}
	}()
	return nil
}

// begin counts a goroutine that is about to start. It reports false if the link
// is closed, or retired and idle.
func (l *link) begin() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || l.retired && l.running == 0 {
		return false
	}
	l.running++
	return true
}

// end counts a goroutine that has ended.
func (l *link) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.endLocked()
}

func (l *link) endLocked() {
	l.running--
	l.settledLocked()
}

func (l *link) settledLocked() {
	if l.running == 0 && (l.closed || l.retired) {
		select {
		case <-l.idle:
		default:
			close(l.idle)
		}
	}
}

// span returns a context that ends with parent or with the link.
func (l *link) span(parent context.Context) (context.Context, context.CancelCauseFunc) {
	ctx, cancel := context.WithCancelCause(parent)
	release := context.AfterFunc(l.ctx, func() { cancel(context.Cause(l.ctx)) })
	return ctx, func(cause error) {
		release()
		cancel(cause)
	}
}

// sendOneWay sends a notification or a response, which have no response.
func (l *link) sendOneWay(ctx context.Context, m *jsonrpc.Message, body []byte) error {
	ctx, cancel := l.span(ctx)
	defer cancel(nil)
	h, session, err := l.headers(m, eraconn.IsModern(m))
	if err != nil {
		return err
	}
	l.tap(jsonrpc.Out, body)
	resp, err := l.to.send(ctx, http.MethodPost, h, body)
	if err != nil {
		return l.failed(ctx, m.Method, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 == 2 {
		drain(resp.Body)
		return nil
	}
	a := l.refused(m.Method, resp, session)
	if a.Err == nil && m.Method == "" { // the server refused a response, with a reason
		return l.statusError("", resp, "", []byte(a.Error.Message))
	}
	return a.Err
}

// failed returns the error for an HTTP request without a response.
func (l *link) failed(ctx context.Context, method string, err error) error {
	switch {
	case l.ctx.Err() != nil:
		return &jsonrpc.ClosedError{}
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case connectionBroke(err):
		return &StreamEndedError{Method: method, Cause: err}
	}
	return &unreachable{l.to.String(), err}
}

type unreachable struct {
	where string
	cause error
}

func (e *unreachable) Error() string { return "cannot reach " + e.where + ": " + e.cause.Error() }
func (e *unreachable) Unwrap() error { return e.cause }

// sessionOpened stores the session id and the revision of an initialize response.
func (l *link) sessionOpened(h http.Header, result []byte) error {
	id := h.Get(httpheader.Session)
	if !visible(id) {
		return errors.New("the session id has invisible characters or more than 4096 bytes")
	}
	version, _ := rawjson.String(rawjson.Lookup(result, "protocolVersion"))
	l.mu.Lock()
	defer l.mu.Unlock()
	l.session = id
	if _, older := eraconn.Eras(mcp.Revision(version)); older {
		l.version = version
	}
	return nil
}

// visible reports whether a session id is empty or valid: visible ASCII, at most
// 4096 bytes.
func visible(id string) bool {
	for i := range len(id) {
		if id[i] < 0x21 || id[i] > 0x7e {
			return false
		}
	}
	return len(id) <= 4096
}

// Done returns a channel that is closed when the push stream is interrupted, so
// that notifications may have been missed.
func (l *link) Done() <-chan struct{} { return l.push.interrupted() }

func (l *link) tap(d jsonrpc.Direction, frame []byte) {
	if l.opts.Tap != nil {
		l.opts.Tap(d, frame)
	}
}

// retire stops the link from starting requests, since another link replaces it.
// Calls in flight continue.
func (l *link) retire() {
	l.mu.Lock()
	l.retired = true
	l.settledLocked()
	l.mu.Unlock()
	l.push.end()
}

// close ends all calls, deletes the session at the server, and waits for the
// goroutines of the link until ctx ends.
func (l *link) close(ctx context.Context) error {
	l.mu.Lock()
	l.closed = true
	session := l.session
	open := slices.Collect(maps.Values(l.open))
	l.settledLocked()
	l.mu.Unlock()
	l.push.end()
	l.stop(&jsonrpc.ClosedError{})
	for _, p := range open {
		p.cancel(&jsonrpc.ClosedError{})
	}
	if session != "" && !l.lost.Load() {
		l.deleteSession(ctx)
	}
	select {
	case <-l.idle:
		return nil
	case <-ctx.Done():
		return errors.New("close: a handler of the server's requests did not return in time")
	}
}

// deleteSession ends the session at the server with DELETE and ignores errors.
func (l *link) deleteSession(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	h, _, _ := l.headers(&jsonrpc.Message{}, false)
	h.Del("Content-Type")
	resp, err := l.to.send(ctx, http.MethodDelete, h, nil)
	if err == nil {
		drain(resp.Body)
		resp.Body.Close()
	}
}
