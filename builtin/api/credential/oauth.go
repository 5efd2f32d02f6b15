package credential

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/auth/protect"
	"github.com/tenon-mcp/tenon/auth/tokens"
	"github.com/tenon-mcp/tenon/builtin/api/spec"
	"github.com/tenon-mcp/tenon/mcp"
)

// oauth obtains tokens by OAuth 2: for the server itself, or for each caller.
type oauth struct {
	spec   spec.Auth // with its references replaced
	opts   *Options
	store  tokens.Store
	basic  *url.Userinfo // the client, if it is sent in a header
	prefix string        // of keys in the store

	mu       sync.Mutex
	accounts map[string]*account
}

// An account is the account of the server or of one caller.
type account struct {
	*holder
	key   string
	login *login // a login that waits for the user; nil if there is none
}

// maxAccounts is the maximum number of accounts in memory; their tokens are in the
// store.
const maxAccounts = 10_000

func newOAuth(a *spec.Auth, o *Options, get, public func(string) string) *oauth {
	c := &oauth{spec: *a, opts: o, store: o.Tokens, accounts: map[string]*account{}}
	c.spec.ClientID, c.spec.ClientSecret = public(a.ClientID), get(a.ClientSecret)
	c.spec.TokenURL, c.spec.DeviceURL, c.spec.AuthorizeURL = public(a.TokenURL), public(a.DeviceURL), public(a.AuthorizeURL)
	if a.ClientAuth == "basic" {
		c.basic = url.UserPassword(c.spec.ClientID, c.spec.ClientSecret)
	}
	if c.perCaller() && o.CallerTokens != nil {
		c.store = o.CallerTokens
	}
	if c.store == nil {
		c.store = &tokens.Files{}
	}
	sum := sha256.Sum256([]byte(strings.Join([]string{c.spec.TokenURL, c.spec.ClientID, a.Grant, strings.Join(a.Scopes, " ")}, "\x00")))
	c.prefix = "api " + hex.EncodeToString(sum[:12]) + " "
	return c
}

// Account implements [Credential]. An exchanged token belongs to the token that it
// was exchanged for, which may allow less than another one of the same caller.
func (c *oauth) Account(ctx context.Context, call *mcp.Call) string {
	if !c.perCaller() {
		return "server"
	}
	key := callerKey
	if call != nil {
		key += call.Caller.Principal.Key()
	}
	if c.spec.Grant == "exchange" {
		sum := sha256.Sum256([]byte(protect.Token(ctx)))
		key += " " + hex.EncodeToString(sum[:])
	}
	return key
}

// Login implements [Credential].
func (c *oauth) Login(ctx context.Context, call *mcp.Call) string {
	if !c.logsIn() {
		return noLogin
	}
	a := c.account(ctx, call)
	c.forgetRemoved(ctx, a)
	return a.loginKey()
}

// logsIn reports whether a user logs in.
func (c *oauth) logsIn() bool { return c.spec.Grant == "code" || c.spec.Grant == "device" }

// perCaller reports whether each caller has an account of its own.
func (c *oauth) perCaller() bool { return c.spec.Account == "caller" || c.spec.Grant == "exchange" }

// errNoCaller refuses calls without a caller: all of them would share one account.
var errNoCaller = errors.New("the file has an account for each caller, and this server does not know who calls: serve it over HTTP with authorization, or let the file have one account for all")

func (c *oauth) account(ctx context.Context, call *mcp.Call) *account {
	key := c.Account(ctx, call)
	c.mu.Lock()
	defer c.mu.Unlock()
	a := c.accounts[key]
	if a == nil {
		for other := range c.accounts {
			if len(c.accounts) < maxAccounts {
				break
			}
			delete(c.accounts, other)
		}
		a = &account{holder: newHolder(), key: key}
		c.accounts[key] = a
	}
	return a
}

// Refused implements [Credential].
func (c *oauth) Refused(ctx context.Context, call *mcp.Call, used Token) bool {
	return c.account(ctx, call).refused(used)
}

// Ready implements [Credential].
func (c *oauth) Ready(ctx context.Context, call *mcp.Call) (Token, error) {
	if c.perCaller() && (call == nil || call.Caller.Principal == nil) {
		return nil, fmt.Errorf("log in to %s: %w", c.opts.Service, errNoCaller)
	}
	a := c.account(ctx, call)
	c.forgetRemoved(ctx, a)
	t, err := a.get(ctx, func(old *token) (*token, error) { return c.obtain(ctx, call, a, old) })
	if err != nil {
		if _, asks := errors.AsType[*mcp.InputRequired](err); asks {
			return nil, err
		}
		return nil, fmt.Errorf("log in to %s: %w", c.opts.Service, err)
	}
	return t, nil
}

// obtain returns a token: the stored one, a refreshed one, or a new one.
func (c *oauth) obtain(ctx context.Context, call *mcp.Call, a *account, old *token) (*token, error) {
	switch c.spec.Grant {
	case "client_credentials":
		return c.request(ctx, a.key, url.Values{"grant_type": {"client_credentials"}})
	case "exchange":
		return c.exchange(ctx, a.key)
	}
	t, err := c.renew(ctx, a, old)
	if t != nil || err != nil {
		return t, err
	}
	if t, err = c.loginUser(ctx, call, a); err != nil {
		return nil, err
	}
	t.API, t.Since = c.opts.Name, time.Now().UTC().Truncate(time.Second)
	return t, c.save(context.WithoutCancel(ctx), a, t) // the user does not log in again for a call that was cancelled
}

// renew returns the stored token if it is another one than old and valid, or else
// a refreshed one. It returns nil if the user has to log in. Other processes may use
// the same login: one at a time refreshes it, because its refresh token may be for
// one use.
func (c *oauth) renew(ctx context.Context, a *account, old *token) (*token, error) {
	if locker, ok := c.store.(tokens.Locker); ok {
		unlock, err := locker.Lock(ctx, c.prefix+a.key)
		if err != nil {
			return nil, err
		}
		defer unlock()
	}
	saved, err := c.store.Load(ctx, c.prefix+a.key)
	if err != nil && !errors.Is(err, tokens.ErrNotFound) {
		return nil, err
	}
	if t := decodeToken(saved); t != nil && !t.same(old) {
		c.opts.learned(a.key, t.Access, t.Refresh)
		if old = t; t.valid(time.Now()) {
			return t, nil
		}
	}
	if old == nil || old.Refresh == "" {
		return nil, nil
	}
	// The old refresh token may be used up now: a call that is cancelled meanwhile must
	// not lose the new one. The timeout of the client applies.
	ctx = context.WithoutCancel(ctx)
	t, err := c.request(ctx, a.key, url.Values{"grant_type": {"refresh_token"}, "refresh_token": {old.Refresh}})
	if err == nil {
		t.Refresh = cmp.Or(t.Refresh, old.Refresh)
		t.API, t.Since = old.API, old.Since
		return t, c.save(ctx, a, t)
	}
	if _, refused := errors.AsType[*tokenError](err); refused {
		err = nil
	}
	return nil, err
}

// forgetRemoved forgets the token of a caller whose login was removed from the store
// by another process.
func (c *oauth) forgetRemoved(ctx context.Context, a *account) {
	if !c.logsIn() || !a.due(time.Now()) {
		return
	}
	if _, err := c.store.Load(ctx, c.prefix+a.key); errors.Is(err, tokens.ErrNotFound) {
		a.set(nil)
	}
}

// same reports whether t is the token old, of which the API may have refused the
// access token.
func (t *token) same(old *token) bool {
	return old != nil && t.Refresh == old.Refresh && (old.Access == "" || t.Access == old.Access)
}

func (c *oauth) save(ctx context.Context, a *account, t *token) error {
	return c.store.Save(ctx, c.prefix+a.key, encodeToken(t))
}

// request sends a token request of the client for an account.
func (c *oauth) request(ctx context.Context, account string, form url.Values) (*token, error) {
	if c.basic == nil {
		form.Set("client_id", c.spec.ClientID)
		if c.spec.ClientSecret != "" {
			form.Set("client_secret", c.spec.ClientSecret)
		}
	}
	if len(c.spec.Scopes) > 0 && form.Get("grant_type") != "refresh_token" {
		form.Set("scope", strings.Join(c.spec.Scopes, " "))
	}
	for name, value := range c.spec.Params {
		form.Set(name, value)
	}
	var res tokenResponse
	if err := post(ctx, c.opts.Client, c.spec.TokenURL, form, c.basic, &res); err != nil {
		return nil, err
	}
	t, err := res.token(time.Now())
	if err != nil {
		return nil, err
	}
	c.opts.learned(account, t.Access, t.Refresh)
	return t, nil
}

// exchange exchanges the token of the caller for one of the API (RFC 8693).
func (c *oauth) exchange(ctx context.Context, account string) (*token, error) {
	subject := protect.Token(ctx)
	if subject == "" {
		return nil, errors.New("the caller has no token to exchange; serve with authorization that keeps tokens")
	}
	c.opts.learned(account, subject)
	return c.request(ctx, account, url.Values{
		"grant_type":         {"urn:ietf:params:oauth:grant-type:token-exchange"},
		"subject_token":      {subject},
		"subject_token_type": {"urn:ietf:params:oauth:token-type:access_token"},
	})
}
