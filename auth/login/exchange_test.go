package login

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/auth/tokens"
)

const callersToken = "token-of-the-caller"

// exchanging returns a client whose grant exchanges callersToken at the issuer of
// the world.
func (w *world) exchanging(change func(*TokenExchange)) *http.Client {
	g := &TokenExchange{Client: Client{ID: "gateway", Secret: "given-secret", Issuer: w.issuer.URL}, Subject: func(context.Context) (string, error) { return callersToken, nil }}
	if change != nil {
		change(g)
	}
	return w.client(func(o *Options) { o.Authorize, o.Grant = nobody(w.t), g })
}

func TestTokenExchange(t *testing.T) {
	w := newWorld(t)
	w.metadata["token_endpoint_auth_methods_supported"] = []string{"client_secret_post"}
	w.metadata["code_challenge_methods_supported"] = nil // there is no code
	w.wantOK(w.exchanging(func(g *TokenExchange) { g.Audience = "notes" }))
	form := w.lastForm()
	for name, want := range map[string]string{
		"grant_type": grantExchange, "subject_token": callersToken, "subject_token_type": TypeAccessToken, "requested_token_type": TypeAccessToken,
		"resource": w.url(), "audience": "notes", "client_id": "gateway", "client_secret": "given-secret",
	} {
		if form.Get(name) != want {
			t.Errorf("%s is %q, want %q", name, form.Get(name), want)
		}
	}
	w.wantCallersTokenNowhere()
	w.wantCount(0, "issuer POST /register")
}

// wantCallersTokenNowhere looks for the token of the caller in what the server
// got.
func (w *world) wantCallersTokenNowhere() {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, auth := range w.taken {
		if strings.Contains(auth, callersToken) {
			w.t.Errorf("the server got the token of the caller: %q", auth)
		}
	}
}

// G06: a server cannot have the token of the caller sent to an authorization
// server of its own choice.
func TestServerDoesNotChooseWhereTokensAreExchanged(t *testing.T) {
	w, evil := newWorld(t), newWorld(t)
	w.resource["authorization_servers"] = []string{evil.issuer.URL}
	w.wantOK(w.exchanging(nil))
	if n := len(evil.forms); n != 0 {
		t.Errorf("%d token requests at the server's choice", n)
	}
	w.wantCount(1, "issuer POST /token")

	lost := newWorld(t)
	lost.wantError(lost.exchanging(func(g *TokenExchange) { g.Client.Issuer = "" }), "TokenExchange needs")
	if n := len(lost.forms); n != 0 {
		t.Errorf("%d token requests without an issuer", n)
	}
}

// G06: an authorization server that returns the token of the caller does not get
// it through to the server.
func TestExchangeMustChangeTheToken(t *testing.T) {
	for _, member := range []string{"access_token", "refresh_token"} {
		w := newWorld(t)
		w.tokens = func(url.Values, http.Header) (int, any) {
			return 200, with(map[string]any{"access_token": "new", "token_type": "Bearer"}, map[string]any{member: callersToken})
		}
		w.wantError(w.exchanging(nil), "unchanged")
		w.wantCallersTokenNowhere()
	}
}

// The token of a caller who has gone is an error, not a request.
func TestExchangeWithoutASubject(t *testing.T) {
	w := newWorld(t)
	w.wantError(w.exchanging(func(g *TokenExchange) {
		g.Subject = func(context.Context) (string, error) { return "", errors.New("the caller has gone") }
	}), "the caller has gone")
	w.wantCount(0, "issuer POST /token")
	for _, text := range []string{fmt.Sprintf("%v %+v %#v %s", &TokenExchange{Client: Client{Secret: "given-secret"}}, &TokenExchange{Client: Client{Secret: "given-secret"}}, &TokenExchange{Client: Client{Secret: "given-secret"}}, &TokenExchange{})} {
		w.noSecrets(text)
	}
}

// A token is exchanged once for many requests, and again before it expires, so
// that no request is refused for it.
func TestExchangeOnceForManyRequests(t *testing.T) {
	w := newWorld(t)
	var exchanges atomic.Int32
	w.tokens = func(url.Values, http.Header) (int, any) {
		n := exchanges.Add(1)
		life := 3600
		if n == 1 {
			life = 2 // shorter than this test may take on a busy machine: it is renewed meanwhile
		}
		issued := w.issue(life)
		delete(issued, "refresh_token")
		return 200, issued
	}
	c := w.exchanging(nil)
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if status, err := w.post(c); status != 200 || err != nil {
				t.Errorf("status %d, error %v", status, err)
			}
		})
	}
	wg.Wait()
	if n := exchanges.Load(); n != 1 && n != 2 {
		t.Errorf("%d exchanges", n)
	}
	unauthorized := func() (n int) {
		w.mu.Lock()
		defer w.mu.Unlock()
		for _, auth := range w.taken {
			if auth == "" {
				n++
			}
		}
		return n
	}
	before := unauthorized()
	for deadline := time.Now().Add(time.Minute); exchanges.Load() < 2; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("an expired token is not exchanged again")
		}
		w.wantOK(c)
	}
	for range 20 {
		wg.Go(func() {
			if status, err := w.post(c); status != 200 || err != nil {
				t.Errorf("status %d, error %v", status, err)
			}
		})
	}
	wg.Wait()
	if got := unauthorized(); got != before {
		t.Errorf("%d requests were sent without a token after the first one expired", got-before)
	}
	if n := exchanges.Load(); n != 2 {
		t.Errorf("%d exchanges", n)
	}
}

// Users of one store have tokens of their own, and share the registration of the
// program.
func TestAccountsShareTheRegistration(t *testing.T) {
	w := newWorld(t)
	store := &tokens.Memory{}
	as := func(account string) *http.Client {
		return w.client(func(o *Options) { o.Store, o.Account = store, account })
	}
	w.wantOK(as("ada"))
	w.wantOK(as("bob"))
	w.wantCount(1, "issuer POST /register")
	w.wantCount(2, "issuer POST /token")
	w.wantOK(as("ada"))
	w.wantCount(2, "issuer POST /token")
}

// Login logs in before a request needs it; another Transport that has failed
// before finds the token at once.
func TestLoginAhead(t *testing.T) {
	w := newWorld(t)
	store := &tokens.Memory{}
	waiting := w.client(func(o *Options) { o.Store, o.NoLogin = store, errors.New("log in first") })
	w.wantError(waiting, "log in first")
	tr := w.client(func(o *Options) { o.Store = store }).Transport.(*Transport)
	if err := tr.Login(t.Context(), w.url()); err != nil {
		t.Fatal(err)
	}
	token, err := tr.Token(t.Context(), w.url())
	if err != nil || string(token) != "access-1" || fmt.Sprint(token) != "(secret)" {
		t.Errorf("%v, %v", token, err)
	}
	w.wantOK(waiting)
	w.wantCount(1, "issuer POST /token")
	for _, bad := range []string{"", "mcp", "ftp://x/y", "http://"} {
		if err := tr.Login(t.Context(), bad); err == nil {
			t.Errorf("%q: no error", bad)
		}
	}
}

// The options name the authorization server, and no metadata of the server is
// read.
func TestAuthorizationServerOfTheOptions(t *testing.T) {
	w := newWorld(t)
	w.metadata["scopes_supported"] = []string{"offline_access"}
	w.wantOK(w.client(func(o *Options) { o.AuthorizationServer, o.Online = w.issuer.URL, true }))
	w.wantCount(0, "server GET /.well-known/oauth-protected-resource/mcp")
	if page := w.lastPage(); page.Get("resource") != w.url() || page.Has("scope") {
		t.Errorf("the authorization request: %v", page)
	}
}
