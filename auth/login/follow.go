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

// Follow is an Authorize for authorization servers that ask nobody: it requests
// the page itself and follows the redirects until one leads to redirectURI. It
// is for tests and for servers that know this machine; a page that wants a
// person is an error. A nil f means [fetch.New] with its defaults.
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
		return nil, fmt.Errorf("the login page redirects more than %d times", maxFollow)
	}
}

// step requests one page and returns where it leads.
func step(ctx context.Context, client *http.Client, page string) (*url.URL, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, page, nil)
	if err != nil {
		return nil, errors.New("the login page cannot be requested")
	}
	resp, err := client.Do(req)
	if err != nil {
		if wrapped, ok := errors.AsType[*url.Error](err); ok {
			err = wrapped.Err // the whole URL has the state in it
		}
		return nil, fmt.Errorf("request the login page: %w", err)
	}
	_ = resp.Body.Close()
	next, err := resp.Location()
	if err != nil || resp.StatusCode/100 != 3 || !strings.HasPrefix(next.Scheme, "http") {
		return nil, fmt.Errorf("the login page answers %d and does not redirect: it wants a person", resp.StatusCode)
	}
	return next, nil
}
