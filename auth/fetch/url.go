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
