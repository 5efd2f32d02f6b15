package protect

import (
	"container/heap"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"sync"
	"time"
)

const (
	maxProofsPerKey = 10_000
	maxProofs       = 200_000
)

type proofVerdict int

const (
	proofFresh proofVerdict = iota
	proofSeen
	proofsFull
)

// usedProofs stores proofs for as long as they could be used again. Each key
// has its own limit, so a client that creates too many affects only itself:
// when the limit is reached, the oldest proof is dropped, and from then on
// no proof of that age is accepted for that key.
type usedProofs struct {
	mu    sync.Mutex
	keys  map[string]*keyMemory
	total int
	swept time.Time
}

type keyMemory struct {
	ids   map[proofID]bool
	order byAge
	floor time.Time // older proofs are refused
}

type proofID [16]byte

type usedProof struct {
	id   proofID
	made time.Time
}

func newUsedProofs() *usedProofs { return &usedProofs{keys: map[string]*keyMemory{}} }

// take records the use of a proof.
func (u *usedProofs) take(key, jti string, made, now time.Time) proofVerdict {
	sum := sha256.Sum256([]byte(jti))
	id := proofID(sum[:16])
	u.mu.Lock()
	defer u.mu.Unlock()
	if since := now.Sub(u.swept); since > proofWindow || u.total >= maxProofs && since > time.Second {
		u.sweep(now)
	}
	m := u.keys[key]
	switch {
	case m != nil && (m.ids[id] || !made.After(m.floor)):
		return proofSeen
	case u.total >= maxProofs:
		return proofsFull
	case m == nil:
		m = &keyMemory{ids: map[proofID]bool{}}
		u.keys[key] = m
	case len(m.order) >= maxProofsPerKey:
		m.floor = u.forget(m)
		if !made.After(m.floor) {
			return proofSeen
		}
	}
	m.ids[id] = true
	heap.Push(&m.order, usedProof{id, made})
	u.total++
	return proofFresh
}

// forget drops the oldest proof of a key and returns its time.
func (u *usedProofs) forget(m *keyMemory) time.Time {
	oldest := heap.Pop(&m.order).(usedProof)
	delete(m.ids, oldest.id)
	u.total--
	return oldest.made
}

// sweep drops proofs that are too old to be accepted.
func (u *usedProofs) sweep(now time.Time) {
	u.swept = now
	for key, m := range u.keys {
		for len(m.order) > 0 && m.order[0].made.Before(now.Add(-proofWindow)) {
			u.forget(m)
		}
		if len(m.order) == 0 {
			delete(u.keys, key)
		}
	}
}

// byAge is a heap with the oldest proof on top.
type byAge []usedProof

func (h byAge) Len() int           { return len(h) }
func (h byAge) Less(i, j int) bool { return h[i].made.Before(h[j].made) }
func (h byAge) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *byAge) Push(x any)        { *h = append(*h, x.(usedProof)) }
func (h *byAge) Pop() any {
	old := *h
	last := old[len(old)-1]
	*h = old[:len(old)-1]
	return last
}

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
