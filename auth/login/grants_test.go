package login

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/tenon-mcp/tenon/internal/needtest"
)

func pemOf(t *testing.T, key any) []byte {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
}

func newEC(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// How a client proves itself is what both sides can.
func TestTokenEndpointAuth(t *testing.T) {
	ec := newEC(t)
	key, err := ParseKey(pemOf(t, ec), "ES256", "k1")
	if err != nil {
		t.Fatal(err)
	}
	secret := Client{ID: "id with:colon", Secret: "given-secret+%"}
	for _, test := range []struct {
		name    string
		client  Client
		methods any
		want    string
	}{
		{"default", secret, nil, authBasic},
		{"basic", secret, []string{"client_secret_post", "client_secret_basic"}, authBasic},
		{"post", secret, []string{"none", "client_secret_post"}, authPost},
		{"none", secret, []string{"none"}, authNone},
		{"public", Client{ID: "id"}, []string{"client_secret_basic"}, authNone},
		{"key", Client{ID: "id", Key: key}, []string{"private_key_jwt"}, authJWT},
		{"key and secret", Client{ID: "id", Secret: "given-secret", Key: key}, []string{"client_secret_basic"}, authBasic},
		{"fixed", Client{ID: "id", Secret: "given-secret", AuthMethod: authPost}, []string{"client_secret_basic"}, authPost},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t)
			w.metadata["token_endpoint_auth_methods_supported"] = test.methods
			w.wantOK(w.client(func(o *Options) { o.Client = &test.client }))
			form, basic := w.lastForm(), w.headers[0].Get("Authorization")
			got := authNone
			switch {
			case basic != "":
				got = authBasic
				want := url.QueryEscape(test.client.ID) + ":" + url.QueryEscape(test.client.Secret)
				if basic != "Basic "+base64.StdEncoding.EncodeToString([]byte(want)) || form.Has("client_secret") {
					t.Errorf("basic %q, form %v", basic, form)
				}
			case form.Has("client_secret"):
				got = authPost
			case form.Has("client_assertion"):
				got = authJWT
				checkAssertion(t, w, form.Get("client_assertion"), ec.Public())
			}
			if got != test.want {
				t.Errorf("%s, want %s", got, test.want)
			}
		})
	}
}

func checkAssertion(t *testing.T, w *world, text string, public any) {
	t.Helper()
	parsed, err := jwt.ParseSigned(text, []jose.SignatureAlgorithm{jose.ES256, jose.RS256})
	if err != nil {
		t.Fatal(err)
	}
	var claims jwt.Claims
	if err := parsed.Claims(public, &claims); err != nil {
		t.Fatal(err)
	}
	if err := claims.Validate(jwt.Expected{Issuer: "id", Subject: "id", AnyAudience: jwt.Audience{w.issuer.URL}, Time: time.Now()}); err != nil || len(claims.Audience) != 1 || claims.ID == "" {
		t.Errorf("claims %+v: %v", claims, err)
	}
}

func TestParseKey(t *testing.T) {
	small, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		needtest.Missing(t, err.Error())
	}
	big, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, alg string
		text      []byte
		ok        bool
	}{
		{"EC", "", pemOf(t, newEC(t)), true},
		{"RSA", "RS256", pemOf(t, big), true},
		{"PKCS1", "", pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(big)}), true},
		{"small RSA", "", pemOf(t, small), false},
		{"wrong algorithm", "RS256", pemOf(t, newEC(t)), false},
		{"symmetric", "HS256", pemOf(t, big), false},
		{"none", "none", pemOf(t, big), false},
		{"no PEM", "", []byte("secret text"), false},
	} {
		k, err := ParseKey(test.text, test.alg, "")
		if (err == nil) != test.ok {
			t.Errorf("%s: %v", test.name, err)
		}
		if err == nil {
			if _, err := k.assertion("id", "https://as.example"); err != nil {
				t.Errorf("%s: %v", test.name, err)
			}
		}
	}
}

func TestClientCredentials(t *testing.T) {
	w := newWorld(t)
	w.resource["scopes_supported"] = []string{"a"}
	w.metadata["token_endpoint_auth_methods_supported"] = []string{"client_secret_basic"}
	w.metadata["code_challenge_methods_supported"] = nil // there is no code
	c := w.client(func(o *Options) {
		o.Authorize = nobody(t)
		o.Grant = &ClientCredentials{Client: Client{ID: "machine", Secret: "given-secret"}}
	})
	w.wantOK(c)
	form := w.lastForm()
	if form.Get("grant_type") != "client_credentials" || form.Get("scope") != "a" || form.Get("resource") != w.url() {
		t.Errorf("form %v", form)
	}
	w.tokens = func(url.Values, http.Header) (int, any) { return 401, map[string]any{"error": "invalid_client"} }
	w.revoke()
	w.wantError(c, "invalid_client")
	w.wantCount(0, "issuer POST /register")
}

func TestEnterprise(t *testing.T) {
	w := newWorld(t)
	w.metadata["token_endpoint_auth_methods_supported"] = []string{"client_secret_basic"}
	kind := typeIDJAG
	var exchanged url.Values
	idp := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		exchanged = r.PostForm
		writeJSON(rw, 200, map[string]any{"access_token": "the-id-jag", "issued_token_type": kind, "token_type": "N_A"})
	}))
	defer idp.Close()
	grant := &Enterprise{
		Client: Client{ID: "here", Secret: "given-secret"}, IDPIssuer: idp.URL, IDPTokenEndpoint: idp.URL + "/token",
		IDPClient: Client{ID: "there"}, IDToken: func(context.Context) (string, error) { return "the-id-token", nil },
	}
	w.wantOK(w.client(func(o *Options) { o.Grant = grant }))
	for name, want := range map[string]string{
		"grant_type": grantExchange, "requested_token_type": typeIDJAG, "audience": w.issuer.URL, "resource": w.url(),
		"subject_token": "the-id-token", "subject_token_type": TypeIDToken, "client_id": "there",
	} {
		if exchanged.Get(name) != want {
			t.Errorf("%s is %q, want %q", name, exchanged.Get(name), want)
		}
	}
	if form := w.lastForm(); form.Get("grant_type") != grantBearer || form.Get("assertion") != "the-id-jag" {
		t.Errorf("form %v", form)
	}
	if basic := w.headers[0].Get("Authorization"); !strings.HasPrefix(basic, "Basic ") {
		t.Error("the client has not proven itself")
	}
	kind = "urn:ietf:params:oauth:token-type:access_token"
	w = newWorld(t)
	w.wantError(w.client(func(o *Options) { o.Grant = grant }), "not an ID-JAG")
	w.wantCount(0, "issuer POST /token")
}

// A workload that is refused is refused: no second try, no other grant.
func TestWorkload(t *testing.T) {
	w := newWorld(t)
	asked := ""
	grant := &Workload{ClientID: "job", Assertion: func(_ context.Context, issuer string) (string, error) {
		asked = issuer
		return "the-workload-jwt", nil
	}}
	c := w.client(func(o *Options) { o.Grant, o.Authorize = grant, nobody(t) })
	w.wantOK(c)
	form := w.lastForm()
	if form.Get("grant_type") != grantBearer || form.Get("assertion") != "the-workload-jwt" || form.Get("client_id") != "job" || w.headers[0].Get("Authorization") != "" || asked != w.issuer.URL {
		t.Errorf("form %v", form)
	}

	for _, code := range []string{"invalid_grant", "invalid_scope", "unauthorized_client"} {
		w := newWorld(t)
		w.tokens = func(url.Values, http.Header) (int, any) { return 400, map[string]any{"error": code} }
		c := w.client(func(o *Options) { o.Grant, o.Authorize = grant, nobody(t) })
		w.wantError(c, code)
		w.wantError(c, code)
		w.wantCount(1, "issuer POST /token")
	}
	w = newWorld(t)
	w.challenge = func() string { return `Bearer error="insufficient_scope", scope="more"` }
	c = w.client(func(o *Options) { o.Grant, o.Authorize = grant, nobody(t) })
	w.wantOK(c)
	w.judge = func(*http.Request) int { return 403 }
	if status, err := w.post(c); status != 403 || err != nil {
		t.Errorf("%d, %v", status, err)
	}
	w.wantCount(1, "issuer POST /token")
}
