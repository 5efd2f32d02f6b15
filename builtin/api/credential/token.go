package credential

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tenon-mcp/tenon/mcp"
)

// A token is an access token.
type token struct {
	Access  string    `json:"access"`
	Refresh string    `json:"refresh,omitzero"`
	Expires time.Time `json:"expires,omitzero"`

	// Of a login: the name of the API, and when the user logged in.
	API   string    `json:"api,omitzero"`
	Since time.Time `json:"since,omitzero"`
}

// early is how long before its end a token is renewed.
const early = 30 * time.Second

func (t *token) valid(now time.Time) bool {
	return t != nil && t.Access != "" && (t.Expires.IsZero() || now.Before(t.Expires.Add(-early)))
}

// Apply implements [Token].
func (t *token) Apply(req *http.Request) { req.Header.Set("Authorization", "Bearer "+t.Access) }

// maxTokenBody is the maximum size of a token response.
const maxTokenBody = 256 << 10

// A tokenError is an error response of a token endpoint. Its texts may be long and
// may repeat secrets.
type tokenError struct{ code, description string }

func (e *tokenError) Error() string {
	if e.description != "" {
		return fmt.Sprintf("%s: %s", e.code, e.description)
	}
	return e.code
}

// passing is an error of the network or of a server that is away: the same request
// may succeed later.
type passing struct{ error }

func (e passing) Unwrap() error { return e.error }

// post sends a form to an endpoint and decodes the JSON response.
func post(ctx context.Context, client *http.Client, endpoint string, form url.Values, basic *url.Userinfo, into any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, endpoint, strings.NewReader(form.Encode()))
	if err != nil {
		return errors.New("invalid endpoint URL")
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if basic != nil {
		password, _ := basic.Password()
		req.SetBasicAuth(url.QueryEscape(basic.Username()), url.QueryEscape(password))
	}
	return exchange(client, req, into)
}

// exchange sends a request and decodes the JSON response. Its error contains
// nothing that was sent.
func exchange(client *http.Client, req *http.Request, into any) error {
	req.Header.Set("Accept", "application/json")
	res, err := client.Do(req)
	if err != nil {
		if wrapped, ok := errors.AsType[*url.Error](err); ok {
			err = wrapped.Err
		}
		return passing{fmt.Errorf("request to %s: %w", req.URL.Host, err)}
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxTokenBody+1))
	if err != nil {
		return passing{fmt.Errorf("the response of %s is cut off: %w", req.URL.Host, err)}
	}
	if len(body) > maxTokenBody {
		return fmt.Errorf("the response of %s is too large", req.URL.Host)
	}
	if res.StatusCode/100 != 2 {
		var failed struct {
			Code        string `json:"error"`
			Description string `json:"error_description"`
			Message     string `json:"message"`
		}
		says := mcp.Unmarshal(body, &failed) == nil && failed.Code+failed.Message != ""
		refusal := &tokenError{failed.Code, failed.Description + failed.Message}
		err := fmt.Errorf("%s answered %d %s", req.URL.Host, res.StatusCode, http.StatusText(res.StatusCode))
		switch away := res.StatusCode/100 == 5 || res.StatusCode == http.StatusTooManyRequests; {
		case away && says:
			return passing{fmt.Errorf("%w: %s", err, refusal.Error())}
		case away:
			return passing{err}
		case says:
			return refusal
		}
		return err
	}
	if err := mcp.Unmarshal(body, into); err != nil {
		return fmt.Errorf("the response of %s is not the JSON that was expected", req.URL.Host)
	}
	return nil
}

// tokenResponse is the response of a token endpoint.
type tokenResponse struct {
	Access      string  `json:"access_token"`
	Type        string  `json:"token_type"`
	Refresh     string  `json:"refresh_token"`
	ExpiresIn   seconds `json:"expires_in"`
	Error       string  `json:"error"` // GitHub sends errors with status 200
	Description string  `json:"error_description"`
}

// seconds is a number of seconds, which some servers send as a string.
type seconds json.RawMessage

// UnmarshalJSON implements json.Unmarshaler.
func (s *seconds) UnmarshalJSON(raw []byte) error {
	*s = append((*s)[:0], raw...)
	return nil
}

// duration returns the time, or 0 if there is none.
func (s seconds) duration() time.Duration {
	n, err := strconv.ParseFloat(strings.Trim(string(s), `"`), 64)
	if err != nil || n < 0 || n > 1e9 {
		return 0
	}
	return time.Duration(n * float64(time.Second))
}

func (r *tokenResponse) token(now time.Time) (*token, error) {
	if r.Error != "" {
		return nil, &tokenError{r.Error, r.Description}
	}
	if r.Access == "" || !strings.EqualFold(r.Type, "bearer") && r.Type != "" {
		return nil, errors.New("the token response has no bearer token")
	}
	if strings.ContainsAny(r.Access, "\r\n\x00") {
		return nil, errors.New("the token is not valid")
	}
	t := &token{Access: r.Access, Refresh: r.Refresh}
	if d := r.ExpiresIn.duration(); d > 0 {
		t.Expires = now.Add(min(d, 365*24*time.Hour))
	}
	return t, nil
}

// lookEvery is how often it is noticed that a login was removed.
const lookEvery = 2 * time.Second

// A holder keeps the token of one account and obtains it once for concurrent
// callers.
type holder struct {
	mu    sync.Mutex // guards current
	gate  chan struct{}
	token *token
	at    time.Time // when it was obtained
	seen  time.Time // when its login was last found in the store
	login uint64    // the number of the login that token is of
}

// logins numbers the logins that this process has seen.
var logins atomic.Uint64

func newHolder() *holder { return &holder{gate: make(chan struct{}, 1)} }

func (h *holder) current() *token {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.token
}

func (h *holder) set(t *token) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if t != nil && (h.token == nil || !t.Since.Equal(h.token.Since)) {
		h.login = logins.Add(1)
	}
	h.token = t
	if t != nil {
		h.at = time.Now()
	}
}

// loginKey returns a key for the login, or "" if there is none.
func (h *holder) loginKey() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.token == nil {
		return ""
	}
	return strconv.FormatUint(h.login, 10)
}

// refused drops the token after a 401 to a request with it, if it is not quite new,
// and reports whether another attempt makes sense. A token that another caller has
// obtained meanwhile stays.
func (h *holder) refused(used Token) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.token == nil:
		return false
	case h.token.Access == "":
		return true // another call has dropped it already
	case used != Token(h.token):
		return true
	case time.Since(h.at) < 5*time.Second:
		return false
	}
	h.token = &token{Refresh: h.token.Refresh, API: h.token.API, Since: h.token.Since}
	return true
}

// due reports whether it is time to look whether the login is still in the store.
func (h *holder) due(now time.Time) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.token == nil || now.Sub(h.at) < lookEvery || now.Sub(h.seen) < lookEvery {
		return false
	}
	h.seen = now
	return true
}

// get returns a valid token, obtaining one if necessary. One caller obtains it,
// the others wait.
func (h *holder) get(ctx context.Context, obtain func(old *token) (*token, error)) (*token, error) {
	if t := h.current(); t.valid(time.Now()) {
		return t, nil
	}
	select {
	case h.gate <- struct{}{}:
		defer func() { <-h.gate }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	old := h.current()
	if old.valid(time.Now()) {
		return old, nil
	}
	t, err := obtain(old)
	if err != nil {
		return nil, err
	}
	h.set(t)
	return t, nil
}

func encodeToken(t *token) []byte {
	raw, err := json.Marshal(t)
	if err != nil {
		return nil
	}
	return raw
}

func decodeToken(raw []byte) *token {
	t := new(token)
	if len(bytes.TrimSpace(raw)) == 0 || mcp.Unmarshal(raw, t) != nil {
		return nil
	}
	return t
}
