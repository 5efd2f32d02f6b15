package login

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/auth/fetch"
	"github.com/tenon-mcp/tenon/auth/tokens"
)

// obtain gets a token after old (nil if there was none) was refused with a
// challenge. It reads the metadata every time, since the server may have
// changed its authorization server; then nothing of the old one is used.
func (p *endpoint) obtain(ctx context.Context, old *token, c challenge, step bool) (*token, error) {
	got, err := p.renewed(ctx, old, c, step)
	if wants, ok := errors.AsType[*CredentialError](err); ok {
		return nil, wants
	}
	if err != nil {
		return nil, fmt.Errorf("log in at %s: %w", canonical(p.url), err)
	}
	return got, nil
}

func (p *endpoint) renewed(ctx context.Context, old *token, c challenge, step bool) (*token, error) {
	if p.url.Scheme != "https" && !p.loopback {
		return nil, errors.New("a token is not sent over plain http; use https")
	}
	if newer := p.newer(ctx, old); newer != nil {
		return newer, nil
	}
	prot, err := p.protection(ctx, c)
	if err != nil {
		return nil, err
	}
	s, err := p.choose(ctx, prot)
	if err != nil {
		return nil, err
	}
	o := &p.transport.opts
	if s.assumed && o.identity() == nil && (o.NoLogin != nil || c.unknownScheme()) {
		return nil, p.wantsCredential(c, nil)
	}
	same := old != nil && old.Issuer == s.Issuer && old.Resource == prot.resource
	if same && !step && old.Refresh != "" && (old.accepted.Load() || old.stored) {
		got, err := p.refreshAlone(ctx, old, s)
		if err == nil || !isRefusal(err) {
			return got, err
		}
		if newer := p.newer(ctx, old); newer != nil {
			return newer, nil // another process has renewed it
		}
	}
	var before []string
	if same {
		before = old.Scopes
	}
	scopes := wantedScopes(c.scope, prot.scopes, before, o.Scopes)
	key := keyIfOffered
	switch {
	case prot.dpop || c.dpop && !c.bearer:
		key = keyAlways
	case !c.dpop && !o.PreferDPoP:
		key = keyNever
	}
	got, err := p.login(ctx, prot, s, scopes, key)
	if _, ok := errors.AsType[*registrationError](err); ok && s.assumed {
		return nil, p.wantsCredential(c, err)
	}
	return got, err
}

// protection returns what protects the server: the options say it, or the
// metadata of the server.
func (p *endpoint) protection(ctx context.Context, c challenge) (*protection, error) {
	o := &p.transport.opts
	if o.AuthorizationServer == "" {
		return findProtection(ctx, p.fetch, p.url, c.metadata, o.Resource)
	}
	return &protection{resource: cmp.Or(o.Resource, canonical(p.url)), issuers: []string{o.AuthorizationServer}}, nil
}

func (p *endpoint) wantsCredential(c challenge, err error) error {
	return &CredentialError{Server: canonical(p.url), Schemes: c.schemes, Err: err}
}

// choose returns the authorization server of the grant or of the configured
// client, or else the first one.
func (p *endpoint) choose(ctx context.Context, prot *protection) (*server, error) {
	if g := p.transport.opts.Grant; g != nil && g.issuer() != "" {
		return findServer(ctx, p.tokenClient(), g.issuer())
	}
	if len(prot.issuers) == 0 {
		return findOwnServer(ctx, p.fetch, p.url)
	}
	issuer := prot.issuers[0]
	if c := p.transport.opts.identity(); c != nil && slices.Contains(prot.issuers, c.Issuer) {
		issuer = c.Issuer
	}
	return findServer(ctx, p.fetch, issuer)
}

// tokenClient returns the client for requests to the authorization server. One
// that the configuration names may be on this machine even if the server is not.
func (p *endpoint) tokenClient() *fetch.Client {
	if g := p.transport.opts.Grant; g != nil && g.issuer() != "" {
		if u, err := url.Parse(g.issuer()); err == nil {
			p.transport.mu.Lock()
			defer p.transport.mu.Unlock()
			return p.transport.client(onLoopback(u.Hostname()))
		}
	}
	return p.fetch
}

// identity returns the configured client, if any.
func (o *Options) identity() *Client {
	if o.Grant != nil {
		return o.Grant.identity()
	}
	return o.Client
}

// A binding says whether a token must be bound to a key (DPoP).
type binding int

const (
	keyNever binding = iota
	keyIfOffered
	keyAlways
)

// login gets a token by the grant of the options or from the user. A
// registered client that is no longer known registers again, once.
func (p *endpoint) login(ctx context.Context, prot *protection, s *server, scopes []string, key binding) (*token, error) {
	got, err := p.loginOnce(ctx, prot, s, scopes, key)
	if refused, ok := errors.AsType[*ServerError](err); ok && refused.Code == "invalid_client" && p.forgetClient(ctx, s.Issuer) {
		got, err = p.loginOnce(ctx, prot, s, scopes, key)
	}
	return got, err
}

func (p *endpoint) loginOnce(ctx context.Context, prot *protection, s *server, scopes []string, key binding) (*token, error) {
	o := &p.transport.opts
	var prove *prover
	switch {
	case key == keyAlways && !s.offersDPoP():
		return nil, fmt.Errorf("%s requires DPoP tokens, but authorization server %s does not support DPoP with ES256", canonical(p.url), fetch.Redact(s.Issuer))
	case key != keyNever && s.offersDPoP():
		var err error
		if prove, err = p.transport.prover(ctx, s.Issuer); err != nil {
			return nil, err
		}
	}
	var ask *tokenRequest
	var err error
	if o.Grant != nil {
		if err := p.bind(ctx, o.Grant.identity(), s.Issuer); err != nil {
			return nil, err
		}
		ask, err = o.Grant.grant(ctx, p.tokenClient(), s, prot.resource, scopes)
	} else {
		if !o.Online {
			scopes = withOffline(scopes, s.ScopesSupported)
		}
		ask, err = p.authorizeUser(ctx, s, prot.resource, scopes, prove)
	}
	if err != nil {
		return nil, err
	}
	ask.prover = prove
	granted, err := ask.post(ctx, p.tokenClient())
	if err != nil {
		return nil, err
	}
	got := &token{Issuer: s.Issuer, Resource: prot.resource, Own: len(prot.issuers) == 0, Scopes: scopes, Redirect: ask.form.Get("redirect_uri")}
	if c := ask.client; c != nil {
		got.ClientID = c.ID
		if o.identity() == nil {
			got.ClientSecret, got.ClientAuth = c.Secret, c.AuthMethod
		}
	}
	unlock, err := p.transport.lock(ctx, p.key()) // a refresh that is under way must not be stored over this token
	if err != nil {
		o.warn("the token for %s is stored without a lock: %v", canonical(p.url), err)
	}
	defer unlock()
	return got, p.fill(ctx, got, granted, prove, key == keyAlways)
}

// fill copies the granted token into t and stores it.
func (p *endpoint) fill(ctx context.Context, t *token, g *grantedToken, prove *prover, bound bool) error {
	switch kind := strings.ToLower(g.TokenType); {
	case kind == "dpop" && prove != nil:
		t.DPoP, t.prover = true, prove
	case (kind == "bearer" || kind == "") && !bound:
	default:
		return fmt.Errorf("authorization server %s issued a token of unexpected type %q", fetch.Redact(t.Issuer), clip(g.TokenType))
	}
	life, err := g.lifetime()
	if err != nil {
		return fmt.Errorf("authorization server %s: %w", fetch.Redact(t.Issuer), err)
	}
	t.Access, t.Got, t.Expires = g.AccessToken, time.Now(), time.Time{}
	if g.RefreshToken != "" {
		t.Refresh = g.RefreshToken
	}
	if life > 0 {
		t.Expires = t.Got.Add(life)
	}
	t.saved = p.save(ctx, "token", canonical(p.url), t)
	return nil
}

// refreshOnly renews an expiring token without a user. If the authorization
// server refuses, it returns no token, and the next response of the server
// starts a login.
func (p *endpoint) refreshOnly(ctx context.Context, old *token) (*token, error) {
	if newer := p.newer(ctx, old); newer != nil {
		return newer, nil
	}
	s, err := p.serverOf(ctx, old)
	if err != nil {
		return nil, err
	}
	got, err := p.refreshAlone(ctx, old, s)
	if isRefusal(err) {
		return p.newer(ctx, old), nil // nil unless another process has renewed it
	}
	return got, err
}

func (p *endpoint) serverOf(ctx context.Context, t *token) (*server, error) {
	if t.Own {
		return findOwnServer(ctx, p.fetch, p.url)
	}
	return findServer(ctx, p.tokenClient(), t.Issuer)
}

// newer returns the token that another process has stored since old, or nil.
// A refresh token may work only once, and a user should log in once.
func (p *endpoint) newer(ctx context.Context, old *token) *token {
	t, err := p.stored(ctx)
	if err != nil || t.ending() || old != nil && (t.Access == old.Access || t.Issuer != old.Issuer) {
		return nil
	}
	return t
}

// errLoggedOut reports that another process has deleted the token. A refresh
// would store it again.
var errLoggedOut = errors.New("logged out by another program")

// refreshTimeout bounds a refresh, which other processes wait for. It is shorter
// than the 30 seconds that [tokens.Files] waits for a lock.
const refreshTimeout = 20 * time.Second

// refreshAlone refreshes a token while no other process does. An authorization
// server that rotates refresh tokens takes one that is used twice for stolen, and
// ends the login of all processes. So the request is made under the lock of the
// token, and the refresh token is the one that was stored last. The lock is for
// this token only, and held for refreshTimeout at most.
func (p *endpoint) refreshAlone(ctx context.Context, old *token, s *server) (*token, error) {
	unlock, err := p.transport.lock(ctx, p.key())
	if err != nil {
		return nil, fmt.Errorf("refresh the token: %w", err)
	}
	defer unlock()
	ctx, cancel := context.WithTimeout(ctx, refreshTimeout)
	defer cancel()
	if newer := p.newer(ctx, old); newer != nil {
		return newer, nil
	}
	if _, err := p.transport.store.Load(ctx, p.key()); errors.Is(err, tokens.ErrNotFound) && (old.stored || old.saved) {
		return nil, errLoggedOut
	}
	if last, err := p.stored(ctx); err == nil && last.Refresh != "" && last.Issuer == old.Issuer && last.Got.After(old.Got) {
		old = last // its access token has ended, too
	}
	return p.refresh(ctx, old, s)
}

// lock takes the lock of a key in the store, if the store has locks. The error
// is a [tokens.ErrLocked] or that of ctx; a store that cannot lock here is used
// without, with a warning.
func (t *Transport) lock(ctx context.Context, key string) (unlock func(), err error) {
	l, ok := t.store.(tokens.Locker)
	if !ok {
		return func() {}, nil
	}
	unlock, err = l.Lock(ctx, key)
	switch {
	case err == nil:
		return unlock, nil
	case ctx.Err() != nil || errors.Is(err, tokens.ErrLocked):
		return func() {}, err
	}
	t.opts.warn("%s is used without a lock: %v", key, err)
	return func() {}, nil
}

// refresh trades the refresh token for a new token. A server that rotates gives
// a new refresh token, too; otherwise the old one stays.
func (p *endpoint) refresh(ctx context.Context, old *token, s *server) (*token, error) {
	client, err := p.clientOf(ctx, old, s)
	if err != nil {
		return nil, err
	}
	ask := &tokenRequest{server: s, client: client, prover: old.prover, form: url.Values{
		"grant_type": {"refresh_token"}, "refresh_token": {old.Refresh}, "resource": {old.Resource},
	}}
	granted, err := ask.post(ctx, p.tokenClient())
	if err != nil {
		return nil, fmt.Errorf("refresh the token: %w", err)
	}
	got := &token{Issuer: old.Issuer, Resource: old.Resource, Own: old.Own, Refresh: old.Refresh, Scopes: old.Scopes, ClientID: old.ClientID, ClientSecret: old.ClientSecret, ClientAuth: old.ClientAuth, Redirect: old.Redirect, refreshed: true}
	return got, p.fill(ctx, got, granted, old.prover, old.DPoP)
}

// clientOf returns the client that a token was issued to. No other client
// can refresh it, so a missing client counts as a refusal.
func (p *endpoint) clientOf(ctx context.Context, t *token, s *server) (*Client, error) {
	if c := p.transport.opts.identity(); c != nil {
		if c.ID != t.ClientID {
			return nil, &ServerError{Issuer: fetch.Redact(s.Issuer), Code: "invalid_client", Description: "the token was issued to another client"}
		}
		return c, p.bind(ctx, c, s.Issuer)
	}
	if r, ok := p.registered(ctx, s.Issuer); ok && r.ClientID == t.ClientID {
		return r.client(), nil
	}
	if t.ClientAuth != "" {
		return &Client{ID: t.ClientID, Secret: t.ClientSecret, Issuer: s.Issuer, AuthMethod: t.ClientAuth}, nil
	}
	if t.ClientID == p.transport.opts.ClientIDMetadataURL && t.ClientID != "" {
		return &Client{ID: t.ClientID, Issuer: s.Issuer, AuthMethod: authNone}, nil
	}
	return nil, &ServerError{Issuer: fetch.Redact(s.Issuer), Code: "invalid_client", Description: "the client of the token no longer exists"}
}

func isRefusal(err error) bool {
	_, ok := errors.AsType[*ServerError](err)
	return ok || errors.Is(err, errLoggedOut)
}
