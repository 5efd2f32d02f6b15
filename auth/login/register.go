package login

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"

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

// save stores a value as JSON.
func (p *endpoint) save(ctx context.Context, kind, name string, v any) {
	t := p.transport
	text, err := json.Marshal(v)
	if err == nil {
		err = t.store.Save(ctx, t.opts.key(kind, name), text)
	}
	if err != nil {
		t.opts.warn("store the login at %s: %v", name, err)
	}
}
