package httpsse

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/era"
	"github.com/tenon-mcp/tenon/internal/eraconn"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/sse"
	"github.com/tenon-mcp/tenon/transport/internal/httpheader"
)

// An Endpoint is a server to connect to. It is an [mcp.Dialer].
type Endpoint struct {
	// URL is the address of the server's event stream.
	URL string

	// HTTP sends the requests. Its Timeout and CheckRedirect are ignored: a
	// stream stays open, and redirects to another origin are not followed. Nil
	// means a client of its own for each connection.
	HTTP *http.Client

	// Header is sent with each request.
	Header http.Header

	// MaxEvent is the largest event of the server in bytes. 0 means 64 MiB.
	MaxEvent int

	// PostTimeout is how long the server may take to accept a message. 0 means
	// 30 s.
	PostTimeout time.Duration

	// Options configures how to connect. Its ConnectTimeout also bounds opening
	// the stream. An unset Known means the newest legacy revision: servers with
	// this transport are not modern.
	Options era.DialOptions
}

// A Connection is a connection to a server. It is an [mcp.Conn]. It ends with
// its stream and does not reconnect.
type Connection struct{ *era.Conn }

// Dial connects to the server; the Conn is a *[Connection]. ctx applies only
// while connecting.
func (e *Endpoint) Dial(ctx context.Context, p *mcp.ClientProfile) (mcp.Conn, error) {
	c, err := e.Connect(ctx, p)
	if err != nil {
		return nil, err
	}
	return c, nil
}

// A timeoutError ends the context of a connection attempt that took too long.
type timeoutError struct{}

func (timeoutError) Error() string { return "the server did not answer in time" }
func (timeoutError) Unwrap() error { return context.DeadlineExceeded }

// Connect is [Endpoint.Dial] with the concrete type.
func (e *Endpoint) Connect(ctx context.Context, p *mcp.ClientProfile) (*Connection, error) {
	o := e.Options
	o.ConnectTimeout = cmp.Or(max(o.ConnectTimeout, 0), 30*time.Second)
	if o.Known == "" {
		o.Known = eraconn.LatestWithHandshake()
	}
	ctx, cancel := context.WithTimeoutCause(ctx, o.ConnectTimeout, timeoutError{})
	defer cancel()
	s, err := e.open(ctx)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", redact(e.URL), err)
	}
	peer, err := era.Dial(ctx, s, p, &o)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", redact(e.URL), err)
	}
	return &Connection{peer}, nil
}

// redact removes the parts of a URL that may be secret.
func redact(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return "the server"
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return u.String()
}

// open opens the stream and waits for the URL of the endpoint for messages.
func (e *Endpoint) open(ctx context.Context) (*remote, error) {
	at, err := url.Parse(e.URL)
	if err != nil || at.Host == "" || at.Scheme != "http" && at.Scheme != "https" {
		return nil, errors.New("the URL must begin with http:// or https:// and name a host")
	}
	s := &remote{endpoint: e, queue: make(chan frame), done: make(chan struct{})}
	s.ctx, s.cancel = context.WithCancel(context.WithoutCancel(ctx))
	s.http, s.own = e.client(at)
	// ctx applies until the stream is open.
	stop := context.AfterFunc(ctx, s.cancel)
	err = s.connect(at)
	if !stop() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		_ = s.Close()
		return nil, err
	}
	s.reading.Go(s.read)
	return s, nil
}

// client returns the HTTP client of a connection, and its own transport, if any.
func (e *Endpoint) client(at *url.URL) (*http.Client, *http.Transport) {
	c := &http.Client{}
	var own *http.Transport
	if e.HTTP != nil {
		*c = *e.HTTP
	} else if shared, ok := http.DefaultTransport.(*http.Transport); ok {
		own = shared.Clone()
		c.Transport = own
	}
	c.Timeout = 0
	c.CheckRedirect = func(r *http.Request, via []*http.Request) error {
		switch {
		case !httpheader.SameOrigin(r.URL, at):
			return fmt.Errorf("the server redirects to another origin (%s://%s)", r.URL.Scheme, r.URL.Host)
		case via[0].Method != http.MethodGet:
			return http.ErrUseLastResponse
		case len(via) >= 5:
			return errors.New("the server redirects more than 5 times")
		}
		return nil
	}
	return c, own
}

func (s *remote) connect(at *url.URL) error {
	r, err := s.request(http.MethodGet, at, nil)
	if err != nil {
		return err
	}
	r.Header.Set("Accept", "text/event-stream")
	r.Header.Set("Accept-Encoding", "identity") // compression delays events
	resp, err := s.http.Do(r)
	if err != nil {
		return withoutURL(err)
	}
	s.body = resp.Body
	if resp.StatusCode != http.StatusOK {
		return statusError("the stream", resp)
	}
	if media, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type")); err != nil || media != "text/event-stream" {
		return fmt.Errorf("the response is %q, not an event stream: the server may have a newer transport", resp.Header.Get("Content-Type"))
	}
	s.events = sse.NewReader(resp.Body, cmp.Or(max(s.endpoint.MaxEvent, 0), 64<<20))
	for {
		e, err := s.events.Next()
		switch {
		case errors.Is(err, io.EOF):
			return errors.New("the stream ended before the endpoint event")
		case err != nil:
			return err
		case e.Name == "endpoint":
			return s.setPostURL(resp.Request.URL, string(e.Data))
		}
	}
}

// setPostURL stores the URL for messages, which must have the same origin: their
// headers may contain secrets.
func (s *remote) setPostURL(at *url.URL, text string) error {
	to, err := at.Parse(strings.TrimSpace(text))
	if err != nil {
		return errors.New("the endpoint event has no valid URL")
	}
	if !httpheader.SameOrigin(to, at) || to.User != nil && to.User.String() != at.User.String() {
		return fmt.Errorf("the endpoint event names another origin (%s://%s)", to.Scheme, to.Host)
	}
	to.Fragment, to.User = "", at.User
	s.post = to
	return nil
}
