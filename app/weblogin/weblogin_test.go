package weblogin

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/app/gateway"
	"github.com/tenon-mcp/tenon/auth/tokens"
	"github.com/tenon-mcp/tenon/mcp"
)

func begin(t *testing.T, l *Login) gateway.LoginPage {
	t.Helper()
	page, err := l.Begin(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	return page
}

func wantID(t *testing.T, l *Login, want bool) string {
	t.Helper()
	id, err := l.ID(t.Context())
	if err != nil || (id != "") != want {
		t.Fatalf("ID %q, %v; want one: %v", id, err, want)
	}
	return id
}

// soon bounds a wait that must not hang.
func soon(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// Each kind of user logs in, and the tokens are the user's own.
func TestUsersLogIn(t *testing.T) {
	for _, kind := range []string{"issuer", "key", ""} {
		t.Run("identified by "+kind, func(t *testing.T) {
			w := newWorld(t, kind)
			who, more := (*mcp.Principal)(nil), url.Values{}
			switch kind {
			case "issuer":
				who = &mcp.Principal{ID: "alice", Issuer: w.own.URL}
			case "key":
				who, more = &mcp.Principal{ID: "alice", Issuer: "api-key"}, url.Values{"secret": {"key.alice"}}
			}
			l := w.of(who)
			wantID(t, l, false)
			page := begin(t, l)
			if again := begin(t, w.of(who)); again.URL != page.URL {
				t.Errorf("two pages for one login: %s, %s", page.URL, again.URL)
			}
			waited := make(chan error, 1)
			go func() { waited <- page.Wait(soon(t)) }()
			b := newBrowser(t, "alice")
			status, text := b.open(page.URL)
			if status != 200 || !strings.Contains(text, "Log in to notes") || !strings.Contains(text, w.server.URL) || strings.Contains(text, "password") != (kind == "key") {
				t.Fatalf("the page: %d %s", status, text)
			}
			wantID(t, l, false)
			if status, text = b.confirm(page.URL, more); status != 200 || !strings.Contains(text, "Logged in to notes") {
				t.Fatalf("the end: %d %s", status, text)
			}
			if err := <-waited; err != nil {
				t.Fatal(err)
			}
			wantID(t, l, true)
			if got := w.as(who); got != "alice" {
				t.Errorf("the server sees %q", got)
			}
			if status, _ := b.open(page.URL); status != http.StatusGone {
				t.Errorf("the page after its use: %d", status)
			}
			form := w.other.forms[0]
			if form.Get("code_verifier") == "" || form.Get("resource") != w.server.URL+"/mcp" || form.Get("redirect_uri") != w.gateway.URL+"/login/callback" {
				t.Errorf("the token request: %v", form)
			}
			w.noSecrets()
		})
	}
}

// noSecrets looks for tokens at rest and in the log.
func (w *world) noSecrets() {
	w.t.Helper()
	w.logMu.Lock()
	text := w.log.String()
	w.logMu.Unlock()
	entries, err := os.ReadDir(w.store.Dir)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, e := range entries {
		if data, err := os.ReadFile(filepath.Join(w.store.Dir, e.Name())); err == nil {
			text += string(data)
		}
	}
	for _, secret := range []string{"access.", "refresh.", "code-", "ticket", "alice"} {
		if strings.Contains(text, secret) {
			w.t.Errorf("%q is readable at rest or in the log", secret)
		}
	}
}

// A page that a user sends to another person gives the user no access to that
// person's account: phishing.
func TestAnotherPersonCannotFinishALogin(t *testing.T) {
	t.Run("opens the page", func(t *testing.T) {
		w := newWorld(t, "issuer")
		mallory := w.of(&mcp.Principal{ID: "mallory", Issuer: w.own.URL})
		page := begin(t, mallory)
		status, text := newBrowser(t, "bob").confirm(page.URL, nil)
		if status != http.StatusForbidden || !strings.Contains(text, "not the user who asked") {
			t.Errorf("%d %s", status, text)
		}
		if err := page.Wait(soon(t)); !errors.Is(err, errOtherUser) {
			t.Errorf("error %v", err)
		}
		wantID(t, mallory, false)
		if len(w.other.forms) != 0 || len(w.requests) != 0 {
			t.Errorf("bob was sent to the server's issuer: %v %v", w.other.forms, w.requests)
		}
	})
	t.Run("has another key", func(t *testing.T) {
		w := newWorld(t, "key")
		page := begin(t, w.of(&mcp.Principal{ID: "mallory", Issuer: "api-key"}))
		if status, text := newBrowser(t, "bob").confirm(page.URL, url.Values{"secret": {"key.bob"}}); status != http.StatusForbidden || !strings.Contains(text, "not the user who asked") {
			t.Errorf("%d %s", status, text)
		}
		if err := page.Wait(soon(t)); !errors.Is(err, errOtherUser) {
			t.Errorf("error %v", err)
		}
	})
	for _, at := range []string{"identity", "server"} {
		t.Run("gets the link of the authorization server, "+at, func(t *testing.T) {
			w := newWorld(t, "issuer")
			mallory := w.of(&mcp.Principal{ID: "mallory", Issuer: w.own.URL})
			page := begin(t, mallory)
			stop := w.own.URL
			if at == "server" {
				stop = w.other.URL
			}
			link := newBrowser(t, "mallory").leaveAt(stop+"/authorize", page.URL)
			status, text := newBrowser(t, "bob").open(link) // comes back to the gateway with a valid state
			if status != http.StatusForbidden || !strings.Contains(text, "another browser") {
				t.Errorf("%d %s", status, text)
			}
			wantID(t, mallory, false)
			if len(w.requests) > 0 && w.requests[len(w.requests)-1] != "" {
				t.Errorf("a token was used: %q", w.requests)
			}
		})
	}
	t.Run("posts the form after the user", func(t *testing.T) {
		w := newWorld(t, "")
		page := begin(t, w.of(nil))
		newBrowser(t, "mallory").leaveAt(w.other.URL, page.URL)
		if status, text := newBrowser(t, "bob").confirm(page.URL, nil); status != http.StatusForbidden {
			t.Errorf("%d %s", status, text)
		}
	})
}

// A response is accepted once, with a state that was sent out.
func TestCallbacksAreUsedOnce(t *testing.T) {
	w := newWorld(t, "")
	l := w.of(nil)
	page := begin(t, l)
	b := newBrowser(t, "alice")
	callback := b.leaveAt("/login/callback", page.URL)
	for _, bad := range []string{"", "?state=", "?state=wrong&code=x", "?state=a&state=b"} {
		if status, _ := b.open(w.gateway.URL + "/login/callback" + bad); status < 400 {
			t.Errorf("%q: %d", bad, status)
		}
	}
	if status, text := b.open(callback); status != 200 {
		t.Fatalf("%d %s", status, text)
	}
	if status, _ := b.open(callback); status != http.StatusGone {
		t.Errorf("a second time: %d", status)
	}
	wantID(t, l, true)
}

// A user who declines at the authorization server ends the login.
func TestLoginFails(t *testing.T) {
	w := newWorld(t, "")
	page := begin(t, w.of(nil))
	status, text := newBrowser(t, "alice!").confirm(page.URL, nil)
	if status != http.StatusBadGateway || !strings.Contains(text, "Login failed") {
		t.Errorf("%d %s", status, text)
	}
	if err := page.Wait(soon(t)); err == nil || !strings.Contains(err.Error(), "access_denied") {
		t.Errorf("error %v", err)
	}
	if next := begin(t, w.of(nil)); next.URL == page.URL {
		t.Error("the page of a login that failed is used again")
	}
	// A call that has asked the user to open that page fails as well.
	same, err := w.of(nil).Begin(t.Context(), page.URL)
	if err != nil || same.URL != page.URL {
		t.Fatalf("%+v, %v", same, err)
	}
	if err := same.Wait(soon(t)); err == nil || !strings.Contains(err.Error(), "access_denied") {
		t.Errorf("error %v", err)
	}
}

// A user who comes back to the page in the same browser begins again.
func TestUserStartsAgain(t *testing.T) {
	w := newWorld(t, "issuer")
	l := w.of(&mcp.Principal{ID: "alice", Issuer: w.own.URL})
	page := begin(t, l)
	b := newBrowser(t, "alice")
	b.leaveAt(w.other.URL, page.URL)
	if status, text := b.confirm(page.URL, nil); status != 200 {
		t.Fatalf("%d %s", status, text)
	}
	wantID(t, l, true)
	if w.own.regs != 1 || w.other.regs != 1 {
		t.Errorf("registered %d and %d times", w.own.regs, w.other.regs)
	}
}

// F30: users log in at once, and each call uses its own token.
func TestManyUsersAtOnce(t *testing.T) {
	w := newWorld(t, "issuer")
	names := []string{"ada", "bob", "cyd", "dan", "eve"}
	var wg sync.WaitGroup
	for _, name := range names {
		wg.Go(func() {
			page, err := w.of(&mcp.Principal{ID: name, Issuer: w.own.URL}).Begin(t.Context(), "")
			if err != nil {
				t.Error(err)
				return
			}
			newBrowser(t, name).confirm(page.URL, nil)
		})
	}
	wg.Wait()
	for range 5 {
		for _, name := range names {
			wg.Go(func() {
				if got := w.as(&mcp.Principal{ID: name, Issuer: w.own.URL}); got != name {
					t.Errorf("%s is %q at the server", name, got)
				}
			})
		}
	}
	wg.Wait()
	if got := w.as(&mcp.Principal{ID: "ada", Issuer: "https://other.example"}); got == "ada" {
		t.Error("an equal ID of another issuer has the login")
	}
}

// A login that the server no longer accepts ends, unless there is another one by
// now; one that was removed is noticed.
func TestLoginEnds(t *testing.T) {
	w := newWorld(t, "")
	l := w.of(nil)
	page := begin(t, l)
	newBrowser(t, "alice").confirm(page.URL, nil)
	id := wantID(t, l, true)
	if err := l.Refused(t.Context(), "another"); err != nil {
		t.Fatal(err)
	}
	if wantID(t, l, true) != id {
		t.Error("another login")
	}
	changed := make(chan error, 1)
	go func() { changed <- l.Changed(soon(t), id) }()
	if err := l.Refused(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if err := <-changed; err != nil {
		t.Error(err)
	}
	wantID(t, l, false)
	if got := w.as(nil); !strings.Contains(got, "no login") {
		t.Errorf("the token is still there: %s", got)
	}
	newBrowser(t, "alice").confirm(begin(t, l).URL, nil)
	wantID(t, l, true)
	keys, bad, err := w.store.Names(t.Context())
	if err != nil || bad != 0 {
		t.Fatal(keys, bad, err)
	}
	all, err := Records(t.Context(), w.store, keys)
	if err != nil || len(all) != 1 || all[0].Server != "notes" || all[0].URL != w.server.URL+"/mcp" {
		t.Fatalf("%+v, %v", all, err)
	}
	if err := Remove(t.Context(), w.store, all[0]); err != nil { // as another process does
		t.Fatal(err)
	}
	if err := l.Changed(soon(t), all[0].ID); err != nil {
		t.Error(err)
	}
	wantID(t, l, false)
	if _, err := w.store.Load(t.Context(), "token "+w.server.URL+"/mcp for "+l.Account()); !errors.Is(err, tokens.ErrNotFound) {
		t.Errorf("the token: %v", err)
	}
}

// The pages answer at the origin of the gateway only, and know no other tickets.
func TestPagesAreCareful(t *testing.T) {
	w := newWorld(t, "")
	page := begin(t, w.of(nil))
	b := newBrowser(t, "alice")
	r, err := http.NewRequest(http.MethodGet, page.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Host = "rebound.example:80"
	if status, _ := b.seen(b.Do(r)); status != http.StatusForbidden {
		t.Errorf("another host: %d", status)
	}
	for _, at := range []string{"/login", "/login?ticket=", "/login?ticket=x"} {
		if status, _ := b.open(w.gateway.URL + at); status != http.StatusGone {
			t.Errorf("%s: %d", at, status)
		}
	}
	if status, _ := b.seen(b.PostForm(w.gateway.URL+"/login", url.Values{"ticket": {strings.Repeat("x", 64<<10)}})); status != http.StatusForbidden {
		t.Errorf("a large form: %d", status)
	}
	for _, origin := range []string{"", "http://gateway.example.com", "https://gateway.example.com/path", "ftp://x", "https://user@host"} {
		if _, err := New(&Options{Origin: origin, Store: w.store}); err == nil {
			t.Errorf("%q is an origin", origin)
		}
	}
	w2 := newWorld(t, "issuer")
	if _, err := w2.of(nil).Begin(t.Context(), ""); err == nil {
		t.Error("a login for a caller who is not authenticated")
	}
	w2.s.Close()
	if _, err := w2.of(&mcp.Principal{ID: "a", Issuer: w2.own.URL}).Begin(t.Context(), ""); err == nil {
		t.Error("a login after Close")
	}
}
