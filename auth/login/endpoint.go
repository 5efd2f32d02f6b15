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
	"github.com/tenon-mcp/tenon/internal/patience"
)

const (
	skew          = 30 * time.Second // a token is renewed so long before it ends
	pause         = 10 * time.Second // a login that failed is not tried again before
	fresh         = time.Minute      // a token that is refused at this age is not got again
	sulk          = 10 * time.Minute // a method that is always refused is not tried again before
	maxSteps      = 2                // logins for more scopes: for one request, and for one set of scopes
	loginDeadline = 10 * time.Minute // a person may take long
)

// A token is what is sent along, and all that is needed to renew it. It is
// never changed after it was made, but for accepted. It prints as nothing.
type token struct {
	Issuer   string    `json:"issuer"`
	Resource string    `json:"resource"`
	Own      bool      `json:"own,omitempty"` // of a server of 2025-03-26
	Access   string    `json:"access_token"`
	DPoP     bool      `json:"dpop,omitempty"`
	Refresh  string    `json:"refresh_token,omitempty"`
	Got      time.Time `json:"got"`
	Expires  time.Time `json:"expires"` // zero if nobody said
	Scopes   []string  `json:"scopes"`  // asked for so far
	ClientID string    `json:"client_id"`

	// ClientSecret and ClientAuth are those of a client that registered itself.
	// They stay with the token, since another process may register another
	// client meanwhile, which could not refresh it.
	ClientSecret string `json:"client_secret,omitempty"`
	ClientAuth   string `json:"client_auth,omitempty"`

	Redirect string `json:"redirect_uri,omitempty"`

	refreshed bool        // it came from a refresh, not from a login
	kept      bool        // it came from the store
	accepted  atomic.Bool // the server has taken it at least once
	prover    *prover
}

func (*token) String() string               { return "(token)" }
func (t *token) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(t.String())) }
func (t *token) LogValue() slog.Value       { return slog.StringValue(t.String()) }

func (t *token) ended() bool { return !t.Expires.IsZero() && !time.Now().Before(t.Expires) }

// ending reports whether it is time to renew: half a minute before the end, or
// a tenth of its life if that is short.
func (t *token) ending() bool {
	if t.Expires.IsZero() {
		return false
	}
	return !time.Now().Before(t.Expires.Add(-min(skew, t.Expires.Sub(t.Got)/10)))
}

// A place is an address that wants a login, and what is known about it.
//
// Whoever needs a new token joins the one renewal that is under way or starts
// it; then looks again. So of many requests that meet 401 one logs in, and all
// get its token or its error.
type place struct {
	transport *Transport
	url       *url.URL
	loopback  bool
	fetch     *fetch.Client
	load      once

	mu      sync.Mutex
	now     *token
	under   *renewal
	steps   map[string]int       // logins for a set of scopes that have not helped since stepsAt
	stepsAt time.Time            // forgotten after pageWindow
	refused map[string]time.Time // methods for which a new token did not help, and when
	failed  map[purpose]failure
}

// A purpose is what a token is renewed for. A login for more scopes that has
// failed does not keep a token from being refreshed.
type purpose int

const (
	toGoOn   purpose = iota // the token is missing, refused or about to end
	toStepUp                // the token lacks scopes
)

// A failure is why a renewal failed, and when.
type failure struct {
	err error
	at  time.Time
}

// A renewal is the one login or refresh that is under way.
type renewal struct {
	done    chan struct{}
	cancel  context.CancelFunc
	waiting int
	err     error
}

// current is the token to send, or nil. One that is about to end is refreshed.
func (p *place) current(ctx context.Context) (*token, error) {
	// Other requests profit from it, even if this one is cancelled.
	if err := p.load.do(ctx, func() { p.recall(context.WithoutCancel(ctx)) }); err != nil {
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
		case (now.Refresh == "" || tried) && !now.ended():
			return now, nil
		case now.Refresh == "" || tried:
			return nil, nil
		}
		if err := p.renew(ctx, now, toGoOn, func(ctx context.Context) (*token, error) { return p.refreshOnly(ctx, now) }); err != nil {
			if !now.ended() && ctx.Err() == nil {
				return now, nil // the authorization server cannot be reached, and there is time
			}
			return nil, err
		}
	}
}

// renew replaces old by what work brings, unless somebody else has or does.
func (p *place) renew(ctx context.Context, old *token, why purpose, work func(context.Context) (*token, error)) error {
	p.mu.Lock()
	if p.now != old {
		p.mu.Unlock()
		return nil
	}
	r := p.under
	if r == nil {
		if last := p.failed[why]; last.err != nil && time.Since(last.at) < pause {
			p.mu.Unlock()
			return last.err
		}
		r = p.start(ctx, why, work)
	}
	r.waiting++
	p.mu.Unlock()
	defer patience.Hold(ctx)() // a person may be at it

	select {
	case <-r.done:
		return r.err
	case <-ctx.Done():
		p.mu.Lock()
		defer p.mu.Unlock()
		if r.waiting--; r.waiting == 0 {
			r.cancel() // nobody wants it any more
			if p.under == r {
				p.under = nil
			}
		}
		return context.Cause(ctx)
	}
}

// start begins a renewal. It outlives the request that has begun it as long as
// another one waits. The caller holds the lock.
func (p *place) start(ctx context.Context, why purpose, work func(context.Context) (*token, error)) *renewal {
	r := &renewal{done: make(chan struct{})}
	ctx, r.cancel = context.WithTimeout(context.WithoutCancel(ctx), loginDeadline)
	p.under = r
	go func() { // ends with the work, which ends with ctx
		defer r.cancel()
		got, err := work(ctx)
		p.mu.Lock()
		defer p.mu.Unlock()
		r.err = err
		if p.under == r { // otherwise it was given up
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

// abandon cancels the renewal that is under way and waits for its end, so that
// it stores nothing afterwards.
func (p *place) abandon(ctx context.Context) error {
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

// took notes that the server has taken a token, with a method and for what it
// was got for.
func (p *place) took(t *token, method, stepped string) {
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

// hopeless reports whether a token that was refused must not be replaced: it
// was got from a login a moment ago and has never been taken, so the next one
// would not be either.
func (p *place) hopeless(t *token) bool {
	if t == nil {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return t == p.now && !t.accepted.Load() && !t.kept && !t.refreshed && time.Since(t.Got) < fresh
}

// gaveUp notes that a new token did not help requests of a method.
func (p *place) gaveUp(method string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.refused == nil || len(p.refused) > 20 {
		p.refused = map[string]time.Time{}
	}
	p.refused[method] = time.Now()
}

// stubborn reports whether requests of a method are refused whatever token they
// bring. A server that takes POST and answers every GET with 401 would make
// people log in over and over.
func (p *place) stubborn(method string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	at, ok := p.refused[method]
	return ok && time.Since(at) < sulk
}

// mayStep counts a login for more scopes and reports whether it is allowed. One
// that another request has done or is doing costs nothing.
func (p *place) mayStep(t *token, key string) bool {
	now := time.Now()
	if o := &p.transport.opts; o.Grant == nil {
		if o.NoLogin != nil {
			return true // nobody is bothered, and the error says more than the answer
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

// mayShow reports whether a login page may be shown for this place.
func (p *place) mayShow(now time.Time) error {
	return p.transport.pages.check(now, canonical(p.url), origin(p.url))
}

// recall loads the token of an earlier process.
func (p *place) recall(ctx context.Context) {
	old, err := p.stored(ctx)
	if err != nil && !errors.Is(err, tokens.ErrNotFound) {
		p.transport.opts.warn("the token for %s could not be loaded: %v", canonical(p.url), err)
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

// stored loads the token of this place from the store. One that cannot be used
// here counts as not found.
func (p *place) stored(ctx context.Context) (*token, error) {
	kept, err := p.transport.store.Load(ctx, p.key())
	if err != nil {
		return nil, err
	}
	t := &token{kept: true}
	if json.Unmarshal(kept, t) != nil || t.Access == "" || t.Issuer == "" || !p.inClear(t) {
		return nil, tokens.ErrNotFound
	}
	if t.DPoP {
		if t.prover, err = p.transport.prover(ctx, t.Issuer); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// inClear refuses a token that is not for this place, whoever put it there.
func (p *place) inClear(t *token) bool {
	if own := p.transport.opts.Resource; own != "" {
		return t.Resource == own
	}
	r, err := url.Parse(t.Resource)
	return err == nil && origin(r) == origin(p.url) && covers(r, p.url)
}

// covers reports whether an address lies within a resource of the same origin.
func covers(r, address *url.URL) bool {
	own, claimed := strings.TrimRight(address.EscapedPath(), "/"), strings.TrimRight(r.EscapedPath(), "/")
	segments := strings.FieldsFunc(address.Path, func(r rune) bool { return r == '/' || r == '\\' }) // as servers may read them
	return own == claimed || strings.HasPrefix(own, claimed+"/") && !slices.Contains(segments, "..")
}

func (p *place) key() string { return p.transport.opts.key("token", canonical(p.url)) }
