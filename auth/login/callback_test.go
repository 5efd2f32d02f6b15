package login

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// A12, and inspector 5bc17133, 6cd5a8e0 (state on error callbacks): a callback
// that does not show the state of this login is not used, and nothing of it is
// shown.
func TestForeignState(t *testing.T) {
	for name, change := range map[string]func(url.Values){
		"wrong":   func(q url.Values) { q.Set("state", q.Get("state")[1:]+"%") },
		"missing": func(q url.Values) { q.Del("state") },
		"twice":   func(q url.Values) { q.Add("state", "other") },
		"wrong in an error": func(q url.Values) {
			q.Set("state", "wrong")
			q.Set("error", "EVIL")
			q.Set("error_description", "EVIL")
		},
		"two codes":          func(q url.Values) { q.Add("code", "other") },
		"missing, with iss":  func(q url.Values) { q.Del("state"); q.Set("iss", "https://evil.example") },
		"error and no state": func(q url.Values) { q.Del("state"); q.Del("code"); q.Set("error", "EVIL") },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.answer = change
			c := w.client(nil)
			w.wantError(c, "state does not match")
			if _, err := w.post(c); err == nil || strings.Contains(err.Error(), "EVIL") {
				t.Errorf("error %v", err)
			}
			w.wantCount(0, "issuer POST /token")
		})
	}
}

// A12: a callback is good once.
func TestReplayedCallback(t *testing.T) {
	e := &authorization{server: &server{Issuer: "https://as.example"}, redirect: redirectForTests, state: "s"}
	callback, _ := url.Parse(redirectForTests + "?code=c&state=s")
	if code, err := e.read(callback); code != "c" || err != nil {
		t.Fatalf("%q, %v", code, err)
	}
	if code, err := e.read(callback); err == nil {
		t.Errorf("a second time: %q", code)
	}
	for _, at := range []string{"http://localhost:3000/other?code=c&state=s", "http://localhost:3001/callback?code=c&state=s", "https://localhost:3000/callback?code=c&state=s"} {
		e := &authorization{server: &server{Issuer: "https://as.example"}, redirect: redirectForTests, state: "s"}
		callback, _ := url.Parse(at)
		if _, err := e.read(callback); err == nil {
			t.Errorf("%s was taken for the redirect URI", at)
		}
	}
}

// A07, A13, A14, go-sdk#859 (SEP-2468), rust-sdk#996: the issuer of the answer
// is compared byte for byte, whatever the metadata says, on errors too; and it
// must be there if the metadata says so.
func TestIssuerOfCallback(t *testing.T) {
	const is = "https://as.example/Path"
	for _, test := range []struct {
		name     string
		supports bool
		query    string
		ok       bool
	}{
		{"right", true, "iss=https%3A%2F%2Fas.example%2FPath", true},
		{"right and not announced", false, "iss=https%3A%2F%2Fas.example%2FPath", true},
		{"absent and not announced", false, "", true},
		{"absent", true, "", false},
		{"empty", true, "iss=", false},
		{"empty and not announced", false, "iss=", false},
		{"other", false, "iss=https%3A%2F%2Fevil.example", false},
		{"slash", true, "iss=https%3A%2F%2Fas.example%2FPath%2F", false},
		{"case of host", true, "iss=https%3A%2F%2FAS.example%2FPath", false},
		{"case of path", true, "iss=https%3A%2F%2Fas.example%2Fpath", false},
		{"port", true, "iss=https%3A%2F%2Fas.example%3A443%2FPath", false},
		{"percent", true, "iss=https%3A%2F%2Fas.example%2F%2550ath", false},
		{"twice", true, "iss=https%3A%2F%2Fas.example%2FPath&iss=x", false},
	} {
		for _, end := range []string{"&code=c", "&error=EVIL&error_description=EVIL"} {
			e := &authorization{server: &server{Issuer: is, SendsIssuer: test.supports}, redirect: redirectForTests, state: "s"}
			callback, _ := url.Parse(redirectForTests + "?state=s&" + test.query + end)
			code, err := e.read(callback)
			_, told := errors.AsType[*ServerError](err)
			switch failed := strings.HasPrefix(end, "&error"); {
			case test.ok && !failed && (code != "c" || err != nil), test.ok && failed && !told:
				t.Errorf("%s%s: %q, %v", test.name, end, code, err)
			case !test.ok && (err == nil || told || strings.Contains(err.Error(), "EVIL")):
				t.Errorf("%s%s: %q, %v", test.name, end, code, err)
			}
		}
	}
}

func TestRefusedLoginIsToldPlainly(t *testing.T) {
	w := newWorld(t)
	w.answer = func(q url.Values) {
		q.Del("code")
		q.Set("error", "access_denied")
		q.Set("error_description", "not\x1b[31m you\n"+strings.Repeat("x", 1000))
	}
	c := w.client(nil)
	_, err := w.post(c)
	refused, ok := errors.AsType[*ServerError](err)
	if !ok || refused.Code != "access_denied" || len(refused.Description) > 250 || strings.ContainsAny(refused.Description, "\x1b\n") {
		t.Errorf("error %+v", err)
	}
	// What has just failed is not tried again at once: no second page.
	if _, err := w.post(c); err == nil {
		t.Error("no error the second time")
	}
	w.wantCount(1, "issuer GET /authorize")
}

// A10, CVE-2025-6514 (mcp-remote), CVE-2025-58444 (Inspector): an
// authorization_endpoint of an odd form is opened by nobody.
func TestOddAuthorizationEndpoints(t *testing.T) {
	for _, endpoint := range []string{
		"https://x/$(calc.exe)", "https://x/&calc", "https://x/'; touch MARKER_FILE #", "--help", "-a Calculator",
		"javascript:alert(1)", "file:///etc/passwd", "data:text/html,x", "ms-msdt:/id", "https:///path", "https://u:p@x/", "//x/y", "x",
		"https://x/`id`", "https://x/a|b", "https://x/a;b", "https://x/a\nb", "https://x/a b", "https://x/%", "https://x/\"q\"", "https://x/#f",
		"https://x/<y>", "https://x/a\\b", "http://x/authorize", "HTTPS://x^y/", "https://x/%PATH!", "a:$(calc)@x", "",
		"https://x/?a='b'", "https://x/?a=$(b)", "https://\u0430pple.example/", "https://" + strings.Repeat("x", 20000),
	} {
		w := newWorld(t)
		w.metadata["authorization_endpoint"] = endpoint
		w.wantError(w.client(func(o *Options) { o.Authorize = nobody(t) }), "authorization_endpoint")
		w.wantCount(0, "issuer POST /register")
	}
	s := &server{Issuer: "https://as.example", AuthorizationEndpoint: "http://127.0.0.1:8080/admin"}
	if _, err := s.checkPage(false); err == nil {
		t.Error("a server elsewhere may open pages of this machine")
	}
	for _, endpoint := range []string{"https://as.example/oauth2/v2.0/authorize?p=b2c_1_in&x=y", "https://as.example:8443/realms/a%20b/auth"} {
		s := &server{Issuer: "https://as.example", AuthorizationEndpoint: endpoint}
		if _, err := s.checkPage(false); err != nil {
			t.Errorf("%s: %v", endpoint, err)
		}
	}
}

// What the authorization server puts into its endpoint does not replace what
// this client asks.
func TestEndpointQueryDoesNotWin(t *testing.T) {
	w := newWorld(t)
	w.metadata["authorization_endpoint"] = w.issuer.URL + "/authorize?tenant=1&state=fixed&code_challenge_method=plain&scope=evil&redirect_uri=https%3A%2F%2Fevil.example"
	w.wantOK(w.client(nil))
	page := w.lastPage()
	if page.Get("tenant") != "1" || len(page["state"]) != 1 || page.Get("state") == "fixed" || page.Get("code_challenge_method") != "S256" || page.Has("scope") || len(page["redirect_uri"]) != 1 {
		t.Errorf("page %v", page)
	}
}

func TestFollowWantsARedirect(t *testing.T) {
	w := newWorld(t)
	w.metadata["authorization_endpoint"] = w.issuer.URL + "/nowhere"
	w.wantError(w.client(nil), "needs a user")
}

// Whoever gives up while somebody else waits does not end the login; whoever
// gives up last does.
func TestGivingUp(t *testing.T) {
	w := newWorld(t)
	entered, ended := make(chan struct{}), make(chan error, 1)
	c := w.client(func(o *Options) {
		o.Authorize = func(ctx context.Context, _ string) (*url.URL, error) {
			close(entered)
			<-ctx.Done()
			ended <- ctx.Err()
			return nil, ctx.Err()
		}
	})
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-entered; cancel() }()
	req, err := newPost(ctx, w.url())
	if err != nil {
		t.Fatal(err)
	}
	resp, err := c.Do(req)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if resp != nil {
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the login ended with %v", err)
	}
}

// A5: nil means the defaults, which are strict: nothing on this machine.
func TestNilMeansDefaults(t *testing.T) {
	w := newWorld(t)
	c := w.client(func(o *Options) { o.Authorize = Follow(nil, redirectForTests) })
	w.wantError(c, "request the login page: refused")
	if _, err := New(nil).RoundTrip(&http.Request{URL: &url.URL{Scheme: "about"}, Header: http.Header{}}); err == nil {
		t.Error("no error")
	}
}
