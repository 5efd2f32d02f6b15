package weblogin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/tenon-mcp/tenon/auth/login"
	"github.com/tenon-mcp/tenon/auth/tokens/sealed"
	"github.com/tenon-mcp/tenon/internal/leaktest"
	"github.com/tenon-mcp/tenon/mcp"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// An issuer is an authorization server. Who a browser belongs to is in its header
// X-User; who declines has it end in "!".
type issuer struct {
	*httptest.Server
	mu    sync.Mutex
	codes map[string]url.Values // the request and the user, by code
	forms []url.Values
	valid map[string]bool // access and refresh tokens
	n     int
	regs  int
}

func newIssuer(t *testing.T) *issuer {
	is := &issuer{codes: map[string]url.Values{}, valid: map[string]bool{}}
	is.Server = httptest.NewServer(is)
	t.Cleanup(is.Close)
	return is
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

func (is *issuer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	is.mu.Lock()
	defer is.mu.Unlock()
	switch r.URL.Path {
	case "/.well-known/oauth-authorization-server":
		answer(w, 200, map[string]any{"issuer": is.URL, "authorization_endpoint": is.URL + "/authorize", "token_endpoint": is.URL + "/token", "registration_endpoint": is.URL + "/register",
			"code_challenge_methods_supported": []string{"S256"}, "token_endpoint_auth_methods_supported": []string{"none"}, "authorization_response_iss_parameter_supported": true})
	case "/register":
		is.regs++
		answer(w, 201, map[string]any{"client_id": fmt.Sprintf("client-%d", is.regs)})
	case "/authorize":
		q := r.URL.Query()
		back := url.Values{"state": {q.Get("state")}, "iss": {is.URL}}
		if user := r.Header.Get("X-User"); strings.HasSuffix(user, "!") {
			back.Set("error", "access_denied")
		} else {
			is.n++
			code := fmt.Sprintf("code-%d", is.n)
			q.Set("user", user)
			is.codes[code] = q
			back.Set("code", code)
		}
		http.Redirect(w, r, q.Get("redirect_uri")+"?"+back.Encode(), http.StatusFound)
	case "/token":
		_ = r.ParseForm()
		is.forms = append(is.forms, r.PostForm)
		asked := is.codes[r.PostForm.Get("code")]
		delete(is.codes, r.PostForm.Get("code"))
		if asked == nil {
			answer(w, 400, map[string]any{"error": "invalid_grant"})
			return
		}
		is.n++
		token := fmt.Sprintf("access.%s.%d", asked.Get("user"), is.n)
		is.valid[token] = true
		answer(w, 200, map[string]any{"access_token": token, "token_type": "Bearer", "expires_in": 3600, "refresh_token": "refresh." + asked.Get("user")})
	default:
		http.NotFound(w, r)
	}
}

// A world is a gateway with a service, a server behind it, and their issuers.
type world struct {
	t        *testing.T
	gateway  *httptest.Server
	s        *Service
	own      *issuer // of the gateway
	other    *issuer // of the server
	server   *httptest.Server
	store    *sealed.Files
	log      strings.Builder
	logMu    sync.Mutex
	requests []string // the Authorization headers that the server got
	mu       sync.Mutex
}

func (w *world) Write(b []byte) (int, error) {
	w.logMu.Lock()
	defer w.logMu.Unlock()
	return w.log.Write(b)
}

// newWorld makes a world. identity is "issuer", "key" or "" for a single user.
func newWorld(t *testing.T, identity string) *world {
	w := &world{t: t, own: newIssuer(t), other: newIssuer(t)}
	w.server = httptest.NewServer(http.HandlerFunc(w.serveServer))
	t.Cleanup(w.server.Close)
	w.gateway = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) { w.s.ServeHTTP(rw, r) }))
	t.Cleanup(w.gateway.Close)
	keys, err := sealed.ParseKeys(sealed.NewKey())
	if err != nil {
		t.Fatal(err)
	}
	w.store = &sealed.Files{Dir: filepath.Join(t.TempDir(), "logins"), Keys: keys}
	o := &Options{Origin: w.gateway.URL, Store: w.store, Log: slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: slog.LevelDebug}))}
	if identity != "" {
		o.Identity = &Identity{Identify: w.identify, Resource: w.gateway.URL + "/mcp"}
	}
	if identity == "issuer" {
		o.Identity.Issuers = []string{w.own.URL}
	}
	if w.s, err = New(o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.s.Close() })
	return w
}

// identify takes tokens of the gateway's issuer, and API keys "key.NAME".
func (w *world) identify(_ context.Context, token string, _ *http.Request) (*mcp.Principal, error) {
	if name, ok := strings.CutPrefix(token, "key."); ok {
		return &mcp.Principal{ID: name, Issuer: "api-key"}, nil
	}
	w.own.mu.Lock()
	defer w.own.mu.Unlock()
	if !w.own.valid[token] {
		return nil, errors.New("unknown token")
	}
	return &mcp.Principal{ID: strings.Split(token, ".")[1], Issuer: w.own.URL}, nil
}

func (w *world) serveServer(rw http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/.well-known/oauth-protected-resource/mcp" {
		answer(rw, 200, map[string]any{"resource": w.server.URL + "/mcp", "authorization_servers": []string{w.other.URL}})
		return
	}
	w.mu.Lock()
	w.requests = append(w.requests, r.Header.Get("Authorization"))
	w.mu.Unlock()
	w.other.mu.Lock()
	valid := w.other.valid[strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")]
	w.other.mu.Unlock()
	if !valid {
		rw.Header().Set("WWW-Authenticate", fmt.Sprintf(`Bearer resource_metadata="%s/.well-known/oauth-protected-resource/mcp"`, w.server.URL))
		rw.WriteHeader(http.StatusUnauthorized)
		return
	}
	_, user, _ := strings.Cut(r.Header.Get("Authorization"), "access.")
	fmt.Fprint(rw, strings.Split(user, ".")[0])
}

func (w *world) of(who *mcp.Principal) *Login {
	return w.s.Of(Server{Name: "notes", URL: w.server.URL + "/mcp", Login: login.Options{Base: w.server.Client().Transport}}, who)
}

// as returns the user that the server sees in requests of a connection of who.
func (w *world) as(who *mcp.Principal) string {
	w.t.Helper()
	tr := login.New(&login.Options{Store: w.store, Account: w.of(who).Account(), Base: w.server.Client().Transport, NoLogin: errors.New("no login")})
	defer tr.CloseIdleConnections()
	resp, err := (&http.Client{Transport: tr}).Post(w.server.URL+"/mcp", "application/json", strings.NewReader("{}"))
	if err != nil {
		return err.Error()
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	return string(body)
}

// A browser belongs to a user, and remembers cookies.
type browser struct {
	t *testing.T
	http.Client
}

type userTransport struct{ user string }

func (u userTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("X-User", u.user)
	return http.DefaultTransport.RoundTrip(r)
}

func newBrowser(t *testing.T, user string) *browser {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(http.DefaultTransport.(*http.Transport).CloseIdleConnections)
	return &browser{t, http.Client{Jar: jar, Transport: userTransport{user}}}
}

// seen returns the status and the text of a page.
func (b *browser) seen(resp *http.Response, err error) (int, string) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

func (b *browser) open(page string) (int, string) { b.t.Helper(); return b.seen(b.Get(page)) }

// confirm posts the form of a page, and follows all redirects.
func (b *browser) confirm(page string, more url.Values) (int, string) {
	b.t.Helper()
	u, err := url.Parse(page)
	if err != nil {
		b.t.Fatal(err)
	}
	form := url.Values{"ticket": {u.Query().Get("ticket")}}
	for name, values := range more {
		form[name] = values
	}
	return b.seen(b.PostForm(page, form))
}

// leaveAt makes the browser stop before it follows a redirect to a URL that
// contains text, and returns that URL.
func (b *browser) leaveAt(text, page string) string {
	b.t.Helper()
	stopped := ""
	b.CheckRedirect = func(r *http.Request, _ []*http.Request) error {
		if strings.Contains(r.URL.String(), text) {
			stopped = r.URL.String()
			return http.ErrUseLastResponse
		}
		return nil
	}
	defer func() { b.CheckRedirect = nil }()
	b.confirm(page, nil)
	if stopped == "" {
		b.t.Fatalf("no redirect to %s", text)
	}
	return stopped
}
