package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/era"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
	"github.com/tenon-mcp/tenon/transport/streamable"
	"github.com/tenon-mcp/tenon/transport/streamclient"
)

// An oauthServer is an authorization server with all grants. Who a browser belongs
// to is in its header X-User.
type oauthServer struct {
	*httptest.Server
	key *ecdsa.PrivateKey

	mu      sync.Mutex
	codes   map[string][2]string // user and resource by code
	refresh map[string][2]string // by refresh token
	forms   []url.Values
	life    int // seconds of an access token
	n       int
}

func newOAuthServer(t *testing.T) *oauthServer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	s := &oauthServer{key: key, codes: map[string][2]string{}, refresh: map[string][2]string{}, life: 3600}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

// token returns an access token of a user for a resource.
func (s *oauthServer) token(user, resource string) string { return s.boundToken(user, resource, nil) }

// boundToken returns an access token with the claim cnf, unless that is nil.
func (s *oauthServer) boundToken(user, resource string, cnf any) string {
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: s.key, KeyID: "k"}}, nil)
	if err != nil {
		panic(err)
	}
	s.n++
	now := time.Now()
	claims := map[string]any{"iss": s.URL, "sub": user, "aud": resource, "iat": now.Unix(), "exp": now.Unix() + 3600, "jti": fmt.Sprint(s.n)}
	if cnf != nil {
		claims["cnf"] = cnf
	}
	text, err := jwt.Signed(signer).Claims(claims).Serialize()
	if err != nil {
		panic(err)
	}
	return text
}

// check returns the user of a token for a resource.
func (s *oauthServer) check(text, resource string) (user string, ok bool) {
	parsed, err := jwt.ParseSigned(text, []jose.SignatureAlgorithm{jose.ES256})
	if err != nil {
		return "", false
	}
	var claims jwt.Claims
	if err := parsed.Claims(s.key.Public(), &claims); err != nil || claims.Validate(jwt.Expected{Issuer: s.URL, AnyAudience: jwt.Audience{resource}, Time: time.Now()}) != nil {
		return "", false
	}
	return claims.Subject, true
}

func (s *oauthServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	answer := func(status int, v any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		json.NewEncoder(w).Encode(v)
	}
	switch r.URL.Path {
	case "/.well-known/oauth-authorization-server", "/.well-known/openid-configuration":
		answer(200, map[string]any{"issuer": s.URL, "authorization_endpoint": s.URL + "/authorize", "token_endpoint": s.URL + "/token", "registration_endpoint": s.URL + "/register",
			"jwks_uri": s.URL + "/keys", "code_challenge_methods_supported": []string{"S256"}, "token_endpoint_auth_methods_supported": []string{"none", "client_secret_post"}})
	case "/keys":
		answer(200, jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: s.key.Public(), KeyID: "k", Algorithm: "ES256", Use: "sig"}}})
	case "/register":
		answer(201, map[string]any{"client_id": "registered"})
	case "/authorize":
		q := r.URL.Query()
		s.n++
		code := fmt.Sprintf("code-%d", s.n)
		s.codes[code] = [2]string{r.Header.Get("X-User"), q.Get("resource")}
		http.Redirect(w, r, q.Get("redirect_uri")+"?"+url.Values{"code": {code}, "state": {q.Get("state")}}.Encode(), http.StatusFound)
	case "/token":
		r.ParseForm()
		s.forms = append(s.forms, r.PostForm)
		s.grant(r.PostForm, answer)
	default:
		http.NotFound(w, r)
	}
}

// grant answers a token request.
func (s *oauthServer) grant(form url.Values, answer func(int, any)) {
	var who [2]string
	ok := true
	switch kind := form.Get("grant_type"); kind {
	case "authorization_code":
		who, ok = s.codes[form.Get("code")]
		delete(s.codes, form.Get("code"))
	case "refresh_token":
		who, ok = s.refresh[form.Get("refresh_token")]
		delete(s.refresh, form.Get("refresh_token"))
	case "client_credentials":
		who = [2]string{"client:" + form.Get("client_id"), form.Get("resource")}
	default: // token exchange; any token of ours will do
		parsed, err := jwt.ParseSigned(form.Get("subject_token"), []jose.SignatureAlgorithm{jose.ES256})
		var claims jwt.Claims
		ok = err == nil && parsed.Claims(s.key.Public(), &claims) == nil
		who = [2]string{claims.Subject, form.Get("resource")}
	}
	if !ok {
		answer(400, map[string]any{"error": "invalid_grant"})
		return
	}
	s.n++
	issued := map[string]any{"access_token": s.token(who[0], who[1]), "token_type": "Bearer", "expires_in": s.life, "issued_token_type": "urn:ietf:params:oauth:token-type:access_token"}
	if kind := form.Get("grant_type"); kind == "authorization_code" || kind == "refresh_token" {
		refresh := fmt.Sprintf("refresh-%d", s.n)
		s.refresh[refresh] = who
		issued["refresh_token"] = refresh
	}
	answer(200, issued)
}

// A protectedServer is an MCP server that says who its callers are, takes tokens of
// an oauthServer, and writes down all that it is sent.
type protectedServer struct {
	*httptest.Server
	issuer  *oauthServer
	inside  http.Handler
	mu      sync.Mutex
	sent    strings.Builder // everything that was received
	refused []string        // tokens that are no longer accepted
}

func (s *protectedServer) url() string { return s.URL + "/mcp" }

type whoKey struct{}

func newProtectedServer(t *testing.T, issuer *oauthServer) *protectedServer {
	t.Helper()
	s := &protectedServer{issuer: issuer}
	tools := server.New(mcp.Implementation{Name: "protected", Version: "1"}, nil)
	server.AddTool(tools, "whoami", "Says who you are.", func(ctx context.Context, c *mcp.Call, in struct{}) (string, error) {
		who, _ := ctx.Value(whoKey{}).(string)
		return "you are " + who, nil
	}, nil)
	h, err := streamable.NewHandler(tools, &streamable.Options{Principal: func(r *http.Request) *mcp.Principal {
		who, _ := r.Context().Value(whoKey{}).(string)
		return &mcp.Principal{ID: who}
	}})
	if err != nil {
		t.Fatal(err)
	}
	s.inside = h
	s.Server = httptest.NewServer(s)
	t.Cleanup(func() {
		h.Shutdown()
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

func (s *protectedServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	fmt.Fprintf(&s.sent, "%s %s %s\n%v\n%s\n", r.Method, r.Host, r.URL, r.Header, body)
	s.mu.Unlock()
	if r.URL.Path == "/.well-known/oauth-protected-resource/mcp" {
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(map[string]any{"resource": s.url(), "authorization_servers": []string{s.issuer.URL}})
		return
	}
	token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	who, ok := s.issuer.check(token, s.url())
	s.mu.Lock()
	ok = ok && !slices.Contains(s.refused, token)
	s.mu.Unlock()
	if !ok {
		w.Header().Set("WWW-Authenticate", fmt.Sprintf(`Bearer resource_metadata="%s/.well-known/oauth-protected-resource/mcp"`, s.URL))
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	r.Body = io.NopCloser(strings.NewReader(string(body)))
	s.inside.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), whoKey{}, who)))
}

// received returns everything that the server was sent.
func (s *protectedServer) received() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sent.String()
}

// servingEntries runs a gateway with these servers in the user's own file.
func servingEntries(t *testing.T, servers string, args ...string) (url string, errs *told) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "tenon.json"), []byte(`{"mcpServers":{`+servers+`}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	return servingIn(t, dir, append([]string{"gateway", "--project", t.TempDir(), "--addr", "127.0.0.1:0"}, args...)...)
}

// A gatewayUser uses a gateway with a program and a browser.
type gatewayUser struct {
	t       *testing.T
	name    string
	gateway string
	token   string // for the gateway; empty means none
	jar     http.CookieJar
	pages   []string // that the program was asked to open
	declare bool     // the program can open pages
	browser string   // who uses the browser; empty means the user
}

func newGatewayUser(t *testing.T, name, gateway, token string) *gatewayUser {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &gatewayUser{t: t, name: name, gateway: gateway, token: token, jar: jar, declare: true}
}

// RoundTrip sends a request of the browser.
func (u *gatewayUser) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("X-User", u.name)
	if u.browser != "" {
		r.Header.Set("X-User", u.browser)
	}
	return http.DefaultTransport.RoundTrip(r)
}

// open opens a login page in the browser and confirms it.
func (u *gatewayUser) open(page string) error {
	at, err := url.Parse(page)
	if err != nil {
		return err
	}
	b := &http.Client{Transport: u, Jar: u.jar}
	resp, err := b.PostForm(page, url.Values{"ticket": {at.Query().Get("ticket")}})
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("the page ends with %d: %s", resp.StatusCode, body)
	}
	return err
}

// dial connects the program of the user to the gateway.
func (u *gatewayUser) dial(revision mcp.Revision) *client.Client {
	u.t.Helper()
	header := http.Header{}
	if u.token != "" {
		header.Set("Authorization", "Bearer "+u.token)
	}
	tr := &http.Transport{}
	o := &client.Options{Client: mcp.Implementation{Name: "program", Version: "1"}}
	if u.declare {
		o.ElicitURL = func(_ context.Context, e *client.Elicitation) (*mcp.ElicitResult, error) {
			u.pages = append(u.pages, e.URL)
			if err := u.open(e.URL); err != nil {
				u.t.Logf("%s: %v", u.name, err)
			}
			return &mcp.ElicitResult{Action: mcp.ActionAccept}, nil
		}
	}
	c, err := client.Dial(u.t.Context(), &streamclient.Endpoint{URL: u.gateway, HTTP: &http.Client{Transport: tr}, Header: header, Era: era.DialOptions{Known: revision}}, o)
	if err != nil {
		u.t.Fatal(err)
	}
	u.t.Cleanup(func() {
		c.Close()
		tr.CloseIdleConnections()
	})
	return c
}

// call calls a tool without arguments and returns its text.
func (u *gatewayUser) call(c *client.Client, tool string) string {
	res, err := c.CallTool(u.t.Context(), tool, map[string]any{}, nil)
	if err != nil {
		return "error: " + err.Error()
	}
	return res.Content.Text()
}

// tools returns the names of all tools.
func (u *gatewayUser) tools(c *client.Client) (names []string) {
	u.t.Helper()
	all, err := client.All(c.Tools(u.t.Context()))
	if err != nil {
		u.t.Fatal(err)
	}
	for _, tool := range all {
		names = append(names, tool.Name)
	}
	return names
}

// serveTest serves a handler until the test ends and returns its address.
func serveTest(t *testing.T, h http.Handler) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s.URL
}
