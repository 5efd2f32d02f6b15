package streamclient

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tenon-mcp/tenon/era"
	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/transport/internal/httpheader"
)

// What older revisions say that a transport has to know.
const (
	methodInitialize      = "initialize"
	notificationCancelled = "notifications/cancelled"
)

const (
	maxAsked      = 256              // requests of the server that wait for an answer
	goodbye       = 5 * time.Second  // for what is sent after nobody waits any more
	notifyTimeout = 30 * time.Second // for an answer to be accepted
)

// A link carries messages to a server by HTTP. It is one session where the
// server has sessions: when that is lost a new link takes over.
//
// The way of a request is:
//
//	Start    a goroutine of its own         client_link.go
//	headers  what the body says, again      client_headers.go
//	POST     status, content type           client_post.go
//	 JSON    the answer
//	 events  notes, questions, the answer   client_events.go
//	GET      older servers: the rest of a stream that broke
type link struct {
	to    *target
	in    *era.Receiver
	ids   *atomic.Int64
	tools *toolBook
	opts  *era.DialOptions

	ctx  context.Context // ends with the link
	stop context.CancelCauseFunc
	idle chan struct{} // closed when the link is of no use any more and does nothing

	mu      sync.Mutex
	running int  // goroutines of the link
	retired bool // a new link has taken over: what goes on may go on
	closed  bool
	session string                        // what initialize was answered with
	version string                        // likewise
	status  int                           // how initialize was answered
	open    map[string]*post              // requests that are not answered, by their ids
	asked   map[string]context.CancelFunc // requests of the server, by theirs
	hearing listenState                   // what is pushed without a request

	lost atomic.Bool // the server does not know the session any more
}

func newLink(c *Connection, in *era.Receiver) *link {
	l := &link{to: c.to, in: in, ids: &c.ids, tools: &c.tools, opts: &c.opts,
		idle: make(chan struct{}), open: map[string]*post{}, asked: map[string]context.CancelFunc{}}
	l.ctx, l.stop = context.WithCancelCause(context.Background())
	l.hearing.init()
	return l
}

// NextID returns an id that was not used on this connection.
func (l *link) NextID() int64 { return l.ids.Add(1) }

// Start sends a request. What ctx carries goes with it; it ends when the
// answer is there, when it is dropped, or with the link.
func (l *link) Start(ctx context.Context, id int64, method string, params []byte) (*jsonrpc.Pending, error) {
	m := &jsonrpc.Message{ID: jsonrpc.IntID(id), Method: method, Params: params}
	p := &post{link: l, origin: id, m: m, modern: era.IsModern(m)}
	ctx, p.cancel = l.span(context.WithoutCancel(ctx))
	pending, deliver := jsonrpc.NewPending(p.drop)
	p.deliver = deliver
	if !l.begin(true) {
		p.cancel(nil)
		if l.ctx.Err() == nil { // only retired
			return nil, &errSessionLost{method: method, unserved: true}
		}
		return nil, &jsonrpc.ClosedError{}
	}
	l.mu.Lock()
	l.open[m.ID.Key()] = p
	l.mu.Unlock()
	go func() { // one exchange
		defer l.end()
		defer p.cancel(nil)
		defer l.forget(p)
		p.exchange(ctx)
	}()
	return pending, nil
}

func (l *link) forget(p *post) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.open, p.m.ID.Key())
}

// strayed takes in an answer that came otherwise than on the stream of its
// request, as some older servers send them, and reports whether there was such
// a request.
func (l *link) strayed(m jsonrpc.Message) bool {
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

// Notify sends a notification and waits until it is accepted. Where ctx has
// ended it is sent all the same, and nobody waits.
func (l *link) Notify(ctx context.Context, method string, params []byte) error {
	m := &jsonrpc.Message{Method: method, Params: params}
	body := jsonrpc.AppendNotification(nil, method, params)
	if ctx.Err() == nil {
		return l.tell(ctx, m, body)
	}
	if !l.begin(false) {
		return &jsonrpc.ClosedError{}
	}
	go func() { // one notification
		defer l.end()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), goodbye)
		defer cancel()
		if err := l.tell(ctx, m, body); err != nil && l.ctx.Err() == nil {
			l.in.Undelivered(fmt.Errorf("%s could not be delivered: %w", method, err))
		}
	}()
	return nil
}

// begin counts a goroutine that is about to start, unless it is too late for
// it. Who has retired starts no requests.
func (l *link) begin(request bool) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || l.retired && (request || l.running == 0) {
		return false
	}
	l.running++
	return true
}

// end is called by a goroutine that ends.
func (l *link) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
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

// span returns a context that ends with the link, too.
func (l *link) span(parent context.Context) (context.Context, context.CancelCauseFunc) {
	ctx, cancel := context.WithCancelCause(parent)
	release := context.AfterFunc(l.ctx, func() { cancel(context.Cause(l.ctx)) })
	return ctx, func(cause error) {
		release()
		cancel(cause)
	}
}

// tell sends what is not answered: a notification, or an answer.
func (l *link) tell(ctx context.Context, m *jsonrpc.Message, body []byte) error {
	ctx, cancel := l.span(ctx)
	defer cancel(nil)
	h, session, err := l.headers(m, era.IsModern(m))
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
	if a.Err == nil && m.Method == "" { // a response that the server has not taken, and says why
		return l.statusError("", resp, "", []byte(a.Error.Message))
	}
	return a.Err
}

// failed says why an HTTP request came to nothing.
func (l *link) failed(ctx context.Context, method string, err error) error {
	switch {
	case l.ctx.Err() != nil:
		return &jsonrpc.ClosedError{}
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case cut(err):
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

// opened takes in how initialize was answered.
func (l *link) opened(h http.Header, result []byte) error {
	id := h.Get(httpheader.Session)
	if !visible(id) {
		return errors.New("its session id may have only visible characters, and at most 4096 of them")
	}
	version, _ := rawjson.String(rawjson.Lookup(result, "protocolVersion"))
	l.mu.Lock()
	defer l.mu.Unlock()
	l.session = id
	if _, older := era.Eras(mcp.Revision(version)); older {
		l.version = version
	}
	return nil
}

// visible reports whether a session id is what it may be, or none.
func visible(id string) bool {
	for i := range len(id) {
		if id[i] < 0x21 || id[i] > 0x7e {
			return false
		}
	}
	return len(id) <= 4096
}

// Done is closed when what is pushed was interrupted, so that something may
// have been missed.
func (l *link) Done() <-chan struct{} { return l.hearing.interrupted() }

func (l *link) tap(d jsonrpc.Direction, frame []byte) {
	if l.opts.Tap != nil {
		l.opts.Tap(d, frame)
	}
}

// retire has the link start nothing more: another one has taken over. What is
// in flight goes on.
func (l *link) retire() {
	l.mu.Lock()
	l.retired = true
	l.settledLocked()
	l.mu.Unlock()
	l.hearing.end()
}

// close ends everything that the link does, tells the server that the session
// is over, and waits; not longer than ctx.
func (l *link) close(ctx context.Context) error {
	l.mu.Lock()
	l.closed = true
	session := l.session
	l.settledLocked()
	l.mu.Unlock()
	l.hearing.end()
	l.stop(&jsonrpc.ClosedError{})
	if session != "" && !l.lost.Load() {
		l.leave(ctx)
	}
	select {
	case <-l.idle:
		return nil
	case <-ctx.Done():
		return errors.New("something that answers the server's questions did not end in time")
	}
}

// leave ends the session at the server, as far as that wants to know.
func (l *link) leave(ctx context.Context) {
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
