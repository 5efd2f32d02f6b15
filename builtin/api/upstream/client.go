// Package upstream sends the requests of API files: to fixed origins only, with
// bounds on time and size, with retries where repeating is safe, and with a cache.
//
// The flow of a request is: use the cache; obtain a token; take a slot; dial an
// address that is allowed; follow redirects within the origins; read the body up
// to its limit; wait and repeat after 429 or 503 if that is safe.
package upstream

import (
	"bytes"
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/tenon-mcp/tenon/auth/fetch"
	"github.com/tenon-mcp/tenon/builtin/api/credential"
	"github.com/tenon-mcp/tenon/internal/version"
	"github.com/tenon-mcp/tenon/mcp"
)

// Options configure a Client.
type Options struct {
	// Base is the base URL; requests to its origin get the credential.
	Base *url.URL
	// Hosts are further origins, such as https://uploads.example.com.
	Hosts []string
	// CredentialsTo are those of Hosts that get the credential, too.
	CredentialsTo []string
	// SecretHeaders are names of headers that only those get who get the
	// credential.
	SecretHeaders []string
	// Private allows loopback and private networks.
	Private bool
	// Timeout limits one exchange, MaxBody a body, Concurrency the number of
	// exchanges at once.
	Timeout     time.Duration
	MaxBody     int64
	Concurrency int
	// Service is the name of the API for errors.
	Service string
	// RootCAs are the trusted certificates; nil means those of the system.
	RootCAs *x509.CertPool
	// Transport sends requests instead of the network, and TokenTransport those
	// for tokens; nil means the network.
	Transport, TokenTransport http.RoundTripper
}

// A Client sends requests. It is safe for concurrent use.
type Client struct {
	o          Options
	transport  http.RoundTripper
	slots      chan struct{}
	cache      cache
	Credential credential.Credential

	sleep func(ctx context.Context, d time.Duration) error // for tests
}

// A Request is a request with its body.
type Request struct {
	Method  string
	URL     *url.URL
	Header  http.Header
	Body    []byte
	MaxBody int64         // 0 means that of the client
	Timeout time.Duration // 0 means that of the client
	Retry   Retry
	Cache   Cache
}

// A Response is a response with its whole body.
type Response struct {
	Status int
	Header http.Header
	Body   []byte
	URL    *url.URL // after redirects

	authorized bool // the request had the credential
}

const (
	maxRedirects = 5
	maxHeader    = 64 << 10
)

// New returns a Client. Close ends its idle connections.
func New(o Options) *Client {
	c := &Client{o: o, slots: make(chan struct{}, o.Concurrency), sleep: sleep}
	if o.Transport != nil {
		c.transport = o.Transport
		return c
	}
	network := newNetwork(o.Private, o.Timeout, o.Concurrency)
	if o.RootCAs != nil {
		network.TLSClientConfig = tlsConfig(o.RootCAs)
	}
	c.transport = network
	return c
}

// Network returns a transport that dials allowed addresses only.
func Network(private bool) http.RoundTripper { return newNetwork(private, 30*time.Second, 8) }

func newNetwork(private bool, timeout time.Duration, connections int) *http.Transport {
	control := fetch.Options{AllowLoopback: private, AllowPrivate: private}.Control()
	dialer := &net.Dialer{Timeout: timeout, Control: control}
	return &http.Transport{
		DialContext: dialer.DialContext, TLSHandshakeTimeout: timeout, IdleConnTimeout: 30 * time.Second,
		MaxIdleConnsPerHost: connections, MaxResponseHeaderBytes: maxHeader, ForceAttemptHTTP2: true,
	}
}

// HTTP returns a client for token endpoints: it dials allowed addresses only and
// follows no redirects.
func (c *Client) HTTP() *http.Client {
	return &http.Client{Transport: cmp.Or(c.o.TokenTransport, c.transport), Timeout: c.o.Timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// Close closes idle connections.
func (c *Client) Close() {
	if network, ok := c.transport.(*http.Transport); ok {
		network.CloseIdleConnections()
	}
}

// Origin returns the origin of a URL.
func Origin(u *url.URL) string {
	host := strings.ToLower(u.Hostname())
	port := u.Port()
	if port == "443" && u.Scheme == "https" || port == "80" && u.Scheme == "http" {
		port = ""
	}
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if port != "" {
		host += ":" + port
	}
	return u.Scheme + "://" + host
}

var errDotted = errors.New("the path contains . or .. segments")

// Allowed returns an error if a URL is neither below the base nor at one of the
// other origins.
func (c *Client) Allowed(u *url.URL) error {
	origin := Origin(u)
	switch {
	case u.User != nil:
		return errors.New("the URL contains a user name or a password")
	case slices.Contains(c.o.Hosts, origin):
		if dotted(u.EscapedPath()) {
			return errDotted
		}
		return nil
	case origin == Origin(c.o.Base):
		base := strings.TrimSuffix(c.o.Base.EscapedPath(), "/")
		path := u.EscapedPath()
		if base != "" && path != base && !strings.HasPrefix(path, base+"/") {
			return fmt.Errorf("the URL is outside of %s%s", origin, base)
		}
		if dotted(path) {
			return errDotted
		}
		return nil
	}
	return fmt.Errorf("%s is not the base URL of the file or one of its hosts", origin)
}

// dotted reports whether a path has . or .. segments, also encoded.
func dotted(path string) bool {
	if decoded, err := url.PathUnescape(path); err == nil {
		path = decoded
	}
	return slices.ContainsFunc(strings.FieldsFunc(path, func(r rune) bool { return r == '/' || r == '\\' }), func(s string) bool { return s == "." || s == ".." })
}

// Trusted reports whether a URL gets the credential.
func (c *Client) Trusted(u *url.URL) bool {
	origin := Origin(u)
	return origin == Origin(c.o.Base) || slices.Contains(c.o.CredentialsTo, origin)
}

// Do sends a request for a call and returns the response of any status. The call
// is nil outside of calls.
func (c *Client) Do(ctx context.Context, call *mcp.Call, r *Request) (*Response, error) {
	if err := c.Allowed(r.URL); err != nil {
		return nil, &Error{Service: c.o.Service, Text: "request refused: " + err.Error()}
	}
	key, cached := c.lookup(ctx, call, r)
	if cached.fresh(time.Now()) {
		return cached.response(), nil
	}
	res, err := c.retry(ctx, r, func() (*Response, error) { return c.attempt(ctx, call, r, cached) })
	if err != nil {
		return nil, err
	}
	if res.Status == http.StatusNotModified && cached != nil {
		return c.cache.renew(key, cached, r.Cache), nil
	}
	// The user may have logged in for this request, or as somebody else meanwhile.
	if now, _ := c.lookup(ctx, call, r); key == "" || key == now {
		c.cache.store(now, r, res)
	}
	return res, nil
}

// lookup returns the key of a request in the cache, or "", and the response that is
// kept for it, or nil. Responses belong to one login, unless they are shared.
func (c *Client) lookup(ctx context.Context, call *mcp.Call, r *Request) (string, *entry) {
	if !r.cacheable() {
		return "", nil
	}
	owner := "everyone"
	if !r.Cache.Shared {
		login := "none"
		if c.Trusted(r.URL) {
			if login = c.Credential.Login(ctx, call); login == "" {
				return "", nil
			}
		}
		owner = "login " + login + " account " + c.Credential.Account(ctx, call)
	}
	return c.cache.lookup(r, owner)
}

// attempt sends a request once, and once more if its token has expired.
func (c *Client) attempt(ctx context.Context, call *mcp.Call, r *Request, cached *entry) (*Response, error) {
	if !c.Trusted(r.URL) {
		return c.send(ctx, nil, r, cached)
	}
	for first := true; ; first = false {
		t, err := c.Credential.Ready(ctx, call)
		if err != nil {
			return nil, err
		}
		res, err := c.send(ctx, t, r, cached)
		if err != nil || !first || res.Status != http.StatusUnauthorized || !res.authorized || !c.Credential.Refused(ctx, call, t) {
			return res, err
		}
	}
}

// send sends a request as one of a limited number at once. A login of the user, which
// may take minutes, and the wait before a repetition do not count.
func (c *Client) send(ctx context.Context, t credential.Token, r *Request, cached *entry) (*Response, error) {
	select {
	case c.slots <- struct{}{}:
		defer func() { <-c.slots }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return c.follow(ctx, t, r, cached)
}

// follow sends a request and follows redirects of GET and HEAD. A redirect from an
// origin without the credential does not add it: that origin chose the request.
func (c *Client) follow(ctx context.Context, t credential.Token, r *Request, cached *entry) (*Response, error) {
	target := r.URL
	for range maxRedirects + 1 {
		res, err := c.exchange(ctx, t, r, target, cached)
		if err != nil {
			return nil, err
		}
		location := res.Header.Get("Location")
		if !redirects(res.Status) || location == "" {
			return res, nil
		}
		next, err := target.Parse(location)
		if err == nil {
			err = c.Allowed(next)
		}
		switch {
		case err != nil:
			return nil, &Error{Service: c.o.Service, Text: "redirect refused: " + err.Error(), Sent: processed(res.Status)}
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			return nil, &Error{Service: c.o.Service, Text: fmt.Sprintf("redirect of a %s refused: use the new address %s in the file", r.Method, next.Path), Sent: processed(res.Status)}
		}
		if !c.Trusted(target) {
			t = nil // also if the request began at the base
		}
		target = next
	}
	return nil, &Error{Service: c.o.Service, Text: fmt.Sprintf("more than %d redirects", maxRedirects)}
}

// processed reports whether a redirect may be the answer to a request that was
// processed: the others say to send the request again, elsewhere.
func processed(status int) bool {
	return status != http.StatusTemporaryRedirect && status != http.StatusPermanentRedirect
}

func redirects(status int) bool {
	switch status {
	case 301, 302, 303, 307, 308:
		return true
	}
	return false
}

// exchange sends one HTTP request and reads the response.
func (c *Client) exchange(ctx context.Context, t credential.Token, r *Request, target *url.URL, cached *entry) (*Response, error) {
	req := &http.Request{Method: r.Method, URL: cloneURL(target), Header: r.Header.Clone(), Host: target.Host, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1}
	if req.Header == nil {
		req.Header = http.Header{}
	}
	if r.Body != nil {
		req.Body, req.ContentLength = io.NopCloser(bytes.NewReader(r.Body)), int64(len(r.Body))
		req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(r.Body)), nil }
	}
	if req.Header.Get("User-Agent") == "" {
		req.Header.Set("User-Agent", "tenon/"+version.String())
	}
	authorized := t != nil && c.Trusted(target)
	if authorized {
		t.Apply(req)
	} else {
		for _, name := range c.o.SecretHeaders {
			req.Header.Del(name)
		}
	}
	if cached != nil && cached.etag != "" {
		req.Header.Set("If-None-Match", cached.etag)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, cmp.Or(r.Timeout, c.o.Timeout), errTimeout)
	defer cancel()
	var sent atomic.Bool
	res, err := c.transport.RoundTrip(req.WithContext(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteHeaders: func() { sent.Store(true) }})))
	if err != nil {
		return nil, c.failed(ctx, err, sent.Load())
	}
	defer res.Body.Close()
	limit := cmp.Or(r.MaxBody, c.o.MaxBody)
	if res.ContentLength > limit && r.Method != http.MethodHead {
		return nil, c.tooLarge(limit)
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, limit+1))
	switch {
	case int64(len(body)) > limit:
		return nil, c.tooLarge(limit)
	case err != nil:
		return nil, c.failed(ctx, err, true)
	}
	return &Response{Status: res.StatusCode, Header: res.Header, Body: body, URL: target, authorized: authorized}, nil
}

func cloneURL(u *url.URL) *url.URL {
	copied := *u
	copied.Fragment, copied.RawFragment = "", ""
	return &copied
}

var errTimeout = errors.New("timeout")

// failed describes an error of the transport, without the URL.
func (c *Client) failed(ctx context.Context, err error, sent bool) error {
	if parent := ctx.Err(); parent != nil && context.Cause(ctx) != errTimeout {
		return parent
	}
	e := &Error{Service: c.o.Service, Sent: sent, Temporary: true}
	switch {
	case errors.Is(context.Cause(ctx), errTimeout):
		e.Text = "no complete answer in time"
	case errors.Is(err, fetch.ErrRefused):
		e.Text, e.Temporary = refusedAddress(err), false
	case errors.Is(err, io.ErrUnexpectedEOF):
		e.Text = "the answer was cut off"
	default:
		e.Text = "connection failed: " + rootCause(err)
	}
	return e
}

func refusedAddress(err error) string {
	text := err.Error()
	if i := strings.Index(text, fetch.ErrRefused.Error()+": "); i >= 0 {
		text = text[i+len(fetch.ErrRefused.Error())+2:]
	}
	text, _, _ = strings.Cut(text, ", which needs")
	return "address refused: " + text + ". Set private: true in the file, or the setting private=1, to allow it"
}

// rootCause returns the innermost error, which has no URL.
func rootCause(err error) string {
	for {
		next := errors.Unwrap(err)
		if next == nil {
			return err.Error()
		}
		err = next
	}
}

func (c *Client) tooLarge(limit int64) error {
	return &Error{Service: c.o.Service, Sent: true, Text: fmt.Sprintf("the answer has more than %d bytes", limit)}
}

// An Error says why there is no response. Its text is suitable for a model and has
// no secrets.
type Error struct {
	Service   string
	Text      string
	Sent      bool // the request may have had an effect
	Temporary bool // the same request may succeed later
}

func (e *Error) Error() string { return e.Service + ": " + e.Text }
