package protect

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/tenon-mcp/tenon/mcp"
)

const (
	keyPrefix = "sha256:"
	shortest  = 20 // characters of a key
	ownIssuer = "api-key"
)

// HashKey gives the form in which an API key is kept: whoever reads the
// configuration cannot call with it. The key must be random (32 bytes of
// crypto/rand in base64, say), because the hash of a guessable key can be
// guessed too.
func HashKey(key string) (string, error) {
	if len(key) < shortest || !isToken(key) {
		return "", fmt.Errorf("protect: an API key must have at least %d characters out of letters, digits and -._~+/", shortest)
	}
	sum := sha256.Sum256([]byte(key))
	return keyPrefix + hex.EncodeToString(sum[:]), nil
}

// APIKeys verifies keys that never change, sent as bearer tokens. The names of
// the map are made by [HashKey]. A principal without an issuer gets "api-key",
// so that nobody else's subject can be taken for it.
func APIKeys(keys map[string]mcp.Principal) (Verifier, error) {
	if len(keys) == 0 {
		return nil, errors.New("protect: there are no API keys, so nobody could come in")
	}
	var v apiKeys
	for hash, who := range keys {
		sum, err := hex.DecodeString(strings.TrimPrefix(hash, keyPrefix))
		if err != nil || len(sum) != sha256.Size || !strings.HasPrefix(hash, keyPrefix) {
			return nil, fmt.Errorf("protect: an API key is not hashed: use what HashKey gives, which begins with %q", keyPrefix)
		}
		if who.ID == "" {
			return nil, fmt.Errorf("protect: the API key %s… belongs to nobody: set ID", hash[:len(keyPrefix)+8])
		}
		if who.Issuer == "" {
			who.Issuer = ownIssuer
		}
		v = append(v, apiKey{tokenHash(sum), &Identity{Principal: who}})
	}
	return v, nil
}

type apiKey struct {
	hash tokenHash
	id   *Identity
}

type apiKeys []apiKey

// Verify compares with every key, and as long for each, so that time tells
// nothing.
func (all apiKeys) Verify(_ context.Context, token string, _ *http.Request) (*Identity, error) {
	sum := sha256.Sum256([]byte(token))
	found := -1
	for i := range all {
		same := subtle.ConstantTimeCompare(sum[:], all[i].hash[:])
		found = subtle.ConstantTimeSelect(same, i, found)
	}
	if found < 0 {
		return nil, foreign("the key is not known")
	}
	return all[found].id, nil
}
