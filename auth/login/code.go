package login

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/auth/fetch"
)

// An authorization is one authorization request. It is made before the browser is
// opened and used once.
type authorization struct {
	server   *server // the response must have its issuer
	redirect string
	state    string
	verifier string
}

// authorizeUser obtains a token by the authorization code grant: the user logs in
// with a browser.
func (p *endpoint) authorizeUser(ctx context.Context, s *server, resource string, scopes []string, prove *prover) (*tokenRequest, error) {
	if err := s.checkPKCE(); err != nil {
		return nil, err
	}
	if _, err := s.checkPage(p.loopback); err != nil {
		return nil, err
	}
	if err := p.transport.opts.NoLogin; err != nil {
		return nil, err
	}
	if err := p.mayShow(time.Now()); err != nil {
		return nil, err
	}
	preferred := ""
	if r, ok := p.registered(ctx, s.Issuer); ok && len(r.RedirectURIs) > 0 {
		preferred = r.RedirectURIs[0]
	}
	receiver, err := p.transport.opts.openReceiver(preferred)
	if err != nil {
		return nil, err
	}
	defer receiver.close()
	client, err := p.identify(ctx, s, receiver.redirect)
	if err != nil {
		return nil, err
	}
	if _, _, err := (&tokenRequest{server: s, client: client}).authenticated(); err != nil {
		return nil, err // check before the user logs in
	}
	e := &authorization{server: s, redirect: receiver.redirect, state: random(), verifier: random()}
	page, err := e.page(client.ID, resource, scopes, prove, p.loopback)
	if err != nil {
		return nil, err
	}
	callback, err := p.showPage(ctx, receiver, page)
	if err != nil {
		return nil, err
	}
	code, err := e.read(callback)
	if err != nil {
		return nil, err
	}
	return &tokenRequest{server: s, client: client, form: url.Values{
		"grant_type": {"authorization_code"}, "code": {code}, "redirect_uri": {e.redirect},
		"code_verifier": {e.verifier}, "resource": {resource},
	}}, nil
}

// showPage shows the page to the user, if the PageLimit allows it, and waits for
// the callback.
func (p *endpoint) showPage(ctx context.Context, receiver *callbackReceiver, page string) (*url.URL, error) {
	if err := p.transport.pages.take(time.Now(), canonical(p.url), origin(p.url)); err != nil {
		return nil, err
	}
	callback, err := receiver.authorize(ctx, page)
	if err != nil {
		return nil, fmt.Errorf("wait for the login: %w", err)
	}
	return callback, nil
}

// page returns the URL that the browser opens.
func (e *authorization) page(client, resource string, scopes []string, prove *prover, loopback bool) (string, error) {
	u, err := e.server.checkPage(loopback)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(e.verifier))
	q := u.Query()
	q.Set("response_type", "code")
	q.Set("client_id", client)
	q.Set("redirect_uri", e.redirect)
	q.Set("state", e.state)
	q.Set("code_challenge", base64.RawURLEncoding.EncodeToString(sum[:]))
	q.Set("code_challenge_method", "S256")
	q.Set("resource", resource)
	q.Del("scope")
	addScopes(q, scopes)
	if slices.Contains(scopes, offlineAccess) {
		q.Set("prompt", "consent") // OpenID Connect requires it for offline_access
	}
	if prove != nil {
		q.Set("dpop_jkt", prove.thumbprint)
	}
	u.RawQuery = q.Encode()
	return u.String(), nil
}

var errForeignCallback = errors.New("unexpected login response: its state does not match this login")

// read returns the code of the callback. It checks state and issuer before
// it uses anything else.
func (e *authorization) read(callback *url.URL) (string, error) {
	if callback == nil || !sameTarget(callback, e.redirect) {
		return "", errForeignCallback
	}
	q, err := url.ParseQuery(callback.RawQuery)
	if err != nil {
		return "", errForeignCallback
	}
	for _, name := range []string{"state", "iss", "code", "error"} {
		if len(q[name]) > 1 {
			return "", errForeignCallback
		}
	}
	state := e.state
	e.state = "" // once only
	if state == "" || subtle.ConstantTimeCompare([]byte(state), []byte(q.Get("state"))) != 1 {
		return "", errForeignCallback
	}
	issuer := fetch.Redact(e.server.Issuer)
	switch _, there := q["iss"]; {
	case there && q.Get("iss") != e.server.Issuer:
		return "", fmt.Errorf("the login response does not come from issuer %s (possible mix-up attack)", issuer)
	case !there && e.server.SendsIssuer:
		return "", fmt.Errorf("the login response has no issuer, but %s promises one", issuer)
	}
	if code := q.Get("error"); code != "" {
		return "", &ServerError{Issuer: issuer, Code: clip(code), Description: clip(q.Get("error_description"))}
	}
	if q.Get("code") == "" {
		return "", fmt.Errorf("the login response of %s has neither a code nor an error", issuer)
	}
	return q.Get("code"), nil
}

// sameTarget reports whether a callback went to the redirect URI.
func sameTarget(callback *url.URL, redirect string) bool {
	want, err := url.Parse(redirect)
	return err == nil && callback.Scheme == want.Scheme && strings.EqualFold(callback.Host, want.Host) && callback.EscapedPath() == want.EscapedPath()
}

// A callbackReceiver opens login pages and receives the callbacks.
type callbackReceiver struct {
	redirect  string
	authorize func(ctx context.Context, page string) (*url.URL, error)
	close     func()
}

// openReceiver opens the receiver of the callback. It is opened before the page,
// because the redirect URI is part of the authorization request. preferred is the
// URI that was registered earlier.
func (o *Options) openReceiver(preferred string) (*callbackReceiver, error) {
	if o.Authorize != nil {
		if o.RedirectURI == "" {
			return nil, errors.New("RedirectURI is not set, but Authorize needs it")
		}
		if u, err := url.Parse(o.RedirectURI); err != nil || u.Host == "" || u.Fragment != "" || u.Scheme != "https" && !(u.Scheme == "http" && onLoopback(u.Hostname())) {
			return nil, fmt.Errorf("RedirectURI %q must be https, or http on this machine", clip(o.RedirectURI))
		}
		return &callbackReceiver{redirect: o.RedirectURI, authorize: o.Authorize, close: func() {}}, nil
	}
	l := o.Loopback
	if l == nil {
		l = &Loopback{}
	}
	receiver, err := l.open(o.RedirectURI, preferred)
	if err != nil {
		return nil, err
	}
	return &callbackReceiver{redirect: receiver.redirect, authorize: receiver.authorize, close: receiver.close}, nil
}

const maxFollow = 10

// Follow returns an Authorize function for authorization servers that need
// no user: it requests the page and follows redirects until one leads to
// redirectURI. It is for tests and for servers that know this machine. A
// page that does not redirect is an error. A nil f means [fetch.New] with
// defaults.
func Follow(f *fetch.Client, redirectURI string) func(ctx context.Context, page string) (*url.URL, error) {
	if f == nil {
		f = fetch.New(nil)
	}
	client := &http.Client{
		Transport:     f.Transport(),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return func(ctx context.Context, page string) (*url.URL, error) {
		for range maxFollow {
			next, err := step(ctx, client, page)
			if err != nil {
				return nil, err
			}
			if sameTarget(next, redirectURI) {
				return next, nil
			}
			page = next.String()
		}
		return nil, fmt.Errorf("the login page redirected more than %d times", maxFollow)
	}
}

// step requests one page and returns the target of its redirect.
func step(ctx context.Context, client *http.Client, page string) (*url.URL, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, page, nil)
	if err != nil {
		return nil, errors.New("request the login page: invalid URL")
	}
	resp, err := client.Do(req)
	if err != nil {
		if wrapped, ok := errors.AsType[*url.Error](err); ok {
			err = wrapped.Err // the URL contains the state
		}
		return nil, fmt.Errorf("request the login page: %w", err)
	}
	_ = resp.Body.Close()
	next, err := resp.Location()
	if err != nil || resp.StatusCode/100 != 3 || !strings.HasPrefix(next.Scheme, "http") {
		return nil, fmt.Errorf("the login page needs a user: status %d instead of a redirect", resp.StatusCode)
	}
	return next, nil
}
