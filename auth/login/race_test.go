package login

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/auth/fetch"
	"github.com/tenon-mcp/tenon/auth/tokens"
)

// Two programs log in at the same server at once, and each registers a client:
// whichever of the tokens is kept, it can be refreshed.
func TestTwoLoginsAtOnceKeepTheirClients(t *testing.T) {
	w := newWorld(t)
	store := &tokens.Memory{}
	var wg sync.WaitGroup
	for _, redirect := range []string{"http://localhost:3001/callback", "http://localhost:3002/callback"} { // a port each
		documents := fetch.New(&fetch.Options{AllowLoopback: true})
		t.Cleanup(documents.Close)
		c := w.client(func(o *Options) { o.Store, o.RedirectURI, o.Authorize = store, redirect, Follow(documents, redirect) })
		at, _ := url.Parse(w.url())
		p := c.Transport.(*Transport).endpoint(at)
		wg.Go(func() {
			prot, err := findProtection(t.Context(), p.fetch, p.url, "", "")
			if err != nil {
				t.Error(err)
				return
			}
			s, err := p.choose(t.Context(), prot)
			if err == nil {
				_, err = p.login(t.Context(), prot, s, nil, keyNever)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	w.wantCount(2, "issuer POST /register")
	kept, err := store.Load(t.Context(), "client "+w.issuer.URL)
	if err != nil {
		t.Fatal(err)
	}
	// The other registration wins.
	for _, id := range []string{"client-1-", "client-2-"} {
		other := strings.NewReplacer("client-1-", id, "client-2-", id).Replace(string(kept))
		if err := store.Save(t.Context(), "client "+w.issuer.URL, tokens.Secret(other)); err != nil {
			t.Fatal(err)
		}
		w.revoke()
		w.wantOK(w.client(func(o *Options) { o.Store, o.Authorize = store, nobody(t) }))
	}
	w.wantCount(2, "issuer GET /authorize")
}

// A refresh that is refused because another process was faster is no reason to
// log in: its token is in the store.
func TestRefusedRefreshLooksAgain(t *testing.T) {
	w := newWorld(t)
	store := &tokens.Memory{}
	c := loggedIn(t, w, store)
	w.revoke()
	w.tokens = func(url.Values, http.Header) (int, any) {
		w.mu.Lock()
		w.valid["access-newer"] = true
		w.mu.Unlock()
		keptToken(t, w, store, func(tok *token) { tok.Access, tok.Refresh = "access-newer", "refresh-newer" })
		return 400, map[string]any{"error": "invalid_grant"}
	}
	w.wantOK(c)
	w.wantCount(1, "issuer POST /token")
}

// Who logs out while a token is being refreshed is logged out.
func TestForgetDuringRefresh(t *testing.T) {
	w := newWorld(t)
	store := &tokens.Memory{}
	keptToken(t, w, store, func(tok *token) { tok.Expires = time.Now().Add(time.Second) })
	asked, answer := make(chan struct{}), make(chan struct{})
	w.tokens = func(url.Values, http.Header) (int, any) {
		close(asked)
		<-answer
		return 0, nil
	}
	c := w.client(func(o *Options) { o.Store, o.NoLogin = store, errors.New("nobody is here") })
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = w.post(c)
	}()
	<-asked
	forgotten := make(chan error)
	go func() { forgotten <- c.Transport.(*Transport).Forget(t.Context(), w.url()) }()
	select {
	case err := <-forgotten:
		if err != nil {
			t.Error(err)
		}
		close(answer)
	case <-time.After(200 * time.Millisecond): // it may wait for the refresh, too
		close(answer)
		if err := <-forgotten; err != nil {
			t.Error(err)
		}
	}
	<-done
	if _, err := store.Load(t.Context(), "token "+w.url()); !errors.Is(err, tokens.ErrNotFound) {
		t.Errorf("the token is there again: %v", err)
	}
}

// After a logout in another process, a process that is still logged in refreshes
// nothing and stores nothing.
func TestRefreshAfterLogoutElsewhere(t *testing.T) {
	w := newWorld(t)
	dir := t.TempDir()
	keptToken(t, w, &tokens.Files{Dir: dir}, nil)
	w.valid["access-old"] = true
	c := w.client(func(o *Options) { o.Store, o.NoLogin = &tokens.Files{Dir: dir}, errors.New("nobody is here") })
	w.wantOK(c)
	other := New(&Options{Store: &tokens.Files{Dir: dir}})
	if in, err := other.LoggedIn(t.Context(), w.url()); !in || err != nil {
		t.Fatalf("before the logout: %v, %v", in, err)
	}
	if err := other.Forget(t.Context(), w.url()); err != nil {
		t.Fatal(err)
	}
	w.revoke()
	if _, err := w.post(c); err == nil {
		t.Error("the call succeeded without a login")
	}
	w.wantCount(0, "issuer POST /token")
	if in, err := other.LoggedIn(t.Context(), w.url()); in || err != nil {
		t.Errorf("the token is there again: %v", err)
	}
}

// A contextStore honours the context, as a store on the network does.
type contextStore struct{ tokens.Memory }

func (s *contextStore) Load(ctx context.Context, key string) (tokens.Secret, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return s.Memory.Load(ctx, key)
}

// A first request that is cancelled does not cost the token that is kept.
func TestCancelledRequestDoesNotLoseTheToken(t *testing.T) {
	w := newWorld(t)
	store := &contextStore{}
	keptToken(t, w, store, nil)
	w.valid["access-old"] = true
	c := w.client(func(o *Options) { o.Store, o.Authorize = store, nobody(t) })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	req, err := newPost(ctx, w.url())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Transport.RoundTrip(req); err == nil {
		t.Error("a cancelled request was answered")
	}
	w.wantOK(c)
}

// A stuckStore does not answer before it is let go.
type stuckStore struct {
	tokens.Memory
	hold chan struct{}
}

func (s *stuckStore) Load(ctx context.Context, key string) (tokens.Secret, error) {
	<-s.hold
	return s.Memory.Load(ctx, key)
}

// A store that hangs holds up no request longer than it wants to wait.
func TestStuckStoreHoldsNobody(t *testing.T) {
	w := newWorld(t)
	store := &stuckStore{hold: make(chan struct{})}
	c := w.client(func(o *Options) { o.Store = store })
	var wg sync.WaitGroup
	for range 3 {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		req, err := newPost(ctx, w.url())
		if err != nil {
			t.Fatal(err)
		}
		wg.Go(func() {
			defer cancel()
			if _, err := c.Transport.RoundTrip(req); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("error %v", err)
			}
		})
	}
	wg.Wait()
	close(store.hold)
	w.wantOK(c)
}

// A token stays within its resource, however a path is written.
func TestTokenStaysWithinItsResource(t *testing.T) {
	r, _ := url.Parse("https://h.example/a")
	for raw, want := range map[string]bool{
		"https://h.example/a": true, "https://h.example/a/": true, "https://h.example/a/b": true, "https://h.example/a/..b/c": true,
		"https://h.example/ab": false, "https://h.example/": false, "https://h.example/a/../b": false, "https://h.example/a/%2e%2e/b": false,
		"https://h.example/a/%2E./b": false, `https://h.example/a/..%5cb`: false, "https://h.example/a/..%2fb": false,
	} {
		u, err := url.Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		if got := covers(r, u); got != want {
			t.Errorf("%s: %v", raw, got)
		}
	}
}

// Two programs with one store do not use a refresh token both, also if they need
// to at the same moment: the authorization server would take it for theft.
func TestTwoRefreshesAtOnce(t *testing.T) {
	for _, ended := range []bool{false, true} { // before the token ends, and after it was refused
		w := newWorld(t)
		store := &tokens.Files{Dir: t.TempDir()}
		keptToken(t, w, store, func(tok *token) {
			if !ended {
				tok.Expires = time.Now().Add(10 * time.Second)
			}
		})
		both := make(chan struct{}, 2)
		w.tokens = func(url.Values, http.Header) (int, any) {
			both <- struct{}{}
			for range 30 { // time for the other one to come, if it does
				if len(both) == 2 {
					break
				}
				time.Sleep(10 * time.Millisecond)
			}
			return 0, nil
		}
		var wg sync.WaitGroup
		for range 2 {
			c := w.client(func(o *Options) { o.Store, o.Authorize = &tokens.Files{Dir: store.Dir}, nobody(t) })
			wg.Go(func() { w.wantOK(c) })
		}
		wg.Wait()
		w.wantCount(1, "issuer POST /token")
	}
}
