package main

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/tenon-mcp/tenon/cluster"
)

// boundRequest returns a function that makes requests with the same DPoP proof and
// a token that is bound to its key.
func boundRequest(t *testing.T, issuer *oauthServer, resource string) func() *http.Request {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	public := jose.JSONWebKey{Key: key.Public()}
	print, err := public.Thumbprint(crypto.SHA256)
	if err != nil {
		t.Fatal(err)
	}
	token := issuer.boundToken("ada", resource, map[string]any{"jkt": base64.RawURLEncoding.EncodeToString(print)})
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: key}, &jose.SignerOptions{EmbedJWK: true, ExtraHeaders: map[jose.HeaderKey]any{"typ": "dpop+jwt"}})
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte(token))
	proof, err := jwt.Signed(signer).Claims(map[string]any{"htm": "POST", "htu": resource, "iat": time.Now().Unix(), "jti": "one", "ath": base64.RawURLEncoding.EncodeToString(sum[:])}).Serialize()
	if err != nil {
		t.Fatal(err)
	}
	return func() *http.Request {
		r := httptest.NewRequest("POST", resource, nil)
		r.Header.Set("Authorization", "DPoP "+token)
		r.Header.Set("DPoP", proof)
		return r
	}
}

// A DPoP proof is used once for all replicas; the replica to which a request is
// forwarded accepts the proof that the first one has recorded. Without a cluster,
// each process accepts it once.
func TestReplicasAcceptAProofOnce(t *testing.T) {
	const resource = "http://127.0.0.1:8080/mcp"
	issuer := newOAuthServer(t)
	guarded := func(r *cluster.Replica, h http.HandlerFunc) http.Handler {
		v := &serving{issuer: issuer.URL, audience: resource, replica: r}
		g, err := v.guard(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8080}, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		return g.Wrap(h)
	}
	send := func(h http.Handler, r *http.Request) int {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Code
	}
	ok := func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "ok") }

	store := cluster.NewMemory()
	var replicas [3]*cluster.Replica
	for i := range replicas {
		r, err := cluster.Join(t.Context(), store, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { r.Close() })
		replicas[i] = r
	}
	second, third := guarded(replicas[1], ok), guarded(replicas[2], ok)
	replicas[1].Handle(second)
	first := guarded(replicas[0], func(w http.ResponseWriter, r *http.Request) {
		if err := replicas[0].Forward(w, r, nil, replicas[1].ID()); err != nil {
			t.Error(err)
		}
	})
	request := boundRequest(t, issuer, resource)
	if code := send(first, request()); code != http.StatusOK {
		t.Errorf("the first use, forwarded: %d", code)
	}
	for name, h := range map[string]http.Handler{"first": first, "second": second, "third": third} {
		if code := send(h, request()); code != http.StatusUnauthorized {
			t.Errorf("the second use, at the %s replica: %d", name, code)
		}
	}

	request = boundRequest(t, issuer, resource)
	for range 2 {
		alone := guarded(nil, ok)
		if once, twice := send(alone, request()), send(alone, request()); once != http.StatusOK || twice != http.StatusUnauthorized {
			t.Errorf("without a cluster: %d, then %d", once, twice)
		}
	}
}
