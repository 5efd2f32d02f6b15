package login

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	json "github.com/go-json-experiment/json"
	"github.com/tenon-mcp/tenon/auth/fetch"
)

// The authentication methods at the token endpoint.
const (
	authNone  = "none"
	authBasic = "client_secret_basic"
	authPost  = "client_secret_post"
	authJWT   = "private_key_jwt"
)

// A ServerError is an error response of an authorization server.
type ServerError struct {
	// Issuer is the authorization server.
	Issuer string
	// Code is the OAuth error code, such as invalid_grant.
	Code string
	// Description is the error description of the server, shortened; often
	// empty.
	Description string
}

func (e *ServerError) Error() string {
	text := fmt.Sprintf("authorization server %s refused: %s", e.Issuer, e.Code)
	if e.Description != "" {
		text += " (" + e.Description + ")"
	}
	return text
}

// A grantedToken is the response of a token endpoint. Its secrets are not
// printed.
type grantedToken struct {
	AccessToken  string  `json:"access_token"`
	TokenType    string  `json:"token_type"`
	ExpiresIn    seconds `json:"expires_in"`
	RefreshToken string  `json:"refresh_token"`
	IssuedType   string  `json:"issued_token_type"`
}

func (grantedToken) String() string               { return "(token)" }
func (g grantedToken) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(g.String())) }
func (g grantedToken) LogValue() slog.Value       { return slog.StringValue(g.String()) }

// maxLifetime is the maximum lifetime of a token.
const maxLifetime = 10 * 365 * 24 * time.Hour

// lifetime returns the lifetime of a token from expires_in; zero means
// unknown. The number may be written as a string and may have a fraction.
// More than 10 years counts as 10 years. Zero, null and values that are not
// a number mean unknown, as some servers intend with zero. A lifetime below
// one second, or a negative one, is an error, since the token cannot be
// used.
func (g *grantedToken) lifetime() (time.Duration, error) {
	n, ok := g.ExpiresIn.number()
	switch {
	case !ok || n == 0:
		return 0, nil
	case n < 1:
		return 0, fmt.Errorf("the token has already expired (expires_in is %s)", clip(string(g.ExpiresIn)))
	case n > maxLifetime.Seconds():
		return maxLifetime, nil
	}
	return time.Duration(n * float64(time.Second)), nil
}

// seconds is a JSON value that should be a number of seconds.
type seconds string

// UnmarshalJSON accepts any value.
func (s *seconds) UnmarshalJSON(text []byte) error {
	*s = seconds(text)
	return nil
}

// number returns the value as a number. Some servers write it as a string.
func (s seconds) number() (float64, bool) {
	text := string(s)
	if len(text) > 1 && text[0] == '"' {
		text = strings.TrimSpace(text[1 : len(text)-1])
	}
	if strings.ContainsFunc(text, func(r rune) bool { return !strings.ContainsRune("0123456789+-.eE", r) }) {
		return 0, false
	}
	n, err := strconv.ParseFloat(text, 64)
	if errors.Is(err, strconv.ErrRange) {
		err = nil // infinite, with its sign
	}
	return n, err == nil
}

// A tokenRequest is a request to the token endpoint.
type tokenRequest struct {
	server *server
	client *Client // nil means no client authentication
	prover *prover // nil requests a bearer token
	form   url.Values

	subject string // a token of the user that a response must not repeat; empty if there is none
}

// post sends the request, and again if the server requires a nonce.
func (r *tokenRequest) post(ctx context.Context, f *fetch.Client) (*grantedToken, error) {
	endpoint, err := url.Parse(r.server.TokenEndpoint)
	if err != nil {
		return nil, fmt.Errorf("invalid token_endpoint of %s", fetch.Redact(r.server.Issuer))
	}
	for again := false; ; again = true {
		form, header, err := r.authenticated()
		if err != nil {
			return nil, err
		}
		if r.prover != nil {
			proof, err := r.prover.prove(http.MethodPost, endpoint, "")
			if err != nil {
				return nil, err
			}
			header.Set("DPoP", proof)
		}
		status, answer, body, err := f.PostForm(ctx, r.server.TokenEndpoint, form, header)
		if err != nil {
			return nil, err
		}
		fresh := r.prover != nil && r.prover.receive(endpoint, answer)
		token, err := readToken(r.server.Issuer, status, body)
		if refused, ok := errors.AsType[*ServerError](err); ok && refused.Code == "use_dpop_nonce" && fresh && !again {
			continue
		}
		if err == nil && r.subject != "" && (token.AccessToken == r.subject || token.RefreshToken == r.subject) {
			return nil, fmt.Errorf("authorization server %s returned the token of the user unchanged, which is not passed on", fetch.Redact(r.server.Issuer))
		}
		return token, err
	}
}

// authenticated adds the client authentication. Form and header are secret.
func (r *tokenRequest) authenticated() (url.Values, http.Header, error) {
	form, header := url.Values{}, http.Header{}
	for name, values := range r.form {
		form[name] = values
	}
	if r.client == nil {
		return form, header, nil
	}
	switch method := r.client.method(r.server); method {
	case authBasic:
		// Both parts are form-encoded first (RFC 6749, section 2.3.1).
		pair := url.QueryEscape(r.client.ID) + ":" + url.QueryEscape(r.client.Secret)
		header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(pair)))
	case authPost:
		form.Set("client_id", r.client.ID)
		form.Set("client_secret", r.client.Secret)
	case authJWT:
		if r.client.Key == nil {
			return nil, nil, fmt.Errorf("%v needs a Key for private_key_jwt", r.client)
		}
		text, err := r.client.Key.assertion(r.client.ID, r.server.Issuer)
		if err != nil {
			return nil, nil, err
		}
		form.Set("client_id", r.client.ID)
		form.Set("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
		form.Set("client_assertion", text)
	case authNone:
		form.Set("client_id", r.client.ID)
	default:
		return nil, nil, fmt.Errorf("%v: unsupported authentication method %q", r.client, clip(method))
	}
	return form, header, nil
}

// method returns the authentication method: that of the client, else the
// best one that both sides support. The default of a server is
// client_secret_basic (RFC 8414).
func (c *Client) method(s *server) string {
	takes := func(m string) bool { return slices.Contains(s.AuthMethods, m) }
	switch {
	case c.AuthMethod != "":
		return c.AuthMethod
	case c.Key != nil && (c.Secret == "" || takes(authJWT)):
		return authJWT
	case c.Secret == "":
		return authNone
	case len(s.AuthMethods) == 0 || takes(authBasic):
		return authBasic
	case takes(authPost):
		return authPost
	case takes(authNone):
		return authNone
	}
	return authBasic
}

// readToken parses the response of a token endpoint.
func readToken(issuer string, status int, body []byte) (*grantedToken, error) {
	if status != http.StatusOK {
		return nil, readRefusal(issuer, status, body)
	}
	var t grantedToken
	if err := json.Unmarshal(body, &t); err != nil {
		return nil, fmt.Errorf("the response of the token endpoint of %s is not valid JSON", fetch.Redact(issuer))
	}
	if t.AccessToken == "" || strings.ContainsFunc(t.AccessToken+t.RefreshToken, func(r rune) bool { return r < 0x20 || r > 0x7e }) {
		return nil, fmt.Errorf("the response of the token endpoint of %s has no usable token", fetch.Redact(issuer))
	}
	return &t, nil
}

// readRefusal returns the error of a response that is not a success.
func readRefusal(issuer string, status int, body []byte) error {
	var refusal struct {
		Error       string `json:"error"`
		Description string `json:"error_description"`
	}
	if err := json.Unmarshal(body, &refusal); err != nil || refusal.Error == "" {
		return fmt.Errorf("authorization server %s: status %d", fetch.Redact(issuer), status)
	}
	return &ServerError{Issuer: fetch.Redact(issuer), Code: clip(refusal.Error), Description: clip(refusal.Description)}
}
