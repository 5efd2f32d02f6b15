package login

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"testing"

	authlogin "github.com/tenon-mcp/tenon/auth/login"
)

// newKey makes a key: the private part in PEM, the public part as a JWK.
func newKey(t *testing.T) (private []byte, public json.RawMessage) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	point, err := key.PublicKey.Bytes() // 4, x, y
	if err != nil {
		t.Fatal(err)
	}
	text := base64.RawURLEncoding.EncodeToString
	public, err = json.Marshal(map[string]string{"kty": "EC", "crv": "P-256", "alg": "ES256", "use": "sig", "kid": "k1", "x": text(point[1:33]), "y": text(point[33:])})
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), public
}

// A program acts for itself: it proves who it is with a secret or with a key,
// with bearer tokens and with bound ones, and steps up without anybody.
func TestClientCredentials(t *testing.T) {
	t.Parallel()
	private, public := newKey(t)
	key, err := authlogin.ParseKey(private, "", "k1")
	if err != nil {
		t.Fatal(err)
	}
	p := startProvider(t, told{Key: public, Nonces: true})
	url := protected(t, p, "/mcp", readAndWrite(), nil)
	secret := authlogin.Client{ID: "machine", Secret: "a secret: of 100% chance & more", Issuer: p.issuer}
	for _, way := range []struct {
		name   string
		client authlogin.Client
		dpop   bool
	}{
		{"secret", secret, false},
		{"key", authlogin.Client{ID: "machine-key", Key: key}, false},
		{"secret, DPoP", secret, true},
		{"key, DPoP", authlogin.Client{ID: "machine-key", Key: key}, true},
	} {
		t.Run(way.name, func(t *testing.T) {
			store := &shelf{}
			c := dial(t, url, &authlogin.Options{Grant: &authlogin.ClientCredentials{Client: way.client}, PreferDPoP: way.dpop, Store: store})
			says(t, c, "read", "read by "+way.client.ID)
			says(t, c, "write", "write by "+way.client.ID)
			if store.token().DPoP != way.dpop {
				t.Errorf("the token is bound to a key: %v", !way.dpop)
			}
		})
	}
	t.Run("wrong secret", func(t *testing.T) {
		wrong := secret
		wrong.Secret = "guessed"
		if _, err := dialled(t, url, &authlogin.Options{Grant: &authlogin.ClientCredentials{Client: wrong}}); err == nil {
			t.Error("it was let in")
		}
	})
}
