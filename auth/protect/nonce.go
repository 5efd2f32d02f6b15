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

// nonceTurn is how long one nonce is handed out; it is good for one turn more.
const nonceTurn = 2 * time.Minute

// nonces makes values that nobody else can foretell and that need no memory:
// each is a seal on the turn in which it was made.
type nonces struct{ key []byte }

func newNonces(key []byte) (*nonces, error) {
	if key == nil {
		key = make([]byte, 32)
		_, _ = rand.Read(key) // never fails: it ends the process instead
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
