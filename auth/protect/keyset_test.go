package protect

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// A clock that is set by hand.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// clocked makes a JWT verifier whose key set has a clock of its own. Tokens are
// judged by the real one.
func clocked(t *testing.T, is *issuer) (*jwtVerifier, *clock) {
	t.Helper()
	v, err := JWT(&JWTOptions{Issuer: is.url, Audiences: []string{resource}, Fetch: fetcher(t)})
	if err != nil {
		t.Fatal(err)
	}
	c := &clock{at: time.Now()}
	v.(*jwtVerifier).keys.now = c.now
	return v.(*jwtVerifier), c
}

func verify(t *testing.T, v Verifier, token string) error {
	t.Helper()
	_, err := v.Verify(t.Context(), token, nil)
	return err
}

func isInvalid(err error) bool {
	_, ok := errors.AsType[*InvalidToken](err)
	return ok
}

// Keys are fetched once, again when a token names a new one, and not more often
// than the pause allows, whatever tokens come.
func TestRotation(t *testing.T) {
	is := newIssuer(t)
	v, c := clocked(t, is)
	for range 10 {
		if err := verify(t, v, is.token(nil)); err != nil {
			t.Fatal(err)
		}
	}
	if n := is.fetched.Load(); n != 1 {
		t.Fatalf("keys were fetched %d times", n)
	}
	next, _ := rsa.GenerateKey(rand.Reader, 2048)
	newer := sign(jose.RS256, next, map[jose.HeaderKey]any{"kid": "rsa-2"}, is.goodClaims(nil))
	is.publish(jwk("rsa-1", rsaKey().Public()), jwk("rsa-2", next.Public()))
	if err := verify(t, v, newer); !isInvalid(err) {
		t.Errorf("just after the last fetch: %v", err)
	}
	c.pass(keysPause)
	if err := verify(t, v, newer); err != nil {
		t.Errorf("a new key: %v", err)
	}
	for i := range 50 {
		made := sign(jose.RS256, next, map[jose.HeaderKey]any{"kid": fmt.Sprint("made-up-", i)}, is.goodClaims(nil))
		if err := verify(t, v, made); !isInvalid(err) {
			t.Fatalf("a key that there is not: %v", err)
		}
	}
	if n := is.fetched.Load(); n != 2 {
		t.Errorf("keys were fetched %d times, want 2", n)
	}
	// A key that was taken back is no longer good when the keys are fresh again.
	is.publish(jwk("rsa-2", next.Public()))
	c.pass(keysFresh)
	if err := verify(t, v, is.token(nil)); !isInvalid(err) {
		t.Errorf("a key that was taken back: %v", err)
	}
}

// When the issuer is down nothing new is let in, and what is known holds for an
// hour and no longer.
func TestIssuerDown(t *testing.T) {
	is := newIssuer(t)
	is.setDown(true)
	v, c := clocked(t, is)
	g, err := New(&Options{Resource: resource, AuthorizationServers: []string{is.url}, Verifier: v})
	if err != nil {
		t.Fatal(err)
	}
	h := g.Wrap(http.HandlerFunc(echo))
	w := do(h, post("{}", "Authorization: Bearer "+is.token(nil)))
	expect(t, w, http.StatusServiceUnavailable)
	if w.Header().Get("Retry-After") == "" || strings.Contains(w.Body.String(), "127.0.0.1") {
		t.Errorf("%v %s", w.Header(), w.Body)
	}
	is.setDown(false)
	expect(t, do(h, post("{}", "Authorization: Bearer "+is.token(nil))), http.StatusServiceUnavailable) // too soon to ask again
	c.pass(keysPause)
	expect(t, do(h, post("{}", "Authorization: Bearer "+is.token(nil))), 200)
	is.setDown(true)
	c.pass(keysUsable - time.Second)
	expect(t, do(h, post("{}", "Authorization: Bearer "+is.token(nil))), 200)
	c.pass(time.Second)
	expect(t, do(h, post("{}", "Authorization: Bearer "+is.token(nil))), http.StatusServiceUnavailable)
}

func TestKeySetsThatAreRefused(t *testing.T) {
	weak := `{"kty":"RSA","kid":"rsa-1","e":"AQAB","n":"` + strings.Repeat("q", 170) + `"}`
	raw, err := json.Marshal(jwk("rsa-1", rsaKey().Public()))
	if err != nil {
		t.Fatal(err)
	}
	strong := string(raw)
	for name, keys := range map[string]string{
		"empty":            `{"keys":[]}`,
		"no keys":          `{}`,
		"not JSON":         `keys`,
		"twice":            `{"keys":[],"keys":[]}`,
		"another case":     `{"Keys":[]}`,
		"a secret":         `{"keys":[{"kty":"oct","kid":"rsa-1","k":"c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0"}]}`,
		"weak":             `{"keys":[` + weak + `]}`,
		"too many":         `{"keys":[` + strings.Repeat(strong+",", maxKeys) + strong + `]}`,
		"too large":        `{"keys":[],"x":"` + strings.Repeat("x", 1<<20) + `"}`,
		"only unknown":     `{"keys":[{"kty":"OKP","crv":"X25519","x":"AA"},{"kty":"AKP","alg":"ML-DSA-44","pub":"AA"}]}`,
		"not on the curve": `{"keys":[{"kty":"EC","crv":"P-256","kid":"rsa-1","x":"AQ","y":"AQ"}]}`,
	} {
		is := newIssuer(t)
		is.serveKeys(keys)
		v, _ := clocked(t, is)
		if err := verify(t, v, is.token(nil)); !errors.Is(err, ErrUnavailable) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// Keys of other kinds beside a good one do no harm.
	is := newIssuer(t)
	is.serveKeys(strings.Replace(is.keys, "[", `[{"kty":"AKP","alg":"ML-DSA-44","pub":"AA"},`+weak+`,`, 1))
	v, _ := clocked(t, is)
	if err := verify(t, v, is.token(nil)); err != nil {
		t.Error(err)
	}
}

// Whoever answers for an issuer must be it, to the byte.
func TestMetadataOfAnother(t *testing.T) {
	for name, doc := range map[string]string{
		"another":  `{"issuer":"https://evil.example","jwks_uri":"URL/keys"}`,
		"a slash":  `{"issuer":"URL/","jwks_uri":"URL/keys"}`,
		"no keys":  `{"issuer":"URL"}`,
		"no one":   `{"jwks_uri":"URL/keys"}`,
		"far away": `{"issuer":"URL","jwks_uri":"http://169.254.169.254/keys"}`,
	} {
		is := newIssuer(t)
		liar := httptest.NewServer(nil)
		liar.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/keys" {
				is.ServeHTTP(w, r)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, strings.ReplaceAll(doc, "URL", liar.URL))
		})
		is.url = liar.URL
		v, _ := clocked(t, is)
		if err := verify(t, v, is.token(nil)); !errors.Is(err, ErrUnavailable) {
			t.Errorf("%s: %v", name, err)
		}
		liar.Close()
	}
}

func TestMetadataOf(t *testing.T) {
	for issuer, want := range map[string]string{
		"https://a.example":    "https://a.example/.well-known/oauth-authorization-server https://a.example/.well-known/openid-configuration",
		"https://a.example/":   "https://a.example/.well-known/oauth-authorization-server https://a.example/.well-known/openid-configuration",
		"https://a.example/t1": "https://a.example/.well-known/oauth-authorization-server/t1 https://a.example/.well-known/openid-configuration/t1 https://a.example/t1/.well-known/openid-configuration",
	} {
		if got := strings.Join(metadataOf(issuer), " "); got != want {
			t.Errorf("%s: got %s", issuer, got)
		}
	}
}

// Many that come at once make one fetch, and none is refused for waiting.
func TestOneFetchForMany(t *testing.T) {
	is := newIssuer(t)
	v, _ := clocked(t, is)
	token := is.token(nil)
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			if err := verify(t, v, token); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := is.fetched.Load(); n != 1 {
		t.Errorf("%d fetches", n)
	}
}
