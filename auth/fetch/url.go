package fetch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/tenon-mcp/tenon/internal/textclip"
)

// A StatusError is the error for a response with an unexpected status.
type StatusError struct {
	URL    string // without its query
	Status int
}

func (e *StatusError) Error() string {
	return fmt.Sprintf("fetch %s: status %d %s", e.URL, e.Status, http.StatusText(e.Status))
}

// ErrRefused is wrapped by every error for a URL or an address that the
// rules of this package do not allow.
var ErrRefused = errors.New("refused")

// ErrNotJSON is wrapped by the error of [Client.GetJSON] for a response of
// another type, such as an HTML page.
var ErrNotJSON = errors.New("the response is not JSON")

// Redact returns a URL without query, fragment and user information, for
// errors and logs.
func Redact(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return "(an invalid URL)"
	}
	return redact(u)
}

func redact(u *url.URL) string {
	shown := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}
	return clip(shown.String())
}

// clip shortens text from others for errors.
func clip(s string) string { return textclip.Clip(s, 200) }

func origin(u *url.URL) string {
	port := u.Port()
	switch {
	case port == "" && u.Scheme == "https":
		port = "443"
	case port == "" && u.Scheme == "http":
		port = "80"
	}
	return u.Scheme + "://" + strings.ToLower(u.Hostname()) + ":" + port
}

// newRequest returns a request for an absolute URL without user information.
// Its error does not contain the URL.
func newRequest(ctx context.Context, method, raw string, body []byte) (*http.Request, error) {
	u, err := url.Parse(raw)
	if err != nil {
		return nil, fmt.Errorf("fetch: invalid URL")
	}
	req, err := http.NewRequestWithContext(ctx, method, (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: "/"}).String(), bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("fetch %s: invalid URL", redact(u))
	}
	if body == nil {
		req.Body, req.GetBody = nil, nil
	}
	u.Fragment, u.RawFragment = "", ""
	req.URL = u
	return req, nil
}

// checkURL checks a URL before its name is resolved.
func (t *transport) checkURL(u *url.URL) error {
	host := u.Hostname()
	switch {
	case host == "":
		return fmt.Errorf("%w: the URL has no host", ErrRefused)
	case u.User != nil:
		return fmt.Errorf("%w: the URL contains a user name or a password", ErrRefused)
	case u.Scheme != "https" && u.Scheme != "http":
		return fmt.Errorf("%w: the scheme is neither https nor http", ErrRefused)
	case u.Scheme == "http" && !namesLoopback(host):
		return fmt.Errorf("%w: plain http is allowed only for this machine; use https", ErrRefused)
	case u.Scheme == "http" && !t.allowLoopback:
		return fmt.Errorf("%w: plain http needs AllowLoopback", ErrRefused)
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		return t.checkAddress(ip)
	}
	return nil
}

// namesLoopback reports whether a host name stands for this machine.
func namesLoopback(host string) bool {
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.IsLoopback() && !ip.Is4In6()
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}

// A span is a range of addresses that must not be fetched from.
type span struct {
	prefix netip.Prefix
	name   string
	with   permission // the option that allows it
}

type permission int

const (
	never permission = iota
	withLoopback
	withPrivate
)

// spans lists the address ranges that are not public. An address in no span
// is public, except IPv6 outside 2000::/3.
var spans = []span{
	{netip.MustParsePrefix("127.0.0.0/8"), "loopback", withLoopback},
	{netip.MustParsePrefix("::1/128"), "loopback", withLoopback},

	{netip.MustParsePrefix("10.0.0.0/8"), "a private network", withPrivate},
	{netip.MustParsePrefix("172.16.0.0/12"), "a private network", withPrivate},
	{netip.MustParsePrefix("192.168.0.0/16"), "a private network", withPrivate},
	{netip.MustParsePrefix("fc00::/7"), "a private network", withPrivate},
	{netip.MustParsePrefix("100.64.0.0/10"), "the carrier-grade NAT range", withPrivate},

	{netip.MustParsePrefix("0.0.0.0/8"), "the unspecified address", never},
	{netip.MustParsePrefix("169.254.0.0/16"), "link-local", never},
	{netip.MustParsePrefix("192.0.0.0/24"), "for protocols, not hosts", never},
	{netip.MustParsePrefix("192.0.2.0/24"), "for documentation", never},
	{netip.MustParsePrefix("192.88.99.0/24"), "a 6to4 relay", never},
	{netip.MustParsePrefix("198.18.0.0/15"), "for benchmarks", never},
	{netip.MustParsePrefix("198.51.100.0/24"), "for documentation", never},
	{netip.MustParsePrefix("203.0.113.0/24"), "for documentation", never},
	{netip.MustParsePrefix("224.0.0.0/4"), "multicast", never},
	{netip.MustParsePrefix("240.0.0.0/4"), "reserved", never},

	{netip.MustParsePrefix("::/128"), "the unspecified address", never},
	{netip.MustParsePrefix("::/96"), "an IPv4 address inside IPv6", never},
	{netip.MustParsePrefix("::ffff:0:0/96"), "an IPv4 address inside IPv6", never},
	{netip.MustParsePrefix("::ffff:0:0:0/96"), "an IPv4 address inside IPv6", never},
	{netip.MustParsePrefix("64:ff9b::/96"), "an IPv4 address behind NAT64", never},
	{netip.MustParsePrefix("64:ff9b:1::/48"), "an IPv4 address behind NAT64", never},
	{netip.MustParsePrefix("100::/64"), "for discarding", never},
	{netip.MustParsePrefix("2001::/32"), "an IPv4 address behind Teredo", never},
	{netip.MustParsePrefix("2001:db8::/32"), "for documentation", never},
	{netip.MustParsePrefix("2001::/23"), "for protocols, not hosts", never},
	{netip.MustParsePrefix("2002::/16"), "an IPv4 address behind 6to4", never},
	{netip.MustParsePrefix("3fff::/20"), "for documentation", never},
	{netip.MustParsePrefix("fe80::/10"), "link-local", never},
	{netip.MustParsePrefix("fec0::/10"), "site-local", never},
	{netip.MustParsePrefix("ff00::/8"), "multicast", never},
}

var publicIPv6 = netip.MustParsePrefix("2000::/3")

// checkAddress returns an error if an address may not be connected to.
func (t *transport) checkAddress(ip netip.Addr) error {
	ip = ip.WithZone("")
	for _, s := range spans {
		if !s.prefix.Contains(ip) {
			continue
		}
		switch {
		case s.with == withLoopback && t.allowLoopback, s.with == withPrivate && t.allowPrivate:
			return nil
		case s.with == withLoopback:
			return fmt.Errorf("%w: %s is %s, which needs AllowLoopback", ErrRefused, ip, s.name)
		case s.with == withPrivate:
			return fmt.Errorf("%w: %s is in %s, which needs AllowPrivate", ErrRefused, ip, s.name)
		}
		return fmt.Errorf("%w: %s is %s", ErrRefused, ip, s.name)
	}
	if ip.Is6() && !publicIPv6.Contains(ip) {
		return fmt.Errorf("%w: %s is not a public address", ErrRefused, ip)
	}
	return nil
}
