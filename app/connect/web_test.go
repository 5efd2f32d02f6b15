package connect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/auth/tokens"
	"github.com/tenon-mcp/tenon/internal/freeport"
	"github.com/tenon-mcp/tenon/internal/redact"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/transport/streamable"
)

// endpoint is an MCP server over HTTP that can be taken down and put up again
// at the same address.
type endpoint struct {
	t       *testing.T
	addr    string
	handler *streamable.Handler
	web     *httptest.Server
}

// newEndpoint listens on a port that the system gives to nobody who asks for
// any: while it is down, another test would get it.
func newEndpoint(t *testing.T) *endpoint {
	e := &endpoint{t: t}
	e.up()
	t.Cleanup(e.down)
	return e
}

func (e *endpoint) up() {
	e.t.Helper()
	var err error
	if e.handler, err = streamable.NewHandler(tools(), nil); err != nil {
		e.t.Fatal(err)
	}
	e.web = httptest.NewUnstartedServer(e.handler)
	e.web.Listener.Close()
	eventually(e.t, "the address is free", func() bool {
		addr := e.addr
		if addr == "" {
			addr = freeport.ForTest(e.t)
		}
		l, err := net.Listen("tcp", addr)
		if err == nil {
			e.web.Listener, e.addr = l, l.Addr().String()
		}
		return err == nil
	})
	e.web.Start()
}

func (e *endpoint) down() {
	e.handler.Shutdown()
	e.web.CloseClientConnections()
	e.web.Close()
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
}

func (e *endpoint) entry() config.Server {
	return config.Server{Name: "x", Kind: config.HTTP, URL: "http://" + e.addr + streamable.Path}
}

// A server without a transport of its caller has one of its own, as streams need it,
// and leaves no connection behind.
func TestConnectionsEndWithTheServer(t *testing.T) {
	var mu sync.Mutex
	open, encoding := map[net.Conn]bool{}, ""
	h, err := streamable.NewHandler(tools(), nil)
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		encoding += r.Header.Get("Accept-Encoding")
		mu.Unlock()
		h.ServeHTTP(w, r)
	}))
	web.Config.ConnState = func(c net.Conn, s http.ConnState) {
		mu.Lock()
		defer mu.Unlock()
		if s == http.StateClosed || s == http.StateHijacked {
			delete(open, c)
		} else {
			open[c] = true
		}
	}
	web.Start()
	defer web.Close()
	defer h.Shutdown()
	s, err := Open(t.Context(), config.Server{Name: "x", Kind: config.HTTP, URL: web.URL + streamable.Path}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var calls sync.WaitGroup
	for range 5 {
		calls.Go(func() {
			if err := s.Client().Ping(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	calls.Wait()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	eventually(t, "all connections are closed", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(open) == 0
	})
	if encoding != "" {
		t.Errorf("it accepts %q, which delays streams", encoding)
	}
}

// C48: a server that is started anew has forgotten its sessions, and is called
// on as if nothing had happened, in both eras.
func TestWebServerRestarts(t *testing.T) {
	for _, known := range mcp.Revisions() {
		if known == "2024-11-05" {
			continue // another transport
		}
		t.Run(string(known), func(t *testing.T) {
			e := newEndpoint(t)
			s := start(t, e.entry(), func(o *Options) { o.Known = known })
			echo(t, s, "one")
			e.down()
			eventually(t, "the old connections are gone", func() bool {
				_, err := s.Client().CallTool(t.Context(), "echo", map[string]string{"text": "x"}, nil)
				if err == nil {
					t.Fatal("a server that is down has answered")
				}
				return strings.Contains(err.Error(), "refused")
			})
			if st := s.State(); st.Phase != Degraded || st.Why == "" {
				t.Errorf("while it is down: %+v", st)
			}
			e.up()
			eventually(t, "it answers again", func() bool { // a connection of before may be tried once more
				_, err := s.Client().CallTool(t.Context(), "echo", map[string]string{"text": "x"}, nil)
				return err == nil
			})
			echo(t, s, "two")
			if got := s.State().Phase; got != Ready {
				t.Errorf("it is %s", got)
			}
		})
	}
}

// An address where nobody is yet is tried until somebody is.
func TestWebServerComesLater(t *testing.T) {
	e := newEndpoint(t)
	e.down()
	s := start(t, e.entry(), nil)
	eventually(t, "it is tried again", func() bool { return s.told(Restarting) != nil })
	if st := s.told(Restarting); !strings.Contains(st.Why, "refused") || st.Next == 0 {
		t.Errorf("it says %+v", st)
	}
	e.up()
	echo(t, s, "at last")
}

// An authority is an authorization server, the page that a person logs in at,
// and a guard before an MCP server that takes its tokens.
type authority struct {
	t        *testing.T
	web      *httptest.Server
	mcp      http.Handler
	mu       sync.Mutex
	codes    map[string]string // redirect URI by code
	logins   int
	accepted bool // whether the token is good; it can be withdrawn
	forms    []url.Values
	headers  []http.Header // of requests to the MCP server
}

func newAuthority(t *testing.T) *authority {
	h, err := streamable.NewHandler(tools(), nil)
	if err != nil {
		t.Fatal(err)
	}
	a := &authority{t: t, mcp: h, codes: map[string]string{}}
	a.web = httptest.NewServer(a)
	t.Cleanup(func() {
		h.Shutdown()
		a.web.CloseClientConnections()
		a.web.Close()
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	})
	return a
}

func (a *authority) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	good := a.accepted && r.Header.Get("Authorization") == fmt.Sprint("Bearer token-", a.logins)
	a.mu.Unlock()
	answer := func(v any) {
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(v)
	}
	switch r.URL.Path {
	case streamable.Path:
		a.mu.Lock()
		a.headers = append(a.headers, r.Header.Clone())
		a.mu.Unlock()
		if !good {
			w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="`+a.web.URL+`/.well-known/oauth-protected-resource/mcp"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		a.mcp.ServeHTTP(w, r)
	case "/.well-known/oauth-protected-resource/mcp":
		answer(map[string]any{"resource": a.web.URL + streamable.Path, "authorization_servers": []string{a.web.URL}})
	case "/.well-known/oauth-authorization-server":
		answer(map[string]any{"issuer": a.web.URL, "authorization_endpoint": a.web.URL + "/authorize", "token_endpoint": a.web.URL + "/token",
			"registration_endpoint": a.web.URL + "/register", "response_types_supported": []string{"code"},
			"code_challenge_methods_supported": []string{"S256"}, "token_endpoint_auth_methods_supported": []string{"none"}})
	case "/register":
		var in map[string]any
		json.NewDecoder(r.Body).Decode(&in)
		in["client_id"] = "client"
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusCreated)
		json.NewEncoder(w).Encode(in)
	case "/token":
		r.ParseForm()
		a.mu.Lock()
		a.forms = append(a.forms, r.PostForm)
		a.logins++
		a.accepted = true
		token := fmt.Sprint("token-", a.logins)
		a.mu.Unlock()
		answer(map[string]any{"access_token": token, "token_type": "Bearer", "expires_in": 3600})
	default:
		http.NotFound(w, r)
	}
}

// visit is a person who logs in at a page: the browser is sent back.
func (a *authority) visit(page string) {
	u, err := url.Parse(page)
	if err != nil {
		a.t.Error(err)
		return
	}
	q := u.Query()
	back, _ := url.Parse(q.Get("redirect_uri"))
	back.RawQuery = url.Values{"code": {"c"}, "state": {q.Get("state")}, "iss": {a.web.URL}}.Encode()
	r, err := http.Get(back.String())
	if err != nil {
		a.t.Error(err)
		return
	}
	r.Body.Close()
}

// A server that wants a login says where, waits for the person, and goes on: when
// it is met, and again when its token is withdrawn in the middle.
func TestLogin(t *testing.T) {
	a := newAuthority(t)
	pages := make(chan string, 10)
	secrets := redact.New()
	s := start(t, config.Server{Name: "x", Kind: config.HTTP, URL: a.web.URL + streamable.Path}, func(o *Options) {
		o.Secrets = secrets
		o.OpenPage = func(server, page string) error {
			if server != "x" {
				t.Errorf("the page is for %s", server)
			}
			pages <- page
			return nil
		}
	})
	page := <-pages
	st := s.State()
	if st.Phase != NeedsLogin || st.Page != page || !strings.Contains(st.Why, page) {
		t.Errorf("while it waits: %+v", st)
	}
	a.visit(page)
	echo(t, s, "logged in")
	eventually(t, "it is told", func() bool { return s.told(Ready) != nil }) // by whoever is telling, which need not be who made it so
	if got := fmt.Sprint(s.phases()); got != "[starting needs login starting ready]" {
		t.Errorf("it went through %s", got)
	}
	if secrets.Known("token-1") != redact.Mark {
		t.Error("the token was not told of as a secret")
	}
	if st := s.State(); st.Page != "" {
		t.Errorf("the page is still there: %+v", st)
	}
	a.mu.Lock()
	a.accepted = false
	a.mu.Unlock()
	done := make(chan error)
	go func() {
		_, err := s.Client().CallTool(t.Context(), "echo", map[string]string{"text": "x"}, nil)
		done <- err
	}()
	select {
	case page := <-pages:
		if got := s.State().Phase; got != NeedsLogin {
			t.Errorf("while it waits again it is %s", got)
		}
		a.visit(page)
		if err := <-done; err != nil {
			t.Error(err)
		}
	case err := <-done: // a token that is refused so soon is not got again, and the caller hears it
		if err == nil {
			t.Error("a withdrawn token was taken")
		}
	}
	if st := s.State(); !st.Usable() {
		t.Errorf("at the end: %+v", st)
	}
}

// H11: a page that a server has chosen is not opened by itself. The state says
// where it is.
func TestLoginPageIsNotOpened(t *testing.T) {
	if runtime.GOOS == "windows" || runtime.GOOS == "darwin" {
		t.Skip("the launcher is replaced by a script here")
	}
	dir := t.TempDir()
	opened := filepath.Join(dir, "opened")
	if err := os.WriteFile(filepath.Join(dir, "xdg-open"), []byte("#!/bin/sh\necho \"$1\" >> "+opened+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	a := newAuthority(t)
	s := start(t, config.Server{Name: "x", Kind: config.HTTP, URL: a.web.URL + streamable.Path}, func(o *Options) { o.OpenPage = nil })
	eventually(t, "it says where to log in", func() bool { return s.State().Page != "" })
	if _, err := os.Stat(opened); err == nil {
		t.Error("a page was opened, and nobody has asked for it")
	}
	a.visit(s.State().Page)
	echo(t, s, "logged in")
	if _, err := os.Stat(opened); err == nil {
		t.Error("a page was opened, and nobody has asked for it")
	}
}

// Where nobody may be asked, a server that wants a login says so; and a login
// that another program makes is found.
func TestNoLogin(t *testing.T) {
	a := newAuthority(t)
	kept := &tokens.Memory{}
	e := config.Server{Name: "x", Kind: config.HTTP, URL: a.web.URL + streamable.Path, Source: config.Source{File: "tenon.json"}}
	s := start(t, e, func(o *Options) { o.NoLogin, o.Tokens = true, kept })
	err := s.Wait(t.Context())
	var wants *LoginError
	if !errors.As(err, &wants) || !strings.Contains(err.Error(), "tenon auth login x") {
		t.Fatalf("it fails with %v", err)
	}
	eventually(t, "it says what it needs", func() bool { return s.State().Phase == NeedsLogin })
	other := start(t, e, func(o *Options) {
		o.Tokens = kept
		o.OpenPage = func(_, page string) error { go a.visit(page); return nil }
	})
	echo(t, other, "logged in")
	eventually(t, "the login is found", func() bool { return s.State().Phase == Ready })
	if slices.Contains(s.phases(), Failed) {
		t.Errorf("it went through %v", s.phases())
	}
}

// A1: all connections to a server share the limit on login pages, so that one
// that is connected to again and again opens no more of them; a person who
// restarts the server may log in again.
func TestReconnectsShareTheLimitOnLoginPages(t *testing.T) {
	a := newAuthority(t)
	pages := make(chan string, 100)
	s := start(t, config.Server{Name: "x", Kind: config.HTTP, URL: a.web.URL + streamable.Path}, func(o *Options) {
		o.OpenPage = func(_, page string) error { pages <- page; return nil }
	})
	<-pages
	first := s.loginOptions(nil).Pages
	if first == nil || s.loginOptions(nil).Pages != first {
		t.Fatal("each connection has a limit of its own")
	}
	for range 4 { // pages that nobody finishes: the request gives up
		ctx, cancel := context.WithCancel(t.Context())
		web := &http.Client{Transport: s.roundTripper(noWatcher{})}
		done := make(chan error)
		go func() {
			req, _ := http.NewRequestWithContext(ctx, http.MethodPost, a.web.URL+streamable.Path, strings.NewReader("{}"))
			resp, err := web.Do(req)
			if err == nil {
				resp.Body.Close()
			}
			done <- err
		}()
		select {
		case <-pages:
			cancel()
			<-done
		case err := <-done:
			cancel()
			if needsUser(err) == nil || !strings.Contains(err.Error(), "opened 3 login pages") {
				t.Errorf("error %v", err)
			}
		}
	}
	if len(pages) != 0 {
		t.Errorf("%d more pages", len(pages))
	}
	if err := s.Restart(); err != nil {
		t.Fatal(err)
	}
	a.visit(<-pages)
	echo(t, s, "logged in")
}

// The advice can be followed: a server that is in no configuration has no name
// that the command line knows, so it is called by its URL.
func TestAdviceNamesTheServer(t *testing.T) {
	a := newAuthority(t)
	e := config.Server{Name: "x", Kind: config.HTTP, URL: a.web.URL + streamable.Path}
	s := start(t, e, func(o *Options) { o.NoLogin = true })
	if err := s.Wait(t.Context()); err == nil || !strings.HasSuffix(err.Error(), "tenon auth login "+e.URL) {
		t.Errorf("error %v", err)
	}
}

// A6: a server that wants an API key says so in its state, and is not reported
// as a failed registration. One that is given a wrong key says which header.
func TestMissingCredential(t *testing.T) {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/mcp" {
			http.NotFound(w, r)
			return
		}
		w.WriteHeader(http.StatusUnauthorized)
	}))
	defer web.Close()
	for _, test := range []struct {
		headers map[string]string
		says    string
	}{
		{nil, "wants a credential that Tenon does not have"},
		{map[string]string{"Authorization": "Bearer wrong"}, "answers 401 to the headers that it is sent (Authorization)"},
		{map[string]string{"X-Key": "wrong", "A": "b"}, "answers 401 to the headers that it is sent (A, X-Key)"},
	} {
		for _, kind := range []config.Kind{config.HTTP, config.SSE} {
			s := start(t, config.Server{Name: "x", Kind: kind, URL: web.URL + "/mcp", Headers: test.headers}, func(o *Options) {
				o.OpenPage = func(string, string) error { t.Error("a page was opened"); return nil }
			})
			err := s.Wait(t.Context())
			if _, ok := errors.AsType[*CredentialError](err); !ok || !strings.HasPrefix(err.Error(), "server x "+test.says) {
				t.Errorf("%s %v: %v", kind, test.headers, err)
			}
			eventually(t, "it says what it needs", func() bool { return s.State().Phase == NeedsLogin })
			if why := s.State().Why; !strings.Contains(why, test.says) {
				t.Errorf("%s %v: %s", kind, test.headers, why)
			}
		}
	}
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
}

// A7: the proxy for logins is that of the entry, else that of the options.
func TestProxySetting(t *testing.T) {
	request := httptest.NewRequest(http.MethodGet, "https://issuer.example/", nil)
	for setting, want := range map[string]string{"": "none", "http://proxy.example:3128": "http://proxy.example:3128", "socks5://p:1": "socks5://p:1", "proxy:3128": "error", "ftp://p": "error", "%zz": "error"} {
		for _, inEntry := range []bool{true, false} {
			s := &Server{entry: config.Server{Name: "x"}}
			if inEntry {
				s.entry.OAuth = &config.OAuth{Proxy: setting}
				s.opts.Proxy = nil
			} else {
				s.opts.Proxy = Proxy(setting)
			}
			got := "none"
			if choose := s.loginOptions(nil).Proxy; choose != nil {
				if u, err := choose(request); err != nil {
					got = "error"
				} else {
					got = u.String()
				}
			}
			if got != want {
				t.Errorf("%q, in the entry %v: %s, want %s", setting, inEntry, got, want)
			}
		}
	}
}

// The tokens of many users of one server are all kept as secrets.
func TestTokensOfUsersAreSecrets(t *testing.T) {
	secrets := redact.New()
	answer := roundTrip(func(*http.Request) (*http.Response, error) { return nil, errors.New("away") })
	const users = 100
	for i := range users {
		s := &Server{entry: config.Server{Name: "x"}, opts: Options{Secrets: secrets, Account: fmt.Sprint("user-", i)}}
		r := httptest.NewRequest("POST", "/", nil)
		r.Header.Set("Authorization", fmt.Sprint("Bearer token-of-user-", i))
		_, _ = tokenWatcher{s, answer}.RoundTrip(r)
	}
	for i := range users {
		if got := secrets.Known(fmt.Sprint("token-of-user-", i, " ")); !strings.HasPrefix(got, redact.Mark) {
			t.Errorf("user %d: %s", i, got)
		}
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
