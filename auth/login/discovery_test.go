package login

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tenon-mcp/tenon/auth/fetch"
)

func TestLogin(t *testing.T) {
	w := newWorld(t)
	c := w.client(nil)
	w.wantOK(c)
	w.wantOK(c)
	w.wantCount(1, "issuer POST /token")
	w.wantCount(3, "server POST /mcp")
	page, form := w.lastPage(), w.lastForm()
	for name, want := range map[string]string{"resource": w.url(), "redirect_uri": redirectForTests, "client_id": page.Get("client_id")} {
		if page.Get(name) != want || form.Get(name) != want {
			t.Errorf("%s is %q in the authorization request and %q in the token request, want %q", name, page.Get(name), form.Get(name), want)
		}
	}
	if page.Get("code_challenge_method") != "S256" || page.Get("response_type") != "code" || len(page.Get("state")) < 40 || len(form.Get("code_verifier")) < 43 {
		t.Errorf("page %v, form %v", page, form)
	}
	ask := w.register[0]
	if ask["application_type"] != "native" || !slices.Contains(ask["grant_types"].([]any), any("refresh_token")) {
		t.Errorf("registration %v", ask)
	}
}

// The order of places is that of the specification, and the search ends with
// the first that has a document.
func TestResourceMetadataOrder(t *testing.T) {
	for _, test := range []struct {
		name, header string
		have         string
		want         []string
	}{
		{"as the header says", "/elsewhere.json", "/elsewhere.json", []string{"/elsewhere.json"}},
		{"with the path", "", "/.well-known/oauth-protected-resource/deep/mcp", []string{"/.well-known/oauth-protected-resource/deep/mcp"}},
		{"at the root", "", "/.well-known/oauth-protected-resource", []string{"/.well-known/oauth-protected-resource/deep/mcp", "/.well-known/oauth-protected-resource"}},
		{"nowhere", "", "", []string{"/.well-known/oauth-protected-resource/deep/mcp", "/.well-known/oauth-protected-resource"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var asked []string
			var srv *httptest.Server
			srv = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
				asked = append(asked, r.URL.Path)
				if r.URL.Path != test.have {
					http.NotFound(rw, r)
					return
				}
				resource := srv.URL + "/deep/mcp"
				if strings.HasSuffix(test.have, "resource") {
					resource = srv.URL
				}
				writeJSON(rw, 200, map[string]any{"resource": resource, "authorization_servers": []string{"https://as.example"}})
			}))
			defer srv.Close()
			f := fetch.New(&fetch.Options{AllowLoopback: true})
			defer f.Close()
			at, _ := url.Parse(srv.URL + "/deep/mcp")
			named := ""
			if test.header != "" {
				named = srv.URL + test.header
			}
			p, err := findProtection(t.Context(), f, at, named, "")
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(asked, test.want) {
				t.Errorf("asked %q, want %q", asked, test.want)
			}
			if (len(p.issuers) == 0) != (test.have == "") {
				t.Errorf("issuers %q", p.issuers)
			}
		})
	}
}

// A06: the metadata must be about the server that is used. Its own well-known
// endpoint may speak for a resource around it; a tenant may not claim the host.
func TestResourceMustBeTheServer(t *testing.T) {
	at, _ := url.Parse("https://Host.example:443/tenant/mcp")
	const root = "https://host.example/.well-known/oauth-protected-resource"
	for _, test := range []struct {
		resource, place string
		want            bool
	}{
		{"https://host.example/tenant/mcp", root + "/tenant/mcp", true},
		{"https://host.example/tenant/mcp/", root + "/tenant/mcp", true},
		{"HTTPS://HOST.EXAMPLE/tenant/mcp", "https://any.example/x", true},
		{"https://host.example", root, true},
		{"https://host.example/", root, true},
		{"https://host.example/tenant", root + "/tenant", true},
		{"https://host.example", root + "/tenant/mcp", false},
		{"https://host.example", "https://host.example/tenant/x.json", false},
		{"https://host.example/tenant/mc", root, false},
		{"https://host.example/tenant/mcp/more", root + "/tenant/mcp/more", false},
		{"https://host.example/Tenant/mcp", root, false},
		{"https://host.example:8443/tenant/mcp", root, false},
		{"http://host.example/tenant/mcp", root, false},
		{"https://evil.example/tenant/mcp", root, false},
		{"https://host.example.evil.example/tenant/mcp", root, false},
		{"https://host.example@evil.example/tenant/mcp", root, false},
		{"https://u@host.example/tenant/mcp", root, false},
		{"https://host.example/tenant/mcp#x", root, false},
		{"https://host.example/tenant/mcp?x=y", root, false},
		{"//host.example/tenant/mcp", root, false},
		{"", root, false},
	} {
		if got := describes(test.resource, test.place, at, ""); got != test.want {
			t.Errorf("%s at %s: %v, want %v", test.resource, test.place, got, test.want)
		}
	}
	if !describes("api://named", "https://any.example", at, "api://named") || describes("https://host.example/tenant/mcp", root, at, "api://named") {
		t.Error("Options.Resource does not count alone")
	}

	w := newWorld(t)
	w.resource["resource"] = "https://evil.example/mcp"
	w.wantError(w.client(nil), "is for resource")
	w.wantCount(0, "issuer GET /authorize")
}

func TestServerMetadataOrder(t *testing.T) {
	for _, test := range []struct {
		path, have string
		want       []string
	}{
		{"", "/.well-known/oauth-authorization-server", []string{"/.well-known/oauth-authorization-server"}},
		{"", "/.well-known/openid-configuration", []string{"/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"}},
		{"/t/1", "/t/1/.well-known/openid-configuration", []string{"/.well-known/oauth-authorization-server/t/1", "/.well-known/openid-configuration/t/1", "/t/1/.well-known/openid-configuration"}},
		{"/t/1", "/.well-known/openid-configuration/t/1", []string{"/.well-known/oauth-authorization-server/t/1", "/.well-known/openid-configuration/t/1"}},
		{"/t/1", "", []string{"/.well-known/oauth-authorization-server/t/1", "/.well-known/openid-configuration/t/1", "/t/1/.well-known/openid-configuration"}},
	} {
		var asked []string
		var srv *httptest.Server
		srv = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			asked = append(asked, r.URL.Path)
			if r.URL.Path != test.have {
				http.NotFound(rw, r)
				return
			}
			writeJSON(rw, 200, map[string]any{"issuer": srv.URL + test.path, "token_endpoint": srv.URL + "/token"})
		}))
		f := fetch.New(&fetch.Options{AllowLoopback: true})
		_, err := findServer(t.Context(), f, srv.URL+test.path)
		if (err != nil) != (test.have == "") {
			t.Errorf("%s: %v", test.have, err)
		}
		if !slices.Equal(asked, test.want) {
			t.Errorf("%s: asked %q, want %q", test.have, asked, test.want)
		}
		f.Close()
		srv.Close()
	}
}

// The issuer in the metadata is compared byte for byte (go-sdk#859, rust-sdk#896:
// mix-up of authorization servers).
func TestIssuerOfMetadata(t *testing.T) {
	for _, change := range []func(string) string{
		func(s string) string { return s + "/" },
		func(s string) string { return strings.Replace(s, "127.0.0.1", "localhost", 1) },
		func(s string) string { return strings.Replace(s, "http", "HTTP", 1) },
		func(string) string { return "https://honest.example" },
		func(string) string { return "" },
	} {
		w := newWorld(t)
		w.metadata["issuer"] = change(w.issuer.URL)
		w.wantError(w.client(nil), "is for issuer")
		w.wantCount(0, "issuer GET /authorize")
		w.wantCount(0, "issuer POST /register")
	}
}

// A08: without PKCE S256 there is no login.
func TestPKCEOrNothing(t *testing.T) {
	for _, methods := range []any{nil, []string{}, []string{"plain"}, []string{"s256"}} {
		w := newWorld(t)
		w.metadata["code_challenge_methods_supported"] = methods
		w.wantError(w.client(nil), "PKCE")
		w.wantCount(0, "issuer GET /authorize")
		w.wantCount(0, "issuer POST /register")
	}
}

// A02, CVE-2026-44430, CVE-2026-58196, rust-sdk#935: where the metadata of a
// public server leads into this machine or its network, nothing is dialled.
func TestMetadataLeadsNowhereInside(t *testing.T) {
	for _, at := range []string{
		"http://169.254.169.254/x", "https://169.254.169.254/x", "https://[::ffff:169.254.169.254]/x", "https://0x7f.1/x", "https://2130706433/x",
		"https://[2002:7f00:1::]/x", "https://[64:ff9b::7f00:1]/x", "https://[fec0::1]/x", "https://0.0.0.0/x", "https://127.0.0.1/x",
		"https://localhost/x", "https://10.0.0.1/x", "http://mcp.example/x", "file:///etc/passwd", "gopher://x/", "https://u:p@127.0.0.1/x",
	} {
		base := roundTrip(func(r *http.Request) *http.Response {
			return answer(r, 401, `Bearer resource_metadata="`+at+`"`)
		})
		c := &http.Client{Transport: New(&Options{Base: base, RedirectURI: redirectForTests, Authorize: nobody(t)})}
		resp, err := c.Get("https://mcp.example/mcp")
		if err == nil {
			resp.Body.Close()
			t.Errorf("%s: status %d and no error", at, resp.StatusCode)
		}
	}
}

// A04: a redirect from a metadata address to another origin is not followed.
func TestMetadataRedirect(t *testing.T) {
	canary := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the redirect was followed") }))
	defer canary.Close()
	w := newWorld(t)
	hop := httptest.NewServer(http.RedirectHandler(canary.URL, http.StatusFound))
	defer hop.Close()
	w.challenge = func() string { return `Bearer resource_metadata="` + hop.URL + `"` }
	w.wantError(w.client(nil), "another origin")
}

// rust-sdk#936, C44: a server that redirects elsewhere does not make the token
// go there.
func TestTokenStaysAtItsOrigin(t *testing.T) {
	w := newWorld(t)
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if a := r.Header.Get("Authorization"); a != "" {
			t.Errorf("another origin got %q", a)
		}
	}))
	defer elsewhere.Close()
	c := w.client(nil)
	w.wantOK(c)
	resp, err := c.Get(elsewhere.URL)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()

	// And a sibling path of the same host is another resource.
	resp, err = c.Get(w.server.URL + "/other")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	w.wantCount(1, "issuer POST /token")
}

// A server elsewhere that is reached by plain http gets no login.
func TestNoTokenInTheClear(t *testing.T) {
	base := roundTrip(func(r *http.Request) *http.Response { return answer(r, 401, "Bearer") })
	c := &http.Client{Transport: New(&Options{Base: base, RedirectURI: redirectForTests, Authorize: nobody(t)})}
	resp, err := c.Get("http://mcp.example/mcp")
	if err == nil || !strings.Contains(err.Error(), "not sent over plain http; use https") {
		t.Errorf("error %v", err)
	}
	if resp != nil {
		resp.Body.Close()
	}
}

// A host that answers every address with its page has no metadata there; one
// that fails may have, and nothing is assumed.
func TestPagesInPlaceOfMetadata(t *testing.T) {
	w := newWorld(t)
	h := w.server.Config.Handler
	w.server.Config.Handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/.well-known/oauth-protected-resource/mcp":
			rw.Header().Set("Content-Type", "text/html")
			_, _ = rw.Write([]byte("<!doctype html><title>Welcome</title>"))
		case "/.well-known/oauth-protected-resource":
			writeJSON(rw, 200, map[string]any{"resource": w.server.URL, "authorization_servers": []string{w.issuer.URL}})
		default:
			h.ServeHTTP(rw, r)
		}
	})
	w.challenge = func() string { return "Bearer" }
	w.wantOK(w.client(nil))

	w = newWorld(t)
	w.server.Config.Handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		rw.WriteHeader(map[bool]int{true: 401, false: 503}[r.URL.Path == "/mcp"])
	})
	w.wantError(w.client(nil), "503")
}

// A2: every endpoint is checked before a person logs in, whether it will be used
// or not.
func TestEndpointsAreCheckedBeforeTheLogin(t *testing.T) {
	for _, name := range []string{
		"token_endpoint", "authorization_endpoint", "registration_endpoint", "revocation_endpoint", "introspection_endpoint",
		"pushed_authorization_request_endpoint", "device_authorization_endpoint", "userinfo_endpoint", "jwks_uri",
	} {
		for _, endpoint := range []string{
			"http://as.example/x", "https://169.254.169.254/x", "https://u:geheim@as.example/x", "ftp://as.example/x", "/x", "javascript:alert(1)",
		} {
			if name == "authorization_endpoint" && strings.Contains(endpoint, "169.254") {
				continue // the browser may reach it
			}
			w := newWorld(t)
			w.metadata[name] = endpoint
			_, err := w.post(w.client(func(o *Options) { o.Authorize = nobody(t) }))
			if err == nil || !strings.Contains(err.Error(), name) || strings.Contains(err.Error(), "geheim") {
				t.Errorf("%s %s: %v", name, endpoint, err)
			}
			w.wantCount(0, "issuer POST /register")
		}
	}
	w := newWorld(t) // a name that leads nowhere, or inside
	w.metadata["token_endpoint"] = "https://nowhere.invalid/token"
	w.wantError(w.client(func(o *Options) { o.Authorize = nobody(t) }), "token_endpoint")
}

// A client that cannot prove itself as it must is found out before the login.
func TestClientAuthIsCheckedBeforeTheLogin(t *testing.T) {
	for _, c := range []*Client{{ID: "given", AuthMethod: "tls_client_auth"}, {ID: "given", AuthMethod: authJWT}} {
		w := newWorld(t)
		w.wantError(w.client(func(o *Options) { o.Client, o.Authorize = c, nobody(t) }), "client \"given\"")
	}
}

// A7: with Proxy, metadata and tokens are requested through it, and the request
// itself takes the way of Base.
func TestLoginThroughProxy(t *testing.T) {
	var mu sync.Mutex
	var asked []string
	proxy := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		asked = append(asked, r.Method+" "+r.Host)
		rw.WriteHeader(http.StatusForbidden)
	}))
	defer proxy.Close()
	at, _ := url.Parse(proxy.URL)
	base := roundTrip(func(r *http.Request) *http.Response { return answer(r, 401, "Bearer") })
	c := &http.Client{Transport: New(&Options{Base: base, RedirectURI: redirectForTests, Authorize: nobody(t), Proxy: http.ProxyURL(at)})}
	defer c.CloseIdleConnections()
	if _, err := c.Get("https://mcp.example.com/mcp"); err == nil || !strings.Contains(err.Error(), "refused to connect") {
		t.Errorf("error %v", err)
	}
	if len(asked) != 1 || asked[0] != "CONNECT mcp.example.com:443" {
		t.Errorf("the proxy was asked for %q", asked)
	}
}
