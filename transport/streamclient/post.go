package streamclient

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
)

// A post is one request in flight.
type post struct {
	link    *link
	origin  int64
	m       *jsonrpc.Message
	modern  bool
	deliver func(jsonrpc.Response)
	cancel  context.CancelCauseFunc
	dropped atomic.Bool
	session string // session id it was sent with

	answered atomic.Bool // deliver was called
	whole    bool        // the response body is one message, not events
	cursor   cursor      // position in the stream
}

// drop is called when the caller gives up. It cancels a modern request by
// closing the stream. A legacy request is cancelled with a notification, so drop
// gives its stream cancelTimeout to end.
func (p *post) drop() {
	p.dropped.Store(true)
	if p.modern {
		p.cancel(context.Canceled)
		return
	}
	time.AfterFunc(cancelTimeout, func() { p.cancel(context.Canceled) })
}

// fail ends the exchange with err.
func (p *post) fail(err error) { p.cancel(err) }

// done delivers the response, once.
func (p *post) done(a jsonrpc.Response) {
	if p.answered.CompareAndSwap(false, true) {
		p.deliver(a)
	}
}

// exchange sends the request and reads the response. A stream of events that the
// caller of a modern request waits for is read in a goroutine of its own.
func (p *post) exchange(ctx context.Context) {
	var resp *http.Response
	defer func() { // also if a RoundTripper or the Tap panics
		if resp == nil {
			p.link.endRequest(p)
		}
	}()
	if resp = p.send(ctx); resp == nil {
		return
	}
	if p.modern && contentType(resp.Header) == typeEvents && resp.StatusCode/100 == 2 {
		go p.receive(ctx, resp)
		return
	}
	p.receive(ctx, resp)
}

// send sends the request. It returns nil if that failed.
func (p *post) send(ctx context.Context) *http.Response {
	l := p.link
	var h http.Header
	var err error
	if h, p.session, err = l.headers(p.m, p.modern); err != nil {
		p.done(jsonrpc.Response{Err: err})
		return nil
	}
	body := jsonrpc.AppendRequest(nil, p.m.ID, p.m.Method, p.m.Params)
	l.tap(jsonrpc.Out, body)
	resp, err := l.to.send(ctx, http.MethodPost, h, body)
	if err != nil {
		p.done(jsonrpc.Response{Err: l.failed(ctx, p.m.Method, err)})
		return nil
	}
	return resp
}

// receive reads the response and ends the exchange.
func (p *post) receive(ctx context.Context, resp *http.Response) {
	l := p.link
	defer l.endRequest(p)
	defer resp.Body.Close()
	if p.m.Method == mcp.MethodInitialize {
		l.mu.Lock()
		l.status = resp.StatusCode
		l.mu.Unlock()
	}
	kind := contentType(resp.Header)
	switch {
	case resp.StatusCode/100 != 2:
		p.done(l.refused(p.m.Method, resp, p.session))
	case kind == typeEvents:
		p.events(ctx, resp)
	case resp.StatusCode == http.StatusOK && (kind == typeJSON || kind == "" || strings.HasSuffix(kind, "+json")):
		p.json(ctx, resp)
	default:
		about := "the response is neither JSON nor an event stream"
		if resp.StatusCode != http.StatusOK {
			about = "the server sent no response to the request"
		}
		p.done(jsonrpc.Response{Err: l.statusError(p.m.Method, resp, about, nil)})
	}
}

// json reads a response body that is one message.
func (p *post) json(ctx context.Context, resp *http.Response) {
	data, err := readAll(resp.Body, resp.ContentLength, maxMessage)
	if err != nil {
		p.done(jsonrpc.Response{Err: p.broken(ctx, err)})
		return
	}
	p.link.tap(jsonrpc.In, data)
	p.whole = true
	p.take(data, resp.Header)
	if !p.answered.Load() {
		p.done(jsonrpc.Response{Err: p.unusable("it has the id of another request")})
	}
}

// unusable returns the error for an invalid response.
func (p *post) unusable(why string) error {
	return &mcp.Error{Code: mcp.CodeInternal, Local: true, Message: "invalid response to " + p.m.Method + ": " + why}
}

// broken returns the error for an incomplete response.
func (p *post) broken(ctx context.Context, err error) error {
	switch {
	case p.link.ctx.Err() != nil:
		return &jsonrpc.ClosedError{}
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, io.EOF):
		return &StreamEndedError{Method: p.m.Method}
	case tooLarge(err):
		return p.unusable("it exceeds the limit of " + strconv.Itoa(maxMessage) + " bytes")
	}
	return &StreamEndedError{Method: p.m.Method, Cause: err}
}

// take handles one frame: a message or, from a legacy server, a batch.
func (p *post) take(data []byte, h http.Header) {
	if p.modern {
		m, err := jsonrpc.Decode(data)
		p.message(data, m, err, h)
		return
	}
	for _, it := range messages(data) {
		p.message(data, it.Message, it.Err, h)
	}
}

// maxBatch is how many messages a batch of the server may have.
const maxBatch = 1000

func (p *post) message(data []byte, m jsonrpc.Message, err error, h http.Header) {
	switch {
	case err != nil:
		p.unreadable(data, err)
	case m.IsResponse() && (m.ID.Equal(p.m.ID) || m.Error != nil && m.ID == nil):
		if p.m.Method == mcp.MethodInitialize && m.Result != nil {
			if err := p.link.sessionOpened(h, m.Result); err != nil {
				p.done(jsonrpc.Response{Err: p.unusable(err.Error())})
				return
			}
		}
		p.done(jsonrpc.Response{Message: m})
	case m.IsResponse() && p.link.deliverStray(m):
	case m.IsResponse():
		p.link.in.InvalidFrame(data, p.link.unexpected(m.ID))
	case p.dropped.Load() && (p.modern || m.IsRequest()): // the caller has given up
	case m.IsRequest():
		p.link.serveRequest(m, p.origin, p)
	default: // a legacy server may send notifications of the session on any stream
		p.link.handleNotification(&m, p.origin)
	}
}

// unreadable handles an invalid frame. If it is the response to the request, the
// request fails.
func (p *post) unreadable(data []byte, err error) {
	bad, ok := errors.AsType[*jsonrpc.DecodeError](err)
	if ok && bad.Response && bad.ID.Equal(p.m.ID) || p.whole {
		p.done(jsonrpc.Response{Err: err})
		return
	}
	p.link.in.InvalidFrame(data, err)
}

// refused returns the response for an HTTP status other than success: the
// JSON-RPC error in the body or, without one, a StatusError. 401, 403 and
// redirects are always a StatusError, which has the headers.
func (l *link) refused(method string, resp *http.Response, session string) jsonrpc.Response {
	body, _ := readAll(resp.Body, resp.ContentLength, maxErrorBody) // a larger body is ignored
	var told *jsonrpc.Error
	if m, err := jsonrpc.Decode(body); err == nil && m.Error != nil {
		told = m.Error
		l.tap(jsonrpc.In, body)
	}
	status := resp.StatusCode
	switch {
	case status == http.StatusNotFound && session != "" && (told == nil || told.Code != mcp.CodeMethodNotFound),
		status == http.StatusBadRequest && session != "" && told != nil && unknownSession(told):
		l.lost.Store(true)
		return jsonrpc.Response{Err: &errSessionLost{method: method, unserved: true}}
	case told != nil && status != http.StatusUnauthorized && status != http.StatusForbidden && status/100 != 3:
		return jsonrpc.Response{Message: jsonrpc.Message{Error: told}}
	case told != nil:
		body = []byte(told.Message)
	}
	return jsonrpc.Response{Err: l.statusError(method, resp, meaning(resp), body)}
}

// unknownSession reports whether an error with status 400 means an unknown
// session. The status for that is 404; the reference implementation sends 400 and
// "Bad Request: No valid session ID provided".
func unknownSession(e *jsonrpc.Error) bool {
	if e.Code > -32000 || e.Code < -32099 { // only codes that are left to implementations
		return false
	}
	text := strings.ToLower(e.Message)
	for _, says := range []string{"no valid session", "invalid session", "session not found", "unknown session"} {
		if strings.Contains(text, says) {
			return true
		}
	}
	return false
}

func (l *link) statusError(method string, resp *http.Response, about string, body []byte) error {
	doing := l.to.String()
	if method != "" {
		doing = method + " at " + doing
	}
	return &StatusError{Status: resp.StatusCode, Header: resp.Header, Reason: plain(body), doing: doing, about: about}
}

// meaning explains a status; "" if its name says enough.
func meaning(resp *http.Response) string {
	switch status := resp.StatusCode; {
	case status/100 == 3:
		where := "elsewhere"
		if u, err := resp.Location(); err == nil {
			where = "to " + u.Scheme + "://" + u.Host + u.EscapedPath()
		}
		return "redirects " + where + ", which is not followed; if the server has moved, use its new URL"
	case status == http.StatusUnauthorized:
		return "authorization required"
	case status == http.StatusForbidden && resp.Header.Get("WWW-Authenticate") != "":
		return "the authorization is not sufficient"
	case status == http.StatusTooManyRequests:
		if after := resp.Header.Get("Retry-After"); after != "" {
			return "try again after " + strconv.Quote(after)
		}
		return ""
	}
	return ""
}

// drain reads the rest of a body, up to 64 KiB, so that its connection can be
// reused.
func drain(r io.Reader) { io.CopyN(io.Discard, r, 64<<10) }
