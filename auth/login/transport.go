package login

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/tenon-mcp/tenon/auth/fetch"
	"github.com/tenon-mcp/tenon/auth/tokens"
)

// A Transport is an [http.RoundTripper] that logs in where a server requires
// it. It is safe for concurrent use and for several servers; each gets only
// its own tokens.
//
// A request with an Authorization header is sent unchanged. A request whose
// body cannot be sent twice (no GetBody) is not repeated: the caller gets
// the 401.
type Transport struct {
	opts  Options
	base  http.RoundTripper
	store tokens.Store
	pages *PageLimit

	mu      sync.Mutex
	places  map[string]*endpoint
	last    lastEndpoint
	clients [2]*fetch.Client // for other machines and for this machine

	provers map[string]*storedProver // by issuer
}

// lastEndpoint is the endpoint of the last request: most Transports have one.
type lastEndpoint struct {
	url   url.URL
	place *endpoint
}

const (
	maxEndpoints = 256 // maximum number of endpoints
	maxSends     = 6   // maximum number of times one request is sent

	maxRenewals = 2 // token renewals for one request: a refresh and a login
)

// New returns a Transport.
func New(o *Options) *Transport {
	if o == nil {
		o = &Options{}
	}
	t := &Transport{opts: *o, base: o.Base, store: o.Store, pages: o.Pages, places: map[string]*endpoint{}, provers: map[string]*storedProver{}}
	t.pages = cmp.Or(t.pages, &PageLimit{})
	if t.base == nil {
		t.base = http.DefaultTransport
	}
	if t.store == nil {
		t.store = &tokens.Memory{}
	}
	return t
}

// Format hides the tokens from every verb of package fmt.
func (t *Transport) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte("(login)")) }

// CloseIdleConnections closes idle connections.
func (t *Transport) CloseIdleConnections() {
	if base, ok := t.base.(interface{ CloseIdleConnections() }); ok {
		base.CloseIdleConnections()
	}
	t.mu.Lock()
	clients := t.clients
	t.mu.Unlock()
	for _, f := range clients {
		if f != nil && f != t.opts.Fetch {
			f.Close()
		}
	}
}

// Forget logs out of the server at address: it deletes the stored token and
// cancels a login or refresh in progress. It does not revoke the token.
func (t *Transport) Forget(ctx context.Context, address string) error {
	u, err := url.Parse(address)
	if err != nil {
		return fmt.Errorf("invalid server address")
	}
	t.mu.Lock()
	var gone []*endpoint
	for name, p := range t.places {
		if p.covers(u) {
			gone = append(gone, p)
			delete(t.places, name)
		}
	}
	t.last = lastEndpoint{}
	t.mu.Unlock()
	for _, p := range gone {
		if err := p.abandon(ctx); err != nil {
			return err
		}
	}
	key := t.opts.key("token", canonical(u))
	unlock, err := t.lock(ctx, key) // another process may be refreshing the token
	if err != nil {
		return fmt.Errorf("log out: %w", err)
	}
	defer unlock()
	return t.store.Delete(ctx, key)
}

// Login logs in at the server at address now, instead of when it refuses a
// request, and stores the token. It sends one request without a token, a ping,
// for the challenge of the server. If another Transport has stored a token since,
// Login uses that one.
func (t *Transport) Login(ctx context.Context, address string) error {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return fmt.Errorf("invalid server address")
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
	if err != nil {
		return fmt.Errorf("invalid server address")
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	resp, err := t.base.RoundTrip(req)
	if err != nil {
		return fmt.Errorf("log in at %s: %w", canonical(u), err)
	}
	_ = resp.Body.Close() // without reading: it may never end
	var c challenge
	if resp.StatusCode == http.StatusUnauthorized {
		c = readChallenge(resp.Header)
	}
	p := t.endpoint(u)
	return p.renew(ctx, nil, forRenewal, func(ctx context.Context) (*token, error) { return p.obtain(ctx, nil, c, false) })
}

// Token returns the access token that the Transport sends to the server at
// address. It is nil if there is none, or if it has expired.
func (t *Transport) Token(ctx context.Context, address string) (tokens.Secret, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, fmt.Errorf("invalid server address")
	}
	now, err := t.endpoint(u).current(ctx)
	if err != nil || now == nil {
		return nil, err
	}
	return tokens.Secret(now.Access), nil
}

// LoggedIn reports whether the store has a token for the server at address. The
// server may refuse it.
func (t *Transport) LoggedIn(ctx context.Context, address string) (bool, error) {
	u, err := url.Parse(address)
	if err != nil {
		return false, fmt.Errorf("invalid server address")
	}
	_, err = t.store.Load(ctx, t.opts.key("token", canonical(u)))
	if errors.Is(err, tokens.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// RoundTrip implements [http.RoundTripper]. The flow of a request is:
//
//	send with the known token, or none
//	  accepted                     -> return the response
//	  requires a nonce (DPoP)      -> send again, once for each token
//	  401                          -> refresh, else log in, then send again
//	  401 for a new token          -> return the response
//	  403 insufficient_scope       -> log in for more scopes, then send again
//	  403 after two of these       -> return the response
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Header.Get("Authorization") != "" || req.URL.Scheme != "http" && req.URL.Scheme != "https" {
		return t.base.RoundTrip(req)
	}
	p := t.endpoint(req.URL)
	j := &exchange{transport: t, place: p, original: req}
	for {
		var err error
		if j.token, err = p.current(req.Context()); err != nil {
			j.closeBody()
			return nil, err
		}
		resp, err := j.send()
		if err != nil {
			return nil, err
		}
		again, err := j.handleResponse(resp)
		if err != nil || again {
			_ = resp.Body.Close() // without reading: it may never end
		}
		if err != nil {
			return nil, err
		}
		if !again {
			return resp, nil
		}
	}
}

// An exchange is the state of one request.
type exchange struct {
	transport *Transport
	place     *endpoint
	original  *http.Request

	token   *token
	sends   int
	renewed int    // number of renewals after a 401
	nonced  *token // the token for which a nonce was required
	steps   int    // number of renewals after a 403
	stepped string // the scopes of the last step-up
}

func (j *exchange) closeBody() {
	if j.sends == 0 && j.original.Body != nil {
		_ = j.original.Body.Close()
	}
}

// send sends the request with the current token.
func (j *exchange) send() (*http.Response, error) {
	if j.sends == 0 && j.token == nil {
		j.sends++
		return j.transport.base.RoundTrip(j.original)
	}
	req := j.original.Clone(j.original.Context())
	if j.sends > 0 && j.original.GetBody != nil {
		body, err := j.original.GetBody()
		if err != nil {
			return nil, fmt.Errorf("repeat the request after the login: %w", err)
		}
		req.Body = body
	}
	if tok := j.token; tok != nil {
		scheme := "Bearer "
		if tok.DPoP {
			scheme = "DPoP "
			proof, err := tok.prover.prove(req.Method, req.URL, tok.Access)
			if err != nil {
				j.closeBody()
				return nil, err
			}
			req.Header.Set("DPoP", proof)
		}
		req.Header.Set("Authorization", scheme+tok.Access)
	}
	j.sends++
	return j.transport.base.RoundTrip(req)
}

// handleResponse handles a response: it obtains what is needed to send the request
// again, or reports that the response is final.
func (j *exchange) handleResponse(resp *http.Response) (again bool, err error) {
	p, tok := j.place, j.token
	newNonce := tok != nil && tok.DPoP && tok.prover.receive(j.original.URL, resp.Header)
	wants := resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden
	if !wants {
		p.markAccepted(tok, j.original.Method, j.stepped)
		return false, nil
	}
	c := readChallenge(resp.Header)
	switch {
	case j.sends >= maxSends || j.original.Body != nil && j.original.Body != http.NoBody && j.original.GetBody == nil:
		return false, nil
	case resp.StatusCode == http.StatusUnauthorized && c.err == "use_dpop_nonce":
		if !newNonce || j.nonced == tok {
			return false, nil
		}
		j.nonced = tok
		return true, nil
	case resp.StatusCode == http.StatusUnauthorized:
		if j.renewed >= maxRenewals || p.neverAccepted(tok) || tok != nil && p.methodRefused(j.original.Method) {
			if j.renewed > 0 {
				p.markRefused(j.original.Method)
			}
			return false, nil
		}
		j.renewed++
		return true, p.renew(j.original.Context(), j.seen(), forRenewal, func(ctx context.Context) (*token, error) { return p.obtain(ctx, tok, c, false) })
	case tok == nil || c.err != "insufficient_scope":
		p.markAccepted(tok, j.original.Method, "")
		return false, nil
	}
	return j.stepUp(c)
}

// stepUp logs in for more scopes. It returns false, so that the caller gets
// the response of the server, if the request has used its step-ups or the
// page limit is reached.
func (j *exchange) stepUp(c challenge) (bool, error) {
	p, tok := j.place, j.token
	if g := j.transport.opts.Grant; g != nil && !g.repeats() || j.steps >= maxSteps {
		return false, nil
	}
	key := scopeKey(splitScopes(c.scope))
	if !p.mayStep(tok, key) {
		return false, nil
	}
	j.steps++
	j.stepped = key
	err := p.renew(j.original.Context(), tok, forStepUp, func(ctx context.Context) (*token, error) { return p.obtain(ctx, tok, c, true) })
	if _, ok := errors.AsType[*PageLimitError](err); ok {
		return false, nil
	}
	return true, err
}

// seen returns the token that this request knows: the one that was sent, or
// an expired one that was not sent.
func (j *exchange) seen() *token {
	if j.token != nil {
		return j.token
	}
	j.place.mu.Lock()
	defer j.place.mu.Unlock()
	if now := j.place.now; now != nil && now.ended() {
		return now
	}
	return nil
}

// endpoint returns the endpoint of an address, and creates it if necessary.
func (t *Transport) endpoint(u *url.URL) *endpoint {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.last.place == nil || t.last.url != *u {
		t.last = lastEndpoint{*u, t.endpointLocked(u)}
	}
	return t.last.place
}

func (t *Transport) endpointLocked(u *url.URL) *endpoint {
	name := canonical(u)
	if p := t.places[name]; p != nil {
		return p
	}
	for _, p := range t.places {
		if p.covers(u) {
			return p
		}
	}
	for old := range t.places {
		if len(t.places) < maxEndpoints {
			break
		}
		delete(t.places, old)
	}
	at := *u
	at.Fragment, at.RawFragment, at.User = "", "", nil
	p := &endpoint{transport: t, url: &at, loopback: onLoopback(u.Hostname())}
	p.fetch = t.client(p.loopback)
	t.places[name] = p
	return p
}

// client returns the fetch client for servers on this machine or elsewhere.
func (t *Transport) client(loopback bool) *fetch.Client {
	if t.opts.Fetch != nil {
		return t.opts.Fetch
	}
	i := 0
	if loopback {
		i = 1
	}
	if t.clients[i] == nil {
		t.clients[i] = fetch.New(&fetch.Options{AllowLoopback: loopback, Proxy: t.opts.Proxy})
	}
	return t.clients[i]
}

// covers reports whether the token of the endpoint may be sent to an address.
func (p *endpoint) covers(u *url.URL) bool {
	if canonical(p.url) == canonical(u) {
		return true
	}
	if origin(p.url) != origin(u) || p.transport.opts.Resource != "" {
		return false
	}
	p.mu.Lock()
	now := p.now
	p.mu.Unlock()
	if now == nil {
		return false
	}
	r, err := url.Parse(now.Resource)
	return err == nil && origin(r) == origin(u) && covers(r, u)
}
