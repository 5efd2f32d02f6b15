package wire

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	json "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

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

// Unmarshal decodes JSON from a provider. It replaces invalid UTF-8, because some
// servers split tokens inside a character, and accepts duplicate names.
func Unmarshal(data []byte, v any) error {
	return json.Unmarshal(data, v, jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
}

// A Report is an error in a provider's JSON. Codes may be numbers or strings.
type Report struct {
	Type    string         `json:"type"`
	Code    jsontext.Value `json:"code"`
	Status  jsontext.Value `json:"status"`
	Message string         `json:"message"`
	Details []struct {
		RetryDelay string `json:"retryDelay"`
	} `json:"details"`
}

// ReadReport decodes an error report in any of the forms that providers use.
func ReadReport(data []byte) (Report, bool) {
	data = []byte(strings.TrimSpace(string(data)))
	if len(data) > 0 && data[0] == '[' { // Gemini
		var all []jsontext.Value
		if Unmarshal(data, &all) != nil || len(all) == 0 {
			return Report{}, false
		}
		data = all[0]
	}
	var text string
	if Unmarshal(data, &text) == nil {
		return Report{Message: text}, text != ""
	}
	var outer struct {
		Error   jsontext.Value `json:"error"`
		Message string         `json:"message"`
		Detail  jsontext.Value `json:"detail"`
		Type    string         `json:"type"`
		Code    jsontext.Value `json:"code"`
	}
	if Unmarshal(data, &outer) != nil {
		return Report{}, false
	}
	var r Report
	switch {
	case len(outer.Error) > 0 && outer.Error[0] == '{':
		if Unmarshal(outer.Error, &r) != nil {
			r.Message = plain(outer.Error)
		}
	case len(outer.Error) > 0 && outer.Error[0] == '"':
		_ = Unmarshal(outer.Error, &r.Message)
	case outer.Message != "":
		r = Report{Type: outer.Type, Code: outer.Code, Message: outer.Message}
	case len(outer.Detail) > 0:
		if Unmarshal(outer.Detail, &r.Message) != nil {
			r.Message = plain(outer.Detail)
		}
	}
	return r, r.Message != "" || r.Type != ""
}

// ResponseError returns the error of an HTTP response.
func ResponseError(status int, body []byte) *llm.Error {
	r, ok := ReadReport(body)
	if !ok {
		r.Message = cmp.Or(plain(body), http.StatusText(status))
	}
	return r.Err(status)
}

// Err returns the report as an error. Status 0 means that the report was part of
// a stream.
func (r Report) Err(status int) *llm.Error {
	message := cmp.Or(plain([]byte(r.Message)), r.codes())
	return &llm.Error{Kind: r.kind(status), Status: status, Message: message, RetryAfter: r.delay()}
}

// delay returns the wait that the report requests, or 0.
func (r Report) delay() time.Duration {
	for _, d := range r.Details {
		if wait, err := time.ParseDuration(d.RetryDelay); err == nil && wait > 0 {
			return wait
		}
	}
	return 0
}

func (r Report) codes() string {
	return strings.Trim(strings.Join([]string{r.Type, strings.Trim(string(r.Code), `"`), strings.Trim(string(r.Status), `"`)}, " "), " ")
}

var (
	tooLong = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)context[ _](length|size|window|limit)|prompt is too long|too many tokens|maximum (number of )?(input )?tokens|exceeds? the (maximum number of tokens|available context)|context overflows?|input is too long|reduce the length of`)
	})
	noCredit = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)insufficient_quota|billing_error|credit balance is too low|exceeded your current quota, please check your plan|insufficient (credits|funds|balance)|payment_required`)
	})
	badKey = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)authentication_error|permission_error|invalid_api_key|api key not valid|invalid api key|incorrect api key|UNAUTHENTICATED|PERMISSION_DENIED`)
	})
	busy = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)overloaded|UNAVAILABLE|model is (currently )?loading|engine_overloaded|server_is_overloaded|at capacity`)
	})
	tooMany = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)rate_limit|RESOURCE_EXHAUSTED|too many requests|slow_down`)
	})
	badRequest = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)invalid_request|invalid_prompt|not_found_error|INVALID_ARGUMENT|image_|invalid_image|request_too_large`)
	})
)

// kind classifies by the text before the status: providers use statuses
// differently and texts mostly alike.
func (r Report) kind(status int) llm.ErrorKind {
	codes := r.codes()
	all := codes + " " + r.Message
	switch {
	case status == 429 && r.delay() > 0: // Gemini reports a rate limit as a quota
		return llm.ErrRate
	case noCredit().MatchString(all) || status == http.StatusPaymentRequired:
		return llm.ErrQuota
	case status == http.StatusRequestEntityTooLarge || status/100 != 5 && status != 429 && status != 401 && tooLong().MatchString(all),
		status/100 == 5 && tooLong().MatchString(all) && strings.Contains(strings.ToLower(all), "context"):
		return llm.ErrContextLength
	case status == 401 || status == 403 || badKey().MatchString(codes) || status == 400 && badKey().MatchString(r.Message):
		return llm.ErrAuth
	case status == 429 || status == 0 && tooMany().MatchString(all):
		return llm.ErrRate
	case status == 529 || status == 503 || (status == 0 || status/100 == 5) && busy().MatchString(all):
		return llm.ErrOverloaded
	case status == 408 || status == 504:
		return llm.ErrNetwork
	case status/100 == 5 || status == 409:
		return llm.ErrServer
	case status == 0 && !badRequest().MatchString(all):
		return llm.ErrServer
	}
	return llm.ErrBadRequest
}

var tags = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?s)<(script|style).*?</(script|style)>|<[^>]*>`) })

// plain returns text from a provider as one line without markup and control
// characters, at most 600 characters long.
func plain(data []byte) string {
	text := string(data)
	if strings.HasPrefix(strings.TrimSpace(text), "<") {
		text = tags().ReplaceAllString(text, " ")
	}
	text = strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == utf8.RuneError {
			return ' '
		}
		return r
	}, text)), " ")
	if runes := []rune(text); len(runes) > 600 {
		text = string(runes[:600]) + fmt.Sprintf(" … (%d more characters)", len(runes)-600)
	}
	return text
}
