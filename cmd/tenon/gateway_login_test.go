package main

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/auth/fetch"
	"github.com/tenon-mcp/tenon/auth/protect"
	"github.com/tenon-mcp/tenon/mcp"
)

// G06, F30: two users log in to a server through the gateway, in clients and with
// servers of both eras. Each call uses the token of its user, and the server gets
// nothing of the tokens for the gateway.
func TestGatewayUsersLogIn(t *testing.T) {
	for _, upstream := range []string{"2026-07-28", "2025-11-25"} {
		for _, revision := range []mcp.Revision{"2026-07-28", "2025-11-25"} {
			t.Run(fmt.Sprintf("client %s, server %s", revision, upstream), func(t *testing.T) {
				own, other := newOAuthServer(t), newOAuthServer(t)
				notes := newProtectedServer(t, other)
				url, errs := servingEntries(t, `"notes":{"url":"`+notes.url()+`","oauth":{"login":"user"}},"calc":{"builtin":"calc"}`, "--auth-issuer", own.URL, "--revision", upstream)
				var wg sync.WaitGroup
				for _, name := range []string{"alice", "bob"} {
					u := newGatewayUser(t, name, url, own.token(name, url))
					c := u.dial(revision)
					if got := u.tools(c); !slices.Contains(got, "notes__tenon_log_in") || slices.Contains(got, "notes__whoami") || !slices.Contains(got, "calc__add") {
						t.Errorf("%s has the tools %q before the login", name, got)
					}
					wg.Go(func() {
						for range 10 {
							if got := u.call(c, "notes__whoami"); got != "you are "+name {
								t.Errorf("%s: %s", name, got)
							}
						}
						if len(u.pages) != 1 {
							t.Errorf("%s was asked to open %d pages", name, len(u.pages))
						}
						if got := u.call(c, "notes__tenon_log_in"); !strings.Contains(got, "You are logged in to notes") {
							t.Errorf("%s: %s", name, got)
						}
					})
					defer func() {
						if got := u.tools(c); !slices.Contains(got, "notes__whoami") || slices.Contains(got, "notes__tenon_log_in") {
							t.Errorf("%s has the tools %q after the login", name, got)
						}
						for what, text := range map[string]string{"sent to the server": notes.received(), "printed": errs.String()} {
							if strings.Contains(text, u.token) || strings.Contains(text, u.token[strings.LastIndex(u.token, ".")+1:]) {
								t.Errorf("the token of %s for the gateway was %s", name, what)
							}
						}
					}()
				}
				wg.Wait()
			})
		}
	}
}

// A login outlives the gateway, encrypted; it can be listed and removed.
func TestGatewayLoginsArePermanent(t *testing.T) {
	own, other := newOAuthServer(t), newOAuthServer(t)
	notes := newProtectedServer(t, other)
	url, _ := servingEntries(t, `"notes":{"url":"`+notes.url()+`","oauth":{"login":"user"}}`, "--auth-issuer", own.URL)
	dir := os.Getenv("TENON_CONFIG_DIR")
	first := newGatewayUser(t, "alice", url, own.token("alice", url))
	if got := first.call(first.dial("2026-07-28"), "notes__whoami"); got != "you are alice" {
		t.Fatal(got)
	}
	for _, file := range filesBelow(t, filepath.Join(dir, "gateway")) {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, secret := range []string{"refresh-", "eyJ", "alice", notes.URL} {
			if strings.Contains(string(data), secret) {
				t.Errorf("%s has %q", file, secret)
			}
		}
	}
	again, _ := servingIn(t, dir, "gateway", "--project", t.TempDir(), "--addr", "127.0.0.1:0", "--auth-issuer", own.URL)
	u := newGatewayUser(t, "alice", again, own.token("alice", again))
	c := u.dial("2026-07-28")
	if got := u.call(c, "notes__whoami"); got != "you are alice" || len(u.pages) != 0 {
		t.Errorf("another gateway: %s, %d pages", got, len(u.pages))
	}
	command := func(args ...string) (int, string) {
		var out, errs strings.Builder
		code := run(t.Context(), append([]string{"gateway", "logins"}, args...), strings.NewReader(""), &out, &errs)
		return code, out.String() + errs.String()
	}
	if code, text := command("list"); code != 0 || !strings.Contains(text, "notes") || !strings.Contains(text, "alice") || !strings.Contains(text, own.URL) {
		t.Errorf("list: %d %s", code, text)
	}
	if code, text := command("--format", "json"); code != 0 || !strings.Contains(text, `"subject": "alice"`) || strings.Contains(text, "refresh-") {
		t.Errorf("list as JSON: %d %s", code, text)
	}
	if code, text := command("remove", "notes", "bob"); code == 0 {
		t.Errorf("remove of bob: %d %s", code, text)
	}
	if code, text := command("remove", "notes", "alice"); code != 0 || !strings.Contains(text, "Removed 1") {
		t.Errorf("remove: %d %s", code, text)
	}
	if code, text := command("list"); code != 0 || strings.Contains(text, "alice") {
		t.Errorf("list: %d %s", code, text)
	}
	waitFor(t, "the gateway asks again", func() bool {
		return u.call(c, "notes__whoami") == "you are alice" && len(u.pages) == 1
	})
	if code, text := command("reseal"); code != 0 {
		t.Errorf("reseal: %d %s", code, text)
	}
	if code, _ := command("remove"); code != exitUsage {
		t.Errorf("remove of nothing: %d", code)
	}
}

func filesBelow(t *testing.T, dir string) (all []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			all = append(all, path)
			if info, err := d.Info(); err == nil && runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
				t.Errorf("%s has mode %v", path, info.Mode())
			}
		}
		return err
	})
	if err != nil || len(all) < 3 {
		t.Fatalf("%q, %v", all, err)
	}
	return all
}

// waitFor waits for a condition that takes a few seconds at most.
func waitFor(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !ok(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not in time: %s", what)
		}
	}
}

// A page in the browser of another user ends the login, and the call says so. A
// program that cannot open pages gets the address.
func TestGatewayLoginFails(t *testing.T) {
	own, other := newOAuthServer(t), newOAuthServer(t)
	notes := newProtectedServer(t, other)
	url, _ := servingEntries(t, `"notes":{"url":"`+notes.url()+`","oauth":{"login":"user"}}`, "--auth-issuer", own.URL)
	mallory := newGatewayUser(t, "mallory", url, own.token("mallory", url))
	mallory.browser = "bob" // who was sent the link
	if got := mallory.call(mallory.dial("2026-07-28"), "notes__whoami"); !strings.Contains(got, "another user has opened the page") {
		t.Errorf("%s", got)
	}
	if n := other.count("authorization_code"); n != 0 {
		t.Errorf("bob has logged in to the server %d times", n)
	}
	for _, revision := range []mcp.Revision{"2026-07-28", "2025-06-18", "2024-11-05"} {
		simple := newGatewayUser(t, "carol", url, own.token("carol", url))
		simple.declare = false
		c := simple.dial(revision)
		got := simple.call(c, "notes__whoami")
		at := strings.Index(got, "http://127.0.0.1")
		if at < 0 || !strings.Contains(got, "/login?ticket=") {
			t.Fatalf("%s: %s", revision, got)
		}
		if revision != "2024-11-05" {
			continue
		}
		page, _, _ := strings.Cut(got[at:], " ")
		if err := simple.open(page); err != nil {
			t.Fatal(err)
		}
		if got := simple.call(c, "notes__whoami"); got != "you are carol" {
			t.Errorf("%s, after the login: %s", revision, got)
		}
	}
}

// Without authorization the person at the machine logs in.
func TestGatewayLoginOfTheOnlyUser(t *testing.T) {
	other := newOAuthServer(t)
	notes := newProtectedServer(t, other)
	url, _ := servingEntries(t, `"notes":{"url":"`+notes.url()+`","oauth":{"login":"user"}}`)
	u := newGatewayUser(t, "me", url, "")
	if got := u.call(u.dial("2026-07-28"), "notes__whoami"); got != "you are me" || len(u.pages) != 1 {
		t.Errorf("%s, %d pages", got, len(u.pages))
	}
}

// Tokens that expire are refreshed once for many calls, also by two gateways with
// one store, where each refresh token works once. If a refresh token is revoked,
// the user is asked again.
func TestGatewayRefreshesOnce(t *testing.T) {
	own, other := newOAuthServer(t), newOAuthServer(t)
	other.life = 3
	notes := newProtectedServer(t, other)
	url, _ := servingEntries(t, `"notes":{"url":"`+notes.url()+`","oauth":{"login":"user"}}`, "--auth-issuer", own.URL)
	second, _ := servingIn(t, os.Getenv("TENON_CONFIG_DIR"), "gateway", "--project", t.TempDir(), "--addr", "127.0.0.1:0", "--auth-issuer", own.URL)
	u := newGatewayUser(t, "alice", url, own.token("alice", url))
	c := u.dial("2026-07-28")
	if got := u.call(c, "notes__whoami"); got != "you are alice" {
		t.Fatal(got)
	}
	there := newGatewayUser(t, "alice", second, own.token("alice", second))
	d := there.dial("2026-07-28")
	var wg sync.WaitGroup
	began := time.Now()
	for range 10 {
		wg.Go(func() {
			for time.Since(began) < 7*time.Second {
				if got := u.call(c, "notes__whoami"); got != "you are alice" {
					t.Errorf("first gateway: %s", got)
				}
				if got := there.call(d, "notes__whoami"); got != "you are alice" {
					t.Errorf("second gateway: %s", got)
				}
				time.Sleep(50 * time.Millisecond)
			}
		})
	}
	wg.Wait()
	took := time.Since(began)
	if n, most := other.count("refresh_token"), int(took.Seconds()/2)+2; n == 0 || n > most {
		t.Errorf("%d refreshes within %v, at most %d are needed", n, took, most)
	}
	if len(u.pages)+len(there.pages) != 1 {
		t.Errorf("%d pages", len(u.pages)+len(there.pages))
	}
	// The authorization server forgets the login.
	other.mu.Lock()
	clear(other.refresh)
	other.mu.Unlock()
	notes.mu.Lock()
	notes.refused = accessTokens(notes.sent.String())
	notes.mu.Unlock()
	if got := u.call(c, "notes__whoami"); got != "you are alice" || len(u.pages) != 2 {
		t.Errorf("after the revocation: %s, %d pages", got, len(u.pages))
	}
}

// accessTokens returns all bearer tokens in a text.
func accessTokens(text string) (all []string) {
	for _, part := range strings.Split(text, "Bearer ")[1:] {
		end := strings.IndexAny(part, "] \n")
		all = append(all, part[:max(end, 0)])
	}
	return all
}

// G06: a token of a caller is exchanged for one of the server, once for each user.
func TestGatewayExchangesTokens(t *testing.T) {
	for _, revision := range []string{"2026-07-28", "2025-11-25"} {
		own := newOAuthServer(t)
		notes := newProtectedServer(t, own)
		url, errs := servingEntries(t, `"notes":{"url":"`+notes.url()+`","oauth":{"grant":"token_exchange","issuer":"`+own.URL+`","clientId":"gw","clientSecret":"gw-secret-12345","authMethod":"client_secret_post"}}`,
			"--auth-issuer", own.URL, "--revision", revision)
		var wg sync.WaitGroup
		var all []string
		for _, name := range []string{"alice", "bob"} {
			u := newGatewayUser(t, name, url, own.token(name, url))
			all = append(all, u.token)
			wg.Go(func() {
				c := u.dial("2026-07-28")
				var calls sync.WaitGroup
				for range 25 {
					calls.Go(func() {
						if got := u.call(c, "notes__whoami"); got != "you are "+name {
							t.Errorf("%s: %s", name, got)
						}
					})
				}
				calls.Wait()
			})
		}
		wg.Wait()
		if n := own.count("urn:ietf:params:oauth:grant-type:token-exchange"); n != 2 {
			t.Errorf("%d exchanges", n)
		}
		for _, token := range append(all, "gw-secret-12345") {
			if strings.Contains(notes.received(), token) {
				t.Error("a token of a caller, or the secret, was sent to the server")
			}
			if strings.Contains(errs.String(), token) {
				t.Error("a token of a caller, or the secret, was printed")
			}
		}
		if !strings.Contains(notes.received(), "Authorization:[Bearer ") {
			t.Error("the server was sent no token at all")
		}
	}
}

func TestGatewayCredentialMistakes(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TENON_CONFIG_DIR", dir)
	for _, test := range []struct{ file, args, want string }{
		{`{"mcpServers":{"a":{"url":"https://a.example/mcp","oauth":{"grant":"token_exchange","issuer":"https://i.example"}}}}`, "", "--auth-issuer"},
		{`{"mcpServers":{"a":{"url":"https://a.example/mcp","oauth":{"login":"user"}}},"gateway":{"logins":{"key":"env:NO_SUCH_KEY"}}}`, "", "NO_SUCH_KEY"},
		{`{"mcpServers":{"a":{"url":"https://a.example/mcp","oauth":{"login":"user"}}},"gateway":{"logins":{"key":"file:/no/such/file"}}}`, "", "/no/such/file"},
		{`{"mcpServers":{"a":{"url":"https://a.example/mcp","oauth":{"login":"user"}}}}`, "--names plain", "plain"},
	} {
		if err := os.WriteFile(filepath.Join(dir, "tenon.json"), []byte(test.file), 0o600); err != nil {
			t.Fatal(err)
		}
		var out, errs strings.Builder
		args := append([]string{"gateway", "--project", t.TempDir(), "--addr", "127.0.0.1:0"}, strings.Fields(test.args)...)
		if code := run(t.Context(), args, strings.NewReader(""), &out, &errs); code != exitUsage || !strings.Contains(errs.String(), test.want) {
			t.Errorf("%s: %d %s; want %q", test.file, code, errs.String(), test.want)
		}
	}
}

// A token that allows less is exchanged itself, and does not get what another
// token of the same user got.
func TestTokensOfAUserAreExchangedByTheirScopes(t *testing.T) {
	tokens := callerTokens{issuer: "https://id.example"}
	who := func(scopes ...string) *mcp.Principal {
		return &mcp.Principal{ID: "ada", Issuer: "https://id.example", Scopes: scopes}
	}
	tokens.record("wide", who("read", "write"))
	tokens.record("narrow", who("read"))
	for token, p := range map[string]*mcp.Principal{"wide": who("write", "read"), "narrow": who("read")} {
		if got, err := tokens.of(p)(t.Context()); err != nil || got != token {
			t.Errorf("%v: %q, %v; want %q", p.Scopes, got, err, token)
		}
	}
	if got, err := tokens.of(who())(t.Context()); err == nil {
		t.Errorf("no scopes: %q", got)
	}
}

// count returns the number of token requests of a kind.
func (s *oauthServer) count(grant string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.forms {
		if f.Get("grant_type") == grant {
			n++
		}
	}
	return n
}

// G06: only a token of the gateway's issuer is exchanged, never an API key.
func TestAPIKeysAreNotExchanged(t *testing.T) {
	own := newOAuthServer(t)
	token := own.token("alice", "https://gateway.example/mcp")
	keys, err := protect.HashKey("key-of-bob-0123456789")
	if err != nil {
		t.Fatal(err)
	}
	verifier, err := protect.APIKeys(map[string]mcp.Principal{keys: {ID: "bob"}})
	if err != nil {
		t.Fatal(err)
	}
	guard, err := protect.New(&protect.Options{Resource: "https://gateway.example/mcp", AuthorizationServers: []string{own.URL}, APIKeys: verifier, KeepToken: true, Fetch: fetch.New(&fetch.Options{AllowLoopback: true})})
	if err != nil {
		t.Fatal(err)
	}
	kept := &callerTokens{issuer: own.URL}
	var who *mcp.Principal
	h := guard.Wrap(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		who = protect.Principal(r)
		kept.keep(r.Context(), &mcp.Call{Caller: mcp.Caller{Principal: who}})
	}))
	for _, test := range []struct{ given, want string }{{token, token}, {"key-of-bob-0123456789", ""}} {
		who = nil
		r := httptest.NewRequest(http.MethodPost, "https://gateway.example/mcp", nil)
		r.Header.Set("Authorization", "Bearer "+test.given)
		h.ServeHTTP(httptest.NewRecorder(), r)
		if who == nil {
			t.Fatal("the token was refused")
		}
		if got, err := kept.of(who)(t.Context()); got != test.want || (err == nil) != (test.want != "") {
			t.Errorf("%s of %s: kept %v, %v", who.ID, who.Issuer, got != "", err)
		}
	}
	if _, err := kept.of(nil)(t.Context()); err == nil {
		t.Error("a caller who is not authenticated has a token")
	}
}

// Where rules hide the tool to log in, a call of an allowed tool asks.
func TestGatewayLoginWithRules(t *testing.T) {
	notes := newProtectedServer(t, newOAuthServer(t))
	url, _ := servingEntries(t, `"notes":{"url":"`+notes.url()+`","oauth":{"login":"user"}}},"gateway":{"rules":[{"effect":"allow","server":"notes","tool":"whoami"}]`)
	u := newGatewayUser(t, "me", url, "")
	c := u.dial("2026-07-28")
	if got := u.tools(c); len(got) != 0 {
		t.Errorf("before the login: %q", got)
	}
	if got := u.call(c, "notes__whoami"); got != "you are me" || len(u.pages) != 1 {
		t.Errorf("%s, %d pages", got, len(u.pages))
	}
	if got := u.tools(c); !slices.Equal(got, []string{"notes__whoami"}) {
		t.Errorf("after the login: %q", got)
	}
}

// TestLoginOrigin puts the login pages where --public-url says that browsers reach
// the gateway, whatever the audience of tokens is.
func TestLoginOrigin(t *testing.T) {
	at := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 7070}
	for _, c := range []struct{ public, audience, want string }{
		{"https://mcp.example.com/mcp", "https://api.example.com", "https://mcp.example.com"},
		{"https://mcp.example.com/mcp", "", "https://mcp.example.com"},
		{"", "https://api.example.com/x", "https://api.example.com"},
		{"", "api://tenon", "http://127.0.0.1:7070"},
		{"", "tenon", "http://127.0.0.1:7070"},
		{"", "", "http://127.0.0.1:7070"},
	} {
		if got := loginOrigin(&serving{public: c.public, audience: c.audience}, at); got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
}
