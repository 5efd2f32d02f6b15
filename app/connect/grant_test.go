package connect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/auth/fetch"
	"github.com/tenon-mcp/tenon/auth/tokens"
	"github.com/tenon-mcp/tenon/transport/streamable"
)

func (a *authority) form(t *testing.T) url.Values {
	t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.forms) != 1 {
		t.Fatalf("%d token requests", len(a.forms))
	}
	return a.forms[0]
}

// An entry with client credentials needs no user, and stores no token.
func TestClientCredentials(t *testing.T) {
	for _, auth := range []string{"client_secret_basic", "client_secret_post"} {
		a := newAuthority(t)
		stored := &tokens.Memory{}
		s := start(t, config.Server{Name: "x", Kind: config.HTTP, URL: a.web.URL + streamable.Path, OAuth: &config.OAuth{
			Grant: config.GrantClientCredentials, ClientID: "gateway", ClientSecret: "given-secret", AuthMethod: auth, Scopes: []string{"notes"},
		}}, func(o *Options) { o.NoLogin, o.Tokens = true, stored })
		echo(t, s, "hello")
		form := a.form(t)
		if form.Get("grant_type") != "client_credentials" || form.Get("scope") != "notes" || form.Get("resource") != a.web.URL+streamable.Path || form.Has("client_secret") != (auth == "client_secret_post") {
			t.Errorf("%s: %v", auth, form)
		}
		if _, err := stored.Load(t.Context(), "token "+a.web.URL+streamable.Path); !errors.Is(err, tokens.ErrNotFound) {
			t.Errorf("the token is stored: %v", err)
		}
	}
}

// An entry with a key file that cannot be used says so.
func TestPrivateKeyFile(t *testing.T) {
	a := newAuthority(t)
	file := filepath.Join(t.TempDir(), "key.pem")
	if err := os.WriteFile(file, []byte("no key"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := start(t, config.Server{Name: "x", Kind: config.HTTP, URL: a.web.URL + streamable.Path, OAuth: &config.OAuth{
		Grant: config.GrantClientCredentials, ClientID: "gateway", PrivateKeyFile: file,
	}}, func(o *Options) { o.NoLogin = true })
	if err := s.Wait(t.Context()); err == nil || !strings.Contains(err.Error(), "private key") || strings.Contains(err.Error(), "no key") {
		t.Errorf("error %v", err)
	}
}

// G06: the token of the caller is exchanged at the authorization server, and the
// server gets another one.
func TestTokenExchange(t *testing.T) {
	a := newAuthority(t)
	const mine = "token-of-the-caller"
	entry := config.Server{Name: "x", Kind: config.HTTP, URL: a.web.URL + streamable.Path, OAuth: &config.OAuth{
		Grant: config.GrantTokenExchange, Issuer: a.web.URL, ClientID: "gateway", ClientSecret: "given-secret", Audience: "notes",
	}}
	s := start(t, entry, func(o *Options) {
		o.NoLogin, o.Subject = true, func(context.Context) (string, error) { return mine, nil }
	})
	echo(t, s, "hello")
	form := a.form(t)
	for name, want := range map[string]string{
		"grant_type": "urn:ietf:params:oauth:grant-type:token-exchange", "subject_token": mine, "subject_token_type": "urn:ietf:params:oauth:token-type:access_token",
		"requested_token_type": "urn:ietf:params:oauth:token-type:access_token", "resource": a.web.URL + streamable.Path, "audience": "notes",
	} {
		if form.Get(name) != want {
			t.Errorf("%s is %q, want %q", name, form.Get(name), want)
		}
	}
	a.mu.Lock()
	for _, h := range a.headers {
		if strings.Contains(fmt.Sprint(h), mine) {
			t.Errorf("the server got the token of the caller: %v", h)
		}
	}
	a.mu.Unlock()
	alone := start(t, entry, func(o *Options) { o.NoLogin = true })
	if err := alone.Wait(t.Context()); err == nil || !strings.Contains(err.Error(), "only a gateway") {
		t.Errorf("without a caller: %v", err)
	}
}

// G12: addresses that no server has are refused however they are written, and a
// name does not lead to this machine without saying so.
func TestGuardedTransport(t *testing.T) {
	t.Setenv("HTTP_PROXY", "")
	here := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {}))
	defer here.Close()
	port := here.URL[strings.LastIndex(here.URL, ":")+1:]
	for address, allowed := range map[string]bool{
		"http://127.0.0.1:" + port:          true,
		"http://localhost:" + port:          true,
		"http://[::ffff:127.0.0.1]:" + port: false,
		"http://0.0.0.0:" + port:            false,
		"http://[::]:" + port:               false,
		"http://169.254.169.254":            false,
		"http://[::ffff:169.254.169.254]":   false,
		"http://[2002:7f00:1::]:" + port:    false, // 6to4 of 127.0.0.1
		"http://[2002:a9fe:a9fe::]":         false, // 6to4 of 169.254.169.254
		"http://[64:ff9b::7f00:1]:" + port:  false, // NAT64
		"http://[64:ff9b::a9fe:a9fe]":       false,
		"http://[fe80::1]:" + port:          false,
		"http://[2001:0:7f00:1::]:" + port:  false, // Teredo
		"http://[::7f00:1]:" + port:         false, // IPv4-compatible
		"http://224.0.0.1":                  false,
	} {
		tr, err := GuardedTransport(address)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := (&http.Client{Transport: tr}).Get(address)
		if err == nil {
			resp.Body.Close()
		}
		tr.CloseIdleConnections()
		if allowed && err != nil || !allowed && !errors.Is(err, fetch.ErrRefused) {
			t.Errorf("%s: %v", address, err)
		}
	}
	// A name is judged by what it is resolved to: here by the dialer itself.
	tr, err := GuardedTransport("http://rebinds.example:" + port)
	if err != nil {
		t.Fatal(err)
	}
	if conn, err := tr.DialContext(t.Context(), "tcp", "127.0.0.1:"+port); !errors.Is(err, fetch.ErrRefused) {
		if err == nil {
			conn.Close()
		}
		t.Errorf("a name that is resolved to this machine: %v", err)
	}
	if _, err := GuardedTransport("no address"); err == nil {
		t.Error("no error")
	}
}

// A proxy may be on this machine, which the server may not be.
func TestGuardedTransportUsesProxies(t *testing.T) {
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "proxy of ", r.URL) }))
	defer proxy.Close()
	to, err := url.Parse(proxy.URL)
	if err != nil {
		t.Fatal(err)
	}
	server := &url.URL{Scheme: "http", Host: "notes.example", Path: "/mcp"}
	tr := guarded(server, func(*http.Request) (*url.URL, error) { return to, nil })
	defer tr.CloseIdleConnections()
	resp, err := (&http.Client{Transport: tr}).Get(server.String())
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if body, err := io.ReadAll(resp.Body); err != nil || string(body) != "proxy of "+server.String() {
		t.Errorf("%s, %v", body, err)
	}
	for proxy, want := range map[string]string{"http://p": "p:80", "https://p": "p:443", "socks5://p": "p:1080", "http://[::1]:3128": "[::1]:3128"} {
		if u, err := url.Parse(proxy); err != nil || dialAddress(u) != want {
			t.Errorf("%s: %s, %v", proxy, dialAddress(u), err)
		}
	}
}
