package protect

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
)

func unsigned(header, payload, signature string) string {
	b64 := base64.RawURLEncoding.EncodeToString
	return b64([]byte(header)) + "." + b64([]byte(payload)) + "." + b64([]byte(signature))
}

// A24 (CVE-2026-33032, CVE-2026-32211, CVE-2026-11717, CVE-2026-44428): every token that is not right is a 401
// with a challenge that names the metadata.
func TestBadTokens(t *testing.T) {
	is := newIssuer(t)
	stranger, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKIXPublicKey(rsaKey().Public())
	if err != nil {
		t.Fatal(err)
	}
	public := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	now := time.Now().Unix()
	kid := func(id string) map[jose.HeaderKey]any { return map[jose.HeaderKey]any{"kid": id} }
	good := is.token(nil)
	parts := strings.Split(good, ".")
	payload, _ := base64.RawURLEncoding.DecodeString(parts[1])
	changed := func(name string, value any) string { return is.token(map[string]any{name: value}) }

	_, h := guarded(t, is, nil)
	if w := do(h, post("{}", "Authorization: Bearer "+good)); w.Code != 200 || w.Body.String() != "ada" {
		t.Fatalf("a good token: %d %s", w.Code, w.Body)
	}
	for name, token := range map[string]string{
		"garbage":                  "garbage",
		"three parts of garbage":   "a.b.c",
		"four parts":               good + ".x",
		"many dots":                strings.Repeat(".", 10_000),
		"alg none":                 unsigned(`{"alg":"none"}`, string(payload), ""),
		"alg None":                 unsigned(`{"alg":"None","kid":"rsa-1"}`, string(payload), ""),
		"alg none with signature":  unsigned(`{"alg":"none","kid":"rsa-1"}`, string(payload), "x"),
		"no alg":                   unsigned(`{"kid":"rsa-1"}`, string(payload), "x"),
		"two algs":                 unsigned(`{"alg":"RS256","alg":"none","kid":"rsa-1"}`, string(payload), ""),
		"no signature":             parts[0] + "." + parts[1] + ".",
		"another's signature":      sign(jose.RS256, stranger, kid("rsa-1"), is.goodClaims(nil)),
		"another payload":          parts[0] + "." + strings.Split(changed("sub", "eve"), ".")[1] + "." + parts[2],
		"HS256 with the PEM":       sign(jose.HS256, public, kid("rsa-1"), is.goodClaims(nil)),
		"HS256 with the DER":       sign(jose.HS256, der, kid("rsa-1"), is.goodClaims(nil)),
		"HS256 with the modulus":   sign(jose.HS256, rsaKey().N.Bytes(), kid("rsa-1"), is.goodClaims(nil)),
		"own key in the header":    sign(jose.RS256, stranger, map[jose.HeaderKey]any{"jwk": jwk("x", stranger.Public())}, is.goodClaims(nil)),
		"own key set":              sign(jose.RS256, stranger, map[jose.HeaderKey]any{"jku": "https://evil.example/keys", "kid": "x"}, is.goodClaims(nil)),
		"own certificate":          sign(jose.RS256, stranger, map[jose.HeaderKey]any{"x5u": "https://evil.example/cert", "kid": "x"}, is.goodClaims(nil)),
		"kid is a path":            sign(jose.RS256, rsaKey(), kid("../../../../dev/null"), is.goodClaims(nil)),
		"kid is an injection":      sign(jose.RS256, rsaKey(), kid("x' UNION SELECT 'key"), is.goodClaims(nil)),
		"kid is a URL":             sign(jose.RS256, rsaKey(), kid("http://169.254.169.254/"), is.goodClaims(nil)),
		"kid is huge":              sign(jose.RS256, rsaKey(), kid(strings.Repeat("k", 8000)), is.goodClaims(nil)),
		"kid is a number":          unsigned(`{"alg":"RS256","kid":1}`, string(payload), "x"),
		"critical header":          sign(jose.RS256, rsaKey(), map[jose.HeaderKey]any{"kid": "rsa-1", "crit": []string{"exp"}}, is.goodClaims(nil)),
		"bare payload":             sign(jose.RS256, rsaKey(), map[jose.HeaderKey]any{"kid": "rsa-1", "b64": false, "crit": []string{"b64"}}, is.goodClaims(nil)),
		"an algorithm less":        sign(jose.HS512, []byte(strings.Repeat("k", 64)), kid("rsa-1"), is.goodClaims(nil)),
		"a proof as a token":       sign(jose.RS256, rsaKey(), map[jose.HeaderKey]any{"kid": "rsa-1", "typ": "dpop+jwt"}, is.goodClaims(nil)),
		"an ID-JAG as a token":     sign(jose.RS256, rsaKey(), map[jose.HeaderKey]any{"kid": "rsa-1", "typ": "oauth-id-jag+jwt"}, is.goodClaims(nil)),
		"expired":                  changed("exp", now-61),
		"no exp":                   changed("exp", nil),
		"exp is a string":          changed("exp", fmt.Sprint(now+300)),
		"exp is null":              sign(jose.RS256, rsaKey(), kid("rsa-1"), []byte(strings.Replace(string(payload), `"exp":`, `"exp":null,"x":`, 1))),
		"exp is beyond all time":   changed("exp", 1e300),
		"exp is before all time":   changed("exp", -1),
		"not yet":                  changed("nbf", now+120),
		"issued tomorrow":          changed("iat", now+86400),
		"another audience":         changed("aud", "https://other.example.com/mcp"),
		"a longer audience":        changed("aud", resource+"/more"),
		"a shorter audience":       changed("aud", "https://mcp.example.com"),
		"audience with a slash":    changed("aud", resource+"/"),
		"audience in another case": changed("aud", strings.ToUpper(resource)),
		"audience of a client":     changed("aud", []string{"client-1", "client-2"}),
		"no audience":              changed("aud", nil),
		"audience is an object":    changed("aud", map[string]any{resource: true}),
		"no audiences":             changed("aud", []string{}),
		"another issuer":           changed("iss", "https://evil.example"),
		"issuer with a slash":      changed("iss", is.url+"/"),
		"no issuer":                changed("iss", nil),
		"issuers":                  changed("iss", []string{is.url}),
		"nobody":                   changed("sub", nil),
		"an empty subject":         changed("sub", ""),
		"bound by something else":  changed("cnf", map[string]any{"x5t#S256": "x"}),
		"bound twice":              changed("cnf", map[string]any{"x5t#S256": "x", "jkt": "y"}),
		"bound to nothing":         changed("cnf", map[string]any{}),
		"bound, as bearer":         changed("cnf", map[string]any{"jkt": "x"}),
		"claims are an array":      sign(jose.RS256, rsaKey(), kid("rsa-1"), []byte(`[]`)),
		"claims are null":          sign(jose.RS256, rsaKey(), kid("rsa-1"), []byte(`null`)),
		"a claim twice":            sign(jose.RS256, rsaKey(), kid("rsa-1"), []byte(strings.Replace(string(payload), `{`, `{"aud":"https://other.example",`, 1))),
	} {
		t.Run(name, func(t *testing.T) {
			w := do(h, post("{}", "Authorization: Bearer "+token))
			expect(t, w, http.StatusUnauthorized, `error="invalid_token"`, `resource_metadata="https://mcp.example.com/.well-known/oauth-protected-resource/mcp"`)
			if w.Body.String() == "ada" {
				t.Error("the handler ran")
			}
			if strings.Contains(w.Body.String(), token) {
				t.Error("the answer repeats the token")
			}
		})
	}
	expect(t, do(h, post("{}")), http.StatusUnauthorized, "Bearer resource_metadata=")
}

func TestGoodTokens(t *testing.T) {
	is := newIssuer(t)
	now := time.Now().Unix()
	_, h := guarded(t, is, nil)
	for name, change := range map[string]map[string]any{
		"expired within the skew": {"exp": now - 30},
		"starts within the skew":  {"nbf": now + 30},
		"several audiences":       {"aud": []string{"https://other.example", resource}},
		"a time with a fraction":  {"exp": float64(now) + 100.5},
		"scopes in an array":      {"scope": nil, "scp": []string{"read"}},
		"no iat":                  {"iat": nil},
		"an id":                   {"jti": "x"},
	} {
		if w := do(h, post("{}", "Authorization: Bearer "+is.token(change))); w.Code != 200 || w.Body.String() != "ada" {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
	}
	for _, typ := range []any{"at+jwt", "AT+JWT", "application/at+jwt", "JWT", "jwt"} {
		token := sign(jose.RS256, rsaKey(), map[jose.HeaderKey]any{"kid": "rsa-1", "typ": typ}, is.goodClaims(nil))
		expect(t, do(h, post("{}", "Authorization: Bearer "+token)), 200)
	}
	if w := do(h, post("{}", "Authorization: Bearer "+is.token(map[string]any{"sub": nil, "client_id": "robot"}))); w.Body.String() != "client_id:robot" {
		t.Errorf("a client for itself: %s", w.Body)
	}
}

// Each kind of key works with its algorithms, with and without a kid, and with
// no other.
func TestAlgorithms(t *testing.T) {
	is := newIssuer(t)
	p256, _ := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	p384, _ := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	p521, _ := ecdsa.GenerateKey(elliptic.P521(), rand.Reader)
	edPublic, ed, _ := ed25519.GenerateKey(rand.Reader)
	pinned := jwk("pinned", rsaKey().Public())
	pinned.Algorithm = "PS256"
	forSecrets := jwk("enc", rsaKey().Public())
	forSecrets.Use = "enc"
	is.publish(jwk("rsa", rsaKey().Public()), jwk("p256", p256.Public()), jwk("p384", p384.Public()), jwk("p521", p521.Public()),
		jwk("ed", edPublic), pinned, forSecrets, jwk("secret", []byte("0123456789abcdef0123456789abcdef")))
	_, h := guarded(t, is, nil)
	for _, test := range []struct {
		kid  string
		alg  jose.SignatureAlgorithm
		key  any
		good bool
	}{
		{"rsa", jose.RS256, rsaKey(), true}, {"rsa", jose.RS512, rsaKey(), true}, {"rsa", jose.PS256, rsaKey(), true}, {"rsa", jose.PS384, rsaKey(), true},
		{"p256", jose.ES256, p256, true}, {"p384", jose.ES384, p384, true}, {"p521", jose.ES512, p521, true}, {"ed", jose.EdDSA, ed, true},
		{"", jose.EdDSA, ed, true}, {"", jose.ES256, p256, true}, {"", jose.RS256, rsaKey(), true},
		{"pinned", jose.PS256, rsaKey(), true}, {"pinned", jose.RS256, rsaKey(), false},
		{"enc", jose.RS256, rsaKey(), false}, {"ed", jose.RS256, rsaKey(), false}, {"p256", jose.ES384, p384, false},
		{"secret", jose.HS256, []byte("0123456789abcdef0123456789abcdef"), false}, {"", jose.HS256, []byte("0123456789abcdef0123456789abcdef"), false},
	} {
		header := map[jose.HeaderKey]any{}
		if test.kid != "" {
			header["kid"] = test.kid
		}
		w := do(h, post("{}", "Authorization: Bearer "+sign(test.alg, test.key, header, is.goodClaims(nil))))
		if (w.Code == 200) != test.good {
			t.Errorf("%s with %q: %d %s", test.alg, test.kid, w.Code, w.Body)
		}
	}
}

func TestOnlyPinnedAlgorithms(t *testing.T) {
	is := newIssuer(t)
	v, err := JWT(&JWTOptions{Issuer: is.url, Audiences: []string{resource}, Algorithms: []string{"PS256"}, KeySet: is.url + "/keys", Fetch: fetcher(t)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := v.Verify(t.Context(), is.token(nil), nil); err == nil {
		t.Error("RS256 was accepted")
	}
	if _, err := v.Verify(t.Context(), sign(jose.PS256, rsaKey(), nil, is.goodClaims(nil)), nil); err != nil {
		t.Error(err)
	}
	for _, alg := range []string{"none", "HS256", "HS512", "", "rs256", "RSA-OAEP"} {
		if _, err := JWT(&JWTOptions{Issuer: is.url, Audiences: []string{resource}, Algorithms: []string{alg}}); err == nil {
			t.Errorf("%q can be asked for", alg)
		}
	}
	for name, o := range map[string]JWTOptions{
		"no issuer": {Audiences: []string{resource}}, "no audience": {Issuer: is.url}, "an empty audience": {Issuer: is.url, Audiences: []string{""}},
		"http": {Issuer: "http://login.example", Audiences: []string{resource}},
	} {
		if _, err := JWT(&o); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// What is refused is refused for the right reason, where another rule would
// refuse it too.
func TestReasons(t *testing.T) {
	is := newIssuer(t)
	v, _ := clocked(t, is)
	for want, token := range map[string]string{
		"kid) is too long":        sign(jose.RS256, rsaKey(), map[jose.HeaderKey]any{"kid": strings.Repeat("k", maxKeyID+1)}, is.goodClaims(nil)),
		"unsupported binding":     is.token(map[string]any{"cnf": map[string]any{"x5t#S256": "x", "jkt": "y"}}),
		"the signature algorithm": unsigned(`{"alg":"none"}`, `{}`, ""),
		"another issuer":          is.token(map[string]any{"iss": "https://evil.example"}),
		"not valid yet":           is.token(map[string]any{"nbf": time.Now().Unix() + 120}),
		"in the future":           is.token(map[string]any{"iat": time.Now().Unix() + 120}),
	} {
		if err := verify(t, v, token); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
