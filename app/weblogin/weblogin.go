// Package weblogin lets the users of a gateway log in at the servers behind it,
// with their browsers and with the gateway as OAuth client.
//
//	logins, err := weblogin.New(&weblogin.Options{Origin: "https://gateway.example.com", Store: store})
//	mux.Handle(weblogin.Path, logins)
//	mux.Handle(weblogin.Path+"/", logins)
//	login := logins.Of(weblogin.Server{Name: "notes", URL: "https://notes.example.com/mcp"}, principal)
//
// A [Login] is a [gateway.Login]. The flow of a login is:
//
//	Begin        makes a page with a ticket; the client asks the user to open it
//	GET /login   shows what the login is for; it changes nothing
//	POST /login  takes the ticket and binds the login to this browser (a cookie)
//	identity     the user shows to be the one who asked: a login at the issuer of
//	             the gateway, or the API key
//	server       a login at the authorization server of the server, with PKCE
//	callback     both end at /login/callback, with the state and in the browser
//	             that they began with
//
// So a page that a user sends to another person is of no use to either: the other
// person is not the one who asked, and a response of the authorization server in
// another browser is refused.
package weblogin

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/auth/login"
	"github.com/tenon-mcp/tenon/auth/tokens"
	"github.com/tenon-mcp/tenon/cluster"
	"github.com/tenon-mcp/tenon/mcp"
)

// Path is where the pages are. The callback is below it.
const Path = "/login"

const (
	lifetime   = 10 * time.Minute // of a login that is not finished
	maxPending = 1000             // logins that are not finished
	maxSecrets = 5                // API keys that may be tried on one page
	stepWait   = 30 * time.Second // for the next page of a login
	recheck    = 2 * time.Second  // a login is looked up in the store again after this time
)

// Options configures a [Service].
type Options struct {
	// Origin is the scheme and host of the gateway as browsers know it, such as
	// https://gateway.example.com. It is https, or http on this machine.
	// Required.
	Origin string
	// Store stores the logins and their tokens. It should encrypt them; see
	// package auth/tokens/sealed. Required.
	Store tokens.Store
	// Identity says who is in a browser. Nil means that the gateway has a single
	// user, the person at this machine.
	Identity *Identity
	// Replica makes the gateway one of several that share the Store: a user may
	// reach another replica with each request. Its handler of forwarded requests
	// must serve these pages, too. Nil means that there is one gateway.
	Replica *cluster.Replica
	// ClientName is the name that users see at authorization servers. Empty
	// means "Tenon".
	ClientName string
	// Log gets what happens, without secrets. Nil means slog.Default().
	Log *slog.Logger
}

// Identity says how the user in a browser is identified as a principal of the
// gateway.
type Identity struct {
	// Identify returns the principal of a token of the gateway, as
	// [github.com/tenon-mcp/tenon/auth/protect.Guard.Identify] does. Required.
	Identify func(ctx context.Context, token string, r *http.Request) (*mcp.Principal, error)
	// Issuers are the authorization servers of the gateway. A principal of one
	// of them logs in there; others enter their API key.
	Issuers []string
	// Resource is the URL of the gateway that tokens are issued for.
	Resource string
	// Scopes are requested there.
	Scopes []string
	// Client is the gateway as a client of its authorization server. Nil means
	// that it registers itself there.
	Client *login.Client
}

// A Service has the logins of all users. Create one with [New].
type Service struct {
	opts   Options
	origin *url.URL

	ctx  context.Context // ends with Close
	stop context.CancelFunc
	wg   sync.WaitGroup

	mu      sync.Mutex
	closed  bool
	byUser  map[string]*flow // by account
	tickets map[string]*flow
	failed  map[string]*flow // by page, until their time is over
	states  map[string]*attempt
	changed chan struct{} // closed, and replaced, when a login begins or ends to exist
}

// New returns a Service, or an error for invalid options.
func New(o *Options) (*Service, error) {
	u, err := url.Parse(o.Origin)
	switch {
	case err != nil || u.Host == "" || u.Path != "" || u.RawQuery != "" || u.User != nil:
		return nil, fmt.Errorf("weblogin: the origin %q must be a scheme and a host", o.Origin)
	case u.Scheme != "https" && !(u.Scheme == "http" && onLoopback(u.Hostname())):
		return nil, fmt.Errorf("weblogin: users cannot log in at %s: the gateway must be served over https, or on this machine", o.Origin)
	case o.Store == nil:
		return nil, errors.New("weblogin: there is no store for the logins")
	}
	s := &Service{opts: *o, origin: u, byUser: map[string]*flow{}, tickets: map[string]*flow{}, failed: map[string]*flow{}, states: map[string]*attempt{}, changed: make(chan struct{})}
	if s.opts.Log == nil {
		s.opts.Log = slog.Default()
	}
	s.ctx, s.stop = context.WithCancel(context.Background())
	return s, nil
}

// Close ends all logins that are not finished.
func (s *Service) Close() error {
	s.mu.Lock()
	s.closed = true
	all := slices.Concat(slices.Collect(maps.Values(s.byUser)), slices.Collect(maps.Values(s.failed)))
	s.mu.Unlock()
	s.stop()
	for _, f := range all {
		f.end(errClosed)
		f.timer.Stop()
	}
	s.wg.Wait()
	return nil
}

var errClosed = errors.New("the gateway is shutting down")

// spawn runs f in a goroutine that Close waits for.
func (s *Service) spawn(f func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.wg.Go(f)
	}
	return !s.closed
}

// announce says that a login has begun or ended to exist.
func (s *Service) announce() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.changed)
	s.changed = make(chan struct{})
}

// pageOf returns the URL of the page of a ticket.
func (s *Service) pageOf(ticket string) string { return s.opts.Origin + Path + "?ticket=" + ticket }

// callback returns the redirect URI of the gateway.
func (s *Service) callback() string { return s.opts.Origin + Path + "/callback" }

// begin returns the flow of a user that is not finished, or a new one. If the flow
// with the page last has failed, begin returns that one. isNew reports that the
// flow was made.
func (s *Service) begin(server Server, who *mcp.Principal, last string) (f *flow, isNew bool, err error) {
	account := accountOf(server, who)
	s.mu.Lock()
	defer s.mu.Unlock()
	if f := s.failed[last]; f != nil && f.account == account {
		return f, false, nil
	}
	if f := s.byUser[account]; f != nil {
		return f, false, nil
	}
	switch {
	case s.closed:
		return nil, false, errClosed
	case s.opts.Identity != nil && who == nil:
		return nil, false, errors.New("the caller is not authenticated")
	case len(s.byUser) >= maxPending:
		return nil, false, errors.New("too many users are logging in; try again later")
	}
	f = &flow{s: s, server: server, who: who, account: account, ticket: s.newTicket(), done: make(chan struct{}), cookie: "tenon_login_" + rand.Text()[:12], browser: rand.Text()}
	f.timer = time.AfterFunc(lifetime, f.expire)
	s.byUser[account], s.tickets[f.ticket] = f, f
	return f, true, nil
}

// accountOf returns what separates the tokens of users and servers in the store.
func accountOf(server Server, who *mcp.Principal) string {
	if who == nil {
		return "the person at this machine at " + server.Name
	}
	return fmt.Sprintf("%q of %q at %q", who.ID, who.Issuer, server.Name)
}

func onLoopback(host string) bool {
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.IsLoopback()
	}
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}

// sameHost reports whether a request was sent to the origin of the gateway. A
// name that an attacker has pointed at this machine is another one.
func (s *Service) sameHost(r *http.Request) bool {
	have, err := url.Parse(s.origin.Scheme + "://" + r.Host)
	if err != nil {
		return false
	}
	if onLoopback(s.origin.Hostname()) { // which has several names
		return have.Port() == s.origin.Port() && onLoopback(have.Hostname())
	}
	return strings.EqualFold(s.origin.Host, r.Host)
}
