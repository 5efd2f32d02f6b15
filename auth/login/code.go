package login

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/auth/fetch"
)

// An errand is one login of a person: what was asked, and what the answer must
// show. It is made before the browser is sent away and used once.
type errand struct {
	server   *server // its issuer is the one that the answer must come from
	redirect string
	state    string
	verifier string
}

// byPerson logs a person in: a page in a browser, a code, a token.
func (p *place) byPerson(ctx context.Context, s *server, resource string, scopes []string, prove *prover) (*tokenRequest, error) {
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
	desk, err := p.transport.opts.reception(preferred)
	if err != nil {
		return nil, err
	}
	defer desk.close()
	client, err := p.identify(ctx, s, desk.redirect)
	if err != nil {
		return nil, err
	}
	if _, _, err := (&tokenRequest{server: s, client: client}).authenticated(); err != nil {
		return nil, err // before the person logs in for nothing
	}
	e := &errand{server: s, redirect: desk.redirect, state: random(), verifier: random()}
	page, err := e.page(client.ID, resource, scopes, prove, p.loopback)
	if err != nil {
		return nil, err
	}
	callback, err := p.show(ctx, desk, page)
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

// show shows the page to a person, if the limit on pages allows it, and waits
// for the browser to come back.
func (p *place) show(ctx context.Context, desk *reception, page string) (*url.URL, error) {
	if err := p.transport.pages.take(time.Now(), canonical(p.url), origin(p.url)); err != nil {
		return nil, err
	}
	callback, err := desk.authorize(ctx, page)
	if err != nil {
		return nil, fmt.Errorf("the login was not finished: %w", err)
	}
	return callback, nil
}

// page is the address that the browser opens.
func (e *errand) page(client, resource string, scopes []string, prove *prover, loopback bool) (string, error) {
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
		q.Set("prompt", "consent") // OpenID Connect gives it on no other terms
	}
	if prove != nil {
		q.Set("dpop_jkt", prove.thumbprint)
	}
	u.RawQuery = q.Encode()
	return u.String(), nil
}

var errForeignCallback = errors.New("the browser came back with an answer to a question that was not asked: it is not used")

// read takes the code out of the callback. Nothing of the callback is believed
// or shown before state and issuer are known to be right.
func (e *errand) read(callback *url.URL) (string, error) {
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
		return "", fmt.Errorf("the answer to the login names another issuer than %s: it is not used, for somebody may have mixed up two authorization servers", issuer)
	case !there && e.server.SendsIssuer:
		return "", fmt.Errorf("the answer to the login names no issuer, although %s says that its answers do: it is not used", issuer)
	}
	if code := q.Get("error"); code != "" {
		return "", &ServerError{Issuer: issuer, Code: clip(code), Description: clip(q.Get("error_description"))}
	}
	if q.Get("code") == "" {
		return "", fmt.Errorf("the answer to the login at %s has neither a code nor an error", issuer)
	}
	return q.Get("code"), nil
}

// sameTarget reports whether a callback went to the redirect URI.
func sameTarget(callback *url.URL, redirect string) bool {
	want, err := url.Parse(redirect)
	return err == nil && callback.Scheme == want.Scheme && strings.EqualFold(callback.Host, want.Host) && callback.EscapedPath() == want.EscapedPath()
}

// A reception is where a person is sent off and received again.
type reception struct {
	redirect  string
	authorize func(ctx context.Context, page string) (*url.URL, error)
	close     func()
}

// reception opens before anything is asked, since the redirect URI is part of
// the question. Preferred is the one that was registered earlier.
func (o *Options) reception(preferred string) (*reception, error) {
	if o.Authorize != nil {
		if o.RedirectURI == "" {
			return nil, errors.New("no login: Authorize is set and RedirectURI is not, so nobody knows where the browser comes back to")
		}
		if u, err := url.Parse(o.RedirectURI); err != nil || u.Host == "" || u.Fragment != "" || u.Scheme != "https" && !(u.Scheme == "http" && onLoopback(u.Hostname())) {
			return nil, fmt.Errorf("RedirectURI %q cannot be used: it must be https, or http on this machine", clip(o.RedirectURI))
		}
		return &reception{redirect: o.RedirectURI, authorize: o.Authorize, close: func() {}}, nil
	}
	l := o.Loopback
	if l == nil {
		l = &Loopback{}
	}
	desk, err := l.open(o.RedirectURI, preferred)
	if err != nil {
		return nil, err
	}
	return &reception{redirect: desk.redirect, authorize: desk.authorize, close: desk.close}, nil
}
