package login

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// What is asked for: the challenge, else what the resource lists, else nothing;
// and offline_access where the authorization server offers it.
func TestScopes(t *testing.T) {
	for _, test := range []struct {
		name       string
		challenged string
		listed     any
		offered    any
		own        []string
		want       string
	}{
		{"challenge", "a b", []string{"c"}, nil, nil, "a b"},
		{"listed", "", []string{"c", "d"}, nil, nil, "c d"},
		{"nothing", "", nil, nil, nil, ""},
		{"nothing, though offline is offered", "", nil, []string{"offline_access"}, nil, ""},
		{"offline", "a", nil, []string{"a", "offline_access"}, nil, "a offline_access"},
		{"offline not offered", "a offline_access", nil, []string{"a"}, nil, "a"},
		{"own", "a", nil, nil, []string{"b", "a"}, "a b"},
		{"own instead of nothing", "", nil, nil, []string{"b"}, "b"},
		{"what is no scope", `a"b c`, nil, nil, nil, "c"},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t)
			if test.listed != nil {
				w.resource["scopes_supported"] = test.listed
			}
			w.metadata["scopes_supported"] = test.offered
			w.challenge = func() string { return `Bearer scope="` + strings.ReplaceAll(test.challenged, `"`, `\"`) + `"` }
			w.wantOK(w.client(func(o *Options) { o.Scopes = test.own }))
			page := w.lastPage()
			if page.Get("scope") != test.want || page.Has("scope") != (test.want != "") {
				t.Errorf("asked for %q (%v), want %q", page.Get("scope"), page.Has("scope"), test.want)
			}
			if (page.Get("prompt") == "consent") != strings.Contains(test.want, offlineAccess) {
				t.Errorf("prompt %q", page.Get("prompt"))
			}
		})
	}
}

// insufficient makes a server want scopes by token: those of the last page.
func (w *world) insufficient(needs string, never bool) {
	w.judge = func(r *http.Request) int {
		w.mu.Lock()
		defer w.mu.Unlock()
		_, tok, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		if !w.valid[tok] {
			return 401
		}
		var n int
		_, _ = fmt.Sscanf(tok, "access-%d", &n)
		has := strings.Fields(w.pages[min(n, len(w.pages))-1].Get("scope"))
		if never || !slices.Contains(has, r.Header.Get("Needs")) && r.Header.Get("Needs") != "" {
			return 403
		}
		return 200
	}
	w.challenge = func() string { return needs }
}

func (w *world) postNeeding(c *http.Client, scope string) int {
	req, err := newPost(w.t.Context(), w.url())
	if err != nil {
		w.t.Fatal(err)
	}
	req.Header.Set("Needs", scope)
	resp, err := c.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	resp.Body.Close()
	return resp.StatusCode
}

// A step up asks for what was asked before and what is needed now.
func TestStepUp(t *testing.T) {
	w := newWorld(t)
	w.resource["scopes_supported"] = []string{"base"}
	w.insufficient(`Bearer`, false)
	c := w.client(nil)
	if status := w.postNeeding(c, ""); status != 200 {
		t.Fatal(status)
	}
	w.insufficient(`Bearer error="insufficient_scope", scope="more"`, false)
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if status := w.postNeeding(c, "more"); status != 200 {
				t.Errorf("status %d", status)
			}
		})
	}
	wg.Wait()
	if page := w.lastPage(); page.Get("scope") != "base more" {
		t.Errorf("asked for %q", page.Get("scope"))
	}
	w.wantCount(2, "issuer GET /authorize")
	if form := w.lastForm(); form.Get("grant_type") != "authorization_code" {
		t.Errorf("form %v", form)
	}
}

// Three logins at most, then the 403 is handed over, and later requests do not
// begin again.
func TestStepUpEnds(t *testing.T) {
	w := newWorld(t)
	w.insufficient(`Bearer error="insufficient_scope", scope="never"`, true)
	c := w.client(nil)
	for range 3 {
		if status := w.postNeeding(c, "never"); status != 403 {
			t.Errorf("status %d", status)
		}
	}
	w.wantCount(3, "issuer GET /authorize")
}

// 403 without insufficient_scope is no reason to log in.
func TestPlainForbidden(t *testing.T) {
	w := newWorld(t)
	c := w.client(nil)
	w.wantOK(c)
	w.judge = func(*http.Request) int { return 403 }
	if status, err := w.post(c); status != 403 || err != nil {
		t.Errorf("%d, %v", status, err)
	}
	w.wantCount(1, "issuer GET /authorize")
}

// The order of ways to be known: given, by URL, registered, not at all.
func TestIdentity(t *testing.T) {
	const at = "https://app.example/client.json"
	given := &Client{ID: "given", Secret: "given-secret"}
	for _, test := range []struct {
		name       string
		client     *Client
		url        string
		takesURL   any
		register   bool
		want, says string
	}{
		{"given", given, at, true, true, "given", ""},
		{"by URL", nil, at, true, true, at, ""},
		{"URL not taken", nil, at, nil, true, "client-1", ""},
		{"registered", nil, "", true, true, "client-1", ""},
		{"not at all", nil, at, nil, false, "", "set Client"},
		{"a bad URL", nil, "http://app.example/client.json", true, true, "", "https URL with a path"},
		{"a URL without path", nil, "https://app.example", true, true, "", "https URL with a path"},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t)
			w.metadata["client_id_metadata_document_supported"] = test.takesURL
			w.metadata["token_endpoint_auth_methods_supported"] = []string{"none", "client_secret_post"}
			if !test.register {
				w.metadata["registration_endpoint"] = nil
			}
			c := w.client(func(o *Options) { o.Client, o.ClientIDMetadataURL = test.client, test.url })
			if test.says != "" {
				w.wantError(c, test.says)
				return
			}
			w.wantOK(c)
			if id := w.lastPage().Get("client_id"); !strings.HasPrefix(id, test.want) {
				t.Errorf("client id %q", id)
			}
		})
	}
}

// A registration that is refused says so, and a client that is not known any
// more registers again.
func TestRegistrationFails(t *testing.T) {
	w := newWorld(t)
	w.metadata["registration_endpoint"] = w.issuer.URL + "/token"
	w.tokens = func(url.Values, http.Header) (int, any) {
		return 400, map[string]any{"error": "invalid_redirect_uri", "error_description": "no loopback"}
	}
	w.wantError(w.client(nil), "register as a native application with redirect URI "+redirectForTests)

	w = newWorld(t)
	w.tokens = func(form url.Values, _ http.Header) (int, any) {
		if strings.HasPrefix(form.Get("client_id"), "client-1-") {
			return 401, map[string]any{"error": "invalid_client"}
		}
		return 0, nil
	}
	w.wantOK(w.client(nil))
	w.wantCount(2, "issuer POST /register")
}

// A3, for registrations: when a client secret expires.
func TestReadRegistration(t *testing.T) {
	later := fmt.Sprint(time.Now().Add(time.Hour).Unix())
	for _, test := range []struct {
		secret, expires, says string
		kept                  bool
	}{
		{"s", `0`, "", false}, {"s", `null`, "", false}, {"s", `"never"`, "", false},
		{"s", later, "", true}, {"s", `"` + later + `"`, "", true}, {"s", later + `.5`, "", true}, {"s", `1e300`, "", true},
		{"s", `-1`, "already expired", false}, {"s", `1`, "already expired", false},
		{"", `-1`, "", false}, {"", `1`, "", false},
	} {
		r, err := readRegistration([]byte(`{"client_id":"c","client_secret":"` + test.secret + `","client_secret_expires_at":` + test.expires + `}`))
		switch {
		case test.says != "":
			if err == nil || !strings.Contains(err.Error(), test.says) {
				t.Errorf("%+v: error %v", test, err)
			}
		case err != nil || (r.ExpiresAt != 0) != test.kept:
			t.Errorf("%+v: %+v, %v", test, r, err)
		}
	}
	if _, err := readRegistration([]byte(`{}`)); err == nil || !strings.Contains(err.Error(), "client_id is missing") {
		t.Errorf("error %v", err)
	}
}

// Servers of 2025-03-26 are their own authorization servers.
func TestServersWithoutResourceMetadata(t *testing.T) {
	for _, metadata := range []bool{true, false} {
		w := newWorld(t)
		h := w.issuer.Config.Handler
		w.issuer.Config.Handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			switch {
			case r.URL.Path == "/v1/mcp":
				w.serveMCP(rw, r)
			case strings.HasPrefix(r.URL.Path, "/.well-known/oauth-protected"), !metadata && strings.HasPrefix(r.URL.Path, "/.well-known"):
				http.NotFound(rw, r)
			default:
				h.ServeHTTP(rw, r)
			}
		})
		w.challenge = func() string { return "" }
		c := w.client(nil)
		for range 2 {
			resp, err := c.Get(w.issuer.URL + "/v1/mcp")
			if err != nil || resp.StatusCode != 200 {
				t.Fatalf("metadata %v: %v, %v", metadata, resp, err)
			}
			resp.Body.Close()
			w.revoke() // the second time by refresh
		}
		if got := w.lastForm(); got.Get("resource") != w.issuer.URL+"/v1/mcp" || got.Get("grant_type") != "refresh_token" {
			t.Errorf("form %v", got)
		}
		w.wantCount(1, "issuer POST /register")
	}
	w := newWorld(t)
	w.resource["authorization_servers"] = []string{}
	w.wantError(w.client(nil), "has no authorization_servers")
}
