package wire

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/app/llm"
	"github.com/tenon-mcp/tenon/internal/redact"
)

// noRedirects follows no redirects, so that no key is sent to another host.
var noRedirects = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

func (c *Client) http() *http.Client {
	if c.HTTP == nil {
		return noRedirects
	}
	if c.HTTP.CheckRedirect == nil {
		copied := *c.HTTP
		copied.CheckRedirect = noRedirects.CheckRedirect
		return &copied
	}
	return c.HTTP
}

// responseError returns the error of a response that is not a stream.
func (c *Client) responseError(res *http.Response, body io.Reader) error {
	data, _ := io.ReadAll(io.LimitReader(body, 64<<10))
	e := ResponseError(res.StatusCode, data)
	if wait := retryAfter(res.Header, time.Now()); wait > 0 {
		e.RetryAfter = wait
	}
	if to := res.Header.Get("Location"); res.StatusCode/100 == 3 && to != "" {
		e.Message = fmt.Sprintf("the server redirects to %s; redirects are not followed because the key would be sent along. Set the base URL to that address", publicURL(to))
	}
	if res.Header.Get("X-Should-Retry") == "false" {
		e.Err = &final{"the provider forbids a retry"}
	}
	return c.clean(e)
}

// connectionError returns the error of a connection that failed or ended early.
func (c *Client) connectionError(parent, ctx context.Context, err error, idle time.Duration) error {
	if parent.Err() != nil {
		return c.canceled(parent.Err())
	}
	if errors.Is(context.Cause(ctx), errIdle) {
		return c.networkError(fmt.Errorf("no data received for %s", idle))
	}
	return c.networkError(err)
}

func (c *Client) canceled(err error) error {
	message := "the request was canceled before the answer was complete"
	if errors.Is(err, context.DeadlineExceeded) {
		message = "the request timed out"
	}
	return &llm.Error{Kind: llm.ErrCanceled, Provider: c.Provider, Message: message, Err: err}
}

func (c *Client) networkError(err error) error {
	message := err.Error()
	if u, ok := errors.AsType[*url.Error](err); ok {
		message = "cannot reach " + publicURL(u.URL) + ": " + u.Err.Error()
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		message = "the connection closed before the answer was complete"
	}
	return c.clean(&llm.Error{Kind: llm.ErrNetwork, Message: message, Err: hidden{err}})
}

// hidden wraps a cause for errors.Is and hides its text, which may contain a
// secret.
type hidden struct{ error }

func (h hidden) Error() string { return "see the message" }
func (h hidden) Unwrap() error { return h.error }

// publicURL returns a URL without its query, which may contain a key.
func publicURL(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return "the server"
	}
	return u.Scheme + "://" + u.Host + u.Path
}

// clean sets the provider of an error and removes secrets from its message.
func (c *Client) clean(e *llm.Error) *llm.Error {
	e.Provider = c.Provider
	e.Message = redact.New(c.Secrets...).Known(e.Message)
	return e
}

// brief returns an error without advice.
func (c *Client) brief(err error) string {
	e, ok := errors.AsType[*llm.Error](err)
	if !ok {
		return err.Error()
	}
	text := cmp.Or(strings.TrimRight(e.Message, ". \n"), string(e.Kind))
	if e.Status != 0 {
		text += fmt.Sprintf(" (HTTP %d)", e.Status)
	}
	return c.Provider + ": " + text
}
