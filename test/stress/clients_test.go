package stress

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/era"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/transport/streamable"
	"github.com/tenon-mcp/tenon/transport/streamclient"
)

// serveHTTP serves h until ctx ends, with connections taken over or not.
func serveHTTP(ctx context.Context, l net.Listener, h mcp.Handler, o *streamable.Options, takeOver bool) error {
	if takeOver {
		return streamable.Serve(ctx, l, h, o, nil)
	}
	handler, err := streamable.NewHandler(h, o)
	if err != nil {
		return err
	}
	web := streamable.NewHTTPServer(handler)
	// On a machine that is very busy the process may stand still for longer than
	// 10 s, the time for headers. Net/http then refuses requests that have
	// arrived; only the listener of Serve looks for them once more.
	web.ReadHeaderTimeout = hangGuard
	ended := make(chan error, 1)
	go func() { ended <- web.Serve(l) }()
	<-ctx.Done()
	handler.Shutdown()
	if err := web.Shutdown(context.Background()); err != nil {
		return err
	}
	if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// A raw is a client of an older revision that speaks plain HTTP, so that it can
// drop its connections after any byte.
type raw struct {
	*storm
	url     string
	http    *http.Client
	session string
	lastID  string // of the last whole event
	path    *path  // of the last request
}

func (s *storm) newRaw(rnd *rand.Rand) *raw {
	return &raw{storm: s, url: s.urls[rnd.IntN(len(s.urls))], http: &http.Client{Transport: &http.Transport{}}}
}

// send sends a message or, without a body, a GET. It returns nil if the request
// has to be sent again: its ctx ended, or a GET that was dropped before took the
// stream over.
func (r *raw) send(ctx context.Context, body string) *http.Response {
	verb, from := http.MethodGet, io.Reader(nil)
	if body != "" {
		verb, from = http.MethodPost, strings.NewReader(body)
	}
	traced, path := r.trace.follow(ctx)
	r.path = path
	req, err := http.NewRequestWithContext(traced, verb, r.url, from)
	if err != nil {
		r.t.Error(err)
		return nil
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if r.session != "" {
		req.Header.Set("Mcp-Session-Id", r.session)
		req.Header.Set("Mcp-Protocol-Version", string(mcp.Rev20251125))
	}
	if body == "" && r.lastID != "" {
		req.Header.Set("Last-Event-ID", r.lastID)
	}
	res, err := r.http.Do(req)
	if err != nil {
		if ctx.Err() == nil && body != "" {
			r.t.Errorf("%s: %v%s", verb, err, path)
		}
		return nil
	}
	if res.StatusCode == http.StatusConflict { // a request that was dropped has come late
		res.Body.Close()
		return nil
	}
	return res
}

// post sends a message and reads its whole response.
func (r *raw) post(body string) bool {
	res := r.send(context.Background(), body)
	if res == nil {
		return false
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode/100 != 2 || bytes.Contains(text, []byte(`"error"`)) {
		r.t.Errorf("%s: %s %s (%v)%s", body, res.Status, text, err, r.path)
		return false
	}
	if id := res.Header.Get("Mcp-Session-Id"); id != "" {
		r.session = id
	}
	return true
}

// open initializes a session that is subscribed to all resources.
func (r *raw) open() bool {
	ok := r.post(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}`) &&
		r.post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	for i, uri := range []string{tick, last, end} {
		ok = ok && r.post(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"resources/subscribe","params":{"uri":%q}}`, i+1, uri))
	}
	return ok
}

// read reads events until ctx ends, the stream does, or each returns false.
func (r *raw) read(res *http.Response, each func(data string) bool) {
	defer res.Body.Close()
	lines := bufio.NewReader(res.Body)
	id, data := "", ""
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return
		}
		switch line = strings.TrimSuffix(line, "\n"); {
		case line == "":
			if id != "" {
				r.lastID = id
			}
			if data != "" && !each(data) {
				return
			}
			id, data = "", ""
		case strings.HasPrefix(line, "id: "):
			id = line[4:]
		case strings.HasPrefix(line, "data: "):
			data = line[6:]
		}
	}
}

// rawNotifications listens, drops and resumes. It misses nothing: not even what
// changes while it is away.
func (s *storm) rawNotifications(rnd *rand.Rand) {
	r, h := s.newRaw(rnd), newHeard()
	defer r.http.CloseIdleConnections()
	isReady, promised := false, false
	defer func() {
		if !isReady {
			s.ready.Done()
		}
	}()
	if !r.open() {
		return
	}
	for {
		calm := s.isCalm()
		ctx, drop := context.WithCancel(context.Background())
		if !calm && r.lastID != "" {
			time.AfterFunc(time.Duration(rnd.IntN(15_000))*time.Microsecond, drop)
		}
		res := r.send(ctx, "")
		if res != nil && res.StatusCode != http.StatusOK {
			text, _ := io.ReadAll(res.Body)
			s.t.Errorf("GET after %q: %s %s%s", r.lastID, res.Status, text, r.path)
			res.Body.Close()
			drop()
			return
		}
		if calm && !isReady {
			isReady = true
			s.ready.Done()
		}
		first := r.lastID == ""
		if res != nil {
			r.read(res, func(data string) bool {
				m, err := jsonrpc.Decode([]byte(data))
				if err != nil {
					s.t.Errorf("%q: %v", data, err)
				}
				h.note(m.Method, string(m.Params))
				return !h.has(end) && (calm || !first)
			})
		}
		drop()
		if first && r.lastID != "" { // from here on it resumes
			promised = !s.fired.Load()
		}
		if h.has(end) {
			if promised && !h.has(last) {
				s.t.Error("a client that resumed missed a change")
			}
			return
		}
	}
}

// rawCalls makes calls, drops their streams and resumes them, or cancels them.
func (s *storm) rawCalls(rnd *rand.Rand) {
	defer s.ready.Done()
	r := s.newRaw(rnd)
	defer r.http.CloseIdleConnections()
	if !r.open() {
		return
	}
	for id := 100; !s.isCalm(); id++ {
		r.lastID = ""
		cancelled := rnd.IntN(4) == 0
		answered := false
		for try := 0; !answered; try++ {
			ctx, drop := context.WithCancel(context.Background())
			if r.lastID != "" && try < 20 {
				time.AfterFunc(time.Duration(rnd.IntN(5_000))*time.Microsecond, drop)
			}
			body := ""
			if try == 0 {
				body = fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"work","arguments":{"steps":10},"_meta":{"progressToken":%d}}}`, id, id)
			}
			res := r.send(ctx, body)
			if res == nil && try == 0 { // the call was not made, which send has reported
				drop()
				return
			}
			if res != nil && res.StatusCode != http.StatusOK {
				text, _ := io.ReadAll(res.Body)
				s.t.Errorf("%s: call %d, try %d after %q: %s %s%s", r.url, id, try, r.lastID, res.Status, text, r.path)
				res.Body.Close()
				drop()
				return
			}
			if res != nil {
				r.read(res, func(data string) bool {
					answered = strings.Contains(data, `"DONE"`)
					return !answered && (try > 0 || rnd.IntN(3) > 0)
				})
			}
			drop()
			if cancelled && try == 1 {
				r.post(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, id))
				break
			}
		}
	}
}

func (s *storm) modernHTTP(rnd *rand.Rand) { s.http(rnd, mcp.Rev20260728) }
func (s *storm) legacyHTTP(rnd *rand.Rand) { s.http(rnd, mcp.Rev20251125) }

// http has a client connect, listen, call, cancel and leave, again and again.
func (s *storm) http(rnd *rand.Rand, rev mcp.Revision) {
	s.comeAndGo(rnd, func() (string, mcp.Dialer, func()) {
		url := s.urls[rnd.IntN(len(s.urls))]
		return fmt.Sprint(url, " ", rev), &streamclient.Endpoint{URL: url, Era: era.DialOptions{Known: rev}}, func() {}
	})
}

func (s *storm) modernPipe(rnd *rand.Rand) { s.pipe(rnd, mcp.Rev20260728) }
func (s *storm) legacyPipe(rnd *rand.Rand) { s.pipe(rnd, mcp.Rev20251125) }

func (s *storm) pipe(rnd *rand.Rand, rev mcp.Revision) {
	s.comeAndGo(rnd, func() (string, mcp.Dialer, func()) {
		near, far := jsonrpc.Pipe()
		ended := make(chan error, 1)
		go func() { ended <- s.door.ServeStream(context.Background(), far) }()
		return fmt.Sprint("pipe ", rev), pipeDialer{near, rev}, func() {
			if err := <-ended; err != nil {
				s.t.Errorf("pipe: %v", err)
			}
		}
	})
}

type pipeDialer struct {
	stream jsonrpc.Stream
	rev    mcp.Revision
}

func (d pipeDialer) Dial(ctx context.Context, p *mcp.ClientProfile) (mcp.Conn, error) {
	return era.Dial(ctx, d.stream, p, &era.DialOptions{Known: d.rev})
}

// comeAndGo connects again and again, and in the end stays until it has heard
// the last change. name says where a client was connected when it failed.
func (s *storm) comeAndGo(rnd *rand.Rand, dial func() (name string, d mcp.Dialer, wait func())) {
	isReady := false
	defer func() {
		if !isReady {
			s.ready.Done()
		}
	}()
	for {
		calm := s.isCalm()
		name, d, wait := dial()
		c, err := client.Dial(context.Background(), d, nil)
		if err != nil {
			s.t.Errorf("%s: connect: %v", name, err)
			return
		}
		for range 5 {
			if !calm {
				s.listen(name, c, rnd)
			}
		}
		if calm {
			h := newHeard()
			ctx, cancel := context.WithCancel(context.Background())
			listening := make(chan error, 1)
			go func() {
				listening <- c.Listen(ctx, everything, func(n mcp.Notification) {
					if n.Method == mcp.NotificationSubscriptionsAcknowledged && !isReady {
						isReady = true
						s.ready.Done()
					}
					h.note(n.Method, string(n.Params))
				})
			}()
			<-h.all
			cancel()
			<-listening
		}
		if err := c.Close(); err != nil {
			s.t.Errorf("%s: close: %v", name, err)
		}
		wait()
		if calm {
			return
		}
	}
}

var everything = mcp.SubscriptionFilter{ToolsListChanged: true, ResourceSubscriptions: []string{tick, last, end}}

// listen listens for a moment while it makes a call, which it may cancel.
func (s *storm) listen(name string, c *client.Client, rnd *rand.Rand) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(1+rnd.IntN(10))*time.Millisecond)
	defer cancel()
	listening := make(chan error, 1)
	go func() { listening <- c.Listen(ctx, everything, func(mcp.Notification) {}) }()
	call := context.Background()
	if rnd.IntN(2) == 0 {
		call = ctx
	}
	traced, path := s.trace.follow(call)
	_, err := c.CallTool(traced, "work", map[string]int{"steps": 5}, &client.CallOptions{Progress: func(mcp.ProgressParams) {}})
	if err != nil && call.Err() == nil {
		s.t.Errorf("%s: call: %v%s", name, err, path)
	}
	<-listening
}
