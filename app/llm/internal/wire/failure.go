package wire

import (
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

// noRedirects never sends a key to where a provider points.
var noRedirects = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

func (c *Client) http() *http.Client {
	if c.HTTP == nil {
		return noRedirects
	}
	if c.HTTP.CheckRedirect == nil {
		own := *c.HTTP
		own.CheckRedirect = noRedirects.CheckRedirect
		return &own
	}
	return c.HTTP
}

// refused makes an error of an answer that is not a stream.
func (c *Client) refused(res *http.Response, body io.Reader) error {
	data, _ := io.ReadAll(io.LimitReader(body, 64<<10))
	e := Refusal(res.StatusCode, data)
	if wait := retryAfter(res.Header, time.Now()); wait > 0 {
		e.RetryAfter = wait
	}
	if to := res.Header.Get("Location"); res.StatusCode/100 == 3 && to != "" {
		e.Message = fmt.Sprintf("the server redirects to %s; redirects are not followed because the key would go with them. Set the base URL to where it is served", place(to))
	}
	if res.Header.Get("X-Should-Retry") == "false" {
		e.Err = &final{"the provider says not to try again"}
	}
	return c.clean(e)
}

// broken makes an error of a connection that failed or ended early.
func (c *Client) broken(parent, ctx context.Context, err error, idle time.Duration) error {
	if parent.Err() != nil {
		return c.canceled(parent.Err())
	}
	if errors.Is(context.Cause(ctx), errIdle) {
		return c.networkError(fmt.Errorf("nothing came for %s", idle))
	}
	return c.networkError(err)
}

func (c *Client) canceled(err error) error {
	message := "the request was ended before its answer was complete"
	if errors.Is(err, context.DeadlineExceeded) {
		message = "the time for this request is over"
	}
	return &llm.Error{Kind: llm.ErrCanceled, Provider: c.Provider, Message: message, Err: err}
}

func (c *Client) networkError(err error) error {
	message := err.Error()
	if u, ok := errors.AsType[*url.Error](err); ok {
		message = "cannot reach " + place(u.URL) + ": " + u.Err.Error() // the query of the URL may hold a key
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		message = "the connection ended in the middle of the answer"
	}
	return c.clean(&llm.Error{Kind: llm.ErrNetwork, Message: message, Err: hidden{err}})
}

// hidden keeps a cause for errors.Is without ever printing it: its text may
// hold what must not be shown.
type hidden struct{ error }

func (h hidden) Error() string { return "see the message" }
func (h hidden) Unwrap() error { return h.error }

// place is the part of a URL that may be shown.
func place(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return "the server"
	}
	return u.Scheme + "://" + u.Host + u.Path
}

// clean says whose error it is and takes out what must not be seen.
func (c *Client) clean(e *llm.Error) *llm.Error {
	e.Provider = c.Provider
	e.Message = redact.New(c.Secrets...).Known(e.Message)
	return e
}

// brief is an error without advice, for a note that says what is done about it.
func (c *Client) brief(err error) string {
	e, ok := errors.AsType[*llm.Error](err)
	if !ok {
		return err.Error()
	}
	text := strings.TrimRight(e.Message, ". \n")
	if text == "" {
		text = string(e.Kind)
	}
	if e.Status != 0 {
		text += fmt.Sprintf(" (HTTP %d)", e.Status)
	}
	return c.Provider + ": " + text
}
