package protect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenon-mcp/tenon/mcp"
)

// A28, and the other ways to send a token.
func TestCredentials(t *testing.T) {
	is := newIssuer(t)
	_, h := guarded(t, is, func(o *Options) { o.Scopes = []string{"read"} })
	good := is.token(nil)
	for _, test := range []struct {
		name    string
		headers []string
		status  int
	}{
		{"none", nil, 401},
		{"Bearer", []string{"Authorization: Bearer " + good}, 200},
		{"bearer", []string{"Authorization: bearer " + good}, 200},
		{"BEARER", []string{"Authorization: BEARER " + good}, 200},
		{"spaces", []string{"Authorization: Bearer   " + good + " "}, 200},
		{"two headers", []string{"Authorization: Bearer " + good, "Authorization: Bearer " + good}, 400},
		{"two headers, one empty", []string{"Authorization: Bearer " + good, "Authorization: "}, 400},
		{"two in one", []string{"Authorization: Bearer " + good + ", Bearer " + good}, 401},
		{"Basic", []string{"Authorization: Basic dXNlcjpwYXNz"}, 401},
		{"Basic with a token", []string{"Authorization: Basic " + good}, 401},
		{"no scheme", []string{"Authorization: " + good}, 401},
		{"no token", []string{"Authorization: Bearer"}, 401},
		{"an empty token", []string{"Authorization: Bearer "}, 401},
		{"empty", []string{"Authorization: "}, 401},
		{"a tab", []string{"Authorization: Bearer\t" + good}, 401},
		{"quotes", []string{`Authorization: Bearer "` + good + `"`}, 401},
		{"64 KB", []string{"Authorization: Bearer " + strings.Repeat("x", 64<<10)}, 431},
		{"16 KB", []string{"Authorization: Bearer " + strings.Repeat("x", 16<<10-7)}, 401},
		{"DPoP without a bound token", []string{"Authorization: DPoP " + good}, 401},
		{"X-Api-Key", []string{"X-Api-Key: " + good}, 401},
		{"a cookie", []string{"Cookie: access_token=" + good}, 401},
		{"a proxy's", []string{"Proxy-Authorization: Bearer " + good}, 401},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := do(h, post("{}", test.headers...))
			if test.status == 401 {
				expect(t, w, 401, `scope="read"`, `resource_metadata="https://mcp.example.com/.well-known/oauth-protected-resource/mcp"`)
			} else {
				expect(t, w, test.status)
			}
			if (w.Body.String() == "ada") != (test.status == 200) {
				t.Errorf("the handler: %s", w.Body)
			}
		})
	}
	for _, query := range []string{"access_token=" + good, "a=b&access_token=" + good, "%61ccess_token=x&access_token", "access_token=%zz"} {
		r := post("{}", "Authorization: Bearer "+good)
		r.URL.RawQuery = query
		expect(t, do(h, r), 400)
		r.Header.Del("Authorization")
		expect(t, do(h, r), 400)
	}
	r := post("{}")
	r.URL.RawQuery = "%61ccess_token=" + good // spelt so that it is not noticed: it is not used either
	expect(t, do(h, r), 401)
}

// The token ends here: what is behind sees who calls, and no credentials.
func TestTokenGoesNoFurther(t *testing.T) {
	is := newIssuer(t)
	g, _ := guarded(t, is, nil)
	token := is.token(nil)
	var seen *http.Request
	h := g.Wrap(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { seen = r }))
	r := post("body", "Authorization: Bearer "+token, "DPoP: proof", "X-Other: 1")
	expect(t, do(h, r), 200)
	body, _ := io.ReadAll(seen.Body)
	if seen.Header.Get("Authorization") != "" || seen.Header.Get("DPoP") != "" || strings.Contains(fmt.Sprint(seen.Header), token) {
		t.Errorf("passed on: %v", seen.Header)
	}
	if seen.Header.Get("X-Other") != "1" || string(body) != "body" || seen.URL.Path != "/mcp" {
		t.Errorf("changed: %v %s", seen.Header, body)
	}
	who := Principal(seen)
	if who == nil || who.ID != "ada" || who.Issuer != is.url || strings.Join(who.Scopes, " ") != "read write" || string(who.Claims["aud"]) != `"`+resource+`"` {
		t.Errorf("got %+v", who)
	}
	if r.Header.Get("Authorization") == "" {
		t.Error("the request of the server was changed")
	}
	if Principal(r) != nil {
		t.Error("a request that did not come through has a principal")
	}
}

// A verifier that breaks its contract lets nobody in.
func TestOddVerifiers(t *testing.T) {
	for name, test := range map[string]struct {
		id     *Identity
		err    error
		status int
		text   string
	}{
		"nothing":      {nil, nil, 401, "no subject"},
		"nobody":       {&Identity{}, nil, 401, "no subject"},
		"some error":   {nil, errors.New("pq: password is hunter2"), 401, "not accepted"},
		"unavailable":  {nil, fmt.Errorf("redis at 10.0.0.7: %w", ErrUnavailable), 503, "cannot be verified now"},
		"both":         {&Identity{Principal: mcp.Principal{ID: "x"}}, errors.New("no"), 401, "not accepted"},
		"with a quote": {nil, &InvalidToken{Reason: "bad \"x\"\r\nSet-Cookie: a=b"}, 401, ""},
	} {
		g, err := New(&Options{Resource: resource, Verifier: fixed{test.id, test.err}, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		w := do(g.Wrap(http.HandlerFunc(echo)), post("{}", "Authorization: Bearer x"))
		if w.Code != test.status || !strings.Contains(w.Body.String(), test.text) {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
		all := w.Body.String() + fmt.Sprint(w.Header())
		if strings.Contains(all, "hunter2") || strings.Contains(all, "10.0.0.7") || strings.ContainsAny(w.Header().Get("WWW-Authenticate"), "\r\n") {
			t.Errorf("%s: too much is told: %s", name, all)
		}
	}
}

type fixed struct {
	id  *Identity
	err error
}

func (f fixed) Verify(context.Context, string, *http.Request) (*Identity, error) { return f.id, f.err }

func TestAnyOf(t *testing.T) {
	ada := fixed{id: &Identity{Principal: mcp.Principal{ID: "ada"}}}
	down, wrong, other := fixed{err: unavailable(errors.New("x"))}, fixed{err: invalid("wrong")}, fixed{err: foreign("other")}
	for name, test := range map[string]struct {
		all  []Verifier
		want string
	}{
		"one is enough":       {[]Verifier{wrong, down, ada}, "ada"},
		"down says least":     {[]Verifier{down, wrong, other}, "503"},
		"wrong beats foreign": {[]Verifier{other, wrong, other}, "wrong"},
		"foreign":             {[]Verifier{other}, "other"},
		"none":                {nil, "no verifier"},
	} {
		id, err := AnyOf(test.all...).Verify(t.Context(), "x", nil)
		got := ""
		switch {
		case err == nil:
			got = id.Principal.ID
		case errors.Is(err, ErrUnavailable):
			got = "503"
		default:
			got = err.Error()
		}
		if !strings.Contains(got, test.want) {
			t.Errorf("%s: got %q", name, got)
		}
	}
}

// A preflight carries no token and no body; anything that only looks like one
// is no preflight.
func TestPreflight(t *testing.T) {
	is := newIssuer(t)
	g, _ := guarded(t, is, nil)
	var bodies []string
	h := g.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		bodies = append(bodies, r.Method+string(body)+r.Header.Get("Authorization"))
	}))
	for _, test := range []struct {
		method  string
		headers []string
		status  int
	}{
		{"OPTIONS", []string{"Origin: https://a.example", "Access-Control-Request-Method: POST", "Authorization: Bearer x"}, 200},
		{"OPTIONS", []string{"Origin: https://a.example"}, 401},
		{"OPTIONS", nil, 401},
		{"POST", []string{"Origin: https://a.example", "Access-Control-Request-Method: POST"}, 401},
		{"GET", nil, 401},
		{"DELETE", nil, 401},
		{"PROPFIND", nil, 401},
	} {
		r := post("body", test.headers...)
		r.Method = test.method
		expect(t, do(h, r), test.status)
	}
	if len(bodies) != 1 || bodies[0] != "OPTIONS" {
		t.Errorf("got through: %q", bodies)
	}
}

func TestMetadata(t *testing.T) {
	for _, test := range []struct{ resource, at, doc string }{
		{"https://mcp.example.com/mcp", "/.well-known/oauth-protected-resource/mcp", "https://mcp.example.com/.well-known/oauth-protected-resource/mcp"},
		{"https://mcp.example.com", "/.well-known/oauth-protected-resource", "https://mcp.example.com/.well-known/oauth-protected-resource"},
		{"https://mcp.example.com/", "/.well-known/oauth-protected-resource", "https://mcp.example.com/.well-known/oauth-protected-resource"},
		{"https://mcp.example.com:8443/a/b", "/.well-known/oauth-protected-resource/a/b", "https://mcp.example.com:8443/.well-known/oauth-protected-resource/a/b"},
		{"https://mcp.example.com/a%20b", "/.well-known/oauth-protected-resource/a%20b", "https://mcp.example.com/.well-known/oauth-protected-resource/a%20b"},
		{"http://127.0.0.1:8080/mcp", "/.well-known/oauth-protected-resource/mcp", "http://127.0.0.1:8080/.well-known/oauth-protected-resource/mcp"},
	} {
		g, err := New(&Options{Resource: test.resource, AuthorizationServers: []string{"https://login.example.com"}, Scopes: []string{"read"}, Name: "Files", DPoP: &DPoP{Required: true, Algorithms: []string{"ES256"}}})
		if err != nil {
			t.Fatal(err)
		}
		wrapped := g.Wrap(http.NotFoundHandler())
		expect(t, do(wrapped, post("")), 401, `resource_metadata="`+test.doc+`"`)
		for _, h := range []http.Handler{g.Metadata(), wrapped} {
			for _, path := range []string{test.at, "/.well-known/oauth-protected-resource"} {
				w := do(h, httptest.NewRequest("GET", path, nil))
				want := `{"resource":"` + test.resource + `","authorization_servers":["https://login.example.com"],"scopes_supported":["read"],"bearer_methods_supported":["header"],"resource_name":"Files","dpop_signing_alg_values_supported":["ES256"],"dpop_bound_access_tokens_required":true}`
				if w.Code != 200 || w.Body.String() != want || w.Header().Get("Content-Type") != "application/json" {
					t.Errorf("%s: %d %s", path, w.Code, w.Body)
				}
			}
			expect(t, do(h, httptest.NewRequest("POST", test.at, nil)), 405)
			expect(t, do(h, httptest.NewRequest("OPTIONS", test.at, nil)), 204)
		}
		expect(t, do(g.Metadata(), httptest.NewRequest("GET", test.at+"/other", nil)), 404)
		expect(t, do(wrapped, httptest.NewRequest("GET", test.at+"/other", nil)), 401)
	}
	// Keys only: there is no authorization server to send anybody to.
	g, err := New(&Options{Resource: resource, Verifier: fixed{}})
	if err != nil {
		t.Fatal(err)
	}
	expect(t, do(g.Metadata(), httptest.NewRequest("GET", "/.well-known/oauth-protected-resource/mcp", nil)), 404)
	if got := do(g.Wrap(http.NotFoundHandler()), post("")).Header().Get("WWW-Authenticate"); got != "Bearer" {
		t.Errorf("got %q", got)
	}
}

func TestOptions(t *testing.T) {
	_, noGuard := New(nil)
	_, noJWT := JWT(nil)
	_, noIntrospection := Introspection(nil)
	if noGuard == nil || noJWT == nil || noIntrospection == nil {
		t.Errorf("without options: %v, %v, %v", noGuard, noJWT, noIntrospection)
	}
	as := []string{"https://login.example.com"}
	for name, o := range map[string]Options{
		"nothing":             {},
		"no resource":         {AuthorizationServers: as},
		"nobody vouches":      {Resource: resource},
		"http":                {Resource: "http://mcp.example.com/mcp", AuthorizationServers: as},
		"relative":            {Resource: "/mcp", AuthorizationServers: as},
		"a query":             {Resource: resource + "?x", AuthorizationServers: as},
		"a fragment":          {Resource: resource + "#", AuthorizationServers: as},
		"a user":              {Resource: "https://u@mcp.example.com/", AuthorizationServers: as},
		"a quote":             {Resource: resource + `"x`, AuthorizationServers: as},
		"server over http":    {Resource: resource, AuthorizationServers: []string{"http://login.example.com"}},
		"server with a query": {Resource: resource, AuthorizationServers: []string{"https://login.example.com?x"}},
		"offline_access":      {Resource: resource, AuthorizationServers: as, Scopes: []string{"offline_access"}},
		"two in one scope":    {Resource: resource, AuthorizationServers: as, Scopes: []string{"a b"}},
		"a quoted scope":      {Resource: resource, AuthorizationServers: as, ScopesSupported: []string{`"`}},
		"a short nonce key":   {Resource: resource, AuthorizationServers: as, DPoP: &DPoP{Nonces: true, NonceKey: []byte("short")}},
		"HS256 for proofs":    {Resource: resource, AuthorizationServers: as, DPoP: &DPoP{Algorithms: []string{"HS256"}}},
	} {
		if _, err := New(&o); err == nil || !strings.HasPrefix(err.Error(), "protect: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A stream ends when its token does; a call may be finished.
func TestStreamsEndWithTheirToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		v := fixed{id: &Identity{Principal: mcp.Principal{ID: "ada"}, Expires: start.Add(time.Minute)}}
		g, err := New(&Options{Resource: resource, Verifier: v})
		if err != nil {
			t.Fatal(err)
		}
		var took time.Duration
		h := g.Wrap(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			began := time.Now()
			select {
			case <-r.Context().Done():
			case <-time.After(time.Hour):
			}
			took = time.Since(began)
		}))
		for _, test := range []struct {
			method, header string
			want           time.Duration
		}{
			{"GET", "", time.Minute + skew},
			{"POST", "Mcp-Method: subscriptions/listen", time.Minute + skew},
			{"POST", "Mcp-Method: tools/call", time.Hour},
			{"POST", "", time.Hour},
		} {
			v.id.Expires = time.Now().Add(time.Minute)
			r := post("{}", "Authorization: Bearer x", test.header)
			r.Method = test.method
			do(h, r)
			if took != test.want {
				t.Errorf("%s %s took %s, want %s", test.method, test.header, took, test.want)
			}
		}
		v.id.Expires = time.Time{}
		r := post("", "Authorization: Bearer x")
		r.Method = "GET"
		if do(h, r); took != time.Hour {
			t.Errorf("a token without an end: %s", took)
		}
	})
}
