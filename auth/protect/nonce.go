package protect

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"time"
)

// nonceTurn is how long a nonce is issued; it is valid for one more turn.
const nonceTurn = 2 * time.Minute

// nonces creates unpredictable values without storing them: each is a MAC of
// the turn in which it was issued.
type nonces struct{ key []byte }

func newNonces(key []byte) (*nonces, error) {
	if key == nil {
		key = make([]byte, 32)
		_, _ = rand.Read(key) // never fails
	}
	if len(key) < 32 {
		return nil, errors.New("protect: NonceKey must have at least 32 bytes")
	}
	return &nonces{key}, nil
}

func (n *nonces) current(now time.Time) string { return n.of(turn(now)) }

func (n *nonces) good(nonce string, now time.Time) bool {
	given := []byte(nonce)
	return hmac.Equal(given, []byte(n.of(turn(now)))) || hmac.Equal(given, []byte(n.of(turn(now)-1)))
}

func turn(now time.Time) int64 { return now.Unix() / int64(nonceTurn/time.Second) }

func (n *nonces) of(turn int64) string {
	seal := hmac.New(sha256.New, n.key)
	seal.Write(binary.BigEndian.AppendUint64([]byte("dpop nonce "), uint64(turn)))
	return base64.RawURLEncoding.EncodeToString(seal.Sum(nil)[:18])
}
