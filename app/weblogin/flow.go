package weblogin

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/auth/login"
	"github.com/tenon-mcp/tenon/auth/tokens"
	"github.com/tenon-mcp/tenon/mcp"
)

// A flow is a login that is not finished, from Begin until the user has logged in,
// has failed, or has taken too long.
type flow struct {
	s       *Service
	server  Server
	who     *mcp.Principal // nil is the person at this machine
	account string
	ticket  string // names the flow in the URL of its page
	timer   *time.Timer

	// The cookie binds the flow to the browser that took its ticket.
	cookie, browser string

	// Service.mu guards the rest.
	taken   bool     // a browser has the cookie
	running *attempt // the last one; nil before the first
	secrets int      // API keys that were tried
	ended   bool
	err     error         // why it failed, once done is closed
	done    chan struct{} // closed at the end
}

// An attempt is one run through the pages of a flow. A user who comes back to the
// first page, in the same browser, begins another one.
type attempt struct {
	f        *flow
	ctx      context.Context
	cancel   context.CancelFunc
	identify bool // the user has to log in at the issuer of the gateway first

	pages     chan string   // the next page that the browser has to open
	callbacks chan *url.URL // the response to it
}

// wait waits for the end of the login.
func (f *flow) wait(ctx context.Context) error {
	select {
	case <-f.done:
		return f.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// end ends a flow; a nil error means that the user has logged in. Only the first
// call has an effect.
func (f *flow) end(err error) {
	s := f.s
	s.mu.Lock()
	if f.ended {
		s.mu.Unlock()
		return
	}
	f.ended, f.err = true, err
	delete(s.tickets, f.ticket)
	if s.byUser[f.account] == f {
		delete(s.byUser, f.account)
	}
	if err != nil && len(s.failed) < maxPending { // the calls that wait for it learn why
		s.failed[s.pageOf(f.ticket)] = f
	} else {
		f.timer.Stop()
	}
	run := f.running
	s.mu.Unlock()
	if err == nil {
		f.unpublish(context.Background())
		s.announce()
		s.opts.Log.Info("a user has logged in", "server", f.server.Name)
	} else {
		_ = f.publish(context.Background(), err) // else calls at other replicas learn it when it expires
		s.opts.Log.Info("a login has failed", "server", f.server.Name, "error", err)
	}
	close(f.done)
	if run != nil {
		run.cancel()
	}
}

// expire ends a flow whose time is over.
func (f *flow) expire() {
	f.end(errors.New("nobody has logged in in time"))
	f.s.mu.Lock()
	defer f.s.mu.Unlock()
	delete(f.s.failed, f.s.pageOf(f.ticket))
}

// start begins an attempt and cancels the last one. It returns nil if the flow
// has ended.
func (f *flow) start(identify bool) *attempt {
	a := &attempt{f: f, identify: identify, pages: make(chan string), callbacks: make(chan *url.URL, 1)}
	a.ctx, a.cancel = context.WithTimeout(f.s.ctx, lifetime)
	f.s.mu.Lock()
	last := f.running
	f.running = a
	ended := f.ended
	f.s.mu.Unlock()
	if last != nil {
		last.cancel()
	}
	if ended || !f.s.spawn(a.run) {
		a.cancel()
		return nil
	}
	return a
}

// run takes the user through the pages. Nobody waits for an attempt that was
// cancelled; the flow goes on with another one, or has ended.
func (a *attempt) run() {
	defer a.cancel()
	var err error
	if a.identify {
		err = a.checkIdentity()
	}
	if err == nil {
		err = a.logIn()
	}
	if a.ctx.Err() != nil && err != nil {
		return
	}
	a.f.end(err)
}

// checkIdentity lets the user log in at the issuer of the gateway and compares
// who it is with who asked for the login.
func (a *attempt) checkIdentity() error {
	f, id := a.f, a.f.s.opts.Identity
	o := a.options()
	o.Base = refusing{} // the gateway need not ask itself
	o.AuthorizationServer, o.Resource, o.Client, o.Scopes, o.Online = f.who.Issuer, id.Resource, id.Client, id.Scopes, true
	o.Store = &registrations{Store: f.s.opts.Store}
	t := login.New(o)
	defer t.CloseIdleConnections()
	if err := t.Login(a.ctx, id.Resource); err != nil {
		return fmt.Errorf("find out who you are: %w", err)
	}
	token, err := t.Token(a.ctx, id.Resource)
	if err != nil {
		return fmt.Errorf("find out who you are: %w", err)
	}
	r, err := http.NewRequestWithContext(a.ctx, http.MethodGet, id.Resource, nil)
	if err != nil {
		return err
	}
	who, err := id.Identify(a.ctx, string(token), r)
	if err != nil {
		return fmt.Errorf("find out who you are: %w", err)
	}
	return f.sameUser(who)
}

// errOtherUser is the error for a browser of another user than the one who asked.
var errOtherUser = errors.New("another user has opened the page")

func (f *flow) sameUser(who *mcp.Principal) error {
	if who.Key() != f.who.Key() {
		return errOtherUser
	}
	return nil
}

// logIn lets the user log in at the authorization server of the server, and
// stores the token.
func (a *attempt) logIn() error {
	f := a.f
	o := a.options()
	given := f.server.Login
	o.Base, o.Client, o.ClientIDMetadataURL, o.Scopes, o.Resource = given.Base, given.Client, given.ClientIDMetadataURL, given.Scopes, given.Resource
	o.Proxy, o.Fetch, o.PreferDPoP = given.Proxy, given.Fetch, given.PreferDPoP
	o.Store, o.Account = f.s.opts.Store, f.account
	t := login.New(o)
	defer t.CloseIdleConnections()
	if err := t.Forget(a.ctx, f.server.URL); err != nil { // the server does not accept it
		return err
	}
	if err := t.Login(a.ctx, f.server.URL); err != nil {
		return err
	}
	return f.save(a.ctx)
}

// options returns the options of both logins.
func (a *attempt) options() *login.Options {
	s := a.f.s
	return &login.Options{
		ClientName: s.opts.ClientName, RedirectURI: s.callback(), Authorize: a.authorize,
		Warn: func(warning string) { s.opts.Log.Warn("login", "server", a.f.server.Name, "warning", warning) },
	}
}

// authorize sends the browser of the user to a page and waits for the response.
func (a *attempt) authorize(ctx context.Context, page string) (*url.URL, error) {
	u, err := url.Parse(page)
	if err != nil {
		return nil, errors.New("invalid login page")
	}
	s, state := a.f.s, u.Query().Get("state")
	s.mu.Lock()
	s.states[state] = a
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.states, state)
		s.mu.Unlock()
	}()
	if err := s.publishState(ctx, state); err != nil {
		return nil, err
	}
	select {
	case a.pages <- page:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-a.ctx.Done():
		return nil, context.Cause(a.ctx)
	}
	select {
	case callback := <-a.callbacks:
		return callback, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-a.ctx.Done():
		return nil, context.Cause(a.ctx)
	}
}

// atIssuer reports whether the user of a flow is identified by a login at the
// issuer of the gateway.
func (f *flow) atIssuer() bool {
	id := f.s.opts.Identity
	return id != nil && slices.Contains(id.Issuers, f.who.Issuer)
}

// needsSecret reports whether the user of a flow is identified by an API key.
func (f *flow) needsSecret() bool { return f.s.opts.Identity != nil && !f.atIssuer() }

// refusing answers every request as a server does that requires a login.
type refusing struct{}

func (refusing) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		_ = r.Body.Close()
	}
	return &http.Response{StatusCode: http.StatusUnauthorized, Status: "401 Unauthorized", Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{}, Body: http.NoBody, Request: r}, nil
}

// registrations stores the registration of the gateway, and forgets tokens.
type registrations struct {
	tokens.Store
	memory tokens.Memory
}

func (s *registrations) of(key string) tokens.Store {
	if strings.HasPrefix(key, "client ") || strings.HasPrefix(key, "issuer ") {
		return s.Store
	}
	return &s.memory
}

// Load implements [tokens.Store].
func (s *registrations) Load(ctx context.Context, key string) (tokens.Secret, error) {
	return s.of(key).Load(ctx, key)
}

// Save implements [tokens.Store].
func (s *registrations) Save(ctx context.Context, key string, value tokens.Secret) error {
	return s.of(key).Save(ctx, key, value)
}

// Delete implements [tokens.Store].
func (s *registrations) Delete(ctx context.Context, key string) error {
	return s.of(key).Delete(ctx, key)
}
