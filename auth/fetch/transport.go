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
		Control: func(_, address string, _ syscall.RawConn) error {
			at, err := netip.ParseAddrPort(address)
			if err != nil {
				return fmt.Errorf("%w: %q is not an IP address and a port", ErrRefused, clip(address))
			}
			return judge(at.Addr())
		},
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
