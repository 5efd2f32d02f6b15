package login

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/tenon-mcp/tenon/auth/fetch"
)

const maxFollow = 10

// Follow returns an Authorize function for authorization servers that need
// no user: it requests the page and follows redirects until one leads to
// redirectURI. It is for tests and for servers that know this machine. A
// page that does not redirect is an error. A nil f means [fetch.New] with
// defaults.
func Follow(f *fetch.Client, redirectURI string) func(ctx context.Context, page string) (*url.URL, error) {
	if f == nil {
		f = fetch.New(nil)
	}
	client := &http.Client{
		Transport:     f.Transport(),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return func(ctx context.Context, page string) (*url.URL, error) {
		for range maxFollow {
			next, err := step(ctx, client, page)
			if err != nil {
				return nil, err
			}
			if sameTarget(next, redirectURI) {
				return next, nil
			}
			page = next.String()
		}
		return nil, fmt.Errorf("the login page redirected more than %d times", maxFollow)
	}
}

// step requests one page and returns the target of its redirect.
func step(ctx context.Context, client *http.Client, page string) (*url.URL, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, page, nil)
	if err != nil {
		return nil, errors.New("request the login page: invalid URL")
	}
	resp, err := client.Do(req)
	if err != nil {
		if wrapped, ok := errors.AsType[*url.Error](err); ok {
			err = wrapped.Err // the URL contains the state
		}
		return nil, fmt.Errorf("request the login page: %w", err)
	}
	_ = resp.Body.Close()
	next, err := resp.Location()
	if err != nil || resp.StatusCode/100 != 3 || !strings.HasPrefix(next.Scheme, "http") {
		return nil, fmt.Errorf("the login page needs a user: status %d instead of a redirect", resp.StatusCode)
	}
	return next, nil
}
