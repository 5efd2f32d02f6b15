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

// identify decides who this program is at an authorization server: given by
// the options, else its metadata URL, else registered there now or earlier,
// else nobody.
func (p *place) identify(ctx context.Context, s *server, redirect string) (*Client, error) {
	o := &p.transport.opts
	switch {
	case o.Client != nil:
		return o.Client, p.bind(ctx, o.Client, s.Issuer)
	case o.ClientIDMetadataURL != "" && s.TakesMetadataURL:
		u, err := url.Parse(o.ClientIDMetadataURL)
		if err != nil || u.Scheme != "https" || u.Host == "" || u.Path == "" || u.Path == "/" || u.Fragment != "" {
			return nil, fmt.Errorf("ClientIDMetadataURL %q cannot be a client id: it must be an https URL with a path", clip(o.ClientIDMetadataURL))
		}
		return &Client{ID: o.ClientIDMetadataURL, Issuer: s.Issuer, AuthMethod: authNone}, nil
	case s.RegistrationEndpoint != "":
		if r, ok := p.registered(ctx, s.Issuer); ok && slices.Contains(r.RedirectURIs, redirect) {
			return r.client(), nil
		}
		return p.register(ctx, s, redirect)
	}
	return nil, fmt.Errorf("the authorization server %s takes no client that introduces itself: register this program there and set Client to the client id", fetch.Redact(s.Issuer))
}

// bind makes sure that a given client is used at one authorization server only:
// the one it says, or else the first that was met.
func (p *place) bind(ctx context.Context, c *Client, issuer string) error {
	t := p.transport
	known := c.Issuer
	if known == "" {
		at := t.opts.key("issuer", canonical(p.url)+" "+c.ID)
		kept, err := t.store.Load(ctx, at)
		if errors.Is(err, tokens.ErrNotFound) {
			if err := t.store.Save(ctx, at, tokens.Secret(issuer)); err != nil {
				t.opts.warn("the issuer of client %q could not be kept: %v", c.ID, err)
			}
			return nil
		}
		if err != nil {
			return err
		}
		known = string(kept)
	}
	if known != issuer {
		return fmt.Errorf("the server now names the authorization server %s, and client %q is known at %s: its credentials are not sent to another one; register there and change Client", fetch.Redact(issuer), clip(c.ID), fetch.Redact(known))
	}
	return nil
}

// keep saves something as JSON.
func (p *place) keep(ctx context.Context, kind, name string, v any) {
	t := p.transport
	text, err := json.Marshal(v)
	if err == nil {
		err = t.store.Save(ctx, t.opts.key(kind, name), text)
	}
	if err != nil {
		t.opts.warn("what the login at %s has brought could not be kept: %v", name, err)
	}
}
