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

// A post is one request on its way, until its answer is there.
type post struct {
	link    *link
	origin  int64
	m       *jsonrpc.Message
	modern  bool
	deliver func(jsonrpc.Response)
	cancel  context.CancelCauseFunc
	dropped atomic.Bool
	session string // that went with it

	answered atomic.Bool // deliver was called
	whole    bool        // what comes is one message, not events
	cursor   cursor      // how far the stream was read
}

// drop is called when nobody waits any more. In the newest era closing the
// stream tells the server so. Before, it is told with a notification, and the
// stream may as well end by itself; not for long, though.
func (p *post) drop() {
	p.dropped.Store(true)
	if p.modern {
		p.cancel(context.Canceled)
		return
	}
	time.AfterFunc(goodbye, func() { p.cancel(context.Canceled) })
}

// fail ends the exchange from outside.
func (p *post) fail(err error) { p.cancel(err) }

// done hands over what the request came to.
func (p *post) done(a jsonrpc.Response) {
	if p.answered.CompareAndSwap(false, true) {
		p.deliver(a)
	}
}

// exchange sends the request and sees to its answer.
func (p *post) exchange(ctx context.Context) {
	l := p.link
	var h http.Header
	var err error
	if h, p.session, err = l.headers(p.m, p.modern); err != nil {
		p.done(jsonrpc.Response{Err: err})
		return
	}
	body := jsonrpc.AppendRequest(nil, p.m.ID, p.m.Method, p.m.Params)
	l.tap(jsonrpc.Out, body)
	resp, err := l.to.send(ctx, http.MethodPost, h, body)
	if err != nil {
		p.done(jsonrpc.Response{Err: l.failed(ctx, p.m.Method, err)})
		return
	}
	defer resp.Body.Close()
	if p.m.Method == methodInitialize {
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
		about := "neither JSON nor a stream of events"
		if resp.StatusCode != http.StatusOK {
			about = "the request was taken for something that needs no answer"
		}
		p.done(jsonrpc.Response{Err: l.statusError(p.m.Method, resp, about, nil)})
	}
}

// json reads an answer that is one message.
func (p *post) json(ctx context.Context, resp *http.Response) {
	data, err := readAll(resp.Body, resp.ContentLength, maxAnswer)
	if err != nil {
		p.done(jsonrpc.Response{Err: p.broken(ctx, err)})
		return
	}
	p.link.tap(jsonrpc.In, data)
	p.whole = true
	p.take(data, resp.Header)
	if !p.answered.Load() {
		p.done(jsonrpc.Response{Err: p.unusable("it is for another request")})
	}
}

// unusable is the error for an answer that breaks the rules.
func (p *post) unusable(why string) error {
	return &mcp.Error{Code: mcp.CodeInternal, Local: true, Message: "the server's answer to " + p.m.Method + " cannot be used: " + why}
}

// broken is the error for an answer that did not come to its end.
func (p *post) broken(ctx context.Context, err error) error {
	switch {
	case p.link.ctx.Err() != nil:
		return &jsonrpc.ClosedError{}
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, io.EOF):
		return &StreamEndedError{Method: p.m.Method}
	case tooLarge(err):
		return p.unusable("it is too large: the limit is " + strconv.Itoa(maxAnswer) + " bytes")
	}
	return &StreamEndedError{Method: p.m.Method, Cause: err}
}

// take takes in what came in one frame: a message or, from servers of one older
// revision, several.
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

// maxBatchTaken is how many messages a server may send at once.
const maxBatchTaken = 1000

func (p *post) message(data []byte, m jsonrpc.Message, err error, h http.Header) {
	switch {
	case err != nil:
		p.unreadable(data, err)
	case m.IsResponse() && (m.ID.Equal(p.m.ID) || m.Error != nil && m.ID == nil):
		if p.m.Method == methodInitialize && m.Result != nil {
			if err := p.link.opened(h, m.Result); err != nil {
				p.done(jsonrpc.Response{Err: p.unusable(err.Error())})
				return
			}
		}
		p.done(jsonrpc.Response{Message: m})
	case m.IsResponse() && p.link.strayed(m):
	case m.IsResponse():
		p.link.in.InvalidFrame(data, p.link.unexpected(m.ID))
	case p.dropped.Load() && (p.modern || m.IsRequest()): // nobody wants to know
	case m.IsRequest():
		p.link.asks(m, p.origin, p)
	default: // an older server may send what concerns the whole session on any stream
		p.link.told(&m, p.origin)
	}
}

// unreadable takes in what is no message. If it was to be the answer, there
// will be no other.
func (p *post) unreadable(data []byte, err error) {
	bad, ok := errors.AsType[*jsonrpc.DecodeError](err)
	if ok && bad.Response && bad.ID.Equal(p.m.ID) || p.whole {
		p.done(jsonrpc.Response{Err: err})
		return
	}
	p.link.in.InvalidFrame(data, err)
}

// refused is what an HTTP status other than success comes to: the error that
// the body tells, if it does, and otherwise one about the status. Who wants
// authorization always gets the status, which says more.
func (l *link) refused(method string, resp *http.Response, session string) jsonrpc.Response {
	body, _ := readAll(resp.Body, resp.ContentLength, maxRefusal) // what is too large is not looked at
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

// unknownSession reports whether an error that came with status 400 says that the
// session is not known. The status for that is 404; the reference implementation
// answers 400 and "Bad Request: No valid session ID provided".
func unknownSession(e *jsonrpc.Error) bool {
	if e.Code > -32000 || e.Code < -32099 { // the codes that the protocol does not define
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

// meaning says what a status is about where it is not plain.
func meaning(resp *http.Response) string {
	switch status := resp.StatusCode; {
	case status/100 == 3:
		where := "elsewhere"
		if u, err := resp.Location(); err == nil {
			where = "to " + u.Scheme + "://" + u.Host + u.EscapedPath()
		}
		return "it redirects " + where + ", which is not followed; if the server has moved, use its new URL"
	case status == http.StatusUnauthorized:
		return "it wants authorization"
	case status == http.StatusForbidden && resp.Header.Get("WWW-Authenticate") != "":
		return "what was presented as authorization is not enough"
	case status == http.StatusTooManyRequests:
		if after := resp.Header.Get("Retry-After"); after != "" {
			return "too many requests; come back after " + strconv.Quote(after)
		}
		return "too many requests"
	}
	return ""
}

// drain reads the rest of a body, so that its connection can be used again, if
// that is little.
func drain(r io.Reader) { io.CopyN(io.Discard, r, 64<<10) }
