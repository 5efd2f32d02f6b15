package login

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"

	"github.com/tenon-mcp/tenon/auth/fetch"
	"github.com/tenon-mcp/tenon/auth/tokens"
)

// A Transport is an [http.RoundTripper] that logs in where it is asked to. It
// may be used by many goroutines and for several servers; each gets only the
// tokens that are meant for it.
//
// A request that brings its own Authorization header is left alone. One whose
// body cannot be sent twice (no GetBody) is not repeated: its 401 is handed to
// the caller.
type Transport struct {
	opts  Options
	base  http.RoundTripper
	store tokens.Store
	pages *PageLimit

	mu      sync.Mutex
	places  map[string]*place
	clients [2]*fetch.Client // for servers elsewhere and on this machine

	provers map[string]*keptProver // by issuer
}

const (
	maxPlaces = 256 // addresses that are remembered
	maxSends  = 6   // how often one request is sent at most

	maxRenewals = 2 // of the token, for one request: a refresh and a login
)

// New makes a Transport.
func New(o *Options) *Transport {
	if o == nil {
		o = &Options{}
	}
	t := &Transport{opts: *o, base: o.Base, store: o.Store, pages: o.Pages, places: map[string]*place{}, provers: map[string]*keptProver{}}
	if t.pages == nil {
		t.pages = &PageLimit{}
	}
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

// CloseIdleConnections drops connections that are not in use.
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

// Forget logs out of the server at address: its token is deleted here, and a
// login or refresh that is under way is cancelled. The token is not revoked
// there.
func (t *Transport) Forget(ctx context.Context, address string) error {
	u, err := url.Parse(address)
	if err != nil {
		return fmt.Errorf("this is not the address of a server")
	}
	t.mu.Lock()
	var gone []*place
	for name, p := range t.places {
		if p.covers(u) {
			gone = append(gone, p)
			delete(t.places, name)
		}
	}
	t.mu.Unlock()
	for _, p := range gone {
		if err := p.abandon(ctx); err != nil {
			return err
		}
	}
	return t.store.Delete(ctx, t.opts.key("token", canonical(u)))
}

// RoundTrip implements [http.RoundTripper]. The journey of a request:
//
//	send with the token that is known, or none
//	  taken                        -> hand over the answer
//	  wants a nonce (DPoP)         -> send again, once for each token
//	  401                          -> refresh, else log in, then send again
//	  401 to a token just got      -> hand over the answer
//	  403 insufficient_scope       -> log in for more, then send again
//	  the same after two of these  -> hand over the answer
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Header.Get("Authorization") != "" || req.URL.Scheme != "http" && req.URL.Scheme != "https" {
		return t.base.RoundTrip(req)
	}
	p := t.place(req.URL)
	j := &journey{transport: t, place: p, original: req}
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
		again, err := j.consider(resp)
		if err != nil || again {
			_ = resp.Body.Close() // unread: it may never end
		}
		if err != nil {
			return nil, err
		}
		if !again {
			return resp, nil
		}
	}
}

// A journey is one request on its way.
type journey struct {
	transport *Transport
	place     *place
	original  *http.Request

	token   *token
	sends   int
	renewed int    // how often a 401 was answered with another token
	nonced  *token // the token for which a nonce was asked
	steps   int    // how often a 403 was answered with another token
	stepped string // the scopes that were stepped up to
}

func (j *journey) closeBody() {
	if j.sends == 0 && j.original.Body != nil {
		_ = j.original.Body.Close()
	}
}

// send sends the request with the token of the moment.
func (j *journey) send() (*http.Response, error) {
	req := j.original.Clone(j.original.Context())
	if j.sends > 0 && j.original.GetBody != nil {
		body, err := j.original.GetBody()
		if err != nil {
			return nil, fmt.Errorf("send the request again after the login: %w", err)
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

// consider looks at an answer and does what it takes to send the request again,
// or reports that the answer is to be handed over.
func (j *journey) consider(resp *http.Response) (again bool, err error) {
	p, tok := j.place, j.token
	newNonce := tok != nil && tok.DPoP && tok.prover.receive(j.original.URL, resp.Header)
	wants := resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden
	if !wants {
		p.took(tok, j.original.Method, j.stepped)
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
		if j.renewed >= maxRenewals || p.hopeless(tok) || tok != nil && p.stubborn(j.original.Method) {
			if j.renewed > 0 {
				p.gaveUp(j.original.Method)
			}
			return false, nil
		}
		j.renewed++
		return true, p.renew(j.original.Context(), j.seen(), toGoOn, func(ctx context.Context) (*token, error) { return p.obtain(ctx, tok, c, false) })
	case tok == nil || c.err != "insufficient_scope":
		p.took(tok, j.original.Method, "")
		return false, nil
	}
	return j.stepUp(c)
}

// stepUp logs in for more scopes. It reports false, so that the caller gets the
// server's own answer, if the request has had its step-ups or the person has
// seen enough login pages for this server.
func (j *journey) stepUp(c challenge) (bool, error) {
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
	err := p.renew(j.original.Context(), tok, toStepUp, func(ctx context.Context) (*token, error) { return p.obtain(ctx, tok, c, true) })
	if _, ok := errors.AsType[*PageLimitError](err); ok {
		return false, nil
	}
	return true, err
}

// seen is what this request knows to be the token of its place: the one that
// was sent, or one that has ended and was therefore not sent.
func (j *journey) seen() *token {
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

// place finds what is known about an address, or makes a new one.
func (t *Transport) place(u *url.URL) *place {
	t.mu.Lock()
	defer t.mu.Unlock()
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
		if len(t.places) < maxPlaces {
			break
		}
		delete(t.places, old)
	}
	at := *u
	at.Fragment, at.RawFragment, at.User = "", "", nil
	p := &place{transport: t, url: &at, loopback: onLoopback(u.Hostname())}
	p.fetch = t.client(p.loopback)
	t.places[name] = p
	return p
}

// client is what fetches for servers on this machine or elsewhere.
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

// covers reports whether the token of a place is meant for an address, too.
func (p *place) covers(u *url.URL) bool {
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
