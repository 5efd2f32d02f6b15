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
		sum, err := hex.DecodeString(strings.TrimPrefix(hash, keyPrefix))
		if err != nil || len(sum) != sha256.Size || !strings.HasPrefix(hash, keyPrefix) {
			return nil, fmt.Errorf("protect: an API key is not hashed; use the result of HashKey, which begins with %q", keyPrefix)
		}
		if principal.ID == "" {
			return nil, fmt.Errorf("protect: the principal of API key %s… has no ID", hash[:len(keyPrefix)+8])
		}
		if principal.Issuer == "" {
			principal.Issuer = ownIssuer
		}
		v = append(v, apiKey{tokenHash(sum), &Identity{Principal: principal}})
	}
	return v, nil
}

type apiKey struct {
	hash tokenHash
	id   *Identity
}

type apiKeys []apiKey

// Verify compares the token with every key in constant time.
func (all apiKeys) Verify(_ context.Context, token string, _ *http.Request) (*Identity, error) {
	sum := sha256.Sum256([]byte(token))
	found := -1
	for i := range all {
		same := subtle.ConstantTimeCompare(sum[:], all[i].hash[:])
		found = subtle.ConstantTimeSelect(same, i, found)
	}
	if found < 0 {
		return nil, foreign("unknown API key")
	}
	return all[found].id, nil
}
