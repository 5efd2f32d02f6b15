package streamclient

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/internal/tcpalive"
	"github.com/tenon-mcp/tenon/sse"
	"github.com/tenon-mcp/tenon/transport/internal/httpheader"
)

// Limits of a response, in bytes.
const (
	maxMessage   = 64 << 20  // one message or event
	maxErrorBody = 1 << 20   // the body of an error status
	maxHeaders   = 256 << 10 // the headers
)

// A target is the URL of the server, with the client and headers of its requests.
type target struct {
	url    *url.URL
	host   string // the Host header
	http   *http.Client
	header http.Header
	own    *http.Transport // nil if the caller set Endpoint.HTTP
}

// newTarget checks the address. Requests go to its origin only.
func newTarget(address string, client *http.Client, header http.Header) (*target, error) {
	u, err := url.Parse(address)
	if err != nil {
		if bad, ok := errors.AsType[*url.Error](err); ok {
			err = bad.Err // the address may have a secret in it
		}
		return nil, fmt.Errorf("parse the server's URL: %w", err)
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, errors.New("the server's URL must begin with http:// or https:// and name a host")
	}
	u.Fragment, u.RawFragment = "", ""
	t := &target{url: u, header: http.Header{}}
	for name, values := range header {
		if name = http.CanonicalHeaderKey(name); !ours(name) {
			t.header[name] = slices.Clone(values)
		}
	}
	t.host = cmp.Or(t.header.Get("Host"), u.Host)
	t.header.Del("Host")
	if client == nil {
		t.own = NewTransport()
		client = &http.Client{Transport: t.own}
	}
	copied := *client
	asked := client.CheckRedirect
	copied.CheckRedirect = func(r *http.Request, via []*http.Request) error {
		if !follow(r, via) {
			return http.ErrUseLastResponse
		}
		if asked != nil {
			return asked(r, via)
		}
		return nil
	}
	t.http = &copied
	return t, nil
}

// ours reports whether a header belongs to the protocol.
func ours(name string) bool {
	return strings.HasPrefix(name, "Mcp-") || name == "Accept" || name == "Content-Type" || name == httpheader.LastEvent
}

// NewTransport returns an HTTP transport as connections use it by default, for
// callers that change it and set it in the HTTP client of an [Endpoint]: it requests no compression,
// which would delay streams, finds dead connections by probing, and keeps enough
// idle connections for many calls at a time.
func NewTransport() *http.Transport {
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            NewDialer().DialContext,
		TLSHandshakeTimeout:    30 * time.Second,
		ForceAttemptHTTP2:      true,
		HTTP2:                  &http.HTTP2Config{SendPingTimeout: 30 * time.Second, PingTimeout: 15 * time.Second},
		MaxIdleConnsPerHost:    256,
		IdleConnTimeout:        90 * time.Second,
		MaxResponseHeaderBytes: maxHeaders,
		DisableCompression:     true,
	}
}

// NewDialer returns the dialer of [NewTransport], for callers that restrict which
// addresses it connects to.
func NewDialer() *net.Dialer {
	return &net.Dialer{Timeout: 30 * time.Second, KeepAliveConfig: tcpalive.Probes, Control: tcpalive.Control}
}

// follow reports whether to follow a redirect: only within the same origin and
// with the same method. The caller has not chosen any other origin, and the
// protocol has no meaning for a POST that becomes a GET.
func follow(r *http.Request, via []*http.Request) bool {
	first := via[0]
	return len(via) <= 5 && r.Method == first.Method && httpheader.SameOrigin(r.URL, first.URL)
}

// String returns the URL without user, query and fragment, which may be secret.
func (t *target) String() string { return t.url.Scheme + "://" + t.url.Host + t.url.EscapedPath() }

// send sends one HTTP request. net/http may send the body again if an idle
// connection turns out to be closed. send takes over header.
func (t *target) send(ctx context.Context, method string, header http.Header, body []byte) (*http.Response, error) {
	for name, values := range t.header {
		if _, set := header[name]; !set {
			header[name] = slices.Clone(values)
		}
	}
	r := blank.WithContext(ctx)
	r.Method, r.URL, r.Host, r.Header = method, t.urlCopy(), t.host, header
	if body != nil {
		r.ContentLength = int64(len(body))
		r.Body = io.NopCloser(bytes.NewReader(body))
		r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	}
	resp, err := t.do(r)
	if err != nil {
		if wrapped, ok := errors.AsType[*url.Error](err); ok {
			err = wrapped.Err // without the URL, which may hold secrets
		}
		return nil, err
	}
	return resp, nil
}

// blank is copied for each request.
var blank = &http.Request{Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1}

// urlCopy returns a copy of the URL, which a RoundTripper of the caller may change.
func (t *target) urlCopy() *url.URL {
	u := *t.url
	return &u
}

// do sends a request and follows redirects. Most responses are none, and need
// nothing else of [http.Client].
func (t *target) do(r *http.Request) (*http.Response, error) {
	c := t.http
	if c.Transport == nil || c.Jar != nil || c.Timeout != 0 || t.url.User != nil {
		return c.Do(r)
	}
	resp, err := c.Transport.RoundTrip(r)
	if err != nil || resp.StatusCode/100 != 3 {
		return resp, err
	}
	return (&http.Client{Transport: &resumed{resp, c.Transport}, CheckRedirect: c.CheckRedirect}).Do(r)
}

// resumed returns a response that was received already to the first request.
type resumed struct {
	first *http.Response
	next  http.RoundTripper
}

func (t *resumed) RoundTrip(r *http.Request) (*http.Response, error) {
	if first := t.first; first != nil {
		t.first = nil
		return first, nil
	}
	return t.next.RoundTrip(r)
}

// contentType returns the media type of a response, without its parameters.
func contentType(h http.Header) string {
	kind, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil {
		kind, _, _ = strings.Cut(strings.ToLower(h.Get("Content-Type")), ";")
	}
	return strings.TrimSpace(kind)
}

const (
	typeJSON   = "application/json"
	typeEvents = "text/event-stream"
)

// readAll reads a body of at most limit bytes. promised is the Content-Length, or
// -1. The buffer grows eightfold up to that length, so that a large body is
// copied little and a false length costs little memory.
func readAll(r io.Reader, promised int64, limit int) ([]byte, error) {
	if promised > int64(limit) {
		return nil, &sse.LimitError{Limit: limit}
	}
	buf := make([]byte, 0, min(max(promised+1, 512), 16<<10))
	for {
		if len(buf) == cap(buf) {
			room := 2 * len(buf)
			if promised >= int64(len(buf)) {
				room = int(min(promised+1, 8*int64(len(buf))))
			}
			buf = append(make([]byte, 0, min(room, limit+1)), buf...)
		}
		n, err := r.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		switch {
		case len(buf) > limit:
			return nil, &sse.LimitError{Limit: limit}
		case err == io.EOF:
			return buf, nil
		case err != nil:
			return buf, err
		}
	}
}

// close closes the idle connections of its own transport.
func (t *target) close() {
	if t.own != nil {
		t.own.CloseIdleConnections()
	}
}
