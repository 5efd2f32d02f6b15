package connect

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/tenon-mcp/tenon/auth/login"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/transport/httpsse"
	"github.com/tenon-mcp/tenon/transport/streamclient"
)

// A webLink is a server over streamable HTTP. It never ends: each call finds out
// whether the server is there.
type webLink struct{ *streamclient.Connection }

func (webLink) Err() error        { return nil }
func (webLink) pid() int          { return 0 }
func (webLink) lastWords() string { return "" }

// An sseLink is a server over the HTTP+SSE transport. It ends with its stream.
type sseLink struct{ *httpsse.Connection }

func (sseLink) pid() int          { return 0 }
func (sseLink) lastWords() string { return "" }

func (s *Server) web(ctx context.Context, known mcp.Revision, watch Watcher) (link, error) {
	if err := s.checkGrant(); err != nil {
		return nil, err
	}
	transport, header := s.roundTripper(watch), s.header()
	old := &httpsse.Endpoint{URL: s.entry.URL, HTTP: &http.Client{Transport: transport}, Header: header, Options: *s.dialOptions("", watch)}
	e := &streamclient.Endpoint{
		URL:    s.entry.URL,
		HTTP:   &http.Client{Transport: transport},
		Header: header,
		Era:    *s.dialOptions(known, watch),
		Older:  old,
		Warn:   s.warn,
	}
	h, err := e.Dial(ctx, s.profile)
	if err != nil {
		return nil, err
	}
	switch conn := h.(type) {
	case *streamclient.Connection:
		return webLink{conn}, nil
	case *httpsse.Connection:
		return sseLink{conn}, nil
	}
	return nil, fmt.Errorf("server %s: unexpected connection type %T", s.entry.Name, h)
}

func (s *Server) oldWeb(ctx context.Context, watch Watcher) (link, error) {
	if err := s.checkGrant(); err != nil {
		return nil, err
	}
	e := &httpsse.Endpoint{URL: s.entry.URL, HTTP: &http.Client{Transport: s.roundTripper(watch)}, Header: s.header(), Options: *s.dialOptions("", watch)}
	conn, err := e.Connect(ctx, s.profile)
	if err != nil {
		return nil, err
	}
	return sseLink{conn}, nil
}

func (s *Server) header() http.Header {
	h := http.Header{}
	for name, value := range s.entry.Headers {
		h.Set(name, value)
	}
	return h
}

func (s *Server) warn(warning string) {
	if s.opts.Warn != nil {
		s.opts.Warn(s.entry.Name, warning)
	}
}

// roundTripper returns the transport with watcher and login. The watcher is below
// the login, so that it sees what is really sent; it redacts secrets itself.
func (s *Server) roundTripper(watch Watcher) http.RoundTripper {
	return &loggedIn{s, login.New(s.loginOptions(tokenWatcher{s, watch.RoundTripper(s.opts.Transport)}))}
}

// tokenWatcher registers the tokens that are sent as secrets.
type tokenWatcher struct {
	s    *Server
	next http.RoundTripper
}

func (t tokenWatcher) RoundTrip(r *http.Request) (*http.Response, error) {
	if _, token, ok := strings.Cut(r.Header.Get("Authorization"), " "); ok {
		t.s.opts.Secrets.AddToken(t.s.entry.Name+"\x00"+t.s.opts.Account, token)
	}
	return t.next.RoundTrip(r)
}

func (t tokenWatcher) CloseIdleConnections() {
	if c, ok := t.next.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

func (s *Server) loginOptions(base http.RoundTripper) *login.Options {
	o := LoginOptions(s.entry, s.opts.Proxy)
	o.Base, o.Store, o.Account, o.Warn, o.Pages = base, s.opts.Tokens, s.opts.Account, s.warn, s.loginPages()
	o.Waiting = s.countLogins
	if grant, err := s.grant(); err == nil && grant != nil { // checkGrant has reported the error
		o.Grant, o.Store = grant, &s.granted
		return o
	}
	if s.opts.NoLogin {
		o.NoLogin = &LoginError{Server: s.entry.Name, target: s.target()}
		return o
	}
	o.Loopback = &login.Loopback{
		Open: s.openPage,
		Show: func(page string) { s.warn("open this page to log in: " + page) },
	}
	return o
}

// openPage sets the login page in the state. The server chose the page, so it is
// opened only if the user agrees.
func (s *Server) openPage(page string) error {
	s.loginAt(page)
	switch {
	case s.opts.OpenPage != nil:
		return s.opts.OpenPage(s.entry.Name, page)
	case s.opts.Changed == nil:
		return errors.New("nobody hears of the state")
	}
	return nil
}

// loginPages returns the limit on login pages, which all connections to the
// server share until Restart.
func (s *Server) loginPages() *login.PageLimit {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pages == nil {
		s.pages = &login.PageLimit{}
	}
	return s.pages
}

// loggedIn notices the end of a login.
type loggedIn struct {
	s    *Server
	next *login.Transport
}

func (t *loggedIn) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := t.next.RoundTrip(r)
	if wants, ok := errors.AsType[*login.CredentialError](err); ok {
		return nil, t.s.wantsCredential(wants)
	}
	if err == nil && resp.StatusCode == http.StatusUnauthorized && r.Header.Get("Authorization") != "" {
		_ = resp.Body.Close()
		return nil, t.s.wantsCredential(nil)
	}
	return resp, err
}

func (t *loggedIn) CloseIdleConnections() { t.next.CloseIdleConnections() }

// loginAt sets the login page in the state.
func (s *Server) loginAt(page string) {
	s.mu.Lock()
	if s.state.Phase != NeedsLogin {
		s.before = s.state.Phase
	}
	s.mu.Unlock()
	s.enter(NeedsLogin, "log in at "+page, func(st *State) { st.Page = page })
}

// countLogins counts the requests that wait for a login. After the last one, the
// server returns to its former phase.
func (s *Server) countLogins(n int) {
	s.mu.Lock()
	s.logins += n
	over, phase := s.logins == 0, s.before
	s.mu.Unlock()
	if over && phase != "" {
		s.enter(phase, "", nil, NeedsLogin)
	}
}
