package discovery

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/auth/fetch"
)

// The limits of what is fetched.
const (
	maxDocument   = 1 << 20 // of a server.json, a card or a catalog
	maxList       = 4 << 20 // of a page of a registry
	maxRedirects  = 5
	bundleTimeout = 10 * time.Minute
)

// A fetcher gets documents from URLs. Given is the URL that the user named, which
// may be on this machine or in a private network. Other URLs come from files;
// they may be on this machine only if given is, and in a private network only if
// they have the host of given.
type fetcher struct {
	given   *url.URL // nil means that the user named none
	timeout time.Duration
}

// newFetcher returns a fetcher for a URL that the user named.
func newFetcher(given string, timeout time.Duration) (*fetcher, error) {
	u, err := parseURL(given)
	if err != nil {
		return nil, err
	}
	return &fetcher{given: u, timeout: timeout}, nil
}

// parseURL returns a URL to fetch. The error does not contain it.
func parseURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return nil, errors.New("the URL is not valid")
	case u.Scheme != "https" && u.Scheme != "http" || u.Host == "":
		return nil, errors.New("the URL must start with https:// (http:// on this machine)")
	case u.User != nil:
		return nil, errors.New("the URL must not contain a user name or a password")
	}
	return u, nil
}

// A request says what to get.
type request struct {
	url     string
	accept  string
	limit   int64
	timeout time.Duration // 0 means that of the fetcher
	// anywhere allows redirects to other hosts. Set it only if the digest of the
	// document is known.
	anywhere bool
}

// A FetchError is the error of a document that could not be fetched.
type FetchError struct{ Err error }

func (e *FetchError) Error() string { return e.Err.Error() }
func (e *FetchError) Unwrap() error { return e.Err }

// get fetches a document. It follows redirects within the origin. The error is a
// [*FetchError].
func (f *fetcher) get(ctx context.Context, r request) (*http.Response, []byte, error) {
	res, body, err := f.follow(ctx, r)
	if err != nil {
		return nil, nil, &FetchError{err}
	}
	return res, body, nil
}

func (f *fetcher) follow(ctx context.Context, r request) (*http.Response, []byte, error) {
	at, err := parseURL(r.url)
	if err != nil {
		return nil, nil, err
	}
	for range maxRedirects {
		res, body, err := f.once(ctx, at, r)
		if err != nil {
			return nil, nil, err
		}
		if res.StatusCode < 300 || res.StatusCode > 399 || res.Header.Get("Location") == "" {
			if res.StatusCode != http.StatusOK {
				return nil, nil, &fetch.StatusError{URL: fetch.Redact(at.String()), Status: res.StatusCode}
			}
			return res, body, nil
		}
		next, err := at.Parse(res.Header.Get("Location"))
		if err != nil {
			return nil, nil, fmt.Errorf("fetch %s: it redirects to an invalid URL", fetch.Redact(at.String()))
		}
		if (next.Scheme != at.Scheme || next.Host != at.Host) && !r.anywhere {
			return nil, nil, fmt.Errorf("fetch %s: %w: it redirects to another host (%s)", fetch.Redact(at.String()), fetch.ErrRefused, clip(next.Host))
		}
		at = next
	}
	return nil, nil, fmt.Errorf("fetch %s: %w: more than %d redirects", fetch.Redact(r.url), fetch.ErrRefused, maxRedirects-1)
}

// once makes one exchange.
func (f *fetcher) once(ctx context.Context, at *url.URL, r request) (*http.Response, []byte, error) {
	o := &fetch.Options{MaxBody: r.limit, Timeout: r.timeout}
	if f.timeout > 0 {
		o.Timeout = f.timeout
	}
	if f.given != nil {
		o.AllowLoopback = isLoopback(f.given)
		o.AllowPrivate = strings.EqualFold(at.Hostname(), f.given.Hostname())
	}
	c := fetch.New(o)
	defer c.Close()
	client := http.Client{Transport: c.Transport(), CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	fail := func(err error) error {
		if inner, ok := errors.AsType[*url.Error](err); ok {
			err = inner.Err // the outer one has the whole URL
		}
		return fmt.Errorf("fetch %s: %w", fetch.Redact(at.String()), err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return nil, nil, fail(errors.New("the URL is not valid"))
	}
	req.Header.Set("Accept", r.accept)
	res, err := client.Do(req)
	if err != nil {
		return nil, nil, fail(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, nil, fail(err)
	}
	return res, body, nil
}

// isLoopback reports whether a URL names this machine.
func isLoopback(u *url.URL) bool {
	host := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.IsLoopback()
	}
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}
