package fetch

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	json "github.com/go-json-experiment/json"
)

const maxRedirects = 3

// Options say what a Client may do. Nil and the zero value are the strict
// choice.
type Options struct {
	// AllowLoopback lets this machine be reached, with plain http too. Set it
	// when the MCP server itself is on loopback. Unset refuses.
	AllowLoopback bool
	// AllowPrivate lets private networks be reached (RFC 1918, unique local,
	// shared address space), with https. Unset refuses.
	AllowPrivate bool
	// RootCAs says which certificates are trusted. Nil means those of the
	// system.
	RootCAs *x509.CertPool
	// Proxy chooses the proxy for an https request; [http.ProxyFromEnvironment]
	// takes it from HTTPS_PROXY and NO_PROXY. It returns nil for a direct
	// connection. The proxy resolves names, so addresses behind names are not
	// judged here: let the proxy refuse those of private networks. Nil means
	// that no proxy is used.
	Proxy func(*http.Request) (*url.URL, error)
	// MaxBody is the most bytes a body may have. Zero means 1 MiB.
	MaxBody int64
	// Timeout is how long one exchange may take in all. Zero means 10 seconds.
	Timeout time.Duration
}

// A Client gets documents and posts forms by the rules of this package. It may
// be used by many goroutines at once.
type Client struct {
	transport *transport
	http      http.Client
}

// New makes a Client. It holds no goroutine until it is used; connections it
// keeps are dropped when idle, or by [Client.Close].
func New(o *Options) *Client {
	if o == nil {
		o = &Options{}
	}
	t := newTransport(*o)
	return &Client{
		transport: t,
		http:      http.Client{Transport: t, CheckRedirect: checkRedirect},
	}
}

// Transport gives the rules of this package to another http.Client: addresses,
// https, and the caps on size and time. It follows no redirect; what the other
// client does with one is its own matter.
func (c *Client) Transport() http.RoundTripper { return c.transport }

// Close drops idle connections. The Client may still be used.
func (c *Client) Close() { c.transport.CloseIdleConnections() }

// Get fetches a document. An answer other than 200 is a [*StatusError].
func (c *Client) Get(ctx context.Context, url string) ([]byte, error) {
	_, body, err := c.get(ctx, url, "*/*")
	return body, err
}

// GetJSON fetches a JSON document and decodes it strictly: names match by case,
// a name may stand once, and the Content-Type must say JSON. Members that into
// has no place for are ignored. An answer other than 200 is a [*StatusError].
func (c *Client) GetJSON(ctx context.Context, url string, into any) error {
	header, body, err := c.get(ctx, url, "application/json")
	if err != nil {
		return err
	}
	if !IsJSON(header) {
		return fmt.Errorf("fetch %s: %w: it is %q", Redact(url), ErrNotJSON, clip(header.Get("Content-Type")))
	}
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("fetch %s: %w", Redact(url), err)
	}
	return nil
}

func (c *Client) get(ctx context.Context, url, accept string) (http.Header, []byte, error) {
	req, err := newRequest(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, nil, err
	}
	req.Header.Set("Accept", accept)
	status, header, body, err := c.do(req)
	if err == nil && status != http.StatusOK {
		err = &StatusError{URL: Redact(url), Status: status}
	}
	return header, body, err
}

// PostForm posts a form, such as a token request, and returns whatever answer
// came, with any status. Fields of header are added to the request. A redirect
// is not followed: it is the answer.
func (c *Client) PostForm(ctx context.Context, url string, form url.Values, header http.Header) (status int, answer http.Header, body []byte, err error) {
	return c.Post(ctx, url, "application/x-www-form-urlencoded", []byte(form.Encode()), header)
}

// Post is [Client.PostForm] for a body of any type.
func (c *Client) Post(ctx context.Context, url, contentType string, body []byte, header http.Header) (status int, answer http.Header, received []byte, err error) {
	req, err := newRequest(ctx, http.MethodPost, url, body)
	if err != nil {
		return 0, nil, nil, err
	}
	for name, values := range header {
		req.Header[http.CanonicalHeaderKey(name)] = values
	}
	req.Header.Set("Content-Type", contentType)
	if req.Header.Get("Accept") == "" {
		req.Header.Set("Accept", "application/json")
	}
	return c.do(req)
}

func (c *Client) do(req *http.Request) (int, http.Header, []byte, error) {
	res, err := c.http.Do(req)
	if err != nil {
		return 0, nil, nil, fmt.Errorf("fetch %s: %w", redact(req.URL), bare(err))
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return 0, nil, nil, fmt.Errorf("fetch %s: %w", redact(req.URL), err)
	}
	return res.StatusCode, res.Header, body, nil
}

// bare takes off the wrapping in which net/http repeats the whole URL.
func bare(err error) error {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		return wrapped.Err
	}
	return err
}

// checkRedirect follows a GET within its origin. Anything else is an error for
// GET, and the answer itself for POST.
func checkRedirect(next *http.Request, via []*http.Request) error {
	first := via[0]
	switch {
	case first.Method != http.MethodGet:
		return http.ErrUseLastResponse
	case origin(next.URL) != origin(first.URL):
		return fmt.Errorf("%w: a redirect to another origin (%s) is not followed", ErrRefused, clip(origin(next.URL)))
	case len(via) > maxRedirects:
		return fmt.Errorf("%w: more than %d redirects", ErrRefused, maxRedirects)
	}
	return nil
}

// IsJSON reports whether the header of an answer says that its body is JSON or
// one of its kin, such as application/jwk-set+json.
func IsJSON(header http.Header) bool {
	t, _, err := mime.ParseMediaType(header.Get("Content-Type"))
	return err == nil && (t == "application/json" || strings.HasPrefix(t, "application/") && strings.HasSuffix(t, "+json"))
}
