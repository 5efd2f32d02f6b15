package protect

import (
	"cmp"
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/tenon-mcp/tenon/mcp"
)

const (
	keyPrefix = "sha256:"
	shortest  = 20 // minimum characters of a key
	ownIssuer = "api-key"
)

// HashKey returns the hash of an API key for the configuration, so that
// reading the configuration does not reveal the key. The key must be random
// (such as 32 bytes of crypto/rand in base64), because a guessable key can
// be found from its hash.
func HashKey(key string) (string, error) {
	if len(key) < shortest || !isToken(key) {
		return "", fmt.Errorf("protect: an API key must have at least %d characters of letters, digits and -._~+/", shortest)
	}
	sum := sha256.Sum256([]byte(key))
	return keyPrefix + hex.EncodeToString(sum[:]), nil
}

// APIKeys returns a Verifier for fixed keys sent as bearer tokens. The keys
// of the map are results of [HashKey]. A principal without an issuer gets
// the issuer "api-key", so that it is distinct from the subjects of other
// issuers.
func APIKeys(keys map[string]mcp.Principal) (Verifier, error) {
	if len(keys) == 0 {
		return nil, errors.New("protect: no API keys configured")
	}
	var v apiKeys
	for hash, principal := range keys {
		sum, err := parseHash(hash)
		if err != nil {
			return nil, fmt.Errorf("protect: %w", err)
		}
		if principal.ID == "" {
			return nil, fmt.Errorf("protect: the principal of API key %s… has no ID", hash[:len(keyPrefix)+8])
		}
		principal.Issuer = cmp.Or(principal.Issuer, ownIssuer)
		v = append(v, apiKey{sum, &Identity{Principal: principal}})
	}
	return v, nil
}

type apiKey struct {
	hash tokenHash
	id   *Identity
}

type apiKeys []apiKey

// Verify implements Verifier.
func (all apiKeys) Verify(_ context.Context, token string, _ *http.Request) (*Identity, error) {
	id, err := all.find(token)
	if err == nil && !id.Expires.IsZero() && !time.Now().Before(id.Expires) {
		return nil, invalid("the API key has expired")
	}
	return id, err
}

// Smaller RSA keys are weak, and larger ones waste time.
const (
	minRSA = 2048
	maxRSA = 8192
)

// A publicKey verifies signatures of one kind.
type publicKey struct {
	id     string
	alg    string // its only algorithm; empty means any of its kind
	public any
}

// readKey parses a JWK. It returns false for keys that are private,
// symmetric, weak, or not for signatures.
func readKey(raw []byte) (publicKey, bool) {
	var jwk jose.JSONWebKey
	if err := jwk.UnmarshalJSON(raw); err != nil {
		return publicKey{}, false
	}
	if jwk.Use != "" && jwk.Use != "sig" || len(jwk.KeyID) > maxKeyID {
		return publicKey{}, false
	}
	return publicKey{id: jwk.KeyID, alg: jwk.Algorithm, public: jwk.Key}, isStrong(&jwk)
}

func isStrong(jwk *jose.JSONWebKey) bool {
	if !jwk.IsPublic() || !jwk.Valid() {
		return false
	}
	if key, ok := jwk.Key.(*rsa.PublicKey); ok {
		return key.N.BitLen() >= minRSA && key.N.BitLen() <= maxRSA
	}
	return true
}

// fits reports whether the key is for an algorithm. The type of the key
// decides, never the token, so a public key cannot be used as a shared
// secret.
func (k publicKey) fits(alg jose.SignatureAlgorithm) bool {
	if k.alg != "" && k.alg != string(alg) {
		return false
	}
	switch key := k.public.(type) {
	case *rsa.PublicKey:
		return slices.Contains([]jose.SignatureAlgorithm{jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512}, alg)
	case *ecdsa.PublicKey:
		switch key.Curve {
		case elliptic.P256():
			return alg == jose.ES256
		case elliptic.P384():
			return alg == jose.ES384
		case elliptic.P521():
			return alg == jose.ES512
		}
	case ed25519.PublicKey:
		return alg == jose.EdDSA
	}
	return false
}
