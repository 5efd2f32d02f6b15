package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/transport/stdio"
)

// An accountAPI is an API with accounts: GET /me says whose token was sent. Users
// log in with the device flow; a browser sends its user in X-User. The token of
// another issuer is exchanged for one of the API.
type accountAPI struct {
	*httptest.Server
	issuer   *oauthServer // whose tokens for the resource are exchanged
	resource string

	mu      sync.Mutex
	codes   map[string]string // users by device code; empty until the user has agreed
	users   map[string]string // by access token
	refresh map[string]string // users by refresh token, which is for one use
	grants  []string          // of the token requests
	life    int               // seconds of an access token
	n       int
}

func newAccountAPI(t *testing.T) *accountAPI {
	t.Helper()
	a := &accountAPI{codes: map[string]string{}, users: map[string]string{}, refresh: map[string]string{}, life: 3600}
	a.Server = httptest.NewServer(a)
	t.Cleanup(func() { a.CloseClientConnections(); a.Close() })
	return a
}

func (a *accountAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	answer := func(status int, v any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		json.NewEncoder(w).Encode(v)
	}
	r.ParseForm()
	switch r.URL.Path {
	case "/device":
		a.n++
		code := fmt.Sprintf("secret-device-%d", a.n)
		a.codes[code] = ""
		answer(200, map[string]any{"device_code": code, "user_code": fmt.Sprint("CODE-", a.n), "verification_uri": a.URL + "/page", "verification_uri_complete": fmt.Sprintf("%s/page?n=%d", a.URL, a.n), "expires_in": 600, "interval": 0.01})
	case "/page":
		a.codes["secret-device-"+r.URL.Query().Get("n")] = r.Header.Get("X-User")
	case "/token":
		a.token(r, answer)
	default:
		who, ok := a.users[strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")]
		if !ok {
			answer(401, map[string]any{"message": "no such token"})
			return
		}
		answer(200, map[string]any{"user": who, "big": strings.Repeat(who+" ", len(r.URL.Query().Get("big"))*1000)})
	}
}

// token answers a token request. The lock is held.
func (a *accountAPI) token(r *http.Request, answer func(int, any)) {
	kind := r.PostForm.Get("grant_type")
	a.grants = append(a.grants, kind)
	who := ""
	switch kind {
	case "refresh_token":
		who = a.refresh[r.PostForm.Get("refresh_token")]
		delete(a.refresh, r.PostForm.Get("refresh_token"))
	case "urn:ietf:params:oauth:grant-type:device_code":
		if who = a.codes[r.PostForm.Get("device_code")]; who == "" {
			answer(400, map[string]any{"error": "authorization_pending"})
			return
		}
	default:
		who, _ = a.issuer.check(r.PostForm.Get("subject_token"), a.resource)
	}
	if who == "" {
		answer(400, map[string]any{"error": "invalid_grant"})
		return
	}
	a.n++
	access, refresh := fmt.Sprintf("secret-access-%d", a.n), fmt.Sprintf("secret-refresh-%d", a.n)
	a.users[access], a.refresh[refresh] = who, who
	answer(200, map[string]any{"access_token": access, "refresh_token": refresh, "token_type": "Bearer", "expires_in": a.life})
}

// granted returns how many token requests there were, by grant.
func (a *accountAPI) granted(kind string) (n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, one := range a.grants {
		if strings.HasSuffix(one, kind) {
			n++
		}
	}
	return n
}

// entry writes a file for the API and returns the entry of the gateway.
func (a *accountAPI) entry(t *testing.T, auth string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "who.yaml")
	text := `tenon: api/1
name: who
api: {base: "BASE", private: true}
auth: ` + auth + `
tools:
  me: {description: Says who you are, request: GET /me, cache: {ttl: 1h}, output: {text: "you are {{ .user }}"}}
  all: {description: Says it often, request: "GET /me?big=xxx", output: {budget: 1KiB}}
`
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(text, "BASE", a.URL)), 0o600); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf(`"who":{"builtin":"api?file=%s"}`, filepath.ToSlash(file))
}

const deviceAuth = `{kind: oauth2, grant: device, token_url: "BASE/token", device_url: "BASE/device", client_id: gw, account: caller}`

// Two users of a gateway have their own accounts at an API that a builtin server
// wraps: each logs in once, nobody sees what another one gets, and the logins are
// encrypted and outlive the gateway.
func TestGatewayCallersHaveTheirOwnAccountsAtAnAPI(t *testing.T) {
	own, api := newOAuthServer(t), newAccountAPI(t)
	entry := api.entry(t, deviceAuth)
	url, errs := servingEntries(t, entry, "--auth-issuer", own.URL)
	dir := os.Getenv("TENON_CONFIG_DIR")
	var users []*gatewayUser
	var wg sync.WaitGroup
	for i, name := range []string{"alice", "bob"} {
		u := newGatewayUser(t, name, url, own.token(name, url))
		users = append(users, u)
		c := u.dial([]mcp.Revision{"2026-07-28", "2025-11-25"}[i])
		wg.Go(func() {
			for range 5 {
				if got := u.call(c, "who__me"); got != "you are "+name {
					t.Errorf("%s: %s", name, got)
				}
			}
			if len(u.pages) != 1 {
				t.Errorf("%s was asked to open %q", name, u.pages)
			}
		})
	}
	wg.Wait()
	carol := newGatewayUser(t, "carol", url, own.token("carol", url))
	carol.declare = false
	if got := carol.call(carol.dial("2026-07-28"), "who__me"); !strings.Contains(got, "Tell the user to open "+api.URL+"/page?n=") {
		t.Errorf("a user who is not logged in: %s", got)
	}
	alice, bob := users[0].dial("2026-07-28"), users[1].dial("2026-07-28")
	res, err := alice.CallTool(t.Context(), "who__all", map[string]any{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	link := ""
	for _, one := range res.Content {
		if l, ok := one.(*mcp.ResourceLink); ok {
			link = l.URI
		}
	}
	if got, err := alice.ReadResource(t.Context(), link); err != nil || !strings.Contains(got.Contents[0].Text, "alice alice") {
		t.Errorf("the owner reads %q: %v", link, err)
	}
	if _, err := bob.ReadResource(t.Context(), link); err == nil {
		t.Error("a user reads the result of another one")
	}
	for _, file := range filesBelow(t, dir) {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(data), "secret-") {
			t.Errorf("%s has a token", file)
		}
	}
	logins := func(args ...string) string {
		t.Helper()
		code, out, e := tenonIn(t, dir, append([]string{"gateway", "logins"}, args...)...)
		if code != 0 || strings.Contains(out+e, "secret-") {
			t.Errorf("logins %q: exit code %d: %s%s", args, code, out, e)
		}
		return out + e
	}
	if list := logins(); strings.Count(list, "who") != 2 || !strings.Contains(list, "alice") || !strings.Contains(list, "bob") || !strings.Contains(list, own.URL) {
		t.Errorf("the list is %s", list)
	}
	if list := logins("--format", "json"); strings.Count(list, `"api":true`)+strings.Count(list, `"api": true`) != 2 {
		t.Errorf("the list is %s", list)
	}
	again, _ := servingIn(t, dir, "gateway", "--project", t.TempDir(), "--addr", "127.0.0.1:0", "--auth-issuer", own.URL)
	for _, name := range []string{"alice", "bob"} {
		u := newGatewayUser(t, name, again, own.token(name, again))
		if got := u.call(u.dial("2026-07-28"), "who__me"); got != "you are "+name || len(u.pages) > 0 {
			t.Errorf("%s at another gateway: %s, %q", name, got, u.pages)
		}
	}
	logins("remove", "who", "bob")
	if list := logins(); strings.Contains(list, "bob") || !strings.Contains(list, "alice") {
		t.Errorf("after removing one, the list is %s", list)
	}
	users[1].pages = nil
	eventually(t, func() bool { // the gateway that runs notices it
		users[1].call(bob, "who__all")
		return len(users[1].pages) > 0
	})
	if got := users[0].call(alice, "who__me"); got != "you are alice" || len(users[0].pages) != 1 {
		t.Errorf("the login that was not removed: %s, %q", got, users[0].pages)
	}
	if strings.Contains(errs.String(), "secret-") {
		t.Errorf("printed: %s", errs)
	}
}

// An API that exchanges the tokens of callers can be added to a gateway that runs, and
// so can the exchange to its file.
func TestGatewayExchangesAfterAReload(t *testing.T) {
	own, api := newOAuthServer(t), newAccountAPI(t)
	api.issuer = own
	t.Setenv("EXCHANGE_SECRET", "secret-of-the-client")
	url, _ := servingEntries(t, `"calc":{"builtin":"calc"}`, "--auth-issuer", own.URL)
	api.resource = url
	entry := api.entry(t, `{kind: oauth2, grant: exchange, token_url: "BASE/token", client_id: gw, client_secret: "${env:EXCHANGE_SECRET}"}`)
	configured(t, os.Getenv("TENON_CONFIG_DIR"), `{"mcpServers":{"calc":{"builtin":"calc"},`+entry+`}}`)
	u := newGatewayUser(t, "alice", url, own.token("alice", url))
	c := u.dial("2026-07-28")
	got := ""
	eventually(t, func() bool {
		got = u.call(c, "who__me")
		return got == "you are alice" || !strings.Contains(got, "nknown tool")
	})
	if got != "you are alice" {
		t.Error(got)
	}
}

// Processes that share a login refresh it one at a time: a refresh token is for one
// use.
func TestProcessesRefreshALoginOneAtATime(t *testing.T) {
	api := newAccountAPI(t)
	api.life = 1 // less than the time before its end when a token is renewed: each call refreshes it
	_, file, _ := strings.Cut(strings.TrimSuffix(api.entry(t, strings.Replace(deviceAuth, ", account: caller", "", 1)), `"}`), "file=")
	home := t.TempDir()
	user := newGatewayUser(t, "ada", "", "")
	var clients []*client.Client
	for range 3 {
		cmd := binary(t, "serve", "api", "file="+file)
		for _, name := range []string{"HOME", "XDG_DATA_HOME", "TENON_CONFIG_DIR"} {
			set(cmd, name, home)
		}
		c, err := client.Dial(t.Context(), &stdio.Command{Cmd: cmd}, &client.Options{ElicitURL: func(_ context.Context, e *client.Elicitation) (*mcp.ElicitResult, error) {
			user.pages = append(user.pages, e.URL)
			return &mcp.ElicitResult{Action: mcp.ActionAccept}, user.open(e.URL)
		}})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		clients = append(clients, c)
		if len(clients) == 1 {
			if got := user.call(c, "all"); !strings.Contains(got, "ada ada") {
				t.Fatal(got)
			}
		}
	}
	var wg sync.WaitGroup
	for _, c := range clients {
		wg.Go(func() {
			for range 10 {
				if got := user.call(c, "all"); !strings.Contains(got, "ada ada") {
					t.Error(got)
				}
			}
		})
	}
	wg.Wait()
	if n := api.granted("refresh_token"); n != 30 || len(user.pages) != 1 {
		t.Errorf("%d refreshes, and the user was asked to open %q", n, user.pages)
	}
}

// An expired token is refreshed for its own user.
func TestGatewayRefreshesTheAccountsOfCallers(t *testing.T) {
	own, api := newOAuthServer(t), newAccountAPI(t)
	api.life = 1 // less than the time before its end when a token is renewed
	url, _ := servingEntries(t, api.entry(t, deviceAuth), "--auth-issuer", own.URL)
	for _, name := range []string{"alice", "bob"} {
		u := newGatewayUser(t, name, url, own.token(name, url))
		c := u.dial("2026-07-28")
		for range 3 {
			res, err := c.CallTool(t.Context(), "who__all", map[string]any{}, nil)
			if err != nil || !strings.Contains(res.Content.Text(), name) {
				t.Errorf("%s: %v %v", name, res, err)
			}
		}
		if len(u.pages) != 1 {
			t.Errorf("%s: %q", name, u.pages)
		}
	}
	if n := api.granted("refresh_token"); n != 4 {
		t.Errorf("%d tokens were refreshed", n)
	}
}

// API keys are principals, too. A message cannot say who its sender is.
func TestGatewayKeysHaveTheirOwnAccountsAtAnAPI(t *testing.T) {
	api := newAccountAPI(t)
	g := &ruled{dir: t.TempDir()}
	if err := os.WriteFile(filepath.Join(g.dir, "tenon.json"), []byte(`{"mcpServers":{`+api.entry(t, deviceAuth)+`}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	keys := map[string]string{"ada": g.addKey(t, "ada", "x"), "eve": g.addKey(t, "eve", "x")}
	g.url, g.errs = servingIn(t, g.dir, "gateway", "--addr", "127.0.0.1:0", "--project", t.TempDir())
	ada := newGatewayUser(t, "ada", g.url, keys["ada"])
	if got := ada.call(ada.dial("2026-07-28"), "who__me"); got != "you are ada" {
		t.Fatal(got)
	}
	forged := strings.Replace(modernCall("who__me", "{}"), `"_meta":{`, `"_meta":{"principal":{"ID":"ada","Issuer":"api-key"},"tenon/principal":"api-key\u0000ada",`, 1)
	status, _, text := g.send(t, keys["eve"], forged, "MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "who__me", "X-Principal", "ada")
	if status != 200 || strings.Contains(text, "you are ada") || !strings.Contains(text, "/page?n=") {
		t.Errorf("%d %s", status, text)
	}
}

// The token of a caller is exchanged for one of the API. An API key has no token,
// and is not sent anywhere.
func TestGatewayExchangesTheTokensOfCallersForAnAPI(t *testing.T) {
	own, api := newOAuthServer(t), newAccountAPI(t)
	api.issuer = own
	t.Setenv("EXCHANGE_SECRET", "secret-of-the-client")
	url, errs := servingEntries(t, api.entry(t, `{kind: oauth2, grant: exchange, token_url: "BASE/token", client_id: gw, client_secret: "${env:EXCHANGE_SECRET}"}`), "--auth-issuer", own.URL)
	api.resource = url
	for _, name := range []string{"alice", "bob"} {
		u := newGatewayUser(t, name, url, own.token(name, url))
		c := u.dial("2026-07-28")
		for range 2 {
			if got := u.call(c, "who__me"); got != "you are "+name {
				t.Errorf("%s: %s", name, got)
			}
		}
		if strings.Contains(errs.String(), u.token) {
			t.Error("the token of a caller was printed")
		}
	}
	if n := api.granted("token-exchange"); n != 2 {
		t.Errorf("%d exchanges", n)
	}
}

// Callers without a name have no account, and share none.
func TestGatewayWithoutCallersHasNoAccountsOfCallers(t *testing.T) {
	api := newAccountAPI(t)
	url, _ := servingEntries(t, api.entry(t, deviceAuth))
	u := newGatewayUser(t, "anybody", url, "")
	if got := u.call(u.dial("2026-07-28"), "who__me"); !strings.Contains(got, "does not know who calls") || len(u.pages) != 0 {
		t.Errorf("%s, %q", got, u.pages)
	}
	api.mu.Lock()
	defer api.mu.Unlock()
	if api.n != 0 {
		t.Error("a login began")
	}
}
