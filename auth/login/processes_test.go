package login

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/auth/tokens"
	"github.com/tenon-mcp/tenon/internal/edittest"
)

// refreshJob renews the token of a server again and again, as a process does
// whose token was refused: it takes a newer one from the store or refreshes.
func refreshJob(dir, _ string, n int) (done []string) {
	at, err := os.ReadFile(filepath.Join(dir, "url"))
	if err != nil {
		panic(err)
	}
	u, err := url.Parse(string(at))
	if err != nil {
		panic(err)
	}
	t := New(&Options{Store: &tokens.Files{Dir: filepath.Join(dir, "tokens")}, NoLogin: errors.New("nobody is here")})
	defer t.CloseIdleConnections()
	p := t.endpoint(u)
	now, err := p.stored(context.Background())
	for i := 0; i < n && err == nil; i++ {
		if now, err = p.refreshOnly(context.Background(), now); now == nil && err == nil {
			err = errors.New("the login has ended")
		}
		if err == nil {
			done = append(done, now.Access)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return done
}

// S1: processes that refresh one token at once use each refresh token once, so
// an authorization server that rotates them ends nobody's login.
func TestProcessesRefreshOneToken(t *testing.T) {
	w := newWorld(t)
	dir := t.TempDir()
	keptToken(t, w, &tokens.Files{Dir: filepath.Join(dir, "tokens")}, nil)
	if err := os.WriteFile(filepath.Join(dir, "url"), []byte(w.url()), 0o600); err != nil {
		t.Fatal(err)
	}
	used := map[string]int{}
	w.mu.Lock() // other processes may ask the server at any time
	w.tokens = func(form url.Values, _ http.Header) (int, any) {
		w.mu.Lock()
		defer w.mu.Unlock()
		used[form.Get("refresh_token")]++
		return 0, nil
	}
	w.mu.Unlock()
	for i, all := range edittest.Run(t, "refresh", dir, 4) {
		if len(all) != edittest.Changes()/4 {
			t.Errorf("process %d: %d renewals", i, len(all))
		}
	}
	for name, n := range used {
		if n > 1 {
			t.Errorf("%s was used %d times", name, n)
		}
	}
	if len(used) == 0 {
		t.Error("nothing was refreshed")
	}
	t.Logf("%d refreshes", len(used))
}

// S1: a process whose token has ended refreshes with the refresh token that
// another process stored last, also if the access token beside it has ended too.
func TestLastRefreshTokenIsUsed(t *testing.T) {
	w := newWorld(t)
	store := &tokens.Files{Dir: t.TempDir()}
	c := loggedIn(t, w, store)
	keptToken(t, w, store, func(tok *token) {
		tok.Access, tok.Refresh, tok.Got, tok.Expires = "access-newer", "refresh-newer", time.Now().Add(-time.Minute), time.Now().Add(-time.Second)
	})
	w.revoke()
	w.wantOK(c)
	if got := w.lastForm().Get("refresh_token"); got != "refresh-newer" {
		t.Errorf("refreshed with %s", got)
	}
	w.wantCount(1, "issuer POST /token")
}

// A busyStore holds a lock for ever, as a process that hangs does.
type busyStore struct{ tokens.Memory }

func (*busyStore) Lock(context.Context, string) (func(), error) { return nil, tokens.ErrLocked }

// A token is not refreshed while another process has its lock; one that has time
// left is used on, and a login is stored anyway.
func TestNoRefreshWithoutTheLock(t *testing.T) {
	w := newWorld(t)
	w.valid["access-old"] = true
	store := &busyStore{}
	keptToken(t, w, store, func(tok *token) { tok.Expires = time.Now().Add(20 * time.Second) })
	w.wantOK(w.client(func(o *Options) { o.Store, o.Authorize = store, nobody(t) }))
	w.wantCount(0, "issuer POST /token")
	keptToken(t, w, store, func(tok *token) { tok.Expires = time.Now().Add(-time.Second) })
	w.wantError(w.client(func(o *Options) { o.Store, o.Authorize = store, nobody(t) }), "held the lock for too long")
	w.wantCount(0, "issuer POST /token")
	if err := store.Delete(t.Context(), "token "+w.url()); err != nil {
		t.Fatal(err)
	}
	warned := ""
	w.wantOK(w.client(func(o *Options) { o.Store, o.Warn = store, func(text string) { warned = text } }))
	if !strings.Contains(warned, "without a lock") {
		t.Errorf("warning %q", warned)
	}
	if _, err := store.Load(t.Context(), "token "+w.url()); err != nil {
		t.Error(err)
	}
}

// Processes that start together make one key for DPoP: a token that is bound to
// another one would be of no use to the next process.
func TestOneKeyForDPoP(t *testing.T) {
	dir := t.TempDir()
	var wg sync.WaitGroup
	keys := make([]string, 8)
	for i := range keys {
		tr := New(&Options{Store: &tokens.Files{Dir: dir}})
		wg.Go(func() {
			p, err := tr.loadProver(t.Context(), "https://as.example")
			if err != nil {
				t.Error(err)
				return
			}
			keys[i] = p.thumbprint
		})
	}
	wg.Wait()
	if slices.Sort(keys); keys[0] != keys[len(keys)-1] {
		t.Errorf("keys %q", keys)
	}
}
