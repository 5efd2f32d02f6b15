package protect

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"slices"

	"github.com/go-jose/go-jose/v4"
)

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
