package fetch

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
)

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
