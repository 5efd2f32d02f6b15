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

// Options configure a Client. Nil and the zero value apply the strictest rules.
type Options struct {
	// AllowLoopback allows this machine, also with plain http. Set it if the
	// MCP server itself is on loopback.
	AllowLoopback bool
	// AllowPrivate allows private networks (RFC 1918, unique local, shared
	// address space) with https.
	AllowPrivate bool
	// RootCAs are the trusted certificates. Nil means those of the system.
	RootCAs *x509.CertPool
	// Proxy returns the proxy for an https request, or nil for a direct
	// connection; [http.ProxyFromEnvironment] uses HTTPS_PROXY and NO_PROXY.
	// The proxy resolves names, so this package cannot check the addresses
	// behind them: configure the proxy to refuse private networks. Nil means
	// no proxy.
	Proxy func(*http.Request) (*url.URL, error)
	// MaxBody is the maximum size of a body in bytes. Zero means 1 MiB.
	MaxBody int64
	// Timeout limits one exchange in total. Zero means 10 seconds.
	Timeout time.Duration
}

// A Client gets documents and posts forms by the rules of this package. It
// is safe for concurrent use.
type Client struct {
	transport *transport
	http      http.Client
}

// New returns a Client. It starts no goroutine until it is used. Idle
// connections are closed after a while or by [Client.Close].
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

// Transport returns a RoundTripper that applies the rules of this package
// (addresses, https, size and time) for use in another http.Client. It does
// not follow redirects.
func (c *Client) Transport() http.RoundTripper { return c.transport }

// Close closes idle connections. The Client can still be used.
func (c *Client) Close() { c.transport.CloseIdleConnections() }

// Get fetches a document. A status other than 200 is a [*StatusError].
func (c *Client) Get(ctx context.Context, url string) ([]byte, error) {
	_, body, err := c.get(ctx, url, "*/*")
	return body, err
}

// GetJSON fetches a JSON document and decodes it strictly: names are
// case-sensitive, duplicate names are refused, and the Content-Type must be
// JSON. Unknown members are ignored. A status other than 200 is a
// [*StatusError].
func (c *Client) GetJSON(ctx context.Context, url string, into any) error {
	header, body, err := c.get(ctx, url, "application/json")
	if err != nil {
		return err
	}
	if !IsJSON(header) {
		return fmt.Errorf("fetch %s: %w: Content-Type is %q", Redact(url), ErrNotJSON, clip(header.Get("Content-Type")))
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

// PostForm posts a form, such as a token request, with the additional
// header, and returns the response of any status. It does not follow
// redirects.
func (c *Client) PostForm(ctx context.Context, url string, form url.Values, header http.Header) (status int, answer http.Header, body []byte, err error) {
	return c.Post(ctx, url, "application/x-www-form-urlencoded", []byte(form.Encode()), header)
}

// Post is like [Client.PostForm] with a body of any type.
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
		return 0, nil, nil, fmt.Errorf("fetch %s: %w", redact(req.URL), unwrapURLError(err))
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return 0, nil, nil, fmt.Errorf("fetch %s: %w", redact(req.URL), err)
	}
	return res.StatusCode, res.Header, body, nil
}

// unwrapURLError unwraps the error of net/http that contains the whole URL.
func unwrapURLError(err error) error {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		return wrapped.Err
	}
	return err
}

// checkRedirect follows a redirect of a GET within its origin. Other
// redirects are an error for GET and the response for POST.
func checkRedirect(next *http.Request, via []*http.Request) error {
	first := via[0]
	switch {
	case first.Method != http.MethodGet:
		return http.ErrUseLastResponse
	case origin(next.URL) != origin(first.URL):
		return fmt.Errorf("%w: redirect to another origin (%s)", ErrRefused, clip(origin(next.URL)))
	case len(via) > maxRedirects:
		return fmt.Errorf("%w: more than %d redirects", ErrRefused, maxRedirects)
	}
	return nil
}

// IsJSON reports whether the Content-Type of a response is JSON or a +json
// type such as application/jwk-set+json.
func IsJSON(header http.Header) bool {
	t, _, err := mime.ParseMediaType(header.Get("Content-Type"))
	return err == nil && (t == "application/json" || strings.HasPrefix(t, "application/") && strings.HasSuffix(t, "+json"))
}
