package login

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	json "github.com/go-json-experiment/json"

	"github.com/tenon-mcp/tenon/auth/fetch"
	"github.com/tenon-mcp/tenon/auth/tokens"
)

// identify returns the client for an authorization server: the configured
// one, else the metadata URL, else a registered one, else none.
func (p *endpoint) identify(ctx context.Context, s *server, redirect string) (*Client, error) {
	o := &p.transport.opts
	switch {
	case o.Client != nil:
		return o.Client, p.bind(ctx, o.Client, s.Issuer)
	case o.ClientIDMetadataURL != "" && s.TakesMetadataURL:
		u, err := url.Parse(o.ClientIDMetadataURL)
		if err != nil || u.Scheme != "https" || u.Host == "" || u.Path == "" || u.Path == "/" || u.Fragment != "" {
			return nil, fmt.Errorf("ClientIDMetadataURL %q must be an https URL with a path", clip(o.ClientIDMetadataURL))
		}
		return &Client{ID: o.ClientIDMetadataURL, Issuer: s.Issuer, AuthMethod: authNone}, nil
	case s.RegistrationEndpoint != "":
		if r, ok := p.registered(ctx, s.Issuer); ok && slices.Contains(r.RedirectURIs, redirect) {
			return r.client(), nil
		}
		return p.register(ctx, s, redirect)
	}
	return nil, fmt.Errorf("authorization server %s does not support client registration; register this program there and set Client", fetch.Redact(s.Issuer))
}

// bind ensures that a configured client is used at one authorization server
// only: its Issuer, or else the first one that was used.
func (p *endpoint) bind(ctx context.Context, c *Client, issuer string) error {
	t := p.transport
	known := c.Issuer
	if known == "" {
		at := t.opts.key("issuer", canonical(p.url)+" "+c.ID)
		stored, err := t.store.Load(ctx, at)
		if errors.Is(err, tokens.ErrNotFound) {
			if err := t.store.Save(ctx, at, tokens.Secret(issuer)); err != nil {
				t.opts.warn("store the issuer of client %q: %v", c.ID, err)
			}
			return nil
		}
		if err != nil {
			return err
		}
		known = string(stored)
	}
	if known != issuer {
		return fmt.Errorf("the server names authorization server %s, but client %q belongs to %s, and its credentials are not sent elsewhere; register there and change Client", fetch.Redact(issuer), clip(c.ID), fetch.Redact(known))
	}
	return nil
}

// save stores a value as JSON and reports whether it is stored.
func (p *endpoint) save(ctx context.Context, kind, name string, v any) bool {
	t := p.transport
	text, err := json.Marshal(v)
	if err == nil {
		err = t.store.Save(ctx, t.opts.key(kind, name), text)
	}
	if err != nil {
		t.opts.warn("store the login at %s: %v", name, err)
	}
	return err == nil
}

// A registration is the result of dynamic client registration (RFC 7591). It
// is stored by issuer and used only there.
type registration struct {
	Issuer       string   `json:"issuer"`
	ClientID     string   `json:"client_id"`
	ClientSecret string   `json:"client_secret,omitempty"`
	AuthMethod   string   `json:"token_endpoint_auth_method,omitempty"`
	ExpiresAt    int64    `json:"client_secret_expires_at,omitempty"`
	RedirectURIs []string `json:"redirect_uris"`
}

func (r *registration) client() *Client {
	return &Client{ID: r.ClientID, Secret: r.ClientSecret, Issuer: r.Issuer, AuthMethod: r.AuthMethod}
}

func (p *endpoint) registered(ctx context.Context, issuer string) (*registration, bool) {
	t := p.transport
	stored, err := t.store.Load(ctx, t.opts.key("client", issuer))
	if err != nil {
		return nil, false
	}
	var r registration
	if json.Unmarshal(stored, &r) != nil || r.Issuer != issuer || r.ExpiresAt != 0 && time.Now().Unix() >= r.ExpiresAt {
		return nil, false
	}
	return &r, true
}

// forgetClient deletes a registration that the authorization server no
// longer knows, and reports whether there was one.
func (p *endpoint) forgetClient(ctx context.Context, issuer string) bool {
	if _, ok := p.registered(ctx, issuer); !ok || p.transport.opts.Client != nil {
		return false
	}
	return p.transport.store.Delete(ctx, p.transport.opts.key("client", issuer)) == nil
}

// register registers this program. Dynamic registration is deprecated since
// 2026-07-28 but still needed by many authorization servers.
func (p *endpoint) register(ctx context.Context, s *server, redirect string) (*Client, error) {
	kind := "web"
	if u, err := url.Parse(redirect); err == nil && (onLoopback(u.Hostname()) || u.Scheme != "https") {
		kind = "native"
	}
	method := publicFirst(s.AuthMethods)
	ask, err := json.Marshal(map[string]any{
		"client_name":                p.transport.opts.clientName(),
		"redirect_uris":              []string{redirect},
		"grant_types":                []string{"authorization_code", "refresh_token"},
		"response_types":             []string{"code"},
		"application_type":           kind,
		"token_endpoint_auth_method": method,
	})
	if err != nil {
		return nil, err
	}
	status, _, body, err := p.fetch.Post(ctx, s.RegistrationEndpoint, "application/json", ask, nil)
	if err != nil {
		return nil, fmt.Errorf("register at the authorization server: %w", err)
	}
	if status != http.StatusCreated && status != http.StatusOK {
		refusal := readRefusal(s.Issuer, status, body)
		code := ""
		if refused, ok := errors.AsType[*ServerError](refusal); ok {
			code = refused.Code
		}
		return nil, notRegistration(code, fmt.Errorf("register as a %s application with redirect URI %s: %w; to use a client registered by hand, set Client", kind, redirect, refusal))
	}
	r, err := readRegistration(body)
	if err != nil {
		return nil, notRegistration("", fmt.Errorf("invalid response of the registration endpoint of %s: %w", fetch.Redact(s.Issuer), err))
	}
	r.Issuer, r.RedirectURIs = s.Issuer, []string{redirect}
	r.AuthMethod = cmp.Or(r.AuthMethod, method)
	if r.ClientSecret == "" {
		r.AuthMethod = authNone
	}
	p.save(ctx, "client", s.Issuer, r)
	return r.client(), nil
}

// readRegistration parses the response of a registration endpoint. The
// expiry matters only for a client with a secret; zero, and any value that
// is not a number, means never.
func readRegistration(body []byte) (*registration, error) {
	var answer struct {
		ClientID     string  `json:"client_id"`
		ClientSecret string  `json:"client_secret"`
		AuthMethod   string  `json:"token_endpoint_auth_method"`
		ExpiresAt    seconds `json:"client_secret_expires_at"`
	}
	if err := json.Unmarshal(body, &answer); err != nil || answer.ClientID == "" {
		return nil, errors.New("client_id is missing")
	}
	r := &registration{ClientID: answer.ClientID, ClientSecret: answer.ClientSecret, AuthMethod: answer.AuthMethod}
	if at, ok := answer.ExpiresAt.number(); ok && at != 0 && r.ClientSecret != "" {
		if at <= float64(time.Now().Unix()) {
			return nil, fmt.Errorf("the client secret has already expired (client_secret_expires_at is %s)", clip(string(answer.ExpiresAt)))
		}
		r.ExpiresAt = int64(min(at, 1e11))
	}
	return r, nil
}

// publicFirst chooses the authentication method of a client that registers
// itself: none if possible, since a program on a user's machine cannot keep
// a secret.
func publicFirst(methods []string) string {
	for _, m := range []string{authNone, authBasic, authPost} {
		if slices.Contains(methods, m) {
			return m
		}
	}
	return authBasic
}
