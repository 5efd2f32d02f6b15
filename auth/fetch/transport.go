package fetch

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"time"
)

// ErrTooLarge is wrapped by the error for a body that is longer than allowed.
var ErrTooLarge = errors.New("body too large")

const (
	defaultMaxBody = 1 << 20
	defaultTimeout = 10 * time.Second
	maxHeader      = 16 << 10
)

// transport applies the rules to each exchange. Plain http has its own
// transport, whose dialer allows only loopback, so that a name that claims
// to be this machine but resolves to another gets no plain text.
type transport struct {
	allowLoopback, allowPrivate bool
	maxBody                     int64
	timeout                     time.Duration
	secure, plain               *http.Transport

	proxy   func(*http.Request) (*url.URL, error) // nil means none
	proxied *http.Transport
}

func newTransport(o Options) *transport {
	t := &transport{allowLoopback: o.AllowLoopback, allowPrivate: o.AllowPrivate, maxBody: o.MaxBody, timeout: o.Timeout, proxy: o.Proxy}
	if t.maxBody <= 0 {
		t.maxBody = defaultMaxBody
	}
	if t.timeout <= 0 {
		t.timeout = defaultTimeout
	}
	t.secure = t.dialing(t.checkAddress)
	t.secure.TLSClientConfig = &tls.Config{RootCAs: o.RootCAs, MinVersion: tls.VersionTLS12}
	t.secure.ForceAttemptHTTP2 = true
	t.proxied = t.withProxy()
	t.proxied.TLSClientConfig = t.secure.TLSClientConfig.Clone()
	t.proxied.ForceAttemptHTTP2 = true
	t.plain = t.dialing(func(ip netip.Addr) error {
		if !ip.IsLoopback() {
			return fmt.Errorf("%w: plain http is allowed only for this machine, and %s is not", ErrRefused, ip)
		}
		return t.checkAddress(ip)
	})
	return t
}

// dialing returns a transport that calls judge for each address before
// connecting.
func (t *transport) dialing(judge func(netip.Addr) error) *http.Transport {
	dialer := &net.Dialer{
		Timeout: t.timeout,
		Control: control(judge),
	}
	return &http.Transport{
		Proxy:                  nil,
		DialContext:            dialer.DialContext,
		TLSHandshakeTimeout:    t.timeout,
		ResponseHeaderTimeout:  t.timeout,
		IdleConnTimeout:        30 * time.Second,
		MaxIdleConns:           16,
		MaxConnsPerHost:        16,
		MaxResponseHeaderBytes: maxHeader,
	}
}

// control returns the Control function of a [net.Dialer] that calls judge for each
// address.
func control(judge func(netip.Addr) error) func(network, address string, c syscall.RawConn) error {
	return func(_, address string, _ syscall.RawConn) error {
		at, err := netip.ParseAddrPort(address)
		if err != nil {
			return fmt.Errorf("%w: %q is not an IP address and a port", ErrRefused, clip(address))
		}
		return judge(at.Addr())
	}
}

// Control returns a function for the Control field of a [net.Dialer] that refuses
// the addresses that a Client with these options refuses, for connections that a
// Client cannot make. It sees the address that a name was resolved to.
func (o Options) Control() func(network, address string, c syscall.RawConn) error {
	return control(newTransport(o).checkAddress)
}

func (t *transport) CloseIdleConnections() {
	t.secure.CloseIdleConnections()
	t.plain.CloseIdleConnections()
	t.proxied.CloseIdleConnections()
}

// RoundTrip makes one exchange. The timeout covers reading the body.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	proxy, err := t.admit(req)
	if err != nil {
		if req.Body != nil {
			req.Body.Close()
		}
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(req.Context(), t.timeout, fmt.Errorf("no complete response within %s: %w", t.timeout, context.DeadlineExceeded))
	via := t.secure
	switch {
	case proxy != nil:
		via, ctx = t.proxied, context.WithValue(ctx, proxyKey{}, proxy)
	case req.URL.Scheme == "http":
		via = t.plain
	}
	res, err := via.RoundTrip(req.WithContext(ctx))
	if err != nil {
		err = timeoutCause(ctx, err)
		cancel()
		return nil, err
	}
	if res.ContentLength > t.maxBody {
		res.Body.Close()
		cancel()
		return nil, fmt.Errorf("%w: %d bytes, at most %d", ErrTooLarge, res.ContentLength, t.maxBody)
	}
	res.Body = &cappedBody{ReadCloser: res.Body, left: t.maxBody, ctx: ctx, cancel: cancel}
	return res, nil
}

// admit checks a request before anything is dialled, and returns its proxy;
// nil means a direct connection.
func (t *transport) admit(req *http.Request) (*url.URL, error) {
	if err := t.checkURL(req.URL); err != nil {
		return nil, err
	}
	return t.proxyFor(req)
}

// timeoutCause returns the cause of ctx if the timeout ended an exchange.
func timeoutCause(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil && ctx.Err() != cause {
		return cause
	}
	return err
}

// cappedBody returns an error, not EOF, when the limit is reached, so that a
// truncated document is not taken for a complete one.
type cappedBody struct {
	io.ReadCloser
	left   int64
	ctx    context.Context
	cancel context.CancelFunc
}

func (b *cappedBody) Read(p []byte) (int, error) {
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := b.ReadCloser.Read(p)
	if int64(n) > b.left {
		return int(b.left), ErrTooLarge
	}
	b.left -= int64(n)
	if err != nil && err != io.EOF {
		err = timeoutCause(b.ctx, err)
	}
	return n, err
}

func (b *cappedBody) Close() error {
	b.cancel()
	return b.ReadCloser.Close()
}

// proxyKey is the context key of the proxy for a request.
type proxyKey struct{}

// withProxy returns the transport for requests through a proxy. Its dialer
// does not check addresses, because it connects only to proxies, which the
// program chose.
func (t *transport) withProxy() *http.Transport {
	proxied := t.dialing(func(netip.Addr) error { return nil })
	proxied.Proxy = func(req *http.Request) (*url.URL, error) {
		chosen, _ := req.Context().Value(proxyKey{}).(*url.URL)
		if chosen == nil {
			return nil, errors.New("no proxy selected")
		}
		return chosen, nil
	}
	proxied.OnProxyConnectResponse = func(_ context.Context, proxy *url.URL, _ *http.Request, answer *http.Response) error {
		if answer.StatusCode != http.StatusOK {
			return fmt.Errorf("proxy %s refused to connect: status %d %s", redact(proxy), answer.StatusCode, http.StatusText(answer.StatusCode))
		}
		return nil
	}
	return proxied
}

// proxyFor returns the proxy for a request, or nil for a direct connection.
// Plain http and this machine are always connected directly.
func (t *transport) proxyFor(req *http.Request) (*url.URL, error) {
	if t.proxy == nil || req.URL.Scheme != "https" || namesLoopback(req.URL.Hostname()) {
		return nil, nil
	}
	chosen, err := t.proxy(req)
	if err != nil { // it may contain the setting with a password
		return nil, errors.New("the proxy setting (such as HTTPS_PROXY) is not a valid URL")
	}
	if chosen == nil {
		return nil, nil
	}
	return chosen, t.checkName(req.URL.Hostname())
}

// checkName returns an error if a host may not be requested through a proxy.
// The proxy resolves the name, so only the name itself can be checked;
// addresses were checked before.
func (t *transport) checkName(host string) error {
	if _, err := netip.ParseAddr(host); err == nil {
		return nil
	}
	name := strings.ToLower(strings.TrimSuffix(host, "."))
	if strings.ContainsFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' && r != '.' && r != '_'
	}) {
		return fmt.Errorf("%w: %q is not an ASCII host name, which a proxy needs", ErrRefused, clip(host))
	}
	labels := strings.Split(name, ".")
	last := labels[len(labels)-1]
	switch {
	case last == "" || last[0] >= '0' && last[0] <= '9':
		return fmt.Errorf("%w: %q is an unusual spelling of an address", ErrRefused, clip(host))
	case t.allowPrivate:
		return nil
	case len(labels) == 1, last == "local", last == "internal", last == "localdomain", strings.HasSuffix(name, ".home.arpa"):
		return fmt.Errorf("%w: %q is a private network name, which needs AllowPrivate", ErrRefused, clip(host))
	}
	return nil
}

// Check returns an error if the Client would refuse to request a URL,
// timeoutCause of its scheme, its host or, unless a proxy is used, an address
// that the host resolves to. It sends nothing to the host. A name can change
// its address, so requests are checked again when they are made.
func (c *Client) Check(ctx context.Context, url string) error {
	if err := c.CheckURL(url); err != nil {
		return err
	}
	req, err := newRequest(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	if proxy, err := c.transport.proxyFor(req); err != nil || proxy != nil {
		return wrap(req.URL, err)
	}
	ctx, cancel := context.WithTimeout(ctx, c.transport.timeout)
	defer cancel()
	found, err := net.DefaultResolver.LookupNetIP(ctx, "ip", req.URL.Hostname())
	if err != nil {
		return wrap(req.URL, err)
	}
	for _, ip := range found {
		if err = c.transport.checkAddress(ip.Unmap()); err == nil {
			return nil // one allowed address is sufficient
		}
	}
	return wrap(req.URL, err)
}

// CheckURL is like [Client.Check] without resolving the host.
func (c *Client) CheckURL(url string) error {
	req, err := newRequest(context.Background(), http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	return wrap(req.URL, c.transport.checkURL(req.URL))
}

func wrap(u *url.URL, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("fetch %s: %w", redact(u), err)
}
