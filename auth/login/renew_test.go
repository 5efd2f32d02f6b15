package login

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	json "github.com/go-json-experiment/json"
	"github.com/tenon-mcp/tenon/auth/tokens"
)

// A18: a server that never takes a token does not make a client log in for
// ever: after a refresh and a login its 401 is handed over.
func TestNoLoop(t *testing.T) {
	w := newWorld(t)
	c := w.client(nil)
	w.wantOK(c)
	w.judge = func(*http.Request) int { return 401 }
	for range 3 {
		if status, err := w.post(c); status != 401 || err != nil {
			t.Errorf("status %d, %v", status, err)
		}
	}
	w.wantCount(2, "issuer GET /authorize") // the first, and one after the refresh did not help
	w.wantCount(3, "issuer POST /token")    // and the refresh

	w = newWorld(t)
	w.judge = func(*http.Request) int { return 401 }
	c = w.client(nil)
	for range 3 {
		if status, err := w.post(c); status != 401 || err != nil {
			t.Errorf("status %d, %v", status, err)
		}
	}
	w.wantCount(1, "issuer GET /authorize")
}

// A20: many requests that meet 401 at once make one login, and one refresh when
// the token is gone.
func TestOneLoginForMany(t *testing.T) {
	w := newWorld(t)
	c := w.client(nil)
	all := func() {
		t.Helper()
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				if status, err := w.post(c); status != 200 || err != nil {
					t.Errorf("status %d, %v", status, err)
				}
			})
		}
		wg.Wait()
	}
	all()
	w.wantCount(1, "issuer GET /authorize")
	w.wantCount(1, "issuer POST /token")
	w.revoke()
	all()
	w.wantCount(1, "issuer GET /authorize")
	w.wantCount(2, "issuer POST /token")
	if form := w.lastForm(); form.Get("grant_type") != "refresh_token" || form.Get("refresh_token") != "refresh-1" || form.Get("resource") != w.url() {
		t.Errorf("form %v", form)
	}
}

// A refresh token that is rotated is used once; one that is not, stays.
func TestRotation(t *testing.T) {
	w := newWorld(t)
	c := w.client(nil)
	w.wantOK(c)
	for round := 1; round <= 3; round++ {
		w.revoke()
		w.wantOK(c)
		if got, want := w.lastForm().Get("refresh_token"), fmt.Sprintf("refresh-%d", round); got != want {
			t.Errorf("round %d: %s, want %s", round, got, want)
		}
	}
	w.tokens = func(url.Values, http.Header) (int, any) {
		body := w.issue(3600)
		delete(body, "refresh_token")
		return 200, body
	}
	for range 2 {
		w.revoke()
		w.wantOK(c)
		if got := w.lastForm().Get("refresh_token"); got != "refresh-4" {
			t.Errorf("%s, want refresh-4", got)
		}
	}
}

// A refresh that the authorization server refuses leads to one new login.
func TestRefusedRefresh(t *testing.T) {
	w := newWorld(t)
	c := w.client(nil)
	w.wantOK(c)
	w.tokens = func(form url.Values, _ http.Header) (int, any) {
		if form.Get("grant_type") == "refresh_token" {
			return 400, map[string]any{"error": "invalid_grant", "error_description": form.Get("refresh_token")}
		}
		return 0, nil
	}
	w.revoke()
	w.wantOK(c)
	w.wantCount(2, "issuer GET /authorize")
	w.wantCount(3, "issuer POST /token")
}

// keptToken puts a token into a store, as an earlier process would have.
func keptToken(t *testing.T, w *world, store tokens.Store, change func(*token)) {
	t.Helper()
	client := &registration{Issuer: w.issuer.URL, ClientID: "old", AuthMethod: authNone, RedirectURIs: []string{redirectForTests}}
	tok := &token{Issuer: w.issuer.URL, Resource: w.url(), Access: "access-old", Refresh: "refresh-old", ClientID: "old", Got: time.Now().Add(-time.Hour), Expires: time.Now().Add(time.Hour)}
	if change != nil {
		change(tok)
	}
	for key, v := range map[string]any{"client " + w.issuer.URL: client, "token " + w.url(): tok} {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if err := store.Save(t.Context(), key, text); err != nil {
			t.Fatal(err)
		}
	}
}

// loggedIn is a client that uses a token of an earlier process, and cannot log
// in.
func loggedIn(t *testing.T, w *world, store tokens.Store) *http.Client {
	t.Helper()
	keptToken(t, w, store, nil)
	w.valid["access-old"] = true
	c := w.client(func(o *Options) { o.Store, o.Authorize = store, nobody(t) })
	w.wantOK(c)
	return c
}

// What one process has got, the next one uses.
func TestKeptToken(t *testing.T) {
	w := newWorld(t)
	store := &tokens.Files{Dir: t.TempDir()}
	w.wantOK(w.client(func(o *Options) { o.Store = store }))
	w.wantOK(w.client(func(o *Options) { o.Store, o.Authorize = store, nobody(t) }))
	w.wantCount(1, "issuer POST /token")
	w.revoke()
	w.wantOK(w.client(func(o *Options) { o.Store, o.Authorize = store, nobody(t) }))
	w.wantCount(1, "issuer POST /register")
	// Another account has nothing of it.
	w.wantOK(w.client(func(o *Options) { o.Store, o.Account = store, "another issuer" }))
	w.wantCount(2, "issuer GET /authorize")
}

// A token is renewed before it ends, and one refresh serves all who wait.
func TestEndingToken(t *testing.T) {
	for name, test := range map[string]struct {
		change  func(*token)
		refresh int
		page    int
	}{
		"has time":            {func(tok *token) {}, 0, 0},
		"within the skew":     {func(tok *token) { tok.Expires = time.Now().Add(20 * time.Second) }, 1, 0},
		"over":                {func(tok *token) { tok.Expires = time.Now().Add(-time.Hour) }, 1, 0},
		"nobody says":         {func(tok *token) { tok.Expires = time.Time{} }, 0, 0},
		"over, no refresh":    {func(tok *token) { tok.Expires, tok.Refresh = time.Now().Add(-time.Hour), "" }, 0, 1},
		"nearly, no refresh":  {func(tok *token) { tok.Expires, tok.Refresh = time.Now().Add(20*time.Second), "" }, 0, 0},
		"of another resource": {func(tok *token) { tok.Resource = "https://evil.example/mcp" }, 0, 1},
		"of another client":   {func(tok *token) { tok.Expires, tok.ClientID = time.Now().Add(-time.Hour), "other" }, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.valid["access-old"] = true
			store := &tokens.Memory{}
			keptToken(t, w, store, test.change)
			c := w.client(func(o *Options) { o.Store = store })
			var wg sync.WaitGroup
			for range 20 {
				wg.Go(func() {
					if status, err := w.post(c); status != 200 || err != nil {
						t.Errorf("status %d, %v", status, err)
					}
				})
			}
			wg.Wait()
			w.wantCount(test.page, "issuer GET /authorize")
			w.wantCount(test.refresh+test.page, "issuer POST /token")
		})
	}
}

// Two processes with one store do not both use a refresh token.
func TestAnotherProcessHasRefreshed(t *testing.T) {
	w := newWorld(t)
	store := &tokens.Memory{}
	keptToken(t, w, store, func(tok *token) { tok.Expires = time.Now().Add(time.Minute) })
	w.valid["access-old"], w.valid["access-newer"] = true, true
	c := w.client(func(o *Options) { o.Store, o.Authorize = store, nobody(t) })
	w.wantOK(c)
	tr := c.Transport.(*Transport)
	at, _ := url.Parse(w.url())
	p := tr.endpoint(at)
	p.mu.Lock()
	p.now.Expires = time.Now()
	p.mu.Unlock()
	keptToken(t, w, store, func(tok *token) { tok.Access = "access-newer" })
	w.wantOK(c)
	w.wantCount(0, "issuer POST /token")
}

// A process whose token was refused looks first whether another process has a
// newer one: the refresh token that both had was for one use only.
func TestAnotherProcessHasRotated(t *testing.T) {
	w := newWorld(t)
	store := &tokens.Memory{}
	c := loggedIn(t, w, store)
	w.revoke()
	w.valid["access-newer"] = true
	keptToken(t, w, store, func(tok *token) { tok.Access, tok.Refresh = "access-newer", "refresh-newer" })
	w.wantOK(c)
	w.wantCount(0, "issuer POST /token")
}

// A login in another process counts for those that have asked before it.
func TestAnotherProcessHasLoggedIn(t *testing.T) {
	w := newWorld(t)
	store := &tokens.Memory{}
	early := w.client(func(o *Options) { o.Store, o.NoLogin = store, errors.New("nobody is here") })
	at, _ := url.Parse(w.url())
	if tok, err := early.Transport.(*Transport).endpoint(at).current(t.Context()); tok != nil || err != nil {
		t.Fatal(tok, err)
	}
	w.wantOK(w.client(func(o *Options) { o.Store = store }))
	w.wantOK(early)
	w.wantCount(1, "issuer GET /authorize")
}

// A16, go-sdk#946 (SEP-2352), rust-sdk#996: when the server moves to another
// authorization server, nothing of the old one is sent to the new one.
func TestAuthorizationServerMoves(t *testing.T) {
	w, other := newWorld(t), newWorld(t)
	c := w.client(nil)
	w.wantOK(c)
	w.resource["authorization_servers"] = []string{other.issuer.URL}
	w.revoke()
	w.judge = func(r *http.Request) int {
		other.mu.Lock()
		defer other.mu.Unlock()
		if _, tok, _ := strings.Cut(r.Header.Get("Authorization"), " "); len(w.valid) == 0 && other.valid[tok] {
			return 200
		}
		return 401
	}
	w.wantOK(c)
	other.wantCount(1, "issuer POST /register")
	if len(other.forms) != 1 || len(other.pages) != 1 {
		t.Errorf("%d token requests and %d pages at the new one", len(other.forms), len(other.pages))
	}
	for _, form := range append(other.forms, other.pages...) {
		if !strings.HasSuffix(form.Get("client_id"), other.issuer.Listener.Addr().String()) || form.Has("refresh_token") {
			t.Errorf("the new authorization server got %v", form)
		}
	}
}

// A client that was registered by hand is used where it is known, and nowhere
// else.
func TestGivenClientIsBound(t *testing.T) {
	for name, issuer := range map[string]string{"named": "https://old.example", "met first": ""} {
		t.Run(name, func(t *testing.T) {
			w, other := newWorld(t), newWorld(t)
			c := w.client(func(o *Options) {
				o.Client = &Client{ID: "given", Secret: "given-secret", Issuer: issuer}
			})
			if issuer == "" {
				w.metadata["token_endpoint_auth_methods_supported"] = nil
				w.wantOK(c)
				w.revoke()
				w.resource["authorization_servers"] = []string{other.issuer.URL}
			}
			w.wantError(c, "not sent elsewhere")
			other.wantCount(0, "issuer GET /authorize")
			other.wantCount(0, "issuer POST /token")
			w.wantCount(0, "issuer POST /register")
		})
	}
	w := newWorld(t)
	w.resource["authorization_servers"] = []string{"https://first.example", w.issuer.URL}
	w.wantOK(w.client(func(o *Options) { o.Client = &Client{ID: "given", Issuer: w.issuer.URL} }))
}

func TestForget(t *testing.T) {
	w := newWorld(t)
	c := w.client(nil)
	w.wantOK(c)
	if err := c.Transport.(*Transport).Forget(context.Background(), w.url()); err != nil {
		t.Fatal(err)
	}
	w.wantOK(c)
	w.wantCount(2, "issuer GET /authorize")
}

// A request that cannot be repeated, or brings its own token, is left alone.
func TestLeftAlone(t *testing.T) {
	w := newWorld(t)
	c := w.client(func(o *Options) { o.Authorize = nobody(t) })
	for name, change := range map[string]func(*http.Request){
		"own token": func(r *http.Request) { r.Header.Set("Authorization", "Bearer mine") },
		"one shot":  func(r *http.Request) { r.GetBody = nil },
	} {
		req, err := newPost(t.Context(), w.url())
		if err != nil {
			t.Fatal(err)
		}
		change(req)
		resp, err := c.Do(req)
		if err != nil || resp.StatusCode != 401 {
			t.Fatalf("%s: %v, %v", name, resp, err)
		}
		resp.Body.Close()
	}
}

// A client id that is a URL is good everywhere, and a refresh token is not: it
// stays where it came from.
func TestRefreshTokenStaysAtItsIssuer(t *testing.T) {
	const at = "https://app.example/client.json"
	w, other := newWorld(t), newWorld(t)
	w.metadata["client_id_metadata_document_supported"], other.metadata["client_id_metadata_document_supported"] = true, true
	c := w.client(func(o *Options) { o.ClientIDMetadataURL = at })
	w.wantOK(c)
	w.resource["authorization_servers"] = []string{other.issuer.URL}
	w.revoke()
	if _, err := w.post(c); err != nil {
		t.Fatal(err)
	}
	if len(other.forms) != 1 || other.forms[0].Has("refresh_token") || other.forms[0].Get("client_id") != at {
		t.Errorf("the new authorization server got %v", other.forms)
	}
}

// What was given to one client is not refreshed by another, and what is kept
// for one issuer is not used for another even if it lies in its place.
func TestKeptForSomebodyElse(t *testing.T) {
	w := newWorld(t)
	store := &tokens.Memory{}
	keptToken(t, w, store, func(tok *token) { tok.Expires = time.Now().Add(-time.Hour) })
	w.wantOK(w.client(func(o *Options) { o.Store, o.Client = store, &Client{ID: "given"} }))
	for _, form := range w.forms {
		if form.Has("refresh_token") {
			t.Errorf("form %v", form)
		}
	}

	text, err := json.Marshal(&registration{Issuer: "https://evil.example", ClientID: "evil", RedirectURIs: []string{redirectForTests}})
	if err != nil {
		t.Fatal(err)
	}
	w, store = newWorld(t), &tokens.Memory{}
	if err := store.Save(t.Context(), "client "+w.issuer.URL, text); err != nil {
		t.Fatal(err)
	}
	w.wantOK(w.client(func(o *Options) { o.Store = store }))
	w.wantCount(1, "issuer POST /register")
}

// A server that takes every POST and no GET does not make people log in for
// each GET.
func TestOneMethodIsAlwaysRefused(t *testing.T) {
	w := newWorld(t)
	w.judge = func(r *http.Request) int {
		if r.Method == http.MethodGet {
			return 401
		}
		return 0
	}
	c := w.client(nil)
	for range 5 {
		w.wantOK(c)
		resp, err := c.Get(w.url())
		if err != nil || resp.StatusCode != 401 {
			t.Fatalf("%v, %v", resp, err)
		}
		resp.Body.Close()
	}
	w.wantCount(2, "issuer GET /authorize")
	w.judge = nil
	w.revoke()
	w.wantOK(c)
}

// A3: what each expires_in means. An error is meant where want is negative.
func TestLifetime(t *testing.T) {
	const refused = -1
	for text, want := range map[string]time.Duration{
		`3600`: time.Hour, `"3600"`: time.Hour, `" 3600 "`: time.Hour, `3600.5`: time.Hour + time.Second/2, `3.6e3`: time.Hour, `1`: time.Second,
		`1e300`: maxLifetime, `1e999`: maxLifetime, `99999999999999999999`: maxLifetime, `"1e999"`: maxLifetime, `315360001`: maxLifetime,
		`0`: 0, `"0"`: 0, `-0`: 0, `null`: 0, `"soon"`: 0, `{}`: 0, `[]`: 0, `true`: 0, `"NaN"`: 0, `"Inf"`: 0, `"0x10"`: 0, `"1_000"`: 0, `""`: 0,
		`-1`: refused, `-5`: refused, `"-5"`: refused, `-0.1`: refused, `-1e999`: refused, `0.5`: refused, `1e-300`: refused,
	} {
		g, err := readToken("https://as.example", 200, []byte(`{"access_token":"a","expires_in":`+text+`}`))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		switch got, err := g.lifetime(); {
		case want == refused && err == nil, want != refused && (err != nil || got != want):
			t.Errorf("%s: %s, %v, want %s", text, got, err, want)
		}
	}
	if g, err := readToken("https://as.example", 200, []byte(`{"access_token":"a"}`)); err != nil {
		t.Error(err)
	} else if life, err := g.lifetime(); life != 0 || err != nil {
		t.Errorf("no expires_in: %s, %v", life, err)
	}
}

// A3: a token that has expired when it is issued is refused at the login and at
// a refresh; a token that is still good is used on meanwhile.
func TestTokenThatHasExpiredAlready(t *testing.T) {
	w := newWorld(t)
	w.tokens = func(url.Values, http.Header) (int, any) { return 200, w.issue(-5) }
	w.wantError(w.client(nil), "has already expired (expires_in is -5)")

	w = newWorld(t)
	store := &tokens.Memory{}
	keptToken(t, w, store, func(tok *token) { tok.Got, tok.Expires = time.Now().Add(-time.Hour), time.Now().Add(20*time.Second) })
	w.valid["access-old"] = true
	w.tokens = func(url.Values, http.Header) (int, any) { return 200, w.issue(-5) }
	c := w.client(func(o *Options) { o.Store, o.Authorize = store, nobody(t) })
	w.wantOK(c)
	if w.wantCount(1, "issuer POST /token"); w.taken[0] != "Bearer access-old" {
		t.Errorf("sent %q", w.taken)
	}
	at, _ := url.Parse(w.url())
	p := c.Transport.(*Transport).endpoint(at)
	p.mu.Lock()
	p.now.Expires = time.Now()
	delete(p.failed, forRenewal)
	p.mu.Unlock()
	w.wantError(c, "has already expired (expires_in is -5)")
}

// An authorization server that is away does not matter while the token lasts.
func TestIssuerAway(t *testing.T) {
	w := newWorld(t)
	w.valid["access-old"] = true
	store := &tokens.Memory{}
	keptToken(t, w, store, func(tok *token) { tok.Expires = time.Now().Add(20 * time.Second) })
	w.issuer.Config.Handler = http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(503) })
	c := w.client(func(o *Options) { o.Store, o.Authorize = store, nobody(t) })
	w.wantOK(c)
	w.wantOK(c)
}

// A refusal whose body never ends does not hold up the login.
func TestEndlessRefusal(t *testing.T) {
	w := newWorld(t)
	h := w.server.Config.Handler
	w.server.Config.Handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/mcp" && r.Header.Get("Authorization") == "" {
			_, _ = io.Copy(io.Discard, r.Body)
			rw.WriteHeader(401)
			_ = http.NewResponseController(rw).Flush()
			<-r.Context().Done()
			return
		}
		h.ServeHTTP(rw, r)
	})
	w.wantOK(w.client(nil))
}
