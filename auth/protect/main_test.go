package protect

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/tenon-mcp/tenon/auth/fetch"
	"github.com/tenon-mcp/tenon/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

const resource = "https://mcp.example.com/mcp"

// rsaKey is made once: it takes its time.
var rsaKey = sync.OnceValue(func() *rsa.PrivateKey {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return key
})

// An issuer is an authorization server on loopback, as far as a resource server
// sees one: metadata, keys and introspection.
type issuer struct {
	*httptest.Server
	url string

	mu      sync.Mutex
	keys    string                                         // the key set as it is served
	down    bool                                           // nothing is answered
	about   func(token string) (status int, answer string) // introspection
	fetched atomic.Int32                                   // how often keys were served
	asked   atomic.Int32                                   // how often a token was asked about
}

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	is := &issuer{}
	is.Server = httptest.NewServer(is)
	is.url = is.Server.URL
	t.Cleanup(is.Close)
	is.publish(jwk("rsa-1", rsaKey().Public()))
	return is
}

func (is *issuer) publish(keys ...jose.JSONWebKey) {
	raw, err := json.Marshal(jose.JSONWebKeySet{Keys: keys})
	if err != nil {
		panic(err)
	}
	is.serveKeys(string(raw))
}

func (is *issuer) serveKeys(raw string) {
	is.mu.Lock()
	defer is.mu.Unlock()
	is.keys = raw
}

func (is *issuer) setDown(down bool) {
	is.mu.Lock()
	defer is.mu.Unlock()
	is.down = down
}

func (is *issuer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	is.mu.Lock()
	keys, down, about := is.keys, is.down, is.about
	is.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	switch {
	case down:
		w.WriteHeader(http.StatusBadGateway)
	case r.URL.Path == "/.well-known/openid-configuration":
		fmt.Fprintf(w, `{"issuer":%q,"jwks_uri":%q}`, is.url, is.url+"/keys")
	case r.URL.Path == "/keys":
		is.fetched.Add(1)
		fmt.Fprint(w, keys)
	case r.URL.Path == "/introspect":
		is.asked.Add(1)
		status, answer := about(r.FormValue("token"))
		w.WriteHeader(status)
		fmt.Fprint(w, answer)
	default:
		http.NotFound(w, r)
	}
}

func jwk(id string, public any) jose.JSONWebKey { return jose.JSONWebKey{KeyID: id, Key: public} }

// fetcher reaches loopback.
func fetcher(t *testing.T) *fetch.Client {
	t.Helper()
	c := fetch.New(&fetch.Options{AllowLoopback: true, Timeout: time.Minute}) // which a busy machine keeps
	t.Cleanup(c.Close)
	return c
}

// goodClaims are those of a token that is good for the resource.
func (is *issuer) goodClaims(changes map[string]any) map[string]any {
	now := time.Now().Unix()
	c := map[string]any{"iss": is.url, "sub": "ada", "aud": resource, "exp": now + 300, "iat": now, "scope": "read write"}
	for name, value := range changes {
		if c[name] = value; value == nil {
			delete(c, name)
		}
	}
	return c
}

// token signs the claims of a good token, with changes, with the RSA key.
func (is *issuer) token(changes map[string]any) string {
	return sign(jose.RS256, rsaKey(), map[jose.HeaderKey]any{"kid": "rsa-1", "typ": "at+jwt"}, is.goodClaims(changes))
}

func sign(alg jose.SignatureAlgorithm, key any, header map[jose.HeaderKey]any, claims any) string {
	payload, ok := claims.([]byte)
	if !ok {
		var err error
		if payload, err = json.Marshal(claims); err != nil {
			panic(err)
		}
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: alg, Key: key}, &jose.SignerOptions{ExtraHeaders: header})
	if err != nil {
		panic(err)
	}
	signed, err := signer.Sign(payload)
	if err != nil {
		panic(err)
	}
	compact, err := signed.CompactSerialize()
	if err != nil {
		panic(err)
	}
	return compact
}

// guarded makes a guard for the resource with JWTs of the issuer, before a
// handler that says who is there.
func guarded(t *testing.T, is *issuer, change func(*Options)) (*Guard, http.Handler) {
	t.Helper()
	o := Options{Resource: resource, AuthorizationServers: []string{is.url}, Fetch: fetcher(t)}
	if change != nil {
		change(&o)
	}
	g, err := New(&o)
	if err != nil {
		t.Fatal(err)
	}
	return g, g.Wrap(http.HandlerFunc(echo))
}

func echo(w http.ResponseWriter, r *http.Request) {
	who := Principal(r)
	if who == nil {
		fmt.Fprint(w, "nobody")
		return
	}
	fmt.Fprint(w, who.ID)
}

// post makes a request with headers given as "Name: value".
func post(body string, headers ...string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, resource, strings.NewReader(body))
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Add(name, value)
	}
	return r
}

func do(h http.Handler, r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// expect checks the status of an answer and that all parts are in its challenge.
func expect(t *testing.T, w *httptest.ResponseRecorder, status int, challenge ...string) {
	t.Helper()
	got := strings.Join(w.Header().Values("WWW-Authenticate"), "\n")
	if w.Code != status {
		t.Errorf("status %d, want %d: %s %s", w.Code, status, got, w.Body)
	}
	for _, part := range challenge {
		if !strings.Contains(got, part) {
			t.Errorf("%q is not in the challenge %q", part, got)
		}
	}
}
