package wirelog

import (
	"bytes"
	"context"
	"errors"
	"hash/maphash"
	"io"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/app/speccheck"
	"github.com/tenon-mcp/tenon/internal/redact"
	"github.com/tenon-mcp/tenon/internal/visible"
)

// RoundTripper wraps next and sets the HTTP field of the messages that it carries
// and that are also passed to [Wire.Frame]. A request gets its exchange when the
// response's headers arrive, and so do the messages that belong to it; other
// messages of the server get the open GET stream. Exchanges without a message and
// failed ones are added as events.
//
// Use one Wire for each connection, and place the RoundTripper below those that
// add authorization, so that it sees the headers as sent.
func (w *Wire) RoundTripper(next http.RoundTripper) http.RoundTripper {
	if next == nil {
		next = http.DefaultTransport
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.http == nil {
		w.http = &exchanges{}
	}
	return &viewed{w, next}
}

// exchanges is what a wire knows of its HTTP. It is used under the wire's lock.
type exchanges struct {
	recent  []carried       // the latest frames that were sent
	stream  *speccheck.HTTP // the GET stream that was opened last
	session string          // the session id that the server gave
}

// carried is a frame that was sent, so that the POST with it can be found. Only
// its digest is kept: frames may be large.
type carried struct {
	seq    uint64
	digest uint64
	asked  []*speccheck.Request
}

var digestSeed = maphash.MakeSeed()

const maxCarried = 64

func (x *exchanges) sent(m *speccheck.Message, seq uint64, opened []*speccheck.Request) {
	if len(x.recent) >= maxCarried {
		x.recent = slices.Delete(x.recent, 0, 1)
	}
	x.recent = append(x.recent, carried{seq, maphash.Bytes(digestSeed, m.Frame), slices.Clone(opened)})
}

// find returns the latest frame that is this body.
func (x *exchanges) find(body []byte) *carried {
	digest := maphash.Bytes(digestSeed, body)
	for i := len(x.recent) - 1; i >= 0; i-- {
		if x.recent[i].digest == digest {
			return &x.recent[i]
		}
	}
	return nil
}

// attach gives a message of the server the exchange that brought it.
func (x *exchanges) attach(m *speccheck.Message, o *speccheck.Request) {
	if m.Dir != speccheck.FromServer {
		return
	}
	switch {
	case o != nil && o.HTTP != nil:
		m.HTTP = o.HTTP
	default:
		m.HTTP = x.stream
	}
}

type viewed struct {
	wire *Wire
	next http.RoundTripper
}

func (v *viewed) RoundTrip(req *http.Request) (*http.Response, error) {
	body := bodyOf(req)
	h := &speccheck.HTTP{Method: req.Method, URL: (*redact.Values)(nil).URL(req.URL.String()), Request: headerLines(req.Header)}
	resp, err := v.next.RoundTrip(req)
	if err != nil {
		h.Error = (*redact.Values)(nil).Text(err.Error())
	} else {
		h.Status, h.Response = resp.StatusCode, headerLines(resp.Header)
	}
	seq := v.wire.exchanged(req, resp, body, h, errors.Is(err, context.Canceled))
	if resp != nil && seq != 0 {
		resp.Body = &answerBody{ReadCloser: resp.Body, wire: v.wire, seq: seq, http: h}
	}
	return resp, err
}

// An answerBody is the body of the response to a request. If it ends before the
// request was answered, the request is lost, or cancelled if the client closed it.
type answerBody struct {
	io.ReadCloser
	wire *Wire
	seq  uint64 // of the request
	http *speccheck.HTTP
	once sync.Once
}

func (b *answerBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && !errors.Is(err, context.Canceled) {
		b.end(speccheck.OutcomeLost, "the stream ended without a response")
	}
	return n, err
}

func (b *answerBody) Close() error {
	b.end(speccheck.OutcomeCancelled, "the client closed the stream before the response")
	return b.ReadCloser.Close()
}

// frameDelay is how long after the end of a body its last frame may be added.
const frameDelay = 250 * time.Millisecond

func (b *answerBody) end(o speccheck.Outcome, text string) {
	b.once.Do(func() { time.AfterFunc(frameDelay, func() { b.wire.unanswered(b.seq, b.http, o, text) }) })
}

// unanswered adds an event if a request is still open.
func (w *Wire) unanswered(seq uint64, h *speccheck.HTTP, o speccheck.Outcome, text string) {
	w.log.mu.Lock()
	defer w.log.mu.Unlock()
	asked := w.log.at(seq)
	if asked == nil || asked.Outcome != "" || asked.AnsweredBy != 0 {
		return
	}
	m := speccheck.Message{At: time.Now(), Server: w.server, Conn: w.conn, Dir: speccheck.FromServer, Kind: speccheck.KindEvent, HTTP: h, ShapeChecked: true, Joins: seq, Method: asked.Method, Tool: asked.Tool, Revision: asked.Revision, Era: asked.Era, Outcome: o, Frame: []byte(text), Size: len(text)}
	w.log.endLocked(speccheck.Ended{Seq: seq, Outcome: o, Took: m.At.Sub(asked.At) - frameDelay})
	w.log.addLocked(&m)
}

// bodyOf reads a copy of a request's body, if that can be had without touching
// the body itself.
func bodyOf(req *http.Request) []byte {
	if req.GetBody == nil || req.Method != http.MethodPost {
		return nil
	}
	r, err := req.GetBody()
	if err != nil {
		return nil
	}
	defer r.Close()
	body, err := io.ReadAll(r)
	if err != nil {
		return nil
	}
	return bytes.TrimRight(body, "\r\n")
}

// exchanged takes in an exchange whose answer's headers have come. It returns the
// number of the message that the exchange carried if that opens requests, or 0.
func (w *Wire) exchanged(req *http.Request, resp *http.Response, body []byte, h *speccheck.HTTP, cancelled bool) (opens uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	x := w.http
	var found *carried
	if body != nil {
		found = x.find(body)
	}
	if found != nil {
		for _, o := range found.asked {
			o.HTTP, opens = h, found.seq
		}
		var seen speccheck.Message
		w.log.change(found.seq, func(m *speccheck.Message) { m.HTTP, seen = h, *m })
		if problems := speccheck.CheckHTTP(&seen, x.session, req, resp); len(problems) > 0 && !w.log.opts.Unchecked {
			w.log.change(found.seq, func(m *speccheck.Message) {
				m.Problems = append(m.Problems[:len(m.Problems):len(m.Problems)], problems...)
			})
		}
	}
	if resp != nil && req.Method == http.MethodGet && resp.StatusCode == http.StatusOK {
		x.stream = h
	}
	if resp != nil && resp.Header.Get(speccheck.HeaderSession) != "" {
		x.session = resp.Header.Get(speccheck.HeaderSession)
	}
	if x.session != "" && h.Status == http.StatusNotFound && req.Header.Get(speccheck.HeaderSession) == x.session {
		x.session = ""
		w.conversation.Restart() // the session is over, and the client begins another
	}
	if found != nil && h.Status >= 200 && h.Status < 300 {
		return opens
	}
	m := speccheck.Message{At: time.Now(), Server: w.server, Conn: w.conn, Dir: speccheck.FromServer, Kind: speccheck.KindEvent, HTTP: h, ShapeChecked: true}
	m.Revision, m.Era = w.conversation.Revision()
	if found != nil {
		m.Joins = found.seq
	}
	m.Frame = []byte(h.String())
	m.Size = len(m.Frame)
	if opens != 0 {
		m.Outcome, m.Code = speccheck.OutcomeHTTP, h.Status
		if cancelled {
			m.Outcome, m.Code = speccheck.OutcomeCancelled, 0
		}
	}
	w.log.mu.Lock()
	defer w.log.mu.Unlock()
	if asked := w.log.at(opens); asked != nil && asked.Outcome == "" {
		w.log.endLocked(speccheck.Ended{Seq: opens, Outcome: m.Outcome, Code: m.Code, Took: m.At.Sub(asked.At)})
	}
	w.log.addLocked(&m)
	return opens
}

func headerLines(h http.Header) (lines []speccheck.Header) {
	for _, name := range slices.Sorted(maps.Keys(h)) {
		for _, value := range h[name] {
			lines = append(lines, speccheck.Header{Name: name, Value: visible.Shorten(redactHeader(nil, name, value), 4096)})
		}
	}
	return lines
}
