package login

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	json "github.com/go-json-experiment/json"

	"github.com/tenon-mcp/tenon/auth/fetch"
	"github.com/tenon-mcp/tenon/auth/tokens"
	"github.com/tenon-mcp/tenon/internal/timeoutpause"
)

const (
	skew          = 30 * time.Second // a token is renewed this long before it expires
	pause         = 10 * time.Second // delay after a failed login
	fresh         = time.Minute      // a token refused at a lower age is not replaced
	methodPause   = 10 * time.Minute // delay after a method was refused with a new token
	maxSteps      = 2                // step-up logins per request, and per set of scopes
	loginDeadline = 10 * time.Minute // a user may take long
)

// A token is an access token with everything needed to renew it. Except for
// accepted it is immutable. Its secrets are not printed.
type token struct {
	Issuer   string    `json:"issuer"`
	Resource string    `json:"resource"`
	Own      bool      `json:"own,omitempty"` // the server is its own authorization server (2025-03-26)
	Access   string    `json:"access_token"`
	DPoP     bool      `json:"dpop,omitempty"`
	Refresh  string    `json:"refresh_token,omitempty"`
	Got      time.Time `json:"got"`
	Expires  time.Time `json:"expires"` // zero if unknown
	Scopes   []string  `json:"scopes"`  // requested so far
	ClientID string    `json:"client_id"`

	// ClientSecret and ClientAuth belong to a registered client. They are
	// stored with the token, because another process may register another
	// client, which could not refresh it.
	ClientSecret string `json:"client_secret,omitempty"`
	ClientAuth   string `json:"client_auth,omitempty"`

	Redirect string `json:"redirect_uri,omitempty"`

	refreshed bool        // from a refresh, not a login
	stored    bool        // loaded from the store
	saved     bool        // written to the store
	accepted  atomic.Bool // the server accepted it at least once
	prover    *prover
}

func (*token) String() string               { return "(token)" }
func (t *token) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(t.String())) }
func (t *token) LogValue() slog.Value       { return slog.StringValue(t.String()) }

func (t *token) ended() bool { return !t.Expires.IsZero() && !time.Now().Before(t.Expires) }

// ending reports whether to renew the token: half a minute before it
// expires, or a tenth of a short lifetime.
func (t *token) ending() bool {
	if t.Expires.IsZero() {
		return false
	}
	return !time.Now().Before(t.Expires.Add(-min(skew, t.Expires.Sub(t.Got)/10)))
}

// An endpoint is a server URL that requires a login, with its token.
//
// A request that needs a new token joins the renewal in progress or starts
// one. So of many requests that receive 401 one logs in, and all get its
// token or its error.
type endpoint struct {
	transport *Transport
	url       *url.URL
	loopback  bool
	fetch     *fetch.Client
	load      once

	mu      sync.Mutex
	now     *token
	under   *renewal
	steps   map[string]int       // step-up logins without success since stepsAt, by set of scopes
	stepsAt time.Time            // reset after pageWindow
	refused map[string]time.Time // methods that were refused with a new token, and when
	failed  map[purpose]failure
}

// A purpose is why a token is renewed. A failed step-up login does not
// prevent a refresh.
type purpose int

const (
	forRenewal purpose = iota // the token is missing, refused or expiring
	forStepUp                 // the token lacks scopes
)

// A failure is the error and time of a failed renewal.
type failure struct {
	err error
	at  time.Time
}

// A renewal is a login or refresh in progress.
type renewal struct {
	done    chan struct{}
	cancel  context.CancelFunc
	waiting int
	err     error
}

// current returns the token to send, or nil. It refreshes an expiring token.
func (p *endpoint) current(ctx context.Context) (*token, error) {
	// The result is used by other requests even if this one is cancelled.
	if err := p.load.do(ctx, func() { p.loadStored(context.WithoutCancel(ctx)) }); err != nil {
		return nil, err
	}
	for tried := false; ; tried = true {
		p.mu.Lock()
		now := p.now
		p.mu.Unlock()
		switch {
		case now == nil:
			return nil, nil
		case !now.ending():
			return now, nil
		}
		again := p.withoutUser(now)
		switch {
		case (again == nil || tried) && !now.ended():
			return now, nil
		case again == nil || tried:
			return nil, nil
		}
		if err := p.renew(ctx, now, forRenewal, func(ctx context.Context) (*token, error) { return again(ctx, now) }); err != nil {
			if !now.ended() && ctx.Err() == nil {
				return now, nil // the refresh failed, but the token is still valid
			}
			return nil, err
		}
	}
}

// withoutUser returns how an expiring token is renewed without a user; nil if it
// cannot be.
func (p *endpoint) withoutUser(t *token) func(context.Context, *token) (*token, error) {
	switch {
	case t.Refresh != "":
		return p.refreshOnly
	case p.transport.opts.Grant != nil:
		return p.grantAgain
	}
	return nil
}

// renew replaces old by the result of work, unless another request has or does.
func (p *endpoint) renew(ctx context.Context, old *token, why purpose, work func(context.Context) (*token, error)) error {
	p.mu.Lock()
	if p.now != old {
		p.mu.Unlock()
		return nil
	}
	r := p.under
	if r == nil {
		if last := p.failed[why]; last.err != nil && time.Since(last.at) < pause {
			p.mu.Unlock()
			return p.adopt(ctx, old, last.err)
		}
		r = p.start(ctx, why, work)
	}
	r.waiting++
	p.mu.Unlock()
	defer timeoutpause.Hold(ctx)() // a user may be logging in
	if waiting := p.transport.opts.Waiting; waiting != nil {
		waiting(1)
		defer waiting(-1)
	}

	select {
	case <-r.done:
		return r.err
	case <-ctx.Done():
		p.mu.Lock()
		defer p.mu.Unlock()
		if r.waiting--; r.waiting == 0 {
			r.cancel() // no request waits for it
			if p.under == r {
				p.under = nil
			}
		}
		return context.Cause(ctx)
	}
}

// adopt uses the token that another Transport has stored since old. If there is
// none, it returns the error of the last renewal.
func (p *endpoint) adopt(ctx context.Context, old *token, failed error) error {
	newer := p.newer(ctx, old)
	if newer == nil {
		return failed
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.now == old {
		p.now = newer
	}
	return nil
}

// start begins a renewal. It continues as long as any request waits for it.
// The caller holds the lock.
func (p *endpoint) start(ctx context.Context, why purpose, work func(context.Context) (*token, error)) *renewal {
	r := &renewal{done: make(chan struct{})}
	ctx, r.cancel = context.WithTimeout(context.WithoutCancel(ctx), loginDeadline)
	p.under = r
	go func() { // ends with work, which ends with ctx
		defer r.cancel()
		got, err := work(ctx)
		p.mu.Lock()
		defer p.mu.Unlock()
		r.err = err
		if p.under == r { // otherwise it was abandoned
			p.under = nil
			if p.failed == nil {
				p.failed = map[purpose]failure{}
			}
			p.failed[why] = failure{err, time.Now()}
			if err == nil {
				p.now = got
			}
		}
		close(r.done)
	}()
	return r
}

// abandon cancels the renewal in progress and waits for its end, so that it
// stores nothing afterwards.
func (p *endpoint) abandon(ctx context.Context) error {
	p.mu.Lock()
	r := p.under
	p.mu.Unlock()
	if r == nil {
		return nil
	}
	r.cancel()
	select {
	case <-r.done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// markAccepted records that the server accepted a token for a method and a set of
// scopes.
func (p *endpoint) markAccepted(t *token, method, stepped string) {
	if t == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	t.accepted.Store(true)
	delete(p.refused, method)
	if stepped != "" {
		delete(p.steps, stepped)
	}
}

// neverAccepted reports whether a refused token must not be replaced: it is from
// a recent login and was never accepted, so the next one would not be
// either.
func (p *endpoint) neverAccepted(t *token) bool {
	if t == nil {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return t == p.now && !t.accepted.Load() && !t.stored && !t.refreshed && time.Since(t.Got) < fresh
}

// markRefused records that a new token did not help requests of a method.
func (p *endpoint) markRefused(method string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.refused == nil || len(p.refused) > 20 {
		p.refused = map[string]time.Time{}
	}
	p.refused[method] = time.Now()
}

// methodRefused reports whether requests of a method are refused with any token.
// A server that accepts POST but responds to every GET with 401 would make
// users log in again and again.
func (p *endpoint) methodRefused(method string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	at, ok := p.refused[method]
	return ok && time.Since(at) < methodPause
}

// mayStep counts a step-up login and reports whether it is allowed. A login
// that another request has done or is doing is not counted.
func (p *endpoint) mayStep(t *token, key string) bool {
	now := time.Now()
	if o := &p.transport.opts; o.Grant == nil {
		if o.NoLogin != nil {
			return true // no page is shown, and the error says more than the response
		}
		if p.mayShow(now) != nil {
			return false
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.now != t || p.under != nil {
		return true
	}
	if p.steps == nil || now.Sub(p.stepsAt) >= pageWindow {
		p.steps, p.stepsAt = map[string]int{}, now
	}
	if p.steps[key] >= maxSteps || len(p.steps) > 100 {
		return false
	}
	p.steps[key]++
	return true
}

// mayShow returns an error if no login page may be shown.
func (p *endpoint) mayShow(now time.Time) error {
	return p.transport.pages.check(now, canonical(p.url), origin(p.url))
}

// loadStored loads the token of an earlier process.
func (p *endpoint) loadStored(ctx context.Context) {
	old, err := p.stored(ctx)
	if err != nil && !errors.Is(err, tokens.ErrNotFound) {
		p.transport.opts.warn("load the token for %s: %v", canonical(p.url), err)
	}
	if err != nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.now == nil {
		p.now = old
	}
}

// stored loads the token from the store. One that cannot be used here counts
// as not found.
func (p *endpoint) stored(ctx context.Context) (*token, error) {
	data, err := p.transport.store.Load(ctx, p.key())
	if err != nil {
		return nil, err
	}
	t := &token{stored: true}
	if json.Unmarshal(data, t) != nil || t.Access == "" || t.Issuer == "" || !p.usable(t) {
		return nil, tokens.ErrNotFound
	}
	if t.DPoP {
		if t.prover, err = p.transport.prover(ctx, t.Issuer); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// usable reports whether a stored token may be sent to this URL.
func (p *endpoint) usable(t *token) bool {
	if want := p.transport.opts.Resource; want != "" {
		return t.Resource == want
	}
	r, err := url.Parse(t.Resource)
	return err == nil && origin(r) == origin(p.url) && covers(r, p.url)
}

// covers reports whether an address is within a resource of the same origin.
func covers(r, address *url.URL) bool {
	have, claimed := strings.TrimRight(address.EscapedPath(), "/"), strings.TrimRight(r.EscapedPath(), "/")
	segments := strings.FieldsFunc(address.Path, func(r rune) bool { return r == '/' || r == '\\' }) // as servers may split them
	return have == claimed || strings.HasPrefix(have, claimed+"/") && !slices.Contains(segments, "..")
}

func (p *endpoint) key() string { return p.transport.opts.key("token", canonical(p.url)) }

// A once runs a function once, in its own goroutine. Unlike with
// [sync.Once], callers can stop waiting, and no lock is held while the
// function runs.
type once struct {
	mu   sync.Mutex
	done chan struct{}
}

// do runs f if it has not run yet, and waits until f or ctx ends.
func (o *once) do(ctx context.Context, f func()) error {
	o.mu.Lock()
	done := o.done
	if done == nil {
		done = make(chan struct{})
		o.done = done
		go func() { // ends with f
			defer close(done)
			f()
		}()
	}
	o.mu.Unlock()
	select {
	case <-done:
		return nil
	default:
	}
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
