package login

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

type roundTrip func(*http.Request) *http.Response

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		_ = r.Body.Close()
	}
	return f(r), nil
}

func answer(r *http.Request, status int, challenge string) *http.Response {
	return &http.Response{
		StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: http.Header{"Www-Authenticate": {challenge}}, Body: io.NopCloser(strings.NewReader("")),
	}
}

// nobody is an Authorize that must not be asked.
func nobody(t *testing.T) func(context.Context, string) (*url.URL, error) {
	return func(_ context.Context, page string) (*url.URL, error) {
		t.Errorf("a page was opened: %q", page)
		return nil, errors.New("nobody is here")
	}
}

func newPost(ctx context.Context, at string) (*http.Request, error) {
	return http.NewRequestWithContext(ctx, http.MethodPost, at, strings.NewReader(`{"hello":"there"}`))
}
