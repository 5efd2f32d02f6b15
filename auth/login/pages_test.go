package login

import (
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

// demandNewScopes makes a server that wants a scope nobody has heard of before,
// each time it is called with a token.
func (w *world) demandNewScopes() {
	var n atomic.Int64
	w.judge = func(r *http.Request) int {
		if r.Header.Get("Authorization") == "" {
			return 401
		}
		return 403
	}
	w.challenge = func() string {
		return fmt.Sprintf(`Bearer error="insufficient_scope", scope="scope-%d"`, n.Add(1))
	}
}

// A1: a server cannot make a person see more than three login pages, however it
// words its demands: in one call, in several, and in many at once.
func TestNewScopesEachTimeOpenThreePages(t *testing.T) {
	w := newWorld(t)
	w.demandNewScopes()
	c := w.client(nil)
	if status := w.postNeeding(c, ""); status != 403 {
		t.Errorf("status %d, want the server's own answer", status)
	}
	w.wantCount(3, "issuer GET /authorize")
	for range 5 {
		if status := w.postNeeding(c, ""); status != 403 {
			t.Errorf("status %d, want the server's own answer", status)
		}
	}
	w.wantCount(3, "issuer GET /authorize")
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() { w.postNeeding(c, "") })
	}
	wg.Wait()
	w.wantCount(3, "issuer GET /authorize")
}

func TestNewScopesInConcurrentCallsOpenThreePages(t *testing.T) {
	w := newWorld(t)
	w.demandNewScopes()
	c := w.client(nil)
	var wg sync.WaitGroup
	for range 30 {
		wg.Go(func() {
			if status := w.postNeeding(c, ""); status != 403 {
				t.Errorf("status %d, want the server's own answer", status)
			}
		})
	}
	wg.Wait()
	w.wantCount(3, "issuer GET /authorize")
}

// A token that is good for one request makes a login necessary before each: the
// fourth within the window is an error that says until when.
func TestTokensThatEndAtOnceOpenThreePages(t *testing.T) {
	w := newWorld(t)
	w.tokens = func(url.Values, http.Header) (int, any) {
		grant := w.issue(3600)
		delete(grant, "refresh_token")
		return 200, grant
	}
	limit := &PageLimit{}
	for range 3 {
		w.wantOK(w.client(func(o *Options) { o.Pages = limit })) // a Transport each, as after a reconnect
		w.revoke()
	}
	c := w.client(func(o *Options) { o.Pages = limit })
	_, err := w.post(c)
	var too *PageLimitError
	if !errors.As(err, &too) || too.Pages != 3 || too.Server != w.url() {
		t.Fatalf("error %v", err)
	}
	w.noSecrets(err.Error())
	w.wantCount(3, "issuer GET /authorize")

	limit.mu.Lock()
	for i := range limit.shown {
		limit.shown[i].at = limit.shown[i].at.Add(-pageWindow)
	}
	limit.mu.Unlock()
	w.wantOK(w.client(func(o *Options) { o.Pages = limit }))
	w.wantCount(4, "issuer GET /authorize")
}

// Where nobody can log in, no page is made and nothing is registered: a step-up
// that cannot be done must not cost the registration that the token hangs on.
func TestNoLogin(t *testing.T) {
	w := newWorld(t)
	kept := &tokens.Memory{}
	w.wantOK(w.client(func(o *Options) { o.Store = kept }))
	unattended := w.client(func(o *Options) {
		o.Store, o.NoLogin, o.Authorize = kept, errors.New("run the login command"), nobody(t)
	})
	w.wantOK(unattended)
	w.insufficient(`Bearer error="insufficient_scope", scope="more"`, true)
	for range 5 { // pages that were not shown do not count
		w.wantError(unattended, "run the login command")
	}
	w.judge = nil
	w.wantCount(1, "issuer POST /register")
	w.revoke()
	w.wantOK(unattended) // by refresh, as the client that logged in
	w.wantCount(1, "issuer POST /register")
	w.wantCount(1, "issuer GET /authorize")
}

// Step-ups of a machine open no page, and are bounded for each request.
func TestNewScopesEachTimeWithGrant(t *testing.T) {
	w := newWorld(t)
	w.demandNewScopes()
	w.metadata["token_endpoint_auth_methods_supported"] = []string{"client_secret_post"}
	c := w.client(func(o *Options) {
		o.Grant = &ClientCredentials{Client: Client{ID: "machine", Secret: "given-secret"}}
		o.Authorize = nobody(t)
	})
	if status := w.postNeeding(c, ""); status != 403 {
		t.Errorf("status %d", status)
	}
	w.wantCount(1+maxSteps, "issuer POST /token")
}

func TestPageLimit(t *testing.T) {
	start := time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)
	at := func(minutes int) time.Time { return start.Add(time.Duration(minutes) * time.Minute) }
	var l PageLimit
	for i, step := range []struct {
		minute int
		server string
		until  int // -1 means that the page may be shown
	}{
		{0, "https://a/x", -1},
		{4, "https://a/x", -1},
		{5, "https://a/x", -1},
		{6, "https://a/x", 10},
		{6, "https://a/y", -1}, // another server is not to blame
		{9, "https://a/x", 10},
		{10, "https://a/x", -1}, // the first one is over
		{11, "https://a/x", 14},
	} {
		err := l.take(at(step.minute), step.server, "https://a")
		var too *PageLimitError
		switch {
		case step.until < 0 && err != nil:
			t.Errorf("step %d: %v", i, err)
		case step.until >= 0 && (!errors.As(err, &too) || !too.Until.Equal(at(step.until))):
			t.Errorf("step %d: %v, want until minute %d", i, err, step.until)
		}
	}
	l = PageLimit{} // a server that changes its path, as one of 2024-11-05 can
	shown := 0
	for i := range 100 {
		if l.take(start, fmt.Sprint("https://a/", i), "https://a") == nil {
			shown++
		}
	}
	if shown != maxPagesAll {
		t.Errorf("%d pages for one origin", shown)
	}
	if err := l.check(start, "https://b/x", "https://b"); err != nil {
		t.Errorf("another origin: %v", err)
	}
	if err := l.check(start, "https://a/x", "https://a"); err == nil || !strings.Contains(err.Error(), "12:10:00") {
		t.Errorf("error %v does not say until when", err)
	}
}
