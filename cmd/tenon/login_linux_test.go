package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/builtin/calc"
	"github.com/tenon-mcp/tenon/internal/freeport"
	"github.com/tenon-mcp/tenon/internal/ptytest"
	"github.com/tenon-mcp/tenon/transport/streamable"
)

// guarded is a server that wants a login before it says anything. Its page lets
// everybody in who visits it.
func guarded(t *testing.T) string {
	t.Helper()
	s, err := calc.New(calc.Config{})
	if err != nil {
		t.Fatal(err)
	}
	inside, err := streamable.NewHandler(s, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(inside.Shutdown)
	web := httptest.NewUnstartedServer(nil)
	web.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answers := map[string]map[string]any{
			"/.well-known/oauth-protected-resource/mcp": {"resource": web.URL + "/mcp", "authorization_servers": []string{web.URL}},
			"/.well-known/oauth-authorization-server": {"issuer": web.URL, "authorization_endpoint": web.URL + "/authorize", "token_endpoint": web.URL + "/token",
				"registration_endpoint": web.URL + "/register", "response_types_supported": []string{"code"}, "code_challenge_methods_supported": []string{"S256"}},
			"/register": {"client_id": "c"},
			"/token":    {"access_token": "let-me-in", "token_type": "Bearer", "expires_in": 3600},
		}
		if r.URL.Path == "/authorize" {
			q := r.URL.Query()
			http.Redirect(w, r, q.Get("redirect_uri")+"?"+url.Values{"code": {"c"}, "state": {q.Get("state")}}.Encode(), http.StatusFound)
			return
		}
		if r.Header.Get("Authorization") == "Bearer let-me-in" {
			inside.ServeHTTP(w, r)
			return
		}
		a, ok := answers[r.URL.Path]
		if !ok {
			w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="`+web.URL+`/.well-known/oauth-protected-resource/mcp"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path == "/register" {
			var in map[string]any
			json.NewDecoder(r.Body).Decode(&in)
			for k, v := range in {
				if a[k] == nil {
					a[k] = v
				}
			}
			w.WriteHeader(http.StatusCreated)
		}
		json.NewEncoder(w).Encode(a)
	})
	web.Start()
	t.Cleanup(web.Close)
	return web.URL + "/mcp"
}

// recordPages has the launcher of pages write down what it is given.
func recordPages(t *testing.T) (opened func() string) {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "opened")
	if err := os.WriteFile(filepath.Join(dir, "xdg-open"), []byte("#!/bin/sh\necho \"$1\" >> "+file+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	return func() string {
		raw, _ := os.ReadFile(file)
		return string(raw)
	}
}

// until does something when a text was written.
type until struct {
	mu   sync.Mutex
	all  bytes.Buffer
	text string
	then func()
}

func (u *until) Write(b []byte) (int, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.all.Write(b)
	if strings.Contains(u.all.String(), u.text) {
		u.then()
	}
	return len(b), nil
}

func (u *until) String() string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.all.String()
}

// H11: where standard input is a pipe, no page of a server is ever opened.
func TestLoginOpensNothingFromAPipe(t *testing.T) {
	address, opened := guarded(t), recordPages(t)
	for _, args := range [][]string{{"tools", address}, {"auth", "login", address}, {"chat", "--model", "none", "--server", address}, {"run", "-p", "add 2 and 3", "--model", "none", "--server", address}} {
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		out := &until{text: "/authorize?", then: func() {
			if args[0] == "auth" { // which waits for the person
				stop()
			}
		}}
		run(ctx, append([]string{"--config-dir", t.TempDir()}, args...), strings.NewReader("/servers\n/login "+address+"\n"), out, out)
		stop()
		if got := opened(); got != "" {
			t.Fatalf("%q has opened %s", args, got)
		}
		if args[0] == "auth" && ctx.Err() != context.Canceled {
			t.Errorf("the page is not shown:\n%s", out)
		}
	}
}

// At a terminal the page is opened when the person says yes, and not before.
func TestLoginOpensAfterAYes(t *testing.T) {
	address, opened := guarded(t), recordPages(t)
	ctx, stop := context.WithCancel(t.Context())
	s := ptytest.New(t)
	ended := make(chan int, 1)
	go func() {
		ended <- run(ctx, []string{"--config-dir", t.TempDir(), "tools", address}, s.TTY, s.TTY, s.TTY)
	}()
	s.Sees("asks you to log in at")
	s.Sees("Open it in the browser? (yes/no)")
	s.Press("y\r")
	s.Sees("Type yes or no.")
	s.Sees("(yes/no) ")
	if got := opened(); got != "" {
		t.Errorf("opened before the person said yes: %s", got)
	}
	s.Press("yes\r")
	for end := time.Now().Add(time.Minute); !strings.Contains(opened(), "/authorize?") && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
	}
	if got := opened(); strings.Count(got, "/authorize?") != 1 {
		t.Errorf("opened %q", got)
	}
	stop()
	<-ended
}

// auth status distinguishes a server that wants a login from one that cannot be
// reached, and auth logout says when there was no login.
func TestAuthStatusAndLogout(t *testing.T) {
	address, dir := guarded(t), t.TempDir()
	silent := freeport.ForTest(t)
	for _, c := range []struct {
		words []string
		code  int
		says  string
	}{
		{[]string{"auth", "status", address}, exitTool, "wants you to log in"},
		{[]string{"auth", "status", "http://" + silent + "/mcp"}, exitConnection, "refused"},
		{[]string{"auth", "logout", address}, exitOK, "You are not logged in to"},
	} {
		var out bytes.Buffer
		code := run(t.Context(), append([]string{"--config-dir", dir}, c.words...), strings.NewReader(""), &out, &out)
		if code != c.code || !strings.Contains(out.String(), c.says) || strings.Contains(out.String(), "Logged out") {
			t.Errorf("%q: exit code %d\n%s", c.words, code, &out)
		}
	}
}
